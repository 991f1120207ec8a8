package solve

import (
	"context"
	"time"
)

type softDeadlineKey struct{}

// WithSoftDeadline returns a context from whose time on iterations that would go on are to end, with what they have.
func WithSoftDeadline(ctx context.Context, from time.Time) context.Context {
	return context.WithValue(ctx, softDeadlineKey{}, from)
}

// SoftDeadlinePassed reports whether the time of [WithSoftDeadline] has come.
func SoftDeadlinePassed(ctx context.Context) bool {
	from, ok := ctx.Value(softDeadlineKey{}).(time.Time)
	return ok && !time.Now().Before(from)
}
