// Package place adds the location in a pipeline to errors.
package place

import (
	"errors"
	"fmt"

	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// Error is an error with its location in a pipeline.
type Error struct {
	Place    string // `step "columns": group "numeric"`
	Err      error
	Upstream bool // whether it occurred while rows were mapped for a later step
}

// Error returns "pipeline: location: error".
func (e *Error) Error() string {
	if e.Place == "" {
		return "pipeline: " + e.Err.Error()
	}
	return "pipeline: " + e.Place + ": " + e.Err.Error()
}

// Unwrap returns the underlying error.
func (e *Error) Unwrap() error { return e.Err }

// At adds the named part to the location of err, as a path. It leaves cancellations unchanged. If
// an upstream step failed while the part was reading its rows, err keeps the location of that step.
func At(what, name string, err error) error {
	if err == nil || ctxerr.Is(err) {
		return err
	}
	place := fmt.Sprintf("%s %q", what, name)
	var inner *Error
	if errors.As(err, &inner) && inner.Upstream {
		return &Error{Place: inner.Place, Err: inner.Err}
	}
	if inner != nil && inner == err {
		if inner.Place != "" {
			place += ": " + inner.Place
		}
		return &Error{Place: place, Err: inner.Err}
	}
	return &Error{Place: place, Err: err}
}

// Here marks err as an error of the pipeline itself.
func Here(err error) error {
	var inner *Error
	if err == nil || ctxerr.Is(err) || errors.As(err, &inner) && inner == err {
		return err
	}
	return &Error{Err: err}
}

// Upstream marks err as an error of an upstream step.
func Upstream(err error) error {
	var inner *Error
	if errors.As(err, &inner) && inner == err {
		return &Error{Place: inner.Place, Err: inner.Err, Upstream: true}
	}
	return err
}
