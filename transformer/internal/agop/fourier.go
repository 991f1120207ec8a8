package agop

import (
	"github.com/bochner-ml/bochner/internal/kern"
)

// Fourier is functions that are sums of waves, as a linear model on random Fourier features is:
//
//	f_c(x) = norm·Σ_j [weights[2j, c]·cos ω_j'x + weights[2j+1, c]·sin ω_j'x]
type Fourier[T kern.Float] struct {
	Omega   kern.View[T] // d×m, a frequency in each column
	Weights kern.View[T] // 2m×t
	Norm    T
}

// Gradients writes ∇f_c(x) of every row of U and every output c to dst: the row of U number i and output
// c make row i·t+c, of d numbers. Cost 2·n·m·d·(1+t) flops.
func (f Fourier[T]) Gradients(dst, U kern.View[T]) {
	n, m, t := U.Rows, f.Omega.Cols, f.Weights.Cols
	angles := newView[T](n, m)
	kern.Mul(angles, U, f.Omega, false)
	waves := newView[T](n, 2*m)
	kern.SinCosRescaled(waves, angles, 1, f.Norm)
	slopes := newView[T](n*t, m)
	kern.Parallel(n, 16, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			z := waves.Row(i)
			for c := range t {
				to := slopes.Row(i*t + c)
				for j := range to {
					to[j] = f.Weights.At(2*j+1, c)*z[2*j] - f.Weights.At(2*j, c)*z[2*j+1]
				}
			}
		}
	})
	kern.Mul(dst, slopes, f.Omega.T(), false)
}
