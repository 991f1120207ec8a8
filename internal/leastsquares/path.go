package leastsquares

import (
	"context"
	"slices"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/solve"
)

// Path is what the systems of all alphas on the same sums have in common.
type Path struct {
	ctx              context.Context // nothing is solved once it is done
	cols, targets    int
	gram             []float64 // lower triangle, centred
	fixed            []bool    // columns that are constant
	right            []float64 // cols × targets, centred
	mean, targetMean []float64
	spreads          []float64 // of the targets
	squares          []float64 // means of the columns'
	weight           float64
	trace            float64
}

// NewPath returns the path on the leading columns of the sums, with its matrix in gram.
func NewPath(ctx context.Context, wide *Moments, width int, gram []float64) *Path {
	m := *wide
	m.Cols, m.sum, m.cross = width, wide.sum[:width], wide.cross[:width*wide.targets]
	if m.shift != nil {
		m.shift = wide.shift[:width]
	}
	p := &Path{ctx: ctx, cols: width, targets: wide.targets, gram: gram, fixed: wide.fixed(width), weight: wide.Weight}
	wide.system(gram, width, 0)
	diagonal := make([]float64, width)
	for i := range diagonal {
		diagonal[i] = gram[i*width+i]
	}
	p.trace, p.squares = kern.Sum(diagonal), wide.meanSquares(width)
	p.right, p.mean, p.targetMean, p.spreads = m.rightSide(), m.Mean(), m.targetMean(), m.spreads()
	return p
}

// Solve returns the weights for alpha, nil where the system is singular to working precision or so
// near to it that refinements would not help, and whether another order of summation could give
// other predictions.
func (p *Path) Solve(alpha float64) (w []float64, rough bool) {
	n := p.cols
	hold := design.Borrow[float64](n * n)
	defer hold.Release()
	a := hold.List
	if !p.factorise(a, alpha) {
		return nil, false
	}
	w = slices.Clone(p.right)
	p.back(a, w)
	size, left := precisionOf(false).roughness(w, p.spreads, p.trace, leastPivot(a, n))
	if rough = size > visible; rough && left >= contraction {
		return nil, false
	}
	return w, rough
}

// Blurred reports whether weights show the rounding of features in single precision, were those what they
// are for.
func (p *Path) Blurred(w []float64) bool {
	return blur(w, p.squares, p.spreads, p.weight) > blurShared
}

// Refine moves weights by the gradient whose columns for them begin at the one given, and reports whether
// they are rough still; nothing is ok where the system is singular.
func (p *Path) Refine(w []float64, g *Gradient, column int, alpha float64) (rough, ok bool) {
	hold := design.Borrow[float64](p.cols * p.cols)
	defer hold.Release()
	if !p.factorise(hold.List, alpha) {
		return false, false
	}
	step, size := g.step(w, column, p.spreads, p.mean, alpha, func(b []float64) { p.back(hold.List, b) })
	kern.Axpy(1, step, w)
	_, left := precisionOf(false).roughness(w, p.spreads, p.trace, leastPivot(hold.List, p.cols))
	return !refined(left*size, visible), true
}

// Model makes the rest of a model of its weights.
func (p *Path) Model(w []float64) solve.Linear {
	return solve.Linear{Weights: w, Intercept: intercepts(w, p.mean, p.targetMean),
		Report: solve.Report{Solver: "cholesky", Converged: true, Objective: max(0, sumOf(p.spreads)-kern.Dot(w, p.right))}}
}

// back solves with a factor.
func (p *Path) back(a, b []float64) {
	n := p.cols
	clearFixed(p.fixed, b, p.targets)
	kern.SolveCholesky(p.ctx, kern.Dense(n, n, n, a), kern.Dense(n, p.targets, p.targets, b))
}

// factorise writes the factor for alpha to a, and reports whether there is one, with digits to spare.
func (p *Path) factorise(a []float64, alpha float64) bool {
	n := p.cols
	for i := range n {
		copy(a[i*n:i*n+i+1], p.gram[i*n:i*n+i+1])
		a[i*n+i] += alpha
	}
	return cholesky(p.ctx, a, n)
}
