package leastsquares

import (
	"context"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/solve"
)

// SolveMoments solves for the sums of the rows.
func (p *Problem) SolveMoments(ctx context.Context, m *Moments) (solve.Linear, error) {
	return p.solveSums(ctx, p.sums(m))
}

// solveSums is SolveMoments for the sums of a first pass, which may be checked.
func (p *Problem) solveSums(ctx context.Context, r *Sums) (solve.Linear, error) {
	m := r.sums
	w, _, report, err := p.solution(ctx, r)
	if err != nil {
		return solve.Linear{}, err
	}
	if m.Float32 || p.inDouble(m) {
		warnOfBlur(&report, p.Alpha, blur(w, m.meanSquares(m.Cols), m.spreads(), m.Weight))
	}
	report.Objective = max(0, m.spread()-kern.Dot(w, m.rightSide()))
	return solve.NewLinear(w, intercepts(w, m.Mean(), m.targetMean()), report)
}

// solution solves for the sums of the rows, and reads these again where that takes more passes. The factor is
// nil where the system is singular.
func (p *Problem) solution(ctx context.Context, r *Sums) (w []float64, f *Factor, report solve.Report, err error) {
	then, err := p.follow(ctx, r, func(*following) bool { return false })
	if err != nil {
		return nil, nil, report, err
	}
	return slices.Clone(then.w), then.f, then.report, nil
}

// sums returns the first pass over rows of these moments.
func (p *Problem) sums(m *Moments) *Sums {
	r := NewSums(p.Ridge, m.Cols, p.Block)
	r.sums, r.wide, r.check = m, p.inDouble(m), nil
	return r
}

// inDouble reports whether moments are sums in double precision of rows in single.
func (p *Problem) inDouble(m *Moments) bool { return p.rows != nil && p.rows.Float32 && !m.Float32 }

// follow makes the passes behind r, until there is the solution or what follows is enough.
func (p *Problem) follow(ctx context.Context, r *Sums, enough func(then *following) bool) (*following, error) {
	for {
		then, err := r.follow(ctx)
		if err != nil || then.next == nil || enough(then) {
			return then, err
		}
		next := then.next.fresh()
		if err := p.rows.EachExpected(ctx, r.sums.rows, func(first int, block datasets.Set) error { return next.Add(ctx, first, block) }); err != nil {
			return nil, err
		}
		r = next
	}
}

// sharpen returns a sharpened factor of the system of the moments, nil where that is singular.
func (p *Problem) sharpen(ctx context.Context, m *Moments) (*Factor, error) {
	r := p.sums(m)
	r.then = r.toSharpen(ctx)
	if r.then == nil {
		return nil, ctxerr.Check(ctx)
	}
	then, err := p.follow(ctx, r, func(then *following) bool { return then.next.stage == refining })
	if err != nil || then.next == nil {
		return nil, err
	}
	return then.next.f, nil
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
