package evidence

import (
	"context"

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
// L depends on the ratio of amplitude and noise only. To double the amplitude is to double Z'Z, so that half of the
// derivative along Z is that by log a, and minus that the one by log σ².
func (o *Objective[T]) leaveOneOut(ctx context.Context, noise, amplitude float64, gradient []float64) (value, factor float64, err error) {
	if err := o.system.spread(ctx, 1); err != nil {
		return 0, 0, err
	}
	o.system.diagonal(noise, amplitude)
	value = o.leftOut()
	if err := o.system.solve(ctx, o.turned, o.back, o.turned.Data, noise, amplitude); err != nil {
		return 0, 0, err
	}
	if err := o.system.between(ctx, noise, amplitude); err != nil {
		return 0, 0, err
	}
	o.outer(o.left.Slice(0, o.n, 0, o.q), o.right.Slice(0, o.q, 0, o.D), o.turned, o.b)
	o.outer(o.left.Slice(0, o.n, o.q, 2*o.q), o.right.Slice(o.q, 2*o.q, 0, o.D), o.alpha, o.back)
	if err := kern.MulUntil(ctx, o.slope, o.left, o.right, true); err != nil {
		return 0, 0, err
	}
	factor = 2 * amplitude / float64(o.n*o.q)
	along := 0.0
	for i := range o.n {
		along += float64(kern.Dot(o.z.Row(i), o.slope.Row(i)))
	}
	gradient[len(gradient)-1] = factor * along / 2
	gradient[len(gradient)-2] = -factor * along / 2
	return value, factor, nil
}

// leftOut returns the error, and makes V, and u in place of K⁻¹u.
func (o *Objective[T]) leftOut() float64 {
	sum := 0.0
	for i, kappa := range o.kappa {
		v := 0.0
		for k, a := range o.alpha.Row(i) {
			r := a / kappa
			v += r * r
			o.turned.Set(i, k, r/kappa)
		}
		sum += v
		o.weights[i] = T(v / kappa)
	}
	return sum / float64(o.n*o.q)
}
