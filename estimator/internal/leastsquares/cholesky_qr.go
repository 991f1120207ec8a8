package leastsquares

import (
	"context"
	"math"

	"github.com/bochner-ml/bochner/internal/kern"
)

// Shifted Cholesky QR. A factor of XᵀX has the rounding error of a matrix whose condition is the
// square of that of X. If refinement cannot correct this, the rows are solved by a factor L of XᵀX
// + (alpha + shift)·I. The Gram matrix of XL⁻ᵀ is well conditioned, so its factor M is accurate. LM
// is then the factor of XᵀX + alpha·I with the rounding error of X. (Fukaya, Kannan, Nakatsukasa,
// Yamamoto & Yanagisawa, SIAM J. Sci. Comput. 2020.)
const (
	// maxRefactorings bounds the passes over the rows.
	maxRefactorings = 3
	// refinedTol is the contraction factor required of the new factor.
	refinedTol = 1e-6
)

// tileReader yields all rows of a matrix in tiles, which yield may overwrite.
type tileReader func(yield func(tile kern.View[float64])) error

// shiftedCholeskyQR returns the factor of the Gram matrix of rows + alpha·I, nil if singular to the
// working precision of the rows. gram is the lower triangle of the Gram matrix.
func shiftedCholeskyQR(ctx context.Context, gram []float64, k int, alpha float64, rows tileReader) (*Factor, error) {
	trace := 0.0
	for i := range k {
		trace += gram[i*k+i]
	}
	f := &Factor{cols: k, Lower: make([]float64, k*k)}
	copy(f.Lower, gram)
	addDiagonal(f.Lower, k, alpha+float64(k)*epsilon*trace)
	if !cholesky(ctx, f.Lower, k) {
		return nil, nil
	}
	for range maxRefactorings {
		m, err := f.innerFactor(ctx, alpha, rows)
		if err != nil || m == nil {
			return nil, err
		}
		lower := make([]float64, k*k)
		kern.Mul(kern.Dense(k, k, k, lower), kern.Dense(k, k, k, f.Lower), kern.Dense(k, k, k, m), false)
		f.Lower = lower
		if f.contraction = 4 * epsilon * float64(k) / minPivot(m, k); f.contraction <= refinedTol {
			return f, nil
		}
	}
	return nil, nil
}

// innerFactor returns the factor M of L⁻¹AL⁻ᵀ for the Gram matrix A of rows + alpha·I, nil if
// singular.
func (f *Factor) innerFactor(ctx context.Context, alpha float64, rows tileReader) ([]float64, error) {
	k := f.cols
	lower, m := kern.Dense(k, k, k, f.Lower), make([]float64, k*k)
	add := func(tile kern.View[float64]) {
		kern.SolveLower(ctx, lower, tile.T())
		kern.Gram(ctx, kern.Dense(k, k, k, m), tile, nil)
	}
	if err := rows(add); err != nil {
		return nil, err
	}
	penalty := make([]float64, k*k)
	addDiagonal(penalty, k, math.Sqrt(alpha))
	add(kern.Dense(k, k, k, penalty))
	if !cholesky(ctx, m, k) {
		return nil, nil
	}
	return m, nil
}
