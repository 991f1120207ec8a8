// Package dataload opens the data that the document of an experiment names: which reader, which roles of the
// columns, which test rows, in memory or block by block.
//
//	parts, err := rows.Open(ctx, spec)
//
// The package also handles rows that can be read only once, and detects undeclared file formats.
package dataload

import (
	"cmp"
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/builtin"
	"github.com/bochner-ml/bochner/experiment/internal/config"
	"github.com/bochner-ml/bochner/internal/rows/reader"
	"github.com/bochner-ml/bochner/internal/rows/rowsource"
	"github.com/bochner-ml/bochner/param"
)

// Parts are the training and the test rows of an experiment.
type Parts struct {
	Train, Test datasets.Source // Test is nil if there are none
	Numbers     []int           // row numbers of the test rows in their file; nil for all in order
	Task        datasets.Task
	Streamed    bool // whether the rows are read from the file in every pass
	Warnings    []string

	places []int // of the training and then the test rows, before Split; nil without
}

// Open opens the data of the spec: a built-in data set, one or two files, or queries to a database
// after [Connect].
func Open(ctx context.Context, spec config.Spec) (*Parts, error) {
	p := &Parts{Task: datasets.Regression}
	spec.Data.Task = cmp.Or(string(spec.Task()), "auto")
	file := Files(spec.Data)
	file.KeepBytes = keeps(spec)
	from, testFrom := spec.Data.Where()
	var err error
	if spec.Data.Dataset != "" {
		p.Train, p.Test, err = openBuiltin(ctx, spec.Data)
	} else {
		err = p.openTrain(ctx, file, spec.Data.Known, from, len(testFrom) > 0)
	}
	if err != nil {
		return nil, ErrorOf(ctx, spec, "data.train", err)
	}
	if len(p.Train.Schema().Classes()) > 0 {
		p.Task = datasets.Classification
	}
	if p.Train.Schema().Labels() != nil {
		p.Task = datasets.MultiLabel
	}
	if spec.Task().Unsupervised() {
		p.Task = spec.Task()
	}
	if schema := p.Train.Schema(); p.Task == datasets.Anomaly && len(testFrom) > 0 && len(schema.Targets) > 0 &&
		len(schema.Classes()) == 1 {
		return nil, param.FieldErrors{spec.Locate("data.target", param.FieldError{
			Problem: fmt.Sprintf("the target of anomaly detection must have known anomalies, got column %s with the single "+
				"value %s", schema.Targets[0].Name, schema.Classes()[0]),
			Hint: "list the anomalies of the test rows in data.positive"})}
	}
	if len(testFrom) > 0 {
		_, cols := p.Train.Dims()
		like := reader.MatchOptions{Schema: p.Train.Schema(), Cols: cols, Scored: true}
		if p.Test, err = file.WithFormatOf(testFrom).OpenMatching(ctx, testFrom, like); err != nil {
			return nil, ErrorOf(ctx, spec, "data.test", err)
		}
	}
	if spec.Data.Gram.Given() {
		if p.Train, p.Test, err = openGram(ctx, spec, p.Train, p.Test); err != nil {
			return nil, err
		}
	}
	if p.Task.Unsupervised() {
		p.scored()
	}
	return p, nil
}

// scored drops a target that cannot score an unsupervised model.
func (p *Parts) scored() {
	schema := p.Train.Schema()
	if len(schema.Targets) == 0 || len(schema.Classes()) > 1 {
		return
	}
	why := "is the same in every row"
	if schema.Targets[0].Kind == datasets.Numeric {
		why = "is a quantity"
	}
	p.Warnings = append(p.Warnings, fmt.Sprintf("the target, %s, %s: it scores nothing", schema.Targets[0].Name, why))
	p.Train = rowsource.DropTargets(p.Train)
	if p.Test != nil {
		p.Test = rowsource.DropTargets(p.Test)
	}
}

// openBuiltin opens a built-in set and its test part, if it has one.
func openBuiltin(ctx context.Context, data config.Data) (train, test datasets.Source, err error) {
	trainSet, testSet, err := builtin.Read(ctx, data.Dataset, data.Roles(nil))
	if err != nil {
		return nil, nil, err
	}
	if testSet.Rows() > 0 && data.Split.Test == 0 {
		test = testSet.Source()
	}
	return trainSet.Source(), test, nil
}

// openTrain opens the training rows. A target of few integers becomes a class, unless the spec
// states otherwise.
func (p *Parts) openTrain(ctx context.Context, f reader.Files, known *config.Known, from reader.Paths,
	tested bool) error {
	var err error
	if known != nil {
		p.Train, err = f.OpenMatching(ctx, from, reader.MatchOptions{Schema: known.Schema, Cols: known.Cols, Scored: true})
		return err
	}
	var found reader.Inferred
	p.Train, found, err = f.OpenInferred(ctx, from, tested) // rows to test on may have more columns to drop
	if found.Target != "" {
		p.Warnings = append(p.Warnings, fmt.Sprintf("data.target is not given: the last column, %s, is taken", found.Target))
	}
	if found.Classes > 0 {
		p.Warnings = append(p.Warnings,
			fmt.Sprintf("data.task is not given: the target has %d different values, all integers, and is treated as "+
				"classes; set task: regression otherwise", found.Classes))
	}
	return err
}

// Prefetch reads blocks ahead of the consumer.
func (p *Parts) Prefetch() {
	p.Train = rowsource.Prefetch(p.Train)
	if p.Test != nil {
		p.Test = rowsource.Prefetch(p.Test)
	}
}
