package dataload

import (
	"context"
	"errors"

	"github.com/bochner-ml/bochner/datasets"
	_ "github.com/bochner-ml/bochner/datasets/parquet" // experiments read it
	"github.com/bochner-ml/bochner/experiment/internal/config"
	"github.com/bochner-ml/bochner/internal/rows/reader"
)

// Files returns the files of the section, or its queries to a database.
func Files(data config.Data) reader.Files {
	f := data.Files
	switch {
	case data.Asked != nil:
		f.Queries = data.Asked
	case data.SQL.Given():
		f.Queries = unconnectedQueries{}
	}
	return f
}

// unconnectedQueries is the placeholder of a database before [Connect].
type unconnectedQueries struct{}

func (unconnectedQueries) Open(context.Context, datasets.Roles, ...string) (datasets.Source, error) {
	return nil, errors.New("the database is not connected")
}
