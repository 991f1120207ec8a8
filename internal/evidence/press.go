package evidence

import (
	"context"
	"math"

	"github.com/bochner-ml/bochner/internal/kern"
)

// leaveOneOut returns the mean squared leave-one-out error, known as PRESS, of ridge regression on the features,
//
//	L = mean (e_i/(1 − h_i))² = mean (α_i/κ_i)²,  κ_i = [K⁻¹]_ii
//
// and makes its slope. With r = α/κ, u = r/κ, p = K⁻¹u and V = diag(Σ r²/κ), sums over the outputs,
//
//	dL/dZ = (2a/nq)·(2·K⁻¹VK⁻¹Z − Σ p(Z'α)' − Σ α(Z'p)')
//
// L depends on the ratio of noise and amplitude only, which doubles Z'Z: half of its derivative along Z is
// that by log a, and minus that by log σ².
func (o *Objective[T]) leaveOneOut(ctx context.Context, noise, amplitude, _ float64, gradient []float64) (value, factor float64, err error) {
	p := &o.precise
	for i, v := range p.inverse.Data {
		o.inverse.Data[i] = T(v)
	}
	if err := kern.MulUntil(ctx, o.slope, o.z, o.inverse, false); err != nil {
		return 0, 0, err
	}
	value = o.leftOut(noise, amplitude)
	if value-value != 0 {
		return math.Inf(1), 0, nil
	}
	if err := o.turnLeftOut(ctx, noise, amplitude); err != nil {
		return 0, 0, err
	}
	factor = 2 * amplitude / float64(o.n*o.q)
	along := 0.0
	for i := range o.n {
		along += float64(kern.Dot(o.z.Row(i), o.slope.Row(i)))
	}
	gradient[len(gradient)-1] = factor * along / 2
	gradient[len(gradient)-2] = -factor * along / 2
	return value, factor, ctx.Err()
}

// leftOut returns the error, and makes κ, V, and u in place of K⁻¹u.
func (o *Objective[T]) leftOut(noise, amplitude float64) float64 {
	const least = 1e-9 // of 1 − h, which rounding may leave below 0
	p, sum := &o.precise, 0.0
	for i := range o.n {
		h := amplitude * float64(kern.Dot(o.z.Row(i), o.slope.Row(i)))
		o.kappa[i] = max(1-h, least) / noise
		v := 0.0
		for k, a := range p.alpha.Row(i) {
			r := a / o.kappa[i]
			sum += r * r
			v += r * r
			p.turned.Set(i, k, r/o.kappa[i])
		}
		o.weights[i] = T(v / o.kappa[i])
	}
	return sum / float64(o.n*o.q)
}

// turnLeftOut overwrites the slope, which is ZA⁻¹, with 2K⁻¹VK⁻¹Z − Σ p(Z'α)' − Σ α(Z'p)'.
func (o *Objective[T]) turnLeftOut(ctx context.Context, noise, amplitude float64) error {
	p := &o.precise
	for i, u := range p.turned.Data {
		o.fit.Data[i] = T(u)
	}
	if err := o.moments(ctx, p.back, o.fit); err != nil {
		return err
	}
	if err := o.residual(ctx, p.turned, p.back, p.turned.Data, noise, amplitude); err != nil {
		return err
	}
	if err := o.within(ctx, noise, amplitude); err != nil {
		return err
	}
	for i := range o.n {
		kern.Scale(o.weights[i]*T(2/noise), o.slope.Row(i))
	}
	if err := kern.MulUntil(ctx, o.slope, o.z, o.inverse, true); err != nil {
		return err
	}
	o.outer(o.left.Slice(0, o.n, 0, o.q), o.right.Slice(0, o.q, 0, o.D), p.turned, p.moment)
	o.outer(o.left.Slice(0, o.n, o.q, 2*o.q), o.right.Slice(o.q, 2*o.q, 0, o.D), p.alpha, p.back)
	return kern.MulUntil(ctx, o.slope, o.left, o.right, true)
}

// within makes −2a/σ²·A⁻¹Z'VZA⁻¹, the part of 2K⁻¹VK⁻¹Z that the features are multiplied by.
func (o *Objective[T]) within(ctx context.Context, noise, amplitude float64) error {
	p := &o.precise
	clear(p.second.Data)
	if err := gram(ctx, p.second, o.z, o.weights); err != nil {
		return err
	}
	kern.MirrorLower(p.second)
	if err := kern.MulUntil(ctx, p.third, p.inverse, p.second, false); err != nil {
		return err
	}
	if err := kern.MulUntil(ctx, p.second, p.third, p.inverse, false); err != nil {
		return err
	}
	for i, v := range p.second.Data {
		o.inverse.Data[i] = T(-2 * amplitude / noise * v)
	}
	return nil
}
