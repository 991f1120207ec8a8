package kern

import (
	"context"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/canceltest"
)

// forever is a context that is never canceled.
var forever = context.Background()

// TestKernelsStop checks that long operations can be canceled between blocks.
func TestKernelsStop(t *testing.T) {
	const n = 130
	r := newRand(50)
	system, rows := gramOf(r, n, 2*n, 1), randomView[float64](r, 1100, n, "rows")
	short := randomView[float32](r, 1100, n, "rows")
	lower := clone(system)
	if _, ok, err := Cholesky(forever, lower); !ok || err != nil {
		t.Fatal(ok, err)
	}
	eigen, err := NewEigen(forever, clone(system), true)
	if err != nil {
		t.Fatal(err)
	}
	for name, run := range map[string]func(ctx context.Context) error{
		"MulContext": func(ctx context.Context) error {
			return MulContext(ctx, clone(system), rows.T(), rows, false)
		},
		"MulRows": func(ctx context.Context) error {
			return MulRows(ctx, rows, system, func(int, View[float64]) {})
		},
		"Gram":      func(ctx context.Context) error { return Gram(ctx, clone(system), rows, nil) },
		"GramMixed": func(ctx context.Context) error { return GramMixed(ctx, clone(system), short, nil) },
		"Cholesky": func(ctx context.Context) error {
			_, _, err := Cholesky(ctx, clone(system))
			return err
		},
		"SolveCholesky": func(ctx context.Context) error { return SolveCholesky(ctx, lower, clone(system)) },
		"SolveCholesky of one": func(ctx context.Context) error {
			return SolveCholesky(ctx, lower, clone(system).Slice(0, n, 0, 1))
		},
		"NewEigen": func(ctx context.Context) error {
			_, err := NewEigen(ctx, clone(system), true)
			return err
		},
		"eigenvalues": func(ctx context.Context) error {
			_, err := NewEigen(ctx, clone(system), false)
			return err
		},
		"Vectors": func(ctx context.Context) error {
			_, err := eigen.Vectors(ctx, 0, n)
			return err
		},
	} {
		err := canceltest.Check(func(ctx context.Context) (bool, error) {
			err := run(ctx)
			return err == nil, err
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		whole := canceltest.After(1 << 40)
		if err := run(whole); err != nil || whole.Looks() < 2 {
			t.Errorf("%s checks its context %d times only (%v)", name, whole.Looks(), err)
		}
	}
}
