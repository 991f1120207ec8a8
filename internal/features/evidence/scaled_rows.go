package evidence

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/features/pairwise"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// scaledRows is the covariance of a kernel of one distance of scaled rows.
type scaledRows struct {
	x      *mat.Dense // n×d
	kernel *pairwise.Kernel
	of     []int // index of the scale of each input, nil for one scale per input
	n, d   int
	rows   pairwise.Rows[float64]
	frame  pairwise.Frame
	scaled *mat.Dense // n×d, s∘x

	weights kern.View[float64] // n×n, distances, then kernel derivatives, then H
	gradX   kern.View[float64] // n×d, H times scaled, or sums of H times differences
	sums    []float64          // n, row sums of H
}

func newScaledRows(e Exact) *scaledRows {
	n, d := e.X.Dims()
	o := &scaledRows{x: e.X, kernel: e.Kernel, of: e.Group, n: n, d: d, scaled: mat.NewDense(n, d, nil),
		sums: make([]float64, n), weights: newMatrix[float64](n, n), gradX: newMatrix[float64](n, d)}
	o.frame.Factor = make([]float64, d)
	for j := range o.frame.Factor {
		o.frame.Factor[j] = 1
	}
	return o
}

// group returns the index of input j's scale.
func (o *scaledRows) group(j int) int {
	if o.of == nil {
		return j
	}
	return o.of[j]
}

// compute computes M and the distances.
func (o *scaledRows) compute(ctx context.Context, dst kern.View[float64], point []float64, ratio float64) error {
	for j := range o.d {
		s := math.Exp(point[o.group(j)])
		for i := range o.n {
			o.scaled.Set(i, j, s*o.x.At(i, j))
		}
	}
	o.rows.Prepare(o.frame, o.scaled, 0, o.n)
	if err := pairwise.Tiles(ctx, o.weights, o.rows, o.rows, o.kernel.Metric); err != nil {
		return err
	}
	kern.Parallel(o.n, pairwise.TileRows, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			copy(dst.Row(i)[:hi], o.weights.Row(i))
		}
		pairwise.Values(o.kernel, 1, dst.Slice(lo, hi, 0, hi))
		for i := lo; i < hi; i++ {
			dst.Row(i)[i] += ratio
		}
	})
	return ctxerr.Check(ctx)
}

func (o *scaledRows) slope(ctx context.Context, gradient []float64, g kern.View[float64], _ []float64) error {
	kern.Parallel(o.n, pairwise.TileRows, func(lo, hi int) {
		pairwise.Slopes(o.kernel, o.weights.Slice(lo, hi, 0, o.n))
		for i := lo; i < hi; i++ {
			h := o.weights.Row(i)
			for l, v := range g.Row(i) {
				h[l] *= v
			}
			o.sums[i] = kern.Sum(h)
			if o.kernel.Metric == pairwise.L1 {
				o.differences(i)
			}
		}
	})
	if o.kernel.Metric == pairwise.L1 {
		for i := range o.n {
			for j, v := range o.gradX.Row(i) {
				gradient[o.group(j)] += v
			}
		}
		return ctxerr.Check(ctx)
	}
	x := o.scaled.RawMatrix()
	if err := kern.MulContext(ctx, o.gradX, o.weights, kern.Dense(o.n, o.d, x.Stride, x.Data), false); err != nil {
		return err
	}
	for i := range o.n {
		pull := o.gradX.Row(i)
		for j, v := range o.scaled.RawRowView(i) {
			gradient[o.group(j)] += 2 * v * (o.sums[i]*v - pull[j])
		}
	}
	return ctxerr.Check(ctx)
}

// differences writes Σ_{l<i} H_il·|s_j·x_ij − s_j·x_lj| to row i of gradX; H is symmetric.
func (o *scaledRows) differences(i int) {
	sums, x := o.gradX.Row(i), o.scaled.RawRowView(i)
	clear(sums)
	for l, h := range o.weights.Row(i)[:i] {
		for j, v := range o.scaled.RawRowView(l) {
			sums[j] += h * math.Abs(x[j]-v)
		}
	}
}
