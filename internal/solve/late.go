package solve

import (
	"context"
	"time"
)

type lateKey struct{}

// WithLate returns a context from whose time on iterations that would go on are to end, with what they have.
func WithLate(ctx context.Context, from time.Time) context.Context {
	return context.WithValue(ctx, lateKey{}, from)
}

// Late reports whether the time of [WithLate] has come.
func Late(ctx context.Context) bool {
	from, ok := ctx.Value(lateKey{}).(time.Time)
	return ok && !time.Now().Before(from)
}
