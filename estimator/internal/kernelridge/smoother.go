package kernelridge

import (
	"context"
	"math"

	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
)

// Smoother is a kernel ridge regression as a linear map of its targets, f(x) = Σ l_i(x)·y_i. The
// weights l(x) are kernel expansions, one output per row:
//
//	l(x) = M'k(x) + v,  M = (K + α·S⁻¹)⁻¹ − uu'/1'u,  v = u/1'u,  u = (K + α·S⁻¹)⁻¹1
//
// Without an intercept M is the inverse and v is 0.
type Smoother struct {
	Weights   *Model
	Rows      []int     // rows of the data with positive weight
	Residuals []float64 // leave-one-out residuals, rows × targets
}

// SmootherWeights returns the smoother of s by a Cholesky factor, for any solver: rows² values for
// about 3·rows³ flops. A rule for γ is evaluated once, on all rows.
func (s Spec) SmootherWeights(ctx context.Context, r *design.Rows) (*Smoother, error) {
	data, err := NumericTargets(ctx, r)
	if err != nil {
		return nil, err
	}
	t, err := NewTraining(ctx, s, data, false)
	if err != nil {
		return nil, err
	}
	ridge := DiagonalPenalty(len(t.rowIndex), s.Alpha, t.weights)
	f, err := t.factor(ctx, ridge)
	if err != nil {
		return nil, err
	}
	m, err := t.solveByFactor(ctx, s, f, ridge)
	if err != nil {
		return nil, err
	}
	residual, _, err := f.LeaveOneOut(ctx, m.Dual, t.targets, s.Intercept)
	if err != nil {
		return nil, err
	}
	inverse, share, err := f.projectedInverse(ctx, s.Intercept)
	if err != nil {
		return nil, err
	}
	weights, err := t.model(inverse, share, solve.Report{Solver: "cholesky", Converged: true})
	return &Smoother{Weights: weights, Rows: t.rowIndex, Residuals: residual}, err
}

// projectedInverse returns M and v of [Smoother].
func (f *Factor) projectedInverse(ctx context.Context, centered bool) (inverse, share []float64, err error) {
	n := f.lower.Rows
	inverse, share = make([]float64, n*n), make([]float64, n)
	for i := range n {
		inverse[i*n+i] = 1
	}
	if err := f.Solve(ctx, inverse, n); err != nil || !centered {
		return inverse, share, err
	}
	u := make([]float64, n)
	for i := range u {
		u[i] = kern.Sum(inverse[i*n : (i+1)*n])
	}
	sum := kern.Sum(u)
	for i, v := range u {
		kern.Axpy(-v/sum, u, inverse[i*n:(i+1)*n])
		share[i] = v / sum
	}
	return inverse, share, nil
}

// SmootherCost estimates SmootherWeights: flops, float64 values, and values retained.
func SmootherCost(rows int) (flops, numbers, kept float64) {
	n := float64(rows)
	return 3 * math.Pow(n, 3), 2 * n * n, n * n
}
