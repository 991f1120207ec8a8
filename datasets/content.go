package datasets

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/rows/textrows"
)

// ColumnContent describes the values of a column. The zero value is a column without missing
// values.
type ColumnContent struct {
	Empty   bool      // no row has a value
	Missing *Position // first row without a value; nil if none
	Unknown *Position // first row with a category that is not in the schema; nil if none
	// Negative is the first row with a value below 0, nil if none or not known: [ScanContent] does not
	// look for it.
	Negative *Position
}

// Position is a row number and its place in a file.
type Position struct {
	Row  int    // from 0
	File string // "" if the rows are not from a file
	Line int    // of the file, from 1
}

// String returns "rows.csv:7", or "row 5" without a file.
func (s Position) String() string {
	if s.File != "" {
		return fmt.Sprintf("%s:%d", s.File, s.Line)
	}
	return fmt.Sprintf("row %d", s.Row)
}

// contentScanner is a Source that knows the content of its columns, or determines it at a lower
// cost than a pass. It returns errors of its rows.
type contentScanner interface {
	Source
	// ScanContent returns the content of all columns.
	ScanContent(ctx context.Context) ([]ColumnContent, error)
}

// ScanContent returns the content of all columns of src, by a pass over src unless src determines
// it itself.
func ScanContent(ctx context.Context, src Source) ([]ColumnContent, error) {
	if s, ok := src.(contentScanner); ok {
		return s.ScanContent(ctx)
	}
	_, cols := src.Dims()
	out := make([]ColumnContent, cols)
	full := make([]bool, cols) // whether the column has a value
	first := 0
	err := src.Blocks(ctx, func(block Set) error {
		X := block.X
		if m := textrows.Of(X); m != nil {
			X = m.Dense()
		}
		dense, ok := X.(*mat.Dense)
		if !ok { // implicit zeros are values
			for j := range full {
				full[j] = true
			}
		} else {
			for i := range block.Rows() {
				for j, v := range dense.RawRowView(i) {
					out[j].observe(v, Position{Row: first + i})
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

// observe updates c with a value.
func (c *ColumnContent) observe(v float64, at Position) {
	if math.IsNaN(v) && c.Missing == nil {
		c.Missing = &Position{Row: at.Row}
	}
	if v == Unknown && c.Unknown == nil {
		c.Unknown = &Position{Row: at.Row}
	}
}

// LineError is an error in a file of rows.
type LineError struct {
	File   string
	Line   int // from 1; 0 if unknown
	Column int // byte of the line, from 1; 0 if unknown
	Err    error
}

// Error returns "file:line:column: error".
func (e *LineError) Error() string {
	switch {
	case e.Line == 0:
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	case e.Column == 0:
		return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
	}
	return fmt.Sprintf("%s:%d:%d: %v", e.File, e.Line, e.Column, e.Err)
}

// Unwrap returns Err.
func (e *LineError) Unwrap() error { return e.Err }
