package evidence

import (
	"context"
	"math"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// primal solves with A = aZᵀZ + σ²I, D×D: K⁻¹Z = ZA⁻¹ and K⁻¹ = (I − aZA⁻¹Zᵀ)/σ². The targets, and
// then u, are stored as further columns of the features. Zᵀy is thus part of the Gram matrix, and
// one product gives the slope:
//
//	Σ (K⁻¹Z − αb') = [Z y]·[qA⁻¹ + (a/σ²)·Σ bb'; −b'/σ²],  α = [Z y]·[−(a/σ²)·b; 1/σ²]
//
// and, with w = ZᵀK⁻¹u and G = K⁻¹Z,
//
//	2K⁻¹VG − Σ pb' − Σ αw' = (2/σ²)·VG + [Z y u]·[(a/σ²)·(Σ wb' + Σ bw' − 2G'VG); −w'/σ²; −b'/σ²]
type primal[T kern.Float] struct{ *Objective[T] }

func (o primal[T]) factor(ctx context.Context, noise, amplitude float64) (ok bool, logDet, free float64, err error) {
	clear(o.factored.Data)
	err = o.features(ctx, func(lo, hi int) error {
		return gram(ctx, o.factored, o.z.Slice(lo, hi, 0, o.D+o.q), nil)
	})
	if err != nil {
		return false, 0, 0, err
	}
	for k := range o.q {
		copy(o.b.Row(k), o.factored.Row(o.D+k))
	}
	ok, logDet, trace, err := o.invert(ctx, noise, amplitude)
	if !ok || err != nil {
		return false, 0, 0, err
	}
	if err := kern.SolveCholesky(ctx, o.factored.Slice(0, o.D, 0, o.D), o.b.T()); err != nil {
		return false, 0, 0, err
	}
	return true, logDet + float64(o.n-o.D)*math.Log(noise), float64(o.D) - noise*trace, nil
}

func (o primal[T]) evidence(noise, amplitude float64) (left, right kern.View[T]) {
	for i := range o.D {
		kern.Scale(T(o.q), o.inverse.Row(i)[:o.D])
	}
	for k := range o.q {
		design.Round(o.inverse.Row(o.D + k)[:o.D], o.b.Row(k))
	}
	o.outer(o.q, noise, amplitude)
	o.residuals(noise, amplitude)
	return o.z, o.inverse
}

// outer adds a/σ² times the outer products of the rows below the matrix, each with the row q
// positions further on cyclically. It then divides those rows by −σ².
func (o primal[T]) outer(rows int, noise, amplitude float64) {
	below := o.inverse.Slice(o.D, o.D+rows, 0, o.D)
	for i := range o.D {
		for k := range rows {
			kern.Axpy(T(amplitude/noise)*below.At((k+o.q)%rows, i), below.Row(k), o.inverse.Row(i)[:o.D])
		}
	}
	for k := range rows {
		kern.Scale(T(-1/noise), below.Row(k))
	}
}

// residuals sets the columns of the right factor that give α.
func (o primal[T]) residuals(noise, amplitude float64) {
	for k := range o.q {
		for i, b := range o.b.Row(k) {
			o.inverse.Set(i, o.D+k, T(-amplitude/noise*b))
		}
		clear(o.inverse.Row(o.D + k)[o.D : o.D+o.q])
		o.inverse.Set(o.D+k, o.D+k, T(1/noise))
	}
}

func (o primal[T]) diagonal(ctx context.Context, noise, amplitude float64) error {
	const minOneMinusH = 1e-9 // of 1 − h, which may be negative by rounding
	o.residuals(noise, amplitude)
	for k := range o.q {
		clear(o.inverse.Row(o.D + k)[:o.D])
	}
	left, right := o.z.Slice(0, o.n, 0, o.D+o.q), o.inverse.Slice(0, o.D+o.q, 0, o.D+o.q)
	return kern.MulRows(ctx, left, right, func(first int, part kern.View[T]) {
		for i := range part.Rows {
			row, spread := first+i, part.Row(i)[:o.D]
			copy(o.kinvZ.Row(row), spread)
			o.kappa[row] = max(1-amplitude*float64(kern.Dot(o.z.Row(row)[:o.D], spread)), minOneMinusH) / noise
			for k, v := range part.Row(i)[o.D:] {
				o.alpha.Set(k, row, float64(v))
			}
		}
	})
}

func (o primal[T]) looFactors(ctx context.Context, noise, amplitude float64) (left, right kern.View[T], err error) {
	u := o.z.Slice(0, o.n, o.D+o.q, o.D+2*o.q)
	for k := range o.q {
		for i, v := range o.u.Row(k) {
			u.Set(i, k, T(v))
		}
		design.Round(o.inverse.Row(o.D + o.q + k)[:o.D], o.b.Row(k))
	}
	if err := kern.MulContext(ctx, o.inverse.Slice(o.D, o.D+o.q, 0, o.D), u.T(), o.kinvZ, false); err != nil {
		return left, right, err
	}
	if err := o.setInverseToGram(ctx, o.kinvZ, -2*amplitude/noise); err != nil {
		return left, right, err
	}
	o.outer(2*o.q, noise, amplitude)
	kern.Scale(T(2/noise), o.weights)
	return o.z, o.inverse.Slice(0, o.D+2*o.q, 0, o.D), nil
}

// dual solves with K = aZZᵀ + σ²I, n×n. α is stored to the right of its inverse, b and others below
// the features.
type dual[T kern.Float] struct{ *Objective[T] }

func (o dual[T]) factor(ctx context.Context, noise, amplitude float64) (ok bool, logDet, free float64, err error) {
	clear(o.factored.Data)
	if err := o.features(ctx, func(_, _ int) error { return nil }); err != nil {
		return false, 0, 0, err
	}
	if err := gram(ctx, o.factored, o.z.Slice(0, o.n, 0, o.D).T(), nil); err != nil {
		return false, 0, 0, err
	}
	ok, logDet, trace, err := o.invert(ctx, noise, amplitude)
	if !ok || err != nil {
		return false, 0, 0, err
	}
	for i := range o.n {
		for k, y := range o.Y.RawRowView(i) {
			o.alpha.Set(k, i, y)
		}
	}
	if err := o.solve(ctx, o.alpha, 0); err != nil {
		return false, 0, 0, err
	}
	for k := range o.q {
		for j, v := range o.z.Row(o.n + k) {
			o.b.Set(k, j, float64(v))
		}
	}
	return true, logDet, float64(o.n) - noise*trace, nil
}

// solve overwrites the rows of x with K⁻¹x. It uses the space to the right of the inverse, and that
// below the features for their products.
func (o dual[T]) solve(ctx context.Context, x kern.View[float64], at int) error {
	if err := kern.SolveCholesky(ctx, o.factored, x.T()); err != nil {
		return err
	}
	block := o.inverse.Slice(0, o.n, o.n+at, o.n+at+o.q)
	for k := range o.q {
		for i, v := range x.Row(k) {
			block.Set(i, k, T(v))
		}
	}
	return kern.MulContext(ctx, o.z.Slice(o.n+at, o.n+at+o.q, 0, o.D), block.T(), o.z.Slice(0, o.n, 0, o.D), false)
}

func (o dual[T]) evidence(_, _ float64) (left, right kern.View[T]) {
	for i := range o.n {
		kern.Scale(T(o.q), o.inverse.Row(i)[:o.n])
	}
	for k := range o.q {
		kern.Scale(-1, o.z.Row(o.n+k))
	}
	return o.inverse, o.z
}

func (o dual[T]) diagonal(_ context.Context, _, _ float64) error {
	for i := range o.n {
		o.kappa[i] = float64(o.inverse.At(i, i))
	}
	return nil
}

func (o dual[T]) looFactors(ctx context.Context, _, _ float64) (left, right kern.View[T], err error) {
	if err := o.solve(ctx, o.u, o.q); err != nil {
		return left, right, err
	}
	// Pair α with Zᵀp and p with Zᵀα.
	for k := range o.q {
		b, c := o.z.Row(o.n+k), o.z.Row(o.n+o.q+k)
		for j := range b {
			b[j], c[j] = -c[j], -b[j]
		}
	}
	return o.inverse, o.z, o.setInverseToGram(ctx, o.inverse.Slice(0, o.n, 0, o.n), 2)
}

// invert overwrites the lower triangle of a Gram matrix with the Cholesky factor of amplitude·G +
// noise·I. It computes the inverse and returns the log determinant and the trace of the inverse.
func (o *Objective[T]) invert(ctx context.Context, noise, amplitude float64) (ok bool, logDet, trace float64,
	err error) {
	a := o.factored.Slice(0, o.order, 0, o.order)
	for i := range a.Rows {
		kern.Scale(amplitude, a.Row(i)[:i+1])
		a.Data[i*a.RowStride+i] += noise
	}
	if _, ok, err = kern.Cholesky(ctx, a); !ok || err != nil {
		return false, 0, 0, err
	}
	inverse := o.inverse.Slice(0, o.order, 0, o.order)
	for i := range a.Rows {
		logDet += 2 * math.Log(a.At(i, i))
		design.Round(inverse.Row(i)[:i+1], a.Row(i)[:i+1])
	}
	if err := invertLower(ctx, o.root, inverse); err != nil {
		return false, 0, 0, err
	}
	if err := squareLower(ctx, inverse, o.root); err != nil {
		return false, 0, 0, err
	}
	for i := range a.Rows {
		trace += float64(inverse.At(i, i))
	}
	return true, logDet, trace, nil
}

// setInverseToGram replaces the inverse by times·AᵀVA and overwrites the factor.
func (o *Objective[T]) setInverseToGram(ctx context.Context, a kern.View[T], times float64) error {
	sums := o.factored.Slice(0, o.order, 0, o.order)
	clear(o.factored.Data)
	if err := gram(ctx, sums, a, o.weights); err != nil {
		return err
	}
	for i := range sums.Rows {
		row := o.inverse.Row(i)
		for j, v := range sums.Row(i)[:i+1] {
			row[j] = T(times * v)
		}
	}
	kern.MirrorLower(o.inverse.Slice(0, o.order, 0, o.order))
	return nil
}

// invertChunk is the number of columns of an inverse per parallel task.
const invertChunk = 96

// invertLower writes the inverse of the lower triangle of l to dst, in column chunks.
func invertLower[T kern.Float](ctx context.Context, dst, l kern.View[T]) error {
	n := l.Rows
	kern.Parallel(n, invertChunk, func(lo, hi int) {
		for i := range n {
			clear(dst.Row(i)[lo:hi])
		}
		for i := lo; i < hi; i++ {
			dst.Set(i, i, 1)
		}
		// The error is that of the context, checked below.
		_ = kern.SolveLower(ctx, l.Slice(lo, n, lo, n), dst.Slice(lo, n, lo, hi))
	})
	return ctxerr.Check(ctx)
}

// squareLower computes dst = RᵀR for a lower triangular R, skipping most zeros.
func squareLower[T kern.Float](ctx context.Context, dst, r kern.View[T]) error {
	n := r.Rows
	kern.Parallel(n, invertChunk, func(lo, hi int) {
		below := r.Slice(lo, n, 0, hi)
		_ = kern.MulContext(ctx, dst.Slice(lo, hi, 0, hi), below.Slice(0, n-lo, lo, hi).T(), below, false)
	})
	if err := ctxerr.Check(ctx); err != nil {
		return err
	}
	kern.MirrorLower(dst)
	return nil
}

// gram adds AᵀSA to the lower triangle of c, with float64 totals.
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
