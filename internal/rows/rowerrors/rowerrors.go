// Package rowerrors collects the errors of rows and requests into one.
package rowerrors

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/codec/jsonscan"
)

const (
	maxListed   = 20   // errors in a message
	maxExamined = 1000 // errors after which the search ends
	maxQuoted   = 40   // bytes of a quoted value
)

// ErrEncoding is wrapped by errors about a CSV file with another encoding than that of the options.
var ErrEncoding = errors.New("not in the encoding of the options")

// Error contains all errors of a request.
type Error string

// Error returns the text.
func (e Error) Error() string { return string(e) }

// List is a list of errors that lists an error of several rows once. The zero value is empty.
type List struct {
	errs []problem
	seen int
	more int // that are not listed
}

type problem struct {
	row    int    // -1 for none
	column string // "" for none
	text   string
	more   int // further rows with the error
}

// Add adds an error that does not concern a row.
func (l *List) Add(format string, args ...any) { l.At(-1, "", format, args...) }

// At adds an error of a row, -1 for none, and a column, "" for none.
func (l *List) At(row int, column, format string, args ...any) {
	if l.seen++; l.seen > maxExamined {
		return
	}
	text := fmt.Sprintf(format, args...)
	for k := range l.errs {
		if same := &l.errs[k]; same.column == column && same.text == text && same.row >= 0 && row >= 0 {
			same.more++
			return
		}
	}
	if len(l.errs) == maxListed {
		l.more++
		return
	}
	l.errs = append(l.errs, problem{row: row, column: column, text: text})
}

// Empty reports whether the list has no error.
func (l *List) Empty() bool { return len(l.errs) == 0 }

// Enough reports whether the list has enough errors to stop the search.
func (l *List) Enough() bool { return l.seen >= maxExamined }

// Join returns the error at which parsing ended, after the earlier errors if it is a JSON error;
// for nil it returns [List.Err].
func (l *List) Join(err error) error {
	if err == nil {
		return l.Err()
	}
	if wrong, is := err.(jsonscan.Error); is && !l.Empty() {
		l.Add("%s", wrong.Error())
		return l.Err()
	}
	return err
}

// Err returns all errors as one [Error], or nil if there is none.
func (l *List) Err() error {
	if l.Empty() {
		return nil
	}
	var strs []string
	for _, f := range l.errs {
		strs = append(strs, f.String())
	}
	if rest := l.rest(); rest != "" {
		strs = append(strs, rest)
	}
	return Error(strings.Join(strs, "; "))
}

// RowErrors joins a [datasets.RowError] for each error, or returns nil if there is none.
func (l *List) RowErrors() error {
	var errs []error
	for _, f := range l.errs {
		errs = append(errs, &datasets.RowError{Row: f.row, Column: f.column, Err: errors.New(f.text + f.others())})
	}
	if rest := l.rest(); rest != "" {
		errs = append(errs, errors.New(rest))
	}
	return errors.Join(errs...)
}

// rest describes the errors that are not listed.
func (l *List) rest() string {
	switch {
	case l.Enough():
		return "and more"
	case l.more > 0:
		return fmt.Sprintf("and %d more errors", l.more)
	}
	return ""
}

// String returns the error with its position, such as: row 3, column "age": the reason.
func (f problem) String() string {
	text := f.text
	switch {
	case f.row >= 0 && f.column != "":
		text = fmt.Sprintf("row %d, column %q: %s", f.row, f.column, text)
	case f.row >= 0:
		text = fmt.Sprintf("row %d: %s", f.row, text)
	case f.column != "":
		text = fmt.Sprintf("column %q: %s", f.column, text)
	}
	return text + f.others()
}

// others describes the further rows with the error.
func (f problem) others() string {
	switch f.more {
	case 0:
		return ""
	case 1:
		return " (and in 1 more row)"
	}
	return fmt.Sprintf(" (and in %d more rows)", f.more)
}

// Quote returns the beginning of a value in quotes.
func Quote(value []byte) string {
	if len(value) > maxQuoted {
		return fmt.Sprintf("%q…", value[:maxQuoted])
	}
	return fmt.Sprintf("%q", value)
}

// Clip returns the beginning of a value.
func Clip[T string | []byte](value T) string {
	if len(value) > maxQuoted {
		return string(value[:maxQuoted]) + "…"
	}
	return string(value)
}
