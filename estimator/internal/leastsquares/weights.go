package leastsquares

import (
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/kern"
)

// Weights returns the model of every target and the factor of the system.
func (m *Moments) Weights(ctx context.Context, alpha float64) (solve.Linear, *Factor, error) {
	f, ok := m.Factorize(ctx, alpha)
	if !ok {
		return solve.Linear{}, nil, fmt.Errorf("alpha %v is too small relative to the inputs", alpha)
	}
	right := m.rightSide()
	w := append([]float64(nil), right...)
	if err := f.Solve(ctx, w, m.targets); err != nil {
		return solve.Linear{}, nil, err
	}
	misfit := max(0, m.totalSumSquares()-kern.Dot(w, right))
	fitted, err := solve.NewLinear(w, intercepts(w, m.Mean(), m.TargetMean()),
		solve.Report{Solver: "cholesky", Converged: true, Objective: misfit})
	return fitted, f, err
}
