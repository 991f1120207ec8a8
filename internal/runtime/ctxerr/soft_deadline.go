package ctxerr

import (
	"context"
	"time"
)

type softDeadlineKey struct{}

// WithSoftDeadline returns a context with a soft deadline, after which iterative solvers stop and
// return their current iterate.
func WithSoftDeadline(ctx context.Context, from time.Time) context.Context {
	return context.WithValue(ctx, softDeadlineKey{}, from)
}

// SoftDeadlinePassed reports whether the deadline of [WithSoftDeadline] has passed.
func SoftDeadlinePassed(ctx context.Context) bool {
	from, ok := ctx.Value(softDeadlineKey{}).(time.Time)
	return ok && !time.Now().Before(from)
}
