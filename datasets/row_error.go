package datasets

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// RowError is something that is wrong with a row. Its number counts from 0 in the rows that a function was
// given; where these were selected from others, as the rows of a fold are, [Set.Locate] and [Set.AtRows]
// make it the number in those.
type RowError struct {
	Row    int
	Column string // "" where it is about none in particular
	Err    error

	located bool // whether Row is the number in the rows that all others were selected from
}

// Error writes row 7, column age: what is wrong.
func (e *RowError) Error() string {
	if e.Column == "" {
		return fmt.Sprintf("row %d: %v", e.Row, e.Err)
	}
	return fmt.Sprintf("row %d, column %s: %v", e.Row, e.Column, e.Err)
}

// Unwrap returns what is wrong.
func (e *RowError) Unwrap() error { return e.Err }

// atRows returns an error about row k of some rows as one about row rows[k] of all. An error that is about
// no row, or that has been located already, stays as it is.
func atRows(err error, rows []int) error {
	var at *RowError
	if !errors.As(err, &at) || at.located || at.Row < 0 || at.Row >= len(rows) {
		return err
	}
	return relocate(err, at, rows[at.Row], true)
}

// FromRow returns an error about row k of a block as one about row first+k of all rows that the function
// was given.
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

// relocated is an error whose row has another number.
type relocated struct {
	err  error
	text string
	row  *RowError
}

func (e *relocated) Error() string { return e.text }

func (e *relocated) Unwrap() []error { return []error{e.row, e.err} }

// Locate returns an error about rows of s, which it counts from first, as one about the rows that s was
// selected from. Where s was not selected from others the error stays as it is.
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

// AtRows returns an error about row k of some rows of s as one about row rows[k], or
// about that of the rows that s was selected from.
func (s Set) AtRows(err error, rows []int) error {
	if err == nil {
		return nil
	}
	return atRows(err, s.originOf(rows))
}

// originOf returns the numbers of rows of s in what s was selected from.
func (s Set) originOf(rows []int) []int {
	if s.origin == nil {
		return slices.Clone(rows)
	}
	return pick(s.origin, rows)
}

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
