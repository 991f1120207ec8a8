package evidence

import (
	"context"
	"math"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
)

// primal solves with A = aZ'Z + σ²I, D×D: K⁻¹Z = ZA⁻¹ and K⁻¹ = (I − aZA⁻¹Z')/σ².
type primal[T kern.Float] struct{ *Objective[T] }

func (o primal[T]) factor(ctx context.Context, noise, amplitude float64) (ok bool, logDet, free float64, err error) {
	clear(o.factored.Data)
	if err := gram(ctx, o.factored, o.z, nil); err != nil {
		return false, 0, 0, err
	}
	if ok, logDet, err = o.invert(ctx, noise, amplitude); !ok || err != nil {
		return false, 0, 0, err
	}
	free = float64(o.D)
	for i := range o.D {
		free -= noise * o.inverted.At(i, i)
	}
	return true, logDet + float64(o.n-o.D)*math.Log(noise), free, nil
}

func (o primal[T]) solve(ctx context.Context, x, back kern.View[float64], y []float64, noise, amplitude float64) error {
	design.Round(o.fit.Data, y)
	if err := kern.MulUntil(ctx, o.coef, o.z.T(), o.fit, false); err != nil {
		return err
	}
	widen(back.Data, o.coef.Data)
	if err := kern.SolveCholesky(ctx, o.factored, back); err != nil {
		return err
	}
	design.Round(o.coef.Data, back.Data)
	if err := kern.MulUntil(ctx, o.fit, o.z, o.coef, false); err != nil {
		return err
	}
	for i, v := range o.fit.Data {
		x.Data[i] = (y[i] - amplitude*float64(v)) / noise
	}
	return nil
}

func (o primal[T]) spread(ctx context.Context, times float64) error {
	roundTimes(o.inverse, times, o.inverted)
	return kern.MulUntil(ctx, o.slope, o.z, o.inverse, false)
}

func (o primal[T]) diagonal(noise, amplitude float64) {
	const least = 1e-9 // of 1 − h, which rounding may leave below 0
	for i := range o.n {
		h := amplitude * float64(kern.Dot(o.z.Row(i), o.slope.Row(i)))
		o.kappa[i] = max(1-h, least) / noise
	}
}

// between makes 2(VZA⁻¹ − aZA⁻¹(Z'VZ)A⁻¹)/σ².
func (o primal[T]) between(ctx context.Context, noise, amplitude float64) error {
	inner, half := o.narrowing[0], o.narrowing[1]
	clear(inner.Data)
	if err := gram(ctx, inner, o.z, o.weights); err != nil {
		return err
	}
	kern.MirrorLower(inner)
	if err := kern.MulUntil(ctx, half, o.inverted, inner, false); err != nil {
		return err
	}
	if err := kern.MulUntil(ctx, inner, half, o.inverted, false); err != nil {
		return err
	}
	roundTimes(o.inverse, -2*amplitude/noise, inner)
	for i := range o.n {
		kern.Scale(o.weights[i]*T(2/noise), o.slope.Row(i))
	}
	return kern.MulUntil(ctx, o.slope, o.z, o.inverse, true)
}

// dual solves with K = aZZ' + σ²I, n×n.
type dual[T kern.Float] struct{ *Objective[T] }

func (o dual[T]) factor(ctx context.Context, noise, amplitude float64) (ok bool, logDet, free float64, err error) {
	clear(o.factored.Data)
	if err := gram(ctx, o.factored, o.z.T(), nil); err != nil {
		return false, 0, 0, err
	}
	if ok, logDet, err = o.invert(ctx, noise, amplitude); !ok || err != nil {
		return false, 0, 0, err
	}
	free = float64(o.n)
	for i := range o.n {
		free -= noise * o.inverted.At(i, i)
	}
	return true, logDet, free, nil
}

func (o dual[T]) solve(ctx context.Context, x, back kern.View[float64], y []float64, _, _ float64) error {
	copy(x.Data, y)
	if err := kern.SolveCholesky(ctx, o.factored, x); err != nil {
		return err
	}
	design.Round(o.fit.Data, x.Data)
	if err := kern.MulUntil(ctx, o.coef, o.z.T(), o.fit, false); err != nil {
		return err
	}
	widen(back.Data, o.coef.Data)
	return nil
}

func (o dual[T]) spread(ctx context.Context, times float64) error {
	roundTimes(o.inverse, times, o.inverted)
	return kern.MulUntil(ctx, o.slope, o.inverse, o.z, false)
}

func (o dual[T]) diagonal(_, _ float64) {
	for i := range o.n {
		o.kappa[i] = o.inverted.At(i, i)
	}
}

func (o dual[T]) between(ctx context.Context, _, _ float64) error {
	weighted, inner := o.narrowing[0], o.narrowing[1]
	copy(weighted.Data, o.inverted.Data)
	for i, v := range o.weights {
		kern.Scale(2*float64(v), weighted.Row(i))
	}
	if err := kern.MulUntil(ctx, inner, o.inverted, weighted, false); err != nil {
		return err
	}
	roundTimes(o.inverse, 1, inner)
	return kern.MulUntil(ctx, o.slope, o.inverse, o.z, false)
}

// invert overwrites a Gram matrix, of which the lower triangle is there, with the Cholesky factor of amplitude times
// it plus noise, and makes the inverse of that.
func (o *Objective[T]) invert(ctx context.Context, noise, amplitude float64) (ok bool, logDet float64, err error) {
	a := o.factored
	for i := range a.Rows {
		kern.Scale(amplitude, a.Row(i)[:i+1])
		a.Data[i*a.RowStride+i] += noise
	}
	if _, ok, err = kern.Cholesky(ctx, a); !ok || err != nil {
		return false, 0, err
	}
	for i := range a.Rows {
		logDet += 2 * math.Log(a.At(i, i))
	}
	return true, logDet, o.invertFactor(ctx)
}

// invertFactor makes the inverse of a matrix of its factor L, as the Gram matrix of L⁻¹.
func (o *Objective[T]) invertFactor(ctx context.Context) error {
	if err := invertLower(ctx, o.root, o.factored, o.inverted); err != nil {
		return err
	}
	for i := range o.root.Rows {
		design.Round(o.inverse.Row(i)[:i+1], o.root.Row(i)[:i+1])
		clear(o.inverse.Row(i)[i+1:])
	}
	clear(o.inverted.Data)
	if err := gram(ctx, o.inverted, o.inverse, nil); err != nil {
		return err
	}
	kern.MirrorLower(o.inverted)
	return nil
}

// invertLower writes the inverse of the lower triangle of l to that of dst; spare is as large.
func invertLower(ctx context.Context, dst, l, spare kern.View[float64]) error {
	const few = 48
	n := l.Rows
	if n <= few {
		for j := range n {
			for i := j; i < n; i++ {
				v := 0.0
				if i == j {
					v = 1
				}
				for k := j; k < i; k++ {
					v -= l.At(i, k) * dst.At(k, j)
				}
				dst.Set(i, j, v/l.At(i, i))
			}
			for i := range j {
				dst.Set(i, j, 0)
			}
		}
		return ctx.Err()
	}
	h := n / 2
	if err := invertLower(ctx, dst.Slice(0, h, 0, h), l.Slice(0, h, 0, h), spare); err != nil {
		return err
	}
	if err := invertLower(ctx, dst.Slice(h, n, h, n), l.Slice(h, n, h, n), spare); err != nil {
		return err
	}
	below, right := spare.Slice(0, n-h, 0, h), dst.Slice(h, n, h, n)
	if err := kern.MulUntil(ctx, below, l.Slice(h, n, 0, h), dst.Slice(0, h, 0, h), false); err != nil {
		return err
	}
	corner := dst.Slice(h, n, 0, h)
	if err := kern.MulUntil(ctx, corner, right, below, false); err != nil {
		return err
	}
	for i := range corner.Rows {
		kern.Scale(-1, corner.Row(i))
	}
	for i := range h {
		clear(dst.Row(i)[h:])
	}
	return nil
}

// gram adds A'SA to c, sums over many rows in double precision.
func gram[T kern.Float](ctx context.Context, c kern.View[float64], a kern.View[T], weights []T) error {
	switch a := any(a).(type) {
	case kern.View[float32]:
		w, _ := any(weights).([]float32)
		return kern.GramMixed(ctx, c, a, w)
	case kern.View[float64]:
		w, _ := any(weights).([]float64)
		return kern.Gram(ctx, c, a, w)
	}
	return nil
}

// roundTimes rounds times·a to T.
func roundTimes[T kern.Float](dst kern.View[T], times float64, a kern.View[float64]) {
	for i, v := range a.Data {
		dst.Data[i] = T(times * v)
	}
}

func widen[T kern.Float](dst []float64, list []T) {
	for i, v := range list {
		dst[i] = float64(v)
	}
}
