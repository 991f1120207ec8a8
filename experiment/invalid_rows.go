package experiment

import (
	"bufio"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/bochner-ml/bochner/datasets"
)

// maxInvalidListed is the maximum number of invalid rows in an error.
const maxInvalidListed = 20

// errStop ends a pass that has found enough invalid rows.
var errStop = errors.New("enough invalid rows")

// invalidRows are the errors of the first invalid rows.
type invalidRows struct{ list []error }

func (r *invalidRows) add(_ int, err error) error {
	if r.list = append(r.list, err); len(r.list) > maxInvalidListed {
		return errStop
	}
	return nil
}

// err returns the errors, one a line, or nil if there is none.
func (r *invalidRows) err() error {
	switch n := len(r.list); {
	case n == 0:
		return nil
	case n == 1:
		return r.list[0]
	case n > maxInvalidListed:
		return errors.Join(append(slices.Clone(r.list[:maxInvalidListed]),
			errors.New("and more invalid rows; --skip-invalid FILE (Options.SkipInvalid in Go) skips them"))...)
	default:
		return errors.Join(append(slices.Clone(r.list),
			fmt.Errorf("%d invalid rows; --skip-invalid FILE (Options.SkipInvalid in Go) skips them", n))...)
	}
}

// invalidWriter returns a function that writes invalid rows as CSV: their number from 0, file, line and reason.
func invalidWriter(w *bufio.Writer) func(row int, err error) error {
	w.WriteString("row,file,line,reason\n")
	lines := csv.NewWriter(w)
	return func(row int, err error) error {
		file, line, reason := "", "", err.Error()
		var at *datasets.LineError
		if errors.As(err, &at) {
			file, reason = at.File, at.Err.Error()
			if at.Line > 0 {
				line = strconv.Itoa(at.Line)
			}
		}
		lines.Write([]string{strconv.Itoa(row), file, line, reason})
		lines.Flush()
		return lines.Error()
	}
}

// skippedRows numbers the rows of a file, of which some are invalid.
type skippedRows struct {
	write func(row int, err error) error
	rows  map[int]bool // invalid rows
	next  int          // number of the next row

	listing bool // whether an invalid row ends the predictions
}

// add skips an invalid row.
func (s *skippedRows) add(row int, err error) error {
	if s.rows == nil {
		s.rows = map[int]bool{}
	}
	s.rows[row] = true
	return s.write(row, err)
}

// number returns the numbers of the next n valid rows; nil for a nil receiver.
func (s *skippedRows) number(n int) []int {
	if s == nil {
		return nil
	}
	out := make([]int, 0, n)
	for ; len(out) < n; s.next++ {
		if !s.rows[s.next] {
			out = append(out, s.next)
		}
	}
	return out
}

// reject skips the rows of a block that have the error of a prediction, and returns the others with their numbers. It
// returns an error that does not concern a row.
func (s *skippedRows) reject(ctx context.Context, block datasets.Set, numbers []int, err error) (datasets.Set, []int,
	error) {
	var at *datasets.RowError
	if ctx.Err() != nil || !errors.As(err, &at) || at.Row < 0 || at.Row >= block.Rows() {
		return block, nil, err
	}
	var valid, kept []int
	column := -1
	for j := range block.Cols() {
		if errors.Is(err, datasets.ErrMissing) && block.Schema.Name(j) == at.Column {
			column = j
		}
	}
	for i := range block.Rows() {
		missing := column >= 0 && math.IsNaN(block.X.At(i, column))
		if i != at.Row && !missing {
			valid, kept = append(valid, i), append(kept, numbers[i])
			continue
		}
		reason := at.Err
		if missing {
			reason = fmt.Errorf("%w, but the training rows have none; fill the field or fit with an impute step",
				datasets.ErrMissing)
		}
		bad := &datasets.RowError{Row: numbers[i], Column: at.Column, Err: cmp.Or(reason, err)}
		if err := s.add(numbers[i], bad); err != nil {
			return block, nil, err
		}
	}
	if valid == nil {
		return block, nil, nil
	}
	return block.Select(valid), kept, nil
}
