package graph

import (
	"errors"
	"strings"
)

// stepError is the reason why a step cannot be exported.
type stepError struct {
	Path string // names of nested steps, joined by dots: columns.numeric.impute
	Err  error
}

// Error returns the path and the reason.
func (f stepError) Error() string { return StepErrors{f}.Error() }

// StepErrors contains an error for each step that cannot be exported.
type StepErrors []stepError

// Error returns each reason once, with the paths of all its steps.
func (f StepErrors) Error() string {
	var reasons []string
	paths := map[string][]string{} // by the reason
	for _, one := range f {
		reason := one.Err.Error()
		if _, known := paths[reason]; !known {
			reasons = append(reasons, reason)
			paths[reason] = nil
		}
		if one.Path != "" {
			paths[reason] = append(paths[reason], one.Path)
		}
	}
	for k, reason := range reasons {
		location, last := "", len(paths[reason])-1
		switch {
		case last == 0:
			location = "step " + paths[reason][0] + ": "
		case last > 0:
			location = "steps " + strings.Join(paths[reason][:last], ", ") + " and " + paths[reason][last] + ": "
		}
		subject := "it"
		if last > 0 {
			subject = "they"
		}
		reasons[k] = location + subject + " cannot be exported: " + reason
	}
	return strings.Join(reasons, "; ")
}

// Unwrap returns the errors of the steps.
func (f StepErrors) Unwrap() []error {
	var out []error
	for _, one := range f {
		out = append(out, one.Err)
	}
	return out
}

// WithPath adds the name of a step to an error, in front of the paths of nested errors. It returns
// nil for nil.
func WithPath(name string, err error) error {
	if err == nil {
		return nil
	}
	var inner StepErrors
	if !errors.As(err, &inner) {
		inner = StepErrors{{Err: err}}
	}
	out := make(StepErrors, len(inner))
	for i, one := range inner {
		out[i] = stepError{Path: name, Err: one.Err}
		if one.Path != "" {
			out[i].Path += "." + one.Path
		}
	}
	return out
}

// Join returns the errors of several steps as one error, nil if there is none.
func Join(errs ...error) error {
	var out StepErrors
	for _, err := range errs {
		var all StepErrors
		switch {
		case err == nil:
		case errors.As(err, &all):
			out = append(out, all...)
		default:
			out = append(out, stepError{Err: err})
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
