// Package leastsquares solves ridge regressions: numbers in, numbers out.
//
// A [Problem] is one ridge regression on rows of any kind. [Problem.Solve] takes one of three ways: by the
// sums of products of the rows ([Moments]) and the Cholesky factor of their matrix; by the matrix of
// products between rows, where there are fewer rows than columns; or by conjugate gradients, preconditioned by
// Nyström's approximation where rows are dense and many. Where the
// rounding of sums would show in predictions, a solution is refined by passes over the rows themselves.
//
// Moments of parts of the rows can be merged, subtracted and cut to their leading columns, and a [Path]
// solves for many penalties on the same moments; [Problem.SolveAlphas] does by conjugate gradients on sparse rows:
// that is what many candidates and folds share. [LeaveOneOut]
// and [Moments.Posterior] make the rest of what can be said of a ridge regression from the same sums.
package leastsquares

import (
	"cmp"
	"context"
	"errors"

	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/solve"
)

// Solve returns the solution by the solver that the problem asks for, or that suits its shape.
func (p *Problem) Solve(ctx context.Context) (solve.Linear, error) {
	model, err := p.bySolver(ctx)
	if err = cmp.Or(ctxerr.Check(ctx), err); err != nil { // whatever else there is comes of stopping
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

// errSteps says that steps are more work than a Gram matrix, by which there is a way.
var errSteps = errors.New("more steps than a Gram matrix is worth")

// cg goes by conjugate gradients, or fails with errSteps.
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
	c := &ridgeCG{Problem: &cached, ctx: ctx, m: m, mean: m.Mean(), diagonal: m.centredDiagonal()}
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
	return solve.NewLinear(w, intercepts(w, c.mean, m.targetMean()), report)
}
