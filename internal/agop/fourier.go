package agop

import (
	"github.com/bochner-ml/bochner/internal/kern"
)

// Fourier is functions that are sums of waves, as a linear model on random Fourier features is:
//
//	f_c(x) = norm·Σ_j [weights[2j, c]·cos ω_j'x + weights[2j+1, c]·sin ω_j'x]
type Fourier struct {
	Omega   kern.View[float32] // d×m, a frequency in each column
	Weights kern.View[float32] // 2m×t
	Norm    float32
}

// Gradients writes ∇f_c(x) of every row of U and every output c to dst: the row of U number i and output
// c make row i·t+c, of d numbers. Cost 2·n·m·d·(1+t) flops.
func (f Fourier) Gradients(dst, U kern.View[float32]) {
	n, m, t := U.Rows, f.Omega.Cols, f.Weights.Cols
	angles := kern.Dense(n, m, m, make([]float32, n*m))
	kern.Mul(angles, U, f.Omega, false)
	waves := kern.Dense(n, 2*m, 2*m, make([]float32, 2*n*m))
	kern.SinCosRescaled(waves, angles, 1, f.Norm)
	slopes := kern.Dense(n*t, m, m, make([]float32, n*t*m))
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
