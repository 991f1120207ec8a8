package leastsquares

import (
	"context"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// SolveMoments solves the problem given the moments of the rows.
func (p *Problem) SolveMoments(ctx context.Context, m *Moments) (solve.Linear, error) {
	return p.solveSums(ctx, p.sumsOf(m))
}

// solveSums is SolveMoments for the sums of a first pass, which may include a rounding check.
func (p *Problem) solveSums(ctx context.Context, r *Sums) (solve.Linear, error) {
	m := r.sums
	w, _, report, err := p.solution(ctx, r)
	if err != nil {
		return solve.Linear{}, err
	}
	if m.Float32 || p.sumsFloat32InFloat64(m) {
		warnFeatureRounding(&report, p.Alpha, featureRounding(w, m.meanSquares(m.Cols), m.sumSquares(), m.Weight))
	}
	report.Objective = max(0, m.totalSumSquares()-kern.Dot(w, m.rightSide()))
	return solve.NewLinear(w, intercepts(w, m.Mean(), m.TargetMean()), report)
}

// solution solves the problem given first sums, with more passes if needed. The factor is nil if
// the system is singular.
func (p *Problem) solution(ctx context.Context, r *Sums) (w []float64, f *Factor, report solve.Report, err error) {
	outcome, err := p.runPasses(ctx, r, func(*passOutcome) bool { return false })
	if err != nil {
		return nil, nil, report, err
	}
	return slices.Clone(outcome.w), outcome.f, outcome.report, nil
}

// sumsOf returns a first pass with the given moments.
func (p *Problem) sumsOf(m *Moments) *Sums {
	r := NewSums(p.Ridge, m.Cols, p.Block)
	r.sums, r.widen, r.check = m, p.sumsFloat32InFloat64(m), nil
	return r
}

// sumsFloat32InFloat64 reports whether m contains float64 sums of float32 rows.
func (p *Problem) sumsFloat32InFloat64(m *Moments) bool {
	return p.rows != nil && p.rows.Float32 && !m.Float32
}

// runPasses makes the passes after r until the solution is known or stop returns true.
func (p *Problem) runPasses(ctx context.Context, r *Sums, stop func(outcome *passOutcome) bool) (*passOutcome, error) {
	for {
		outcome, err := r.advance(ctx)
		if err != nil || outcome.next == nil || stop(outcome) {
			return outcome, err
		}
		next := outcome.next.withEmptySums()
		if err := p.rows.EachExpected(ctx, r.sums.rows, func(first int, block datasets.Set) error {
			return next.Add(ctx, first, block)
		}); err != nil {
			return nil, err
		}
		r = next
	}
}

// refactor returns the factor of the system by shifted Cholesky QR, nil if singular.
func (p *Problem) refactor(ctx context.Context, m *Moments) (*Factor, error) {
	r := p.sumsOf(m)
	r.outcome = r.startRefactoring(ctx)
	if r.outcome == nil {
		return nil, ctxerr.Check(ctx)
	}
	outcome, err := p.runPasses(ctx, r, func(outcome *passOutcome) bool { return outcome.next.stage == refining })
	if err != nil || outcome.next == nil {
		return nil, err
	}
	return outcome.next.f, nil
}

// addGradient adds all rows to g.
func (p *Problem) addGradient(ctx context.Context, m *Moments, g *Gradient, w, offset []float64) error {
	return p.rows.EachExpected(ctx, m.rows, func(first int, block datasets.Set) error {
		y, _, weights, err := p.Block(first, block)
		if err != nil {
			return err
		}
		g.Add(block.X, slices.Clone(y), w, offset, weights)
		return nil
	})
}
