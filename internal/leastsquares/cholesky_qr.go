package leastsquares

import (
	"context"
	"math"

	"github.com/bochner-ml/bochner/internal/kern"
)

// A factor of a Gram matrix X'X has the rounding of that matrix, whose condition is the square of
// that of the rows X. Where that is too much to refine a solution with, the factor is sharpened: the
// rows are solved by a factor L of X'X + (alpha + shift)·I, and XL⁻ᵀ has a Gram matrix so well
// conditioned that its factor M is right; LM is then the factor of X'X + alpha·I with the rounding of
// the rows. (Fukaya, Kannan, Nakatsukasa, Yamamoto & Yanagisawa, SIAM J. Sci. Comput. 2020.)
const (
	// maxRefactorings is how many passes over the rows are made at most.
	maxRefactorings = 3
	// refinedTol is the part of an error that a refinement by a sharpened factor may leave.
	refinedTol = 1e-6
)

// tileReader hands over all rows of a matrix, some at a time, to be overwritten.
type tileReader func(yield func(tile kern.View[float64])) error

// shiftedCholeskyQR returns the factor of the Gram matrix of rows + alpha·I, nil where that is singular to
// the working precision of the rows. gram is the Gram matrix's lower triangle with the usual rounding.
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

// innerFactor returns the factor M of L⁻¹AL⁻ᵀ for A, the Gram matrix of rows + alpha·I; nil where it is
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
