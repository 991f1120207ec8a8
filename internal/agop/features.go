package agop

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/fourier"
	"github.com/bochner-ml/bochner/internal/kern"
)

// features is ridge regression on random Fourier features of the kernel.
type features struct {
	held  int
	y     kern.View[float64] // n×t, centred
	omega kern.View[float32] // d×m, for γ = 1
	alpha float64

	rows    kern.View[float32] // all, mapped
	weights kern.View[float32] // 2m×t, of the last score
}

func newFeatures(ctx context.Context, o Options, held int, y kern.View[float64], d int) (*features, error) {
	m := (o.Features + 1) / 2
	draws, err := fourier.Draw(ctx, o.Kernel.Spectral(), o.Seed, d, m, true)
	if err != nil {
		return nil, err
	}
	f := &features{held: held, y: y, alpha: firstAlpha, omega: newView[float32](d, m)}
	for j := range d {
		for k, w := range draws.Base.RawRowView(j) {
			f.omega.Set(j, k, float32(w))
		}
	}
	return f, nil
}

// norm makes z(x)'z(x) 1.
func (f *features) norm() float32 { return float32(math.Sqrt(1 / float64(f.omega.Cols))) }

// width is the number of features.
func (f *features) width() int { return 2 * f.omega.Cols }

func (f *features) score(ctx context.Context, u *mat.Dense) (least float64, err error) {
	n, d := u.Dims()
	f.rows = newView[float32](n, d)
	for i, v := range u.RawMatrix().Data {
		f.rows.Data[i] = float32(v)
	}
	gram, right, err := f.sums(ctx)
	if err != nil {
		return 0, err
	}
	Z, t := newView[float32](f.held, f.width()), f.y.Cols
	kern.SinCosMap(Z, f.rows.Slice(0, f.held, 0, d), f.omega, f.norm())
	factor, weights := newView[float64](f.width(), f.width()), newView[float64](f.width(), t)
	rounded, predicted := newView[float32](f.width(), t), newView[float32](f.held, t)
	f.weights, least = newView[float32](f.width(), t), math.Inf(1)
	_, f.alpha, err = walk(f.alpha, leastAlpha, mostAlpha, func(alpha float64) (float64, error) {
		copy(factor.Data, gram.Data)
		copy(weights.Data, right.Data)
		if ok, err := solve(ctx, factor, weights, alpha); err != nil || !ok {
			return math.Inf(1), err
		}
		for i, v := range weights.Data {
			rounded.Data[i] = float32(v)
		}
		kern.Mul(predicted, Z, rounded, false)
		l := loss(predicted, f.y)
		if l < least {
			least = l
			copy(f.weights.Data, rounded.Data)
		}
		return l, nil
	})
	return least, err
}

// sums returns Z'Z and Z'y of the rows that are fitted to.
func (f *features) sums(ctx context.Context) (gram, right kern.View[float64], err error) {
	n, d, width, t := f.rows.Rows, f.rows.Cols, f.width(), f.y.Cols
	gram, right = newView[float64](width, width), newView[float64](width, t)
	tile, y, part := newView[float32](stripe, width), newView[float32](stripe, t), newView[float32](width, t)
	for lo := f.held; lo < n; lo += stripe {
		hi := min(lo+stripe, n)
		Z, of := tile.Slice(0, hi-lo, 0, width), y.Slice(0, hi-lo, 0, t)
		kern.SinCosMap(Z, f.rows.Slice(lo, hi, 0, d), f.omega, f.norm())
		if err := kern.GramMixed(ctx, gram, Z, nil); err != nil {
			return gram, right, err
		}
		for i, v := range f.y.Data[lo*t : hi*t] {
			of.Data[i] = float32(v)
		}
		kern.Mul(part, Z.T(), of, false)
		for i, v := range part.Data {
			right.Data[i] += float64(v)
		}
	}
	return gram, right, nil
}

func (f *features) gradients(ctx context.Context, p *products, _ int) error {
	d, n := f.rows.Cols, f.rows.Rows-f.held
	x := f.rows.Slice(f.held, f.held+min(n, mostSlopes), 0, d)
	waves := Fourier[float32]{f.omega, f.weights, f.norm()}
	G := newView[float32](tileRows*f.y.Cols, d)
	for lo := 0; lo < x.Rows; lo += tileRows {
		if err := ctx.Err(); err != nil {
			return err
		}
		hi := min(lo+tileRows, x.Rows)
		of := G.Slice(0, (hi-lo)*f.y.Cols, 0, d)
		waves.Gradients(of, x.Slice(lo, hi, 0, d))
		if err := p.add(ctx, of); err != nil {
			return err
		}
	}
	return nil
}
