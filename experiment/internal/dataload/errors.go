package dataload

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/experiment/internal/config"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/param"
)

// ErrorOf returns an error about a file of rows, as [param.FieldErrors] if the spec was read from a
// file.
func ErrorOf(ctx context.Context, spec config.Spec, path string, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctxerr.Check(ctx)
	case !spec.FromFile() || errors.Is(err, datasets.ErrChanged):
		return fmt.Errorf("experiment: %w", err)
	}
	return FieldErrors(spec, path, err)
}

// FieldErrors returns the errors of data files: each with its line, or with the position of the
// file name in the spec.
func FieldErrors(spec config.Spec, path string, err error) param.FieldErrors {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var out param.FieldErrors
		for _, one := range many.Unwrap() {
			out = append(out, FieldErrors(spec, path, one)...)
		}
		return out
	}
	path = PathOf(spec, path)
	var at *datasets.LineError
	if errors.As(err, &at) && at.Line > 0 {
		return param.FieldErrors{{File: at.File, Line: at.Line, Column: at.Column, Problem: at.Err.Error(), Err: err}}
	}
	return param.FieldErrors{spec.Locate(path, param.FieldError{Problem: config.Problem(err), Err: err})}
}

// PathOf is where a document names the rows of data.train, or of data.test.
func PathOf(spec config.Spec, path string) string {
	if spec.Data.SQL.Given() && (path == "data.train" || path == "data.test") {
		return "data.sql" + strings.TrimPrefix(path, "data")
	}
	return path
}
