package param

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// FieldError is one thing that is wrong in what a user wrote: where, what was found, what was wanted.
// Fields that do not apply are empty.
type FieldError struct {
	File         string // of a document
	Line, Column int    // in File, from 1; 0 for none in particular
	Path         string // of the parameter or key: "pipeline.rff.gamma"
	Value        any    // found there, where Wanted says what should be
	Constraint   string // in words: "a number > 0"
	Problem      string // instead of Value and Wanted: "unknown key"
	Hint         string // "did you mean gamma?"
	Err          error  // what the fault comes of, which errors.Is and errors.As find; nil for nothing
}

// Unwrap returns Err.
func (f FieldError) Unwrap() error { return f.Err }

// Error writes the fault on one line: file:line:column: path: must be …, got … (hint).
func (f FieldError) Error() string {
	var b strings.Builder
	if f.File != "" {
		b.WriteString(f.File + ":")
	}
	if f.Line > 0 {
		fmt.Fprintf(&b, "%d:", f.Line)
	}
	if f.Line > 0 && f.Column > 0 {
		fmt.Fprintf(&b, "%d:", f.Column)
	}
	if b.Len() > 0 {
		b.WriteByte(' ')
	}
	if f.Path != "" {
		b.WriteString(f.Path + ": ")
	}
	switch {
	case f.Problem != "":
		b.WriteString(f.Problem)
	case f.Constraint != "":
		fmt.Fprintf(&b, "must be %s, got %s", f.Constraint, show(f.Value))
	}
	if f.Hint != "" {
		b.WriteString(" (" + f.Hint + ")")
	}
	return b.String()
}

func show(plain any) string {
	switch v := plain.(type) {
	case nil:
		return "nothing"
	case string:
		return `"` + clip(inner(strconv.Quote(v))) + `"`
	}
	switch reflect.TypeOf(plain).Kind() {
	case reflect.Struct, reflect.Pointer, reflect.Func, reflect.Chan, reflect.Complex64, reflect.Complex128:
		return clip(fmt.Sprintf("%T %v", plain, plain)) // what no document can hold
	}
	return clip(fmt.Sprint(plain))
}

// inner is what stands between the quotes.
func inner(quoted string) string { return quoted[1 : len(quoted)-1] }

// clip shortens a string to what a line has room for.
func clip(text string) string {
	if r := []rune(text); len(r) > 80 {
		return string(r[:77]) + "…"
	}
	return text
}

// FieldErrors is every fault of one document or spec.
type FieldErrors []FieldError

// Error writes one fault to a line.
func (f FieldErrors) Error() string {
	lines := make([]string, len(f))
	for i := range f {
		lines[i] = f[i].Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the faults one by one.
func (f FieldErrors) Unwrap() []error {
	out := make([]error, len(f))
	for i := range f {
		out[i] = f[i]
	}
	return out
}

// Err returns f as an error, nil where there is no fault.
func (f FieldErrors) Err() error {
	if len(f) == 0 {
		return nil
	}
	return f
}

// errWanted says that a value is not what its parameter wants, which the parameter can say itself.
var errWanted = errors.New("not what is wanted")

// asFault places an error of setting or checking an entry.
func asFault(err error, path string, value any, e *entry) FieldError {
	f := FieldError{Path: path, Value: value}
	if e != nil {
		f.Constraint = e.Wanted
	}
	var given FieldError
	switch {
	case errors.As(err, &given):
		f.Problem, f.Hint, f.Err = given.Problem, given.Hint, given.Err
		if given.Constraint != "" {
			f.Constraint = given.Constraint
		}
	case err != errWanted:
		f.Constraint, f.Err = err.Error(), err
	}
	return f
}
