package evidence

import (
	"context"

	"github.com/bochner-ml/bochner/internal/kern"
)

// leaveOneOut returns the mean squared leave-one-out error (PRESS) of ridge regression on the
// features,
//
//	L = mean (e_i/(1 − h_i))² = mean (α_i/κ_i)²,  κ_i = [K⁻¹]_ii
//
// and computes its gradient. With r = α/κ, u = r/κ, p = K⁻¹u and V = diag(Σ r²/κ), sums over the
// outputs,
//
//	dL/dZ = (2a/nq)·(2·K⁻¹VK⁻¹Z − Σ p(Z'α)' − Σ α(Z'p)')
//
// L depends only on the ratio of amplitude and noise. Doubling the amplitude doubles ZᵀZ, so that
// dL/dlog a is half the derivative along Z, and dL/dlog σ² its negative.
func (o *Objective[T]) leaveOneOut(ctx context.Context, noise, amplitude float64, gradient []float64) (float64, error) {
	if err := o.system.diagonal(ctx, noise, amplitude); err != nil {
		return 0, err
	}
	value := o.looError()
	left, right, err := o.system.looFactors(ctx, noise, amplitude)
	if err != nil {
		return 0, err
	}
	factor := 2 * amplitude / float64(o.n*o.q)
	if err := o.scaleGradients(ctx, left, right, factor, gradient); err != nil {
		return 0, err
	}
	product := 0.0
	for _, v := range o.rowProducts {
		product += v
	}
	gradient[len(gradient)-1] = factor * product / 2
	gradient[len(gradient)-2] = -factor * product / 2
	return value, nil
}

// looError returns the error and computes V and u.
func (o *Objective[T]) looError() float64 {
	sum := 0.0
	for i, kappa := range o.kappa {
		v := 0.0
		for k := range o.q {
			r := o.alpha.At(k, i) / kappa
			v += r * r
			o.u.Set(k, i, r/kappa)
		}
		sum += v
		o.weights[i] = T(v / kappa)
	}
	return sum / float64(o.n*o.q)
}

// addLOOTerm adds V·kinvZ to a row of the slope and stores its product with the features.
func (o *Objective[T]) addLOOTerm(row int, slope []T) {
	if o.kinvZ.Rows > 0 {
		kern.Axpy(o.weights[row], o.kinvZ.Row(row), slope)
	}
	o.rowProducts[row] = float64(kern.Dot(o.z.Row(row)[:o.D], slope))
}
