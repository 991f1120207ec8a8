// Package rowsource derives sources from sources of rows: subsets, ranges, partitions, sources that
// read ahead, and sources without targets or inputs.
//
// It also declares the optional interfaces of sources that only this module uses.
package rowsource

import (
	"context"
	"errors"

	"github.com/bochner-ml/bochner/datasets"
)

// ErrNoRows is wrapped by the error of a reader about a file without rows.
var ErrNoRows = errors.New("no rows")

// FilteredSource is a source that skips some rows of its file.
type FilteredSource interface {
	datasets.Source
	// SkippedRows returns their row numbers in the file, from 0, ascending.
	SkippedRows() []int
}

// TypedSource is a source of a file that declares the types of its columns, such as Parquet.
type TypedSource interface {
	datasets.Source
	// UnsupportedColumns returns the columns that cannot be inputs with their present type.
	UnsupportedColumns() []UnsupportedColumn
}

// UnsupportedColumn is a column whose type cannot be an input.
type UnsupportedColumn struct {
	Column string
	IsTime bool   // whether [datasets.Roles.Dates] can derive inputs from it
	Reason string // why it is not supported
}

// inputSkipper is a source that can omit reading its inputs.
type inputSkipper interface {
	// WithoutInputs returns the same rows with zeros for the inputs.
	WithoutInputs() datasets.Source
}

// DropInputs returns the rows of src for a caller that uses only targets, weights and groups. The
// values of the inputs are undefined; they are not read if src supports that.
func DropInputs(src datasets.Source) datasets.Source {
	if s, ok := src.(inputSkipper); ok {
		return s.WithoutInputs()
	}
	return src
}

// DropTargets returns the rows of src without targets, as [datasets.Set.WithoutTargets] does.
func DropTargets(src datasets.Source) datasets.Source {
	if set, ok := datasets.InMemory(src); ok {
		return set.WithoutTargets().Source()
	}
	return withoutTargets{src}
}

type withoutTargets struct{ datasets.Source }

func (w withoutTargets) Schema() datasets.Schema {
	s := w.Source.Schema()
	s.Targets = nil
	return s
}

func (w withoutTargets) Blocks(ctx context.Context, yield func(block datasets.Set) error) error {
	return w.Source.Blocks(ctx, func(block datasets.Set) error { return yield(block.WithoutTargets()) })
}
