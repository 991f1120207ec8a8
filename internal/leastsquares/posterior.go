package leastsquares

import (
	"context"
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/solve"
)

// Posterior is the posterior of the weights of one target, and how likely the targets are.
type Posterior struct {
	solve.Linear
	Mean     []float64 // of the inputs; zeros without an intercept
	Weight   float64   // Σ s, 0 without an intercept
	Lower    []float64 // the factor of X̃'SX̃ + alpha·I
	Evidence float64   // log density of the targets, all unknowns integrated out
}

// Posterior solves for the mean of the weights w ~ N(0, (noise/alpha)·I), a flat prior for the intercept,
// from so many rows of positive weight whose logarithms add up to logWeights.
func (m *Moments) Posterior(ctx context.Context, alpha, noise float64, rows int, logWeights float64) (*Posterior, error) {
	fitted, f, err := m.Weights(ctx, alpha)
	if err != nil {
		return nil, err
	}
	misfit := fitted.Report.Objective
	p := &Posterior{Linear: fitted, Mean: m.Mean(), Lower: f.Lower}
	// With C = noise·(S⁻¹ + XX'/alpha), the covariance of y, log|C| is by the determinant lemma
	// n·log noise − Σ log s + log|X'SX + alpha·I| − d·log alpha, and y'C⁻¹y is misfit/noise. A flat
	// prior on the intercept integrates exp(−b²·1'C⁻¹1/2) out.
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

// Weights solves for the weights of every target, and returns the factor of the system.
func (m *Moments) Weights(ctx context.Context, alpha float64) (solve.Linear, *Factor, error) {
	f, ok := m.Factorize(ctx, alpha)
	if !ok {
		return solve.Linear{}, nil, fmt.Errorf("alpha %v is too small beside the inputs", alpha)
	}
	right := m.rightSide()
	w := append([]float64(nil), right...)
	if err := f.Solve(ctx, w, m.targets); err != nil {
		return solve.Linear{}, nil, err
	}
	misfit := max(0, m.totalSumSquares()-kern.Dot(w, right))
	fitted, err := solve.NewLinear(w, intercepts(w, m.Mean(), m.targetMean()), solve.Report{Solver: "cholesky", Converged: true, Objective: misfit})
	return fitted, f, err
}
