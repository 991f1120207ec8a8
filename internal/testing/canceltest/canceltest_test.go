package canceltest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// TestCheck checks that valid calls pass, and that each violation is detected.
func TestCheck(t *testing.T) {
	cases := []struct {
		name, want string
		run        func(ctx context.Context) (bool, error)
	}{
		{"keeps it", "", func(ctx context.Context) (bool, error) {
			for range 100 {
				if err := ctxerr.Check(ctx); err != nil {
					return false, err
				}
			}
			return true, nil
		}},
		{"passes over one look", "the error <nil>", func(ctx context.Context) (bool, error) {
			if err := ctxerr.Check(ctx); err != nil {
				return false, err
			}
			for range 10 {
				if ctx.Err() != nil {
					break // and continues with partial data
				}
			}
			return true, nil
		}},
		{"keeps what is half made", "a result all the same", func(ctx context.Context) (bool, error) {
			return true, ctxerr.Check(ctx)
		}},
		{"hides the reason", "the error singular", func(ctx context.Context) (bool, error) {
			if ctx.Err() != nil {
				return false, errors.New("singular")
			}
			return true, nil
		}},
		{"hides the cause", "the error context canceled", func(ctx context.Context) (bool, error) {
			return ctx.Err() == nil, ctx.Err()
		}},
		{"never checks", "never checks", func(context.Context) (bool, error) { return true, nil }},
		{"makes nothing", "nothing", func(ctx context.Context) (bool, error) { return false, ctx.Err() }},
		{"fails", "broken", func(context.Context) (bool, error) { return false, errors.New("broken") }},
	}
	for _, c := range cases {
		err := Check(c.run)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
