package leastsquares

import (
	"context"
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/solve"
)

// Posterior is the posterior of the weights of one target.
type Posterior struct {
	solve.Linear
	Mean     []float64 // of the inputs; zeros without an intercept
	Weight   float64   // Σ s, 0 without an intercept
	Lower    []float64 // Cholesky factor of X̃ᵀSX̃ + alpha·I
	Evidence float64   // log marginal likelihood
}

// Posterior returns the posterior for the prior w ~ N(0, (noise/alpha)·I) with a flat prior of the
// intercept. rows is the number of rows of positive weight, logWeights the sum of the logarithms of
// their weights.
func (m *Moments) Posterior(ctx context.Context, alpha, noise float64, rows int, logWeights float64) (*Posterior,
	error) {
	fitted, f, err := m.Weights(ctx, alpha)
	if err != nil {
		return nil, err
	}
	misfit := fitted.Report.Objective
	p := &Posterior{Linear: fitted, Mean: m.Mean(), Lower: f.Lower}
	// The covariance of y is C = noise·(S⁻¹ + XXᵀ/alpha). By the determinant lemma, log|C| = n·log
	// noise − Σ log s + log|XᵀSX + alpha·I| − d·log alpha, and yᵀC⁻¹y = misfit/noise. A flat prior
	// of the intercept integrates out exp(−b²·1ᵀC⁻¹1/2).
	n := float64(rows)
	logC := n*math.Log(noise) - logWeights + f.logDeterminant() - float64(m.Cols)*math.Log(alpha)
	if m.centered {
		p.Weight = m.Weight
		logC += math.Log(m.Weight) - math.Log(noise)
		n--
	}
	p.Evidence = -(misfit/noise + logC + n*math.Log(2*math.Pi)) / 2
	return p, nil
}

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
	fitted, err := solve.NewLinear(w, intercepts(w, m.Mean(), m.targetMean()),
		solve.Report{Solver: "cholesky", Converged: true, Objective: misfit})
	return fitted, f, err
}
