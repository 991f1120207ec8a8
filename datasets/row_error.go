package datasets

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/internal/runtime/guard"
)

// RowError is an error about a row. Row counts from 0 in the rows that a function was given. If
// these were selected from others, as the rows of a fold, [Set.Locate] and [Set.AtRows] translate
// it.
//
// [errors.As] finds it by a variable of type RowError or *RowError, as it does param.FieldError and
// param.FieldErrors.
type RowError struct {
	Row    int
	Column string // "" if it concerns the whole row
	Err    error

	located bool // whether Row is already the number in the original rows
}

// Error returns "row 7, column age: error".
func (e RowError) Error() string {
	if e.Column == "" {
		return fmt.Sprintf("row %d: %v", e.Row, e.Err)
	}
	return fmt.Sprintf("row %d, column %s: %v", e.Row, e.Column, e.Err)
}

// Unwrap returns Err.
func (e RowError) Unwrap() error { return e.Err }

// As sets a target of type *RowError or **RowError, for [errors.As].
func (e RowError) As(target any) bool {
	switch to := target.(type) {
	case *RowError:
		*to = e
	case **RowError:
		*to = &e
	default:
		return false
	}
	return true
}

// PanicError is a panic in a step, a model or a source, with its stack. Fits and predictions of pipelines and searches
// return it as an error, so that a custom step cannot end the process from a worker goroutine.
type PanicError = guard.PanicError

// atRows translates an error about row k of some rows to row rows[k]. It returns other errors
// unchanged.
func atRows(err error, rows []int) error {
	var at *RowError
	if !errors.As(err, &at) || at.located || at.Row < 0 || at.Row >= len(rows) {
		return err
	}
	return relocate(err, at, rows[at.Row], true)
}

// FromRow translates an error about row k of a block to row first+k.
func FromRow(err error, first int) error {
	var at *RowError
	if !errors.As(err, &at) || at.located || first == 0 {
		return err
	}
	return relocate(err, at, first+at.Row, false)
}

func relocate(err error, at *RowError, row int, located bool) error {
	moved := *at
	moved.Row, moved.located = row, located
	return &relocated{err: err, text: strings.Replace(err.Error(), at.Error(), moved.Error(), 1), row: &moved}
}

// relocated is an error with another row number.
type relocated struct {
	err  error
	text string
	row  *RowError
}

func (e *relocated) Error() string { return e.text }

func (e *relocated) Unwrap() []error { return []error{e.row, e.err} }

// Locate translates an error about rows of s, counted from first, to the rows from which s was
// selected.
func (s Set) Locate(err error, first int) error {
	if err == nil || s.origin == nil {
		return err
	}
	var at *RowError
	if !errors.As(err, &at) || at.located || at.Row < first {
		return err
	}
	return atRows(err, append(make([]int, first), s.origin...))
}

// AtRows translates an error about row k of the given rows of s to row rows[k], or to that of the
// rows from which s was selected.
func (s Set) AtRows(err error, rows []int) error {
	if err == nil {
		return nil
	}
	return atRows(err, s.originOf(rows))
}

// originOf returns the original row numbers of rows of s.
func (s Set) originOf(rows []int) []int {
	if s.origin == nil {
		return slices.Clone(rows)
	}
	return pick(s.origin, rows)
}

// RowNumbers returns the number of each row in the set from which s was selected, nil if it was not
// selected from others.
func (s Set) RowNumbers() []int { return slices.Clone(s.origin) }

// NumberRows returns s with the row numbers first, first+1, … for [Set.Locate]. If s was selected from
// other rows, its row numbers are those, and NumberRows returns it unchanged.
func (s Set) NumberRows(first int) Set {
	if s.origin == nil {
		s.origin = make([]int, s.Rows())
		for i := range s.origin {
			s.origin[i] = first + i
		}
	}
	return s
}
