package leastsquares

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/solve"
)

// SolveMoments solves for the sums of the rows.
func (p *Problem) SolveMoments(ctx context.Context, m *Moments) (solve.Linear, error) {
	w, _, report, err := p.solution(ctx, m)
	if err != nil {
		return solve.Linear{}, err
	}
	if m.Float32 {
		warnOfBlur(&report, p.Alpha, blur(w, m.meanSquares(m.Cols), m.spreads(), m.Weight))
	}
	report.Objective = max(0, m.spread()-kern.Dot(w, m.rightSide()))
	return solve.NewLinear(w, intercepts(w, m.Mean(), m.targetMean()), report)
}

// solution solves for the sums m of the rows by the factor of their system, which it sharpens where
// refinements with the factor as it is would not do. Sums in single precision that do not do are made
// again in double. The factor is nil where the system is singular.
func (p *Problem) solution(ctx context.Context, m *Moments) (w []float64, f *Factor, report solve.Report, err error) {
	report = solve.Report{Solver: "cholesky", Converged: true}
	w = m.rightSide()
	f, ok := m.Factorise(ctx, p.Alpha)
	enough := precisionOf(m.Float32)
	if ok {
		var size float64
		f.Solve(ctx, w, m.targets)
		least := leastPivot(f.Lower, f.cols)
		if size, f.left = enough.roughness(w, m.spreads(), m.trace(), least); size*m.reach(least) <= enough.visible {
			return w, f, report, nil
		}
	}
	if !ok || f.left >= contraction {
		if m.Float32 {
			return p.solutionInDouble(ctx)
		}
		if !ok && p.Alpha == 0 {
			return p.singular(ctx, m)
		}
		if f, err = p.sharpen(ctx, m); err != nil {
			return nil, nil, report, err
		}
		if f == nil {
			return p.singular(ctx, m)
		}
		w = m.rightSide()
		f.Solve(ctx, w, m.targets)
	}
	left, floor, err := p.refine(ctx, m, f, w, enough.visible)
	switch {
	case err != nil:
		return nil, nil, report, err
	case left > enough.visible && m.Float32:
		return p.solutionInDouble(ctx)
	}
	warnOfRounding(&report, p.Alpha, left, floor, enough.visible)
	return w, f, report, nil
}

// solutionInDouble is solution for rows in single precision, with all sums in double.
func (p *Problem) solutionInDouble(ctx context.Context) (w []float64, f *Factor, report solve.Report, err error) {
	wide := *p
	wide.rows = p.rows.Widened()
	m, err := wide.Moments(ctx)
	if err != nil {
		return nil, nil, report, err
	}
	return wide.solution(ctx, m)
}

// singular is solution for a singular system.
func (p *Problem) singular(ctx context.Context, m *Moments) (w []float64, _ *Factor, report solve.Report, err error) {
	w = m.rightSide()
	system := make([]float64, m.Cols*m.Cols)
	m.system(system, m.Cols, p.Alpha)
	clearFixed(m.fixed(m.Cols), w, m.targets)
	rank, err := leastNorm(ctx, system, m.Cols, w, m.targets)
	report = solve.Report{Solver: "eigenvectors", Converged: true, Warnings: []string{singularWarning(p.Alpha, rank, m.Cols)}}
	return w, nil, report, err
}

// refine improves the solution w by passes over the rows, until what is left of its error is no more
// than visible. It returns what may be left, and what the rounding of residuals leaves for new rows where
// those of the fit are too few.
func (p *Problem) refine(ctx context.Context, m *Moments, f *Factor, w []float64, visible float64) (left, floor float64, err error) {
	mean, targetMean, spreads := m.Mean(), m.targetMean(), m.spreads()
	least := leastPivot(f.Lower, f.cols)
	for range Refinements {
		g := NewGradient(m.Cols, m.targets)
		floor = 0
		offset := intercepts(w, mean, targetMean)
		if err := p.addGradient(ctx, m, g, w, offset); err != nil {
			return 0, 0, err
		}
		if m.short() {
			for j, spread := range spreads {
				if spread > 0 {
					floor = max(floor, epsilon*m.trace()/least*math.Sqrt(g.squares[j]/spread))
				}
			}
		}
		step, size := g.step(w, 0, spreads, mean, p.Alpha, func(b []float64) { f.Solve(ctx, b, m.targets) })
		kern.Axpy(1, step, w)
		if left = f.left * size * m.reach(least); refined(left, visible) {
			break
		}
	}
	return left, floor, nil
}

// addGradient adds all rows to g.
func (p *Problem) addGradient(ctx context.Context, m *Moments, g *Gradient, w, offset []float64) error {
	return p.rows.Again(ctx, m.rows, func(first int, block datasets.Set) error {
		y, _, weights, err := p.Block(first, block)
		if err != nil {
			return err
		}
		return design.WhileWidened(block.X, func(X mat.Matrix) error {
			g.Add(X, slices.Clone(y), w, offset, weights)
			return nil
		})
	})
}

// sharpen returns a sharpened factor of the system of the moments, nil where that is singular.
func (p *Problem) sharpen(ctx context.Context, m *Moments) (*Factor, error) {
	gram := make([]float64, m.Cols*m.Cols)
	m.system(gram, m.Cols, 0)
	f, err := sharpened(ctx, gram, m.Cols, p.Alpha, p.tiles(ctx, m))
	if f != nil {
		f.fixed = m.fixed(m.Cols)
	}
	return f, err
}

// tiles reads the centred rows, each times the root of its weight.
func (p *Problem) tiles(ctx context.Context, m *Moments) tileReader {
	const size = 512
	d, mean := m.Cols, m.Mean()
	hold := make([]float64, size*d)
	return func(yield func(kern.View[float64])) error {
		return p.rows.Again(ctx, m.rows, func(first int, block datasets.Set) error {
			weights, err := p.Weights(first, block)
			if err != nil {
				return err
			}
			n := block.Rows()
			for lo := 0; lo < n; lo += size {
				hi := min(lo+size, n)
				tile := kern.Dense(hi-lo, d, d, hold)
				for i := range hi - lo {
					row := tile.Row(i)
					design.WriteRow(row, block.X, lo+i)
					kern.Axpy(-1, mean, row)
					if weights != nil {
						kern.Scale(math.Sqrt(weights[lo+i]), row)
					}
				}
				yield(tile)
			}
			return ctx.Err()
		})
	}
}
