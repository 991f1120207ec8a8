package leastsquares

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// epsilon is the distance from 1 to the next float64.
const epsilon = 0x1p-52

// Factor is the Cholesky factor of a centered Gram matrix + alpha·I.
type Factor struct {
	cols        int
	Lower       []float64
	contraction float64 // contraction factor of a refinement step
	constant    []bool  // constant columns, with weight 0; nil for none
}

// cholesky factorizes in place and reports whether all pivots are well above rounding error.
func cholesky(ctx context.Context, a []float64, n int) bool {
	diagonal := make([]float64, n)
	for i := range diagonal {
		diagonal[i] = a[i*n+i]
	}
	if _, ok, err := kern.Cholesky(ctx, kern.Dense(n, n, n, a)); !ok || err != nil {
		return false
	}
	for i, d := range diagonal {
		if p := a[i*n+i]; p*p <= 4*float64(n)*epsilon*d {
			return false
		}
	}
	return true
}

// Solve overwrites b, cols × k, with the solution.
func (f *Factor) Solve(ctx context.Context, b []float64, k int) error {
	clearConstant(f.constant, b, k)
	return kern.SolveCholesky(ctx, kern.Dense(f.cols, f.cols, f.cols, f.Lower), kern.Dense(f.cols, k, k, b))
}

// logDeterminant returns log|A|.
func (f *Factor) logDeterminant() float64 {
	s := 0.0
	for i := range f.cols {
		s += 2 * math.Log(f.Lower[i*f.cols+i])
	}
	return s
}

// minNormSolve overwrites b, n × k, with the minimum-norm solution of A·x = b, given the lower
// triangle a of a positive semidefinite A. It uses the eigendecomposition (about 9n³ flops) and
// returns the rank.
func minNormSolve(ctx context.Context, a []float64, n int, b []float64, k int) (rank int, err error) {
	if err := ctxerr.Check(ctx); err != nil {
		return 0, err
	}
	eigen, err := kern.NewEigen(ctx, kern.Dense(n, n, n, slices.Clone(a)), true)
	if err != nil {
		return 0, fmt.Errorf("cannot solve the singular system: %w; use alpha > 0", err)
	}
	list, err := eigen.Vectors(ctx, 0, n)
	if err != nil {
		return 0, err
	}
	threshold := float64(n) * epsilon * max(eigen.Values[n-1], 0)
	vectors, right := kern.Dense(n, n, n, list), kern.Dense(n, k, k, b)
	projected := kern.Dense(n, k, k, make([]float64, n*k))
	if err := kern.MulContext(ctx, projected, vectors, right, false); err != nil {
		return 0, err
	}
	for i, v := range eigen.Values {
		if v <= threshold {
			clear(projected.Row(i))
			continue
		}
		rank++
		kern.Scale(1/v, projected.Row(i))
	}
	return rank, kern.MulContext(ctx, right, vectors.T(), projected, false)
}

// clearConstant zeroes the rows of b, n × k, of constant columns.
func clearConstant(fixed []bool, b []float64, k int) {
	for i, is := range fixed {
		if is {
			clear(b[i*k : (i+1)*k])
		}
	}
}

func addDiagonal(a []float64, n int, v float64) {
	for i := range n {
		a[i*n+i] += v
	}
}

// trace returns the trace of an n × n matrix.
func trace(a []float64, n int) float64 {
	sum := 0.0
	for i := range n {
		sum += a[i*n+i]
	}
	return sum
}

// sum returns the sum of the elements, in order.
func sum(list []float64) float64 {
	sum := 0.0
	for _, v := range list {
		sum += v
	}
	return sum
}

// minPivot returns the smallest squared pivot of a Cholesky factor.
func minPivot(lower []float64, n int) float64 {
	smallest := math.Inf(1)
	for i := range n {
		smallest = min(smallest, lower[i*n+i]*lower[i*n+i])
	}
	return smallest
}
