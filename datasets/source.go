// Package datasets holds rows of data: in memory as a [Set], as a stream of blocks as a [Source],
// with a [Schema] that names the columns and turns strings into codes at the door.
//
// Behind the door there are only matrices. A categorical column holds the code of its level, 0 for
// the first; [Unknown] stands for a level that the schema does not list and NaN for a missing
// value. The schema travels with the data and later with the model, so that new rows are coded as
// the training rows were.
package datasets

import (
	"context"
	"strconv"
)

// Source is rows as a stream of blocks that can be read more than once.
type Source interface {
	// Schema says what the columns are. It is known before the first block.
	Schema() Schema
	// Dims returns the number of rows, -1 where only reading would tell, and of columns.
	Dims() (rows, cols int)
	// Blocks reads from the first row and hands consecutive blocks to yield, until the last row or
	// the first error, which it returns. A block is to be read only, and its arrays are reused
	// once yield has returned.
	Blocks(ctx context.Context, yield func(block Set) error) error
}

// Schema says what the columns of a set are and what its target is. No columns named means that
// every column is numeric and has no name of its own.
type Schema struct {
	Columns []Column
	Targets []Column // none, one, or several, of which categorical ones have codes as values
	Missing []string // texts that stood for a missing value in the file; nil for the reader's own
}

// Column is the name and kind of a column.
type Column struct {
	Name   string
	Kind   Kind
	Levels []string // of a categorical column: level i has code i
}

// Kind says what the numbers of a column mean.
type Kind int

const (
	// Numeric columns hold quantities.
	Numeric Kind = iota
	// Categorical columns hold codes of levels.
	Categorical
)

// String returns "numeric" or "categorical".
func (k Kind) String() string {
	if k == Categorical {
		return "categorical"
	}
	return "numeric"
}

// Classes returns the names of the classes, none where the target is not categorical.
func (s Schema) Classes() []string {
	if len(s.Targets) == 1 && s.Targets[0].Kind == Categorical {
		return s.Targets[0].Levels
	}
	return nil
}

// Name returns the name of column j, "x<j>" where it has none.
func (s Schema) Name(j int) string {
	if j < len(s.Columns) && s.Columns[j].Name != "" {
		return s.Columns[j].Name
	}
	return "x" + strconv.Itoa(j)
}

// Column returns column j, one of numeric kind where the schema names none.
func (s Schema) Column(j int) Column {
	if j < len(s.Columns) {
		return s.Columns[j]
	}
	return Column{Name: s.Name(j)}
}

// Index returns the number of the column called name, -1 where there is none.
func (s Schema) Index(name string) int {
	for j := range s.Columns {
		if s.Columns[j].Name == name {
			return j
		}
	}
	return -1
}

// WithColumns returns the schema with other columns and the same targets.
func (s Schema) WithColumns(columns []Column) Schema {
	s.Columns = columns
	return s
}

// Fold is one division of rows, by number, into those to train on and those held out.
type Fold struct {
	Train, Test []int
}

// Coster is a spec that knows what it costs to fit it to, and map, rows×cols inputs; planning uses
// it.
type Coster interface {
	Cost(rows, cols int) Cost
}

// Cost is an estimate of work.
type Cost struct {
	Flops float64 // floating-point operations
	Bytes int64   // memory held at once
	Width int     // columns that come out of a transformer, -1 where only fitting tells
}

// Partial is a source that leaves out some rows of its file.
type Partial interface {
	Source
	// LeftOut returns their numbers in the file, ascending, from 0.
	LeftOut() []int
}
