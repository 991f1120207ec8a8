// Package ctxerr returns the errors of contexts that have ended together with their causes.
package ctxerr

import "context"

// Check returns nil while ctx is not done. After that it returns ctx.Err() where the context was
// ended without a cause, and otherwise an error that matches both ctx.Err() and the cause.
func Check(ctx context.Context) error {
	err := ctx.Err()
	if err == nil {
		return nil
	}
	if why := context.Cause(ctx); why != err {
		return &ended{err, why}
	}
	return err
}

// Is reports whether err itself is the error of a context that has ended.
func Is(err error) bool {
	_, caused := err.(*ended)
	return caused || err == context.Canceled || err == context.DeadlineExceeded
}

// ended is the error of a context and why it ended.
type ended struct{ err, cause error }

func (e *ended) Error() string   { return e.err.Error() + ": " + e.cause.Error() }
func (e *ended) Unwrap() []error { return []error{e.err, e.cause} }
