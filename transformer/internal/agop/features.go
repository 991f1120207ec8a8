package agop

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/features/fourier"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// features is ridge regression on random Fourier features of the kernel.
type features struct {
	y     kern.View[float64] // of the rows that are fitted to, centered
	omega kern.View[float32] // d×m, for γ = 1
}

func newFeatures(ctx context.Context, o Options, y kern.View[float64], d int) (*features, error) {
	m := (o.Features + 1) / 2
	draws, err := fourier.Draw(ctx, o.Kernel.Spectral(), o.Seed, d, m, true)
	if err != nil {
		return nil, err
	}
	f := &features{y: y, omega: newView[float32](d, m)}
	for j := range d {
		for k, w := range draws.Base.RawRowView(j) {
			f.omega.Set(j, k, float32(w))
		}
	}
	return f, nil
}

// norm makes z(x)'z(x) 1.
func (f *features) norm() float32 { return float32(math.Sqrt(1 / float64(f.omega.Cols))) }

func (f *features) slopes(ctx context.Context, p *products, u *mat.Dense, alpha float64) error {
	n, d := u.Dims()
	x, t := newView[float32](n, d), f.y.Cols
	for i := range n {
		for j, v := range u.RawRowView(i) {
			x.Set(i, j, float32(v))
		}
	}
	weights, err := f.fit(ctx, x, alpha)
	if err != nil {
		return err
	}
	waves := Fourier[float32]{f.omega, weights, f.norm()}
	x = x.Slice(0, min(n, maxSlopes), 0, d)
	G := newView[float32](tileRows*t, d)
	for lo := 0; lo < x.Rows; lo += tileRows {
		if err := ctxerr.Check(ctx); err != nil {
			return err
		}
		hi := min(lo+tileRows, x.Rows)
		of := G.Slice(0, (hi-lo)*t, 0, d)
		waves.Gradients(of, x.Slice(lo, hi, 0, d))
		if err := p.add(ctx, of); err != nil {
			return err
		}
	}
	return nil
}

// fit returns the weights of the features of x.
func (f *features) fit(ctx context.Context, x kern.View[float32], alpha float64) (kern.View[float32], error) {
	width, t := 2*f.omega.Cols, f.y.Cols
	gram, right := newView[float64](width, width), newView[float64](width, t)
	tile, y, part := newView[float32](stripe, width), newView[float32](stripe, t), newView[float32](width, t)
	weights := newView[float32](width, t)
	for lo := 0; lo < x.Rows; lo += stripe {
		hi := min(lo+stripe, x.Rows)
		Z, of := tile.Slice(0, hi-lo, 0, width), y.Slice(0, hi-lo, 0, t)
		kern.SinCosMap(Z, x.Slice(lo, hi, 0, x.Cols), f.omega, f.norm())
		if err := kern.GramMixed(ctx, gram, Z, nil); err != nil {
			return weights, err
		}
		for i, v := range f.y.Data[lo*t : hi*t] {
			of.Data[i] = float32(v)
		}
		kern.Mul(part, Z.T(), of, false)
		for i, v := range part.Data {
			right.Data[i] += float64(v)
		}
	}
	w, err := f.solve(ctx, gram, right, max(alpha, 1e-7*float64(x.Rows)))
	if err != nil {
		return weights, err
	}
	for i, v := range w.Data {
		weights.Data[i] = float32(v)
	}
	return weights, nil
}

// solve returns (gram + alpha·I)⁻¹·right. It increases alpha if rounding requires it, because gram
// is a sum of float32 products.
func (f *features) solve(ctx context.Context, gram, right kern.View[float64], alpha float64) (kern.View[float64],
	error) {
	factor, w := newView[float64](gram.Rows, gram.Cols), newView[float64](right.Rows, right.Cols)
	for ; alpha <= 1e3*float64(f.y.Rows); alpha *= alphaStep {
		copy(factor.Data, gram.Data)
		copy(w.Data, right.Data)
		if ok, err := solve(ctx, factor, w, alpha); ok || err != nil {
			return w, err
		}
	}
	return w, fmt.Errorf("the features of %d rows are not finite; scale the inputs before", f.y.Rows)
}
