package param

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// FieldError is an error about one field of a document or a spec. Fields that do not apply are
// empty. [errors.As] finds it by a variable of type FieldError or *FieldError.
type FieldError struct {
	File         string // of a document
	Line, Column int    // in File, from 1; 0 if unknown
	Path         string // of the parameter or key: "pipeline.rff.gamma"
	Value        any    // the invalid value, for Constraint
	Constraint   string // required value: "a number > 0"
	Problem      string // replaces Value and Constraint: "unknown key"
	Hint         string // "did you mean gamma?"
	Err          error  // cause; may be nil
}

// Unwrap returns Err.
func (f FieldError) Unwrap() error { return f.Err }

// As sets a target of type **FieldError, for [errors.As].
func (f FieldError) As(target any) bool {
	to, ok := target.(**FieldError)
	if ok {
		*to = &f
	}
	return ok
}

// Error returns one line: file:line:column: path: must be CONSTRAINT, got VALUE (hint).
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
		fmt.Fprintf(&b, "must be %s, got %s", f.Constraint, quote(f.Value))
	}
	if f.Hint != "" {
		b.WriteString(" (" + f.Hint + ")")
	}
	return b.String()
}

func quote(plain any) string {
	switch v := plain.(type) {
	case nil:
		return "nothing"
	case string:
		return `"` + truncate(unquoted(strconv.Quote(v))) + `"`
	}
	switch reflect.TypeOf(plain).Kind() {
	case reflect.Struct, reflect.Pointer, reflect.Func, reflect.Chan, reflect.Complex64, reflect.Complex128:
		return truncate(fmt.Sprintf("%T %v", plain, plain)) // not a plain value
	}
	return truncate(fmt.Sprint(plain))
}

// unquoted removes the quotes of a quoted string.
func unquoted(quoted string) string { return quoted[1 : len(quoted)-1] }

// truncate shortens a string to 80 characters.
func truncate(text string) string {
	if r := []rune(text); len(r) > 80 {
		return string(r[:77]) + "…"
	}
	return text
}

// FieldErrors lists all errors of a document or a spec. [errors.As] finds it by a variable of type
// FieldErrors or *FieldErrors, and its first error by one of type [FieldError].
type FieldErrors []FieldError

// Error returns one line per error.
func (f FieldErrors) Error() string {
	lines := make([]string, len(f))
	for i := range f {
		lines[i] = f[i].Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the errors.
func (f FieldErrors) Unwrap() []error {
	out := make([]error, len(f))
	for i := range f {
		out[i] = f[i]
	}
	return out
}

// As sets a target of type **FieldErrors, for [errors.As].
func (f FieldErrors) As(target any) bool {
	to, ok := target.(**FieldErrors)
	if ok {
		*to = &f
	}
	return ok
}

// Err returns f, or nil if f is empty.
func (f FieldErrors) Err() error {
	if len(f) == 0 {
		return nil
	}
	return f
}

// errConstraint means that a value violates the constraint of its parameter.
var errConstraint = errors.New("value violates the constraint")

// toFieldError adds the path and the value to an error from setting or checking an entry.
func toFieldError(err error, path string, value any, e *entry) FieldError {
	f := FieldError{Path: path, Value: value}
	if e != nil {
		f.Constraint = e.Constraint
	}
	var given FieldError
	switch {
	case errors.As(err, &given):
		f.Problem, f.Hint, f.Err = given.Problem, given.Hint, given.Err
		if given.Constraint != "" {
			f.Constraint = given.Constraint
		}
	case err != errConstraint:
		f.Constraint, f.Err = err.Error(), err
	}
	return f
}
