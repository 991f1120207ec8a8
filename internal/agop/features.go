package agop

import (
	"context"
	"math"

	"github.com/bochner-ml/bochner/internal/fourier"
	"github.com/bochner-ml/bochner/internal/kern"
)

// features is ridge regression on random Fourier features of the kernel.
type features struct {
	held  int
	y     kern.View[float32] // n×t, centred
	omega kern.View[float32] // d×m, for γ = 1
	alpha float64

	u       points
	weights kern.View[float32] // 2m×t, of the last score
}

func newFeatures(ctx context.Context, o Options, data Rows, y kern.View[float32]) (*features, error) {
	d, m := data.X.Cols, (o.Features+1)/2
	draws, err := fourier.Draw(ctx, o.Kernel.Kernel, o.Seed, d, m, true)
	if err != nil {
		return nil, err
	}
	f := &features{held: data.Held, y: y, alpha: firstAlpha, omega: kern.Dense(d, m, m, make([]float32, d*m))}
	for j := range d {
		for k, w := range draws.Base.RawRowView(j) {
			f.omega.Set(j, k, float32(w))
		}
	}
	return f, nil
}

// norm makes z(x)'z(x) 1.
func (f *features) norm() float32 { return float32(math.Sqrt(1 / float64(f.omega.Cols))) }

func (f *features) score(ctx context.Context, u points) (least, alpha float64, err error) {
	f.u = u
	n, d, width, t := u.rows.Rows, u.rows.Cols, 2*f.omega.Cols, f.y.Cols
	gram := kern.Dense(width, width, width, make([]float64, width*width))
	right := kern.Dense(width, t, t, make([]float64, width*t))
	tile := kern.Dense(featureRows, width, width, make([]float32, featureRows*width))
	part := kern.Dense(width, t, t, make([]float32, width*t))
	for lo := f.held; lo < n; lo += featureRows {
		hi := min(lo+featureRows, n)
		Z := tile.Slice(0, hi-lo, 0, width)
		kern.SinCosMap(Z, u.rows.Slice(lo, hi, 0, d), f.omega, f.norm())
		if err := kern.GramMixed(ctx, gram, Z, nil); err != nil {
			return 0, 0, err
		}
		kern.Mul(part, Z.T(), f.y.Slice(lo, hi, 0, t), false)
		for i, v := range part.Data {
			right.Data[i] += float64(v)
		}
	}
	Z := kern.Dense(f.held, width, width, make([]float32, f.held*width))
	kern.SinCosMap(Z, u.rows.Slice(0, f.held, 0, d), f.omega, f.norm())
	predicted := kern.Dense(f.held, t, t, make([]float32, f.held*t))
	factor := kern.Dense(width, width, width, make([]float64, width*width))
	least = math.Inf(1)
	_, f.alpha, err = walk(f.alpha, func(alpha float64) (float64, error) {
		copy(factor.Data, gram.Data)
		weights, ok, err := ridge(ctx, factor, right, alpha)
		if err != nil || !ok {
			return math.Inf(1), err
		}
		kern.Mul(predicted, Z, weights, false)
		l := loss(predicted, f.y.Slice(0, f.held, 0, t))
		if l < least {
			least, f.weights = l, weights
		}
		return l, nil
	})
	return least, f.alpha, err
}

// featureRows is how many rows are mapped to features at once.
const featureRows = 2048

// ridge returns (gram + alpha·I)⁻¹·right, and takes the memory of gram; ok is false where that is singular.
func ridge(ctx context.Context, gram, right kern.View[float64], alpha float64) (weights kern.View[float32], ok bool, err error) {
	for j := range gram.Rows {
		gram.Set(j, j, gram.At(j, j)+alpha)
	}
	if _, ok, err = kern.Cholesky(ctx, gram); err != nil || !ok {
		return weights, false, err
	}
	w := append([]float64(nil), right.Data...)
	if err := kern.SolveCholesky(ctx, gram, kern.Dense(right.Rows, right.Cols, right.Cols, w)); err != nil {
		return weights, false, err
	}
	weights = kern.Dense(right.Rows, right.Cols, right.Cols, make([]float32, len(w)))
	for i, v := range w {
		weights.Data[i] = float32(v)
	}
	return weights, true, nil
}

func (f *features) gradients(ctx context.Context, p *products, _ int) error {
	n, d := f.u.rows.Rows, f.u.rows.Cols
	rows := min(n-f.held, mostSlopes)
	return Fourier{f.omega, f.weights, f.norm()}.add(ctx, p, f.u.rows.Slice(f.held, f.held+rows, 0, d))
}
