package graph

import (
	"errors"
	"strings"
)

// Fault is a part that cannot be exported, and why.
type Fault struct {
	Path string // names of parts within parts, joined by dots: columns.numeric.impute
	Err  error
}

// Error names the part and says why.
func (f Fault) Error() string {
	if f.Path == "" {
		return "it cannot be exported: " + f.Err.Error()
	}
	return "step " + f.Path + ": it cannot be exported: " + f.Err.Error()
}

// Faults are all parts that cannot be exported.
type Faults []Fault

// Error tells all of them.
func (f Faults) Error() string {
	var texts []string
	for _, one := range f {
		texts = append(texts, one.Error())
	}
	return strings.Join(texts, "; ")
}

// Unwrap returns what is wrong with each.
func (f Faults) Unwrap() []error {
	var out []error
	for _, one := range f {
		out = append(out, one.Err)
	}
	return out
}

// At says that what is wrong is so of the part of that name. The faults of parts within it become its own, with its name
// before theirs. Nothing wrong stays nothing.
func At(name string, err error) error {
	if err == nil {
		return nil
	}
	var inner Faults
	if !errors.As(err, &inner) {
		inner = Faults{{Err: err}}
	}
	out := make(Faults, len(inner))
	for i, one := range inner {
		out[i] = Fault{Path: name, Err: one.Err}
		if one.Path != "" {
			out[i].Path += "." + one.Path
		}
	}
	return out
}

// Join returns the faults of several parts as one error, nil where there is none.
func Join(errs ...error) error {
	var out Faults
	for _, err := range errs {
		var some Faults
		switch {
		case err == nil:
		case errors.As(err, &some):
			out = append(out, some...)
		default:
			out = append(out, Fault{Err: err})
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
