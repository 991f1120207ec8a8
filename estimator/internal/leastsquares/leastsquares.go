// Package leastsquares solves ridge regression.
//
// Symbols in this package: X has rows x with weights s, S = diag(s) and W = Σs. x̄ and ȳ are
// weighted means, 0 without an intercept. A tilde marks centered rows. A = X̃ᵀSX̃ + alpha·I is the
// system. TSS is the total sum of squares of a target.
//
// A [Problem] is one ridge regression. [Problem.Solve] has three methods: the Cholesky factor of
// the Gram matrix ([Moments]), the dual with the kernel matrix of the rows, and conjugate gradients
// with a Nyström preconditioner. If rounding would affect predictions, the solution is refined by
// passes over the rows.
//
// Moments of disjoint rows can be merged, subtracted and restricted to leading columns. A [Path]
// solves for many penalties on the same moments, and [Problem.SolveAlphas] by shifted CG on sparse
// rows. [LeaveOneOut] and [Moments.Weights] use the same sums.
package leastsquares

import (
	"cmp"
	"context"
	"errors"

	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// Solve returns the solution by the requested solver, or by the one that is cheapest for the shape.
func (p *Problem) Solve(ctx context.Context) (solve.Linear, error) {
	model, err := p.bySolver(ctx)
	if err = cmp.Or(ctxerr.Check(ctx), err); err != nil { // errors after cancellation are consequences of it
		return solve.Linear{}, err
	}
	return model, nil
}

func (p *Problem) bySolver(ctx context.Context) (solve.Linear, error) {
	switch way := p.SolverFor(p.rows.N, p.rows.Cols, p.rows.Sparse); way {
	case "dual":
		return p.dual(ctx)
	case "cg":
		if model, err := p.cg(ctx); !errors.Is(err, errSteps) {
			return model, err
		}
	}
	r, err := p.sumsToSolve(ctx)
	if err != nil {
		return solve.Linear{}, err
	}
	return p.solveSums(ctx, r)
}

// errSteps reports that CG would cost more than a Gram matrix.
var errSteps = errors.New("conjugate gradients cost more than a Gram matrix")

// cg solves by conjugate gradients, or fails with errSteps.
func (p *Problem) cg(ctx context.Context) (solve.Linear, error) {
	cached := *p
	var err error
	if cached.rows, err = p.rows.CacheSparse(ctx); err != nil {
		return solve.Linear{}, err
	}
	m, err := cached.diagonalMoments(ctx)
	if err != nil {
		return solve.Linear{}, err
	}
	c := &ridgeCG{Problem: &cached, ctx: ctx, m: m, mean: m.Mean(), diagonal: m.centeredDiagonal()}
	w, report, err := c.solveWithinBudget()
	if err != nil {
		return solve.Linear{}, err
	}
	if p.rows.Float32 {
		squares := make([]float64, m.Cols)
		kern.Axpy(1/m.Weight, m.diagonal, squares)
		warnFeatureRounding(&report, p.Alpha, featureRounding(w, squares, m.sumSquares(), m.Weight))
	}
	report.Objective = max(0, report.Objective+m.totalSumSquares()-kern.Dot(w, m.rightSide()))
	return solve.NewLinear(w, intercepts(w, c.mean, m.TargetMean()), report)
}
