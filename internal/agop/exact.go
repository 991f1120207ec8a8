package agop

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/memory"
	"github.com/bochner-ml/bochner/internal/pairwise"
)

// exact is ridge regression with the kernel itself, by Cholesky factors.
type exact struct {
	kernel *pairwise.Kernel
	held   int
	rounds int
	y      kern.View[float64] // n×t, centred
	alpha  float64

	rows pairwise.Rows[float32] // all, mapped
}

// scored is how many rows, at most, the machine is fitted to whose errors are compared. Its arithmetic is
// float64: what wide kernels and small penalties lose to float32 would count as an error of the map.
const scored = 2000

// mostSlopes is how many rows, at most, gradients are averaged over.
const mostSlopes = 8000

func (e *exact) score(ctx context.Context, u *mat.Dense) (least float64, err error) {
	n, d := u.Dims()
	e.rows = pairwise.NewRows[float32](plain(d), u)
	size := min(scored, n-e.held)
	all := pairwise.NewRows[float64](plain(d), u.Slice(0, e.held+size, 0, d))
	unseen, seen := all.Slice(0, e.held), all.Slice(e.held, e.held+size)
	lower, across := newView[float64](size, size), newView[float64](e.held, size)
	if err := pairwise.Matrix(ctx, lower, seen, seen, e.kernel); err != nil {
		return 0, err
	}
	if err := pairwise.Matrix(ctx, across, unseen, seen, e.kernel); err != nil {
		return 0, err
	}
	t := e.y.Cols
	factor, weights, predicted := newView[float64](size, size), newView[float64](size, t), newView[float64](e.held, t)
	least, e.alpha, err = walk(e.alpha, leastAlpha, mostAlpha, func(alpha float64) (float64, error) {
		copy(factor.Data, lower.Data)
		copy(weights.Data, e.y.Data[e.held*t:])
		ok, err := solve(ctx, factor, weights, alpha)
		if err != nil || !ok {
			return math.Inf(1), err
		}
		kern.Mul(predicted, across, weights, false)
		return loss(predicted, e.y), nil
	})
	return least, err
}

// plain is the frame of rows that are mapped and centred already.
func plain(d int) pairwise.Frame { return pairwise.Frame{Factor: ones(d)} }

func ones(d int) []float64 {
	list := make([]float64, d)
	for j := range list {
		list[j] = 1
	}
	return list
}

func newView[T kern.Float](rows, cols int) kern.View[T] {
	return kern.Dense(rows, cols, cols, make([]T, rows*cols))
}

// solve overwrites b with (K + alpha·I)⁻¹b, and the lower triangle of K with its factor; ok is false where
// rounding makes K singular.
func solve[T kern.Float](ctx context.Context, K, b kern.View[T], alpha float64) (ok bool, err error) {
	for i := range K.Rows {
		K.Set(i, i, K.At(i, i)+T(alpha))
	}
	if _, ok, err = kern.Cholesky(ctx, K); err != nil || !ok {
		return false, err
	}
	return true, kern.SolveCholesky(ctx, K, b)
}

func (e *exact) gradients(ctx context.Context, p *products, round int) error {
	n := e.rows.Len() - e.held
	size := min(n, max(scored, n>>max(0, e.rounds-1-round)))
	centres := e.rows.Slice(e.held, e.held+size)
	weights, err := e.fit(ctx, centres)
	if err != nil {
		return err
	}
	return slopesOf(ctx, p, centres.Slice(0, min(size, mostSlopes)), centres, e.kernel, weights)
}

// fit returns the weights of the machine that is fitted to the first training rows, with a larger penalty
// where the rounding of float32 asks for it.
func (e *exact) fit(ctx context.Context, centres pairwise.Rows[float32]) (kern.View[float32], error) {
	size, t := centres.Len(), e.y.Cols
	if err := memory.Check(4 * int64(size) * int64(size)); err != nil {
		return kern.View[float32]{}, fmt.Errorf("the kernel of %d rows: %w; set rows lower, or solve: features", size, err)
	}
	K, weights := newView[float32](size, size), newView[float32](size, t)
	const rounding = 3e-8 // of a row of K
	for alpha := max(e.alpha, rounding*float64(size)); ; alpha *= step {
		if err := lowerOf(ctx, K, centres, e.kernel); err != nil {
			return weights, err
		}
		for i, v := range e.y.Data[e.held*t:][:size*t] {
			weights.Data[i] = float32(v)
		}
		if ok, err := solve(ctx, K, weights, alpha); ok || err != nil {
			return weights, err
		}
		if alpha > float64(size) {
			return weights, fmt.Errorf("the kernel of %d rows is not finite", size)
		}
	}
}

// lowerOf writes the lower triangle of the kernel of rows to K, and some of the upper one.
func lowerOf(ctx context.Context, K kern.View[float32], rows pairwise.Rows[float32], k *pairwise.Kernel) error {
	for lo := 0; lo < K.Rows; lo += stripe {
		hi := min(lo+stripe, K.Rows)
		if err := pairwise.Matrix(ctx, K.Slice(lo, hi, 0, hi), rows.Slice(lo, hi), rows.Slice(0, hi), k); err != nil {
			return err
		}
	}
	return nil
}

// stripe is how many rows are worked on at once.
const stripe = 1024

// slopesOf adds the products of the gradients of kernel sums at x to p.
func slopesOf(ctx context.Context, p *products, x, centres pairwise.Rows[float32], k *pairwise.Kernel, weights kern.View[float32]) error {
	d, t := x.Inputs(), weights.Cols
	size := max(1, min(stripe, x.Len(), 1<<25/(d*t)))
	G := newView[float32](size*t, d)
	for lo := 0; lo < x.Len(); lo += size {
		b := min(size, x.Len()-lo)
		of := make([]kern.View[float32], t)
		for c := range of {
			of[c] = G.Slice(c*b, (c+1)*b, 0, d)
		}
		if err := pairwise.Gradients(ctx, of, x.Slice(lo, lo+b), centres, k, ones(d), weights); err != nil {
			return err
		}
		if err := p.add(ctx, G.Slice(0, b*t, 0, d)); err != nil {
			return err
		}
	}
	return nil
}
