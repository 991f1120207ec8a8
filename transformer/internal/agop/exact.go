package agop

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/features/pairwise"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
)

// exact is ridge regression with the kernel itself, by a Cholesky factor in float32: of many rows several
// machines, each fitted to a part of them.
type exact struct {
	kernel *pairwise.Kernel
	y      kern.View[float64] // of the rows that are fitted to, centered
	part   int                // rows, at most, of a machine
}

// maxSlopes is the maximum number of rows over which gradients of a machine are averaged.
const maxSlopes = 8000

func (e *exact) slopes(ctx context.Context, p *products, u *mat.Dense, alpha float64) error {
	n, d := u.Dims()
	parts := (n + e.part - 1) / e.part
	size := (n + parts - 1) / parts
	if err := memory.Check(4 * int64(size) * int64(size)); err != nil {
		return fmt.Errorf("the kernel of %d rows: %w; set part or rows lower, or solve: features", size, err)
	}
	K := newView[float32](size, size)
	for i := range parts {
		lo, hi := i*n/parts, (i+1)*n/parts
		rows := pairwise.NewRows[float32](pairwise.Frame{Factor: equal(d, 1)}, u.Slice(lo, hi, 0, d))
		weights, err := e.fit(ctx, K.Slice(0, hi-lo, 0, hi-lo), rows, e.y.Slice(lo, hi, 0, e.y.Cols), alpha)
		if err != nil {
			return err
		}
		if err := addSlopes(ctx, p, rows.Slice(0, min(hi-lo, maxSlopes)), rows, e.kernel, weights); err != nil {
			return err
		}
	}
	return nil
}

// fit returns the weights of the rows, with a larger penalty if float32 rounding requires it. K is
// the workspace of their kernel.
func (e *exact) fit(ctx context.Context, K kern.View[float32], rows pairwise.Rows[float32], y kern.View[float64],
	alpha float64) (kern.View[float32], error) {
	size := rows.Len()
	weights := newView[float32](size, y.Cols)
	const rounding = 3e-8 // of a row of K
	for alpha = max(alpha, rounding*float64(size)); ; alpha *= alphaStep {
		if err := lowerOf(ctx, K, rows, e.kernel); err != nil {
			return weights, err
		}
		for i := range size {
			for c, v := range y.Row(i) {
				weights.Set(i, c, float32(v))
			}
		}
		if ok, err := solve(ctx, K, weights, alpha); ok || err != nil {
			return weights, err
		}
		if alpha > float64(size) {
			return weights, fmt.Errorf("the kernel of %d rows is not finite; scale the inputs before", size)
		}
	}
}

// lowerOf writes the lower triangle of the kernel of rows to K, and some of the upper one.
func lowerOf[T kern.Float](ctx context.Context, K kern.View[T], rows pairwise.Rows[T], k *pairwise.Kernel) error {
	const stripe = 2 * pairwise.TileRows
	for lo := 0; lo < K.Rows; lo += stripe {
		hi := min(lo+stripe, K.Rows)
		if err := pairwise.Matrix(ctx, K.Slice(lo, hi, 0, hi), rows.Slice(lo, hi), rows.Slice(0, hi), k); err != nil {
			return err
		}
	}
	return nil
}

// stripe is the number of rows processed at a time.
const stripe = 1024

// addSlopes adds the products of the gradients of kernel sums at x to p.
func addSlopes(ctx context.Context, p *products, x, centers pairwise.Rows[float32], k *pairwise.Kernel,
	weights kern.View[float32]) error {
	d, t := x.Inputs(), weights.Cols
	size := max(1, min(stripe, x.Len(), 1<<25/(d*t)))
	G := newView[float32](size*t, d)
	for lo := 0; lo < x.Len(); lo += size {
		b := min(size, x.Len()-lo)
		of := make([]kern.View[float32], t)
		for c := range of {
			of[c] = G.Slice(c*b, (c+1)*b, 0, d)
		}
		if err := pairwise.Gradients(ctx, of, x.Slice(lo, lo+b), centers, k, equal(d, 1), weights); err != nil {
			return err
		}
		if err := p.add(ctx, G.Slice(0, b*t, 0, d)); err != nil {
			return err
		}
	}
	return nil
}
