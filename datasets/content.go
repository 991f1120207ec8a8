package datasets

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// ColumnContent says what the rows of a source have in one column beside values. The zero value is a
// column with a value in every row.
type ColumnContent struct {
	Empty   bool      // no row has a value
	Missing *Position // the first row without a value; nil for none
	Unknown *Position // the first row with a category that the schema does not list; nil for none
}

// Position is a row, and where it stands.
type Position struct {
	Row  int    // from 0
	File string // "" where the rows are in none
	Line int    // of the file, from 1
}

// String returns "rows.csv:7", or "row 5" where there is no file.
func (s Position) String() string {
	if s.File != "" {
		return fmt.Sprintf("%s:%d", s.File, s.Line)
	}
	return fmt.Sprintf("row %d", s.Row)
}

// surveyor is a Source that knows what its columns hold, or finds out for less than a reading of its
// blocks. What is wrong with its rows is the error.
type surveyor interface {
	Source
	// ScanContent returns the content of every column.
	Survey(ctx context.Context) ([]ColumnContent, error)
}

// ScanContent returns the content of every column of src, which it reads through where src is no
// source that surveys itself.
func ScanContent(ctx context.Context, src Source) ([]ColumnContent, error) {
	if s, ok := src.(surveyor); ok {
		return s.Survey(ctx)
	}
	_, cols := src.Dims()
	out := make([]ColumnContent, cols)
	full := make([]bool, cols) // columns with a value
	first := 0
	err := src.Blocks(ctx, func(block Set) error {
		dense, ok := block.X.(*mat.Dense)
		if !ok { // what sparse rows leave out is a value
			for j := range full {
				full[j] = true
			}
		} else {
			for i := range block.Rows() {
				for j, v := range dense.RawRowView(i) {
					out[j].see(v, Position{Row: first + i})
					full[j] = full[j] || !math.IsNaN(v)
				}
			}
		}
		first += block.Rows()
		return nil
	})
	for j := range out {
		out[j].Empty = !full[j]
		if src.Schema().Column(j).Kind != Categorical {
			out[j].Unknown = nil
		}
	}
	return out, err
}

// see takes note of one value.
func (c *ColumnContent) see(v float64, at Position) {
	if math.IsNaN(v) && c.Missing == nil {
		c.Missing = &Position{Row: at.Row}
	}
	if v == Unknown && c.Unknown == nil {
		c.Unknown = &Position{Row: at.Row}
	}
}

// LineError is something that is wrong with a file of rows.
type LineError struct {
	File   string
	Line   int // from 1; 0 for none in particular
	Letter int // of the line, from 1; 0 for none in particular
	Err    error
}

// Error writes file:line:letter: what is wrong.
func (e *LineError) Error() string {
	switch {
	case e.Line == 0:
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	case e.Letter == 0:
		return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
	}
	return fmt.Sprintf("%s:%d:%d: %v", e.File, e.Line, e.Letter, e.Err)
}

// Unwrap returns what is wrong.
func (e *LineError) Unwrap() error { return e.Err }
