package leastsquares

import (
	"context"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// Path solves one system with many penalties (a regularization path).
type Path struct {
	ctx              context.Context // cancels Solve
	cols, targets    int
	gram             []float64 // lower triangle, centered; nil if band is used
	band             *kern.Band
	rotatedRight     []float64 // Qᵀright, for the band
	constant         []bool    // constant columns
	right            []float64 // cols × targets, centered
	mean, targetMean []float64
	sumSquares       []float64 // TSS by target
	squares          []float64 // mean squares by column
	weight           float64
	trace            float64
	float32Sums      bool // whether products were summed in float32
	rows             int
}

// useBand reports whether the alphas share a band reduction. It takes the time of five or six dense
// Cholesky factors; a band factor takes at most a tenth of one.
func useBand(width, alphas int) bool { return width >= 384 && alphas >= 7+500/width }

// NewPath returns a path on the leading columns of wide, for the given number of alphas. It uses
// gram as its matrix. If gram is wide.Gram, that matrix is overwritten.
func NewPath(ctx context.Context, wide *Moments, width int, gram []float64, alphas int) (*Path, error) {
	m := *wide
	m.Cols, m.sum, m.cross = width, wide.sum[:width], wide.cross[:width*wide.targets]
	if m.shift != nil {
		m.shift = wide.shift[:width]
	}
	p := &Path{ctx: ctx, cols: width, targets: wide.targets, gram: gram, constant: wide.constantColumns(width),
		weight: wide.Weight, float32Sums: wide.Float32, rows: wide.rows}
	p.squares = wide.meanSquares(width)
	wide.system(gram, width, 0)
	p.trace = trace(gram, width)
	p.right, p.mean, p.targetMean, p.sumSquares = m.rightSide(), m.Mean(), m.TargetMean(), m.sumSquares()
	if !useBand(width, alphas) {
		return p, ctxerr.Check(ctx)
	}
	var err error
	if p.band, err = kern.NewBand(ctx, kern.Dense(width, width, width, gram)); err != nil {
		return nil, err
	}
	p.gram, p.rotatedRight = nil, slices.Clone(p.right)
	clearConstant(p.constant, p.rotatedRight, p.targets)
	p.band.ApplyQ(kern.Dense(width, p.targets, p.targets, p.rotatedRight), false)
	return p, nil
}

// Solve returns the weights of each alpha and whether they need refinement. Weights are nil if the
// system is singular to working precision or too ill-conditioned for refinement.
func (p *Path) Solve(alphas []float64) (weights [][]float64, needsRefinement []bool) {
	weights, needsRefinement = make([][]float64, len(alphas)), make([]bool, len(alphas))
	kern.Parallel(len(alphas), 1, func(lo, hi int) {
		for k := lo; k < hi; k++ {
			weights[k], needsRefinement[k] = p.solve(alphas[k])
		}
	})
	if p.band != nil {
		p.rotateBack(weights)
	}
	return weights, needsRefinement
}

// solve is Solve for one alpha. With a band, the weights are still rotated.
func (p *Path) solve(alpha float64) (w []float64, needsRefinement bool) {
	w, pivot := p.weights(alpha)
	if w == nil {
		return nil, false
	}
	prec := precisionOf(p.float32Sums)
	size, contraction := prec.roundingBound(w, p.sumSquares, p.trace, pivot)
	if needsRefinement = size*p.newRowFactor(pivot) > prec.visible; needsRefinement && contraction >= maxContraction {
		return nil, false
	}
	return w, needsRefinement
}

// weights returns the weights for alpha, rotated with a band, and the smallest squared pivot; nil
// if singular.
func (p *Path) weights(alpha float64) (w []float64, pivot float64) {
	buffer := design.Borrow[float64](p.factorFloats())
	defer buffer.Release()
	pivot, ok := p.factorize(buffer.Data, alpha)
	switch {
	case !ok:
		return nil, 0
	case p.band != nil:
		w = slices.Clone(p.rotatedRight)
		p.band.Solve(buffer.Data, kern.Dense(p.cols, p.targets, p.targets, w))
	default:
		w = slices.Clone(p.right)
		p.solveFactor(buffer.Data, w)
	}
	return w, pivot
}

// rotateBack transforms all rotated weights in one product.
func (p *Path) rotateBack(weights [][]float64) {
	n, t, k := p.cols, p.targets, 0
	for _, w := range weights {
		if w != nil {
			k += t
		}
	}
	buffer := design.Borrow[float64](n * k)
	defer buffer.Release()
	all := kern.Dense(n, k, k, buffer.Data)
	p.eachRow(all, weights, func(w, row []float64) { copy(row, w) })
	p.band.ApplyQ(all, true)
	p.eachRow(all, weights, func(w, row []float64) { copy(w, row) })
	for _, w := range weights {
		if w != nil {
			clearConstant(p.constant, w, t)
		}
	}
}

// eachRow calls f for each row of all non-nil weights and its slice of all.
func (p *Path) eachRow(all kern.View[float64], weights [][]float64, f func(w, row []float64)) {
	at, t := 0, p.targets
	for _, w := range weights {
		if w == nil {
			continue
		}
		for i := range p.cols {
			f(w[i*t:(i+1)*t], all.Row(i)[at:at+t])
		}
		at += t
	}
}

// newRowFactor is [Moments.newRowFactor] for float32 sums.
func (p *Path) newRowFactor(pivot float64) float64 {
	if !p.float32Sums || p.rows > p.cols {
		return 1
	}
	return math.Sqrt(1 + p.trace/pivot)
}

// RoundingVisible reports whether the rounding of float32 features would affect the predictions of
// w. same reports that the sums used the same float32 features, not float64 ones.
func (p *Path) RoundingVisible(w []float64, same bool) bool {
	limit := featureRoundingShared
	if same {
		limit = featureRoundingSame
	}
	return featureRounding(w, p.squares, p.sumSquares, p.weight) > limit
}

// Refine updates w by the gradient in the columns from column on. It reports whether w needs
// further refinement; ok is false if the system is singular.
func (p *Path) Refine(w []float64, g *Gradient, column int, alpha float64) (needsRefinement, ok bool) {
	buffer := design.Borrow[float64](p.factorFloats())
	defer buffer.Release()
	pivot, ok := p.factorize(buffer.Data, alpha)
	if !ok {
		return false, false
	}
	step, size := g.newtonStep(w, column, p.sumSquares, p.mean, alpha, func(b []float64) { p.solveFactor(buffer.Data, b) })
	kern.Axpy(1, step, w)
	prec := precisionOf(p.float32Sums)
	_, contraction := prec.roundingBound(w, p.sumSquares, p.trace, pivot)
	return !negligible(contraction*size*p.newRowFactor(pivot), prec.visible), true
}

// Model completes a model from its weights.
func (p *Path) Model(w []float64) solve.Linear {
	return solve.Linear{Weights: w, Intercept: intercepts(w, p.mean, p.targetMean),
		Report: solve.Report{Solver: "cholesky", Converged: true, Objective: max(0, sum(p.sumSquares)-kern.Dot(w, p.right))}}
}

// solveFactor overwrites b with the solution by factor a.
func (p *Path) solveFactor(a, b []float64) {
	n := p.cols
	clearConstant(p.constant, b, p.targets)
	x := kern.Dense(n, p.targets, p.targets, b)
	if p.band == nil {
		kern.SolveCholesky(p.ctx, kern.Dense(n, n, n, a), x)
		return
	}
	p.band.ApplyQ(x, false)
	p.band.Solve(a, x)
	p.band.ApplyQ(x, true)
	clearConstant(p.constant, b, p.targets)
}

// factorFloats returns the size of a factor.
func (p *Path) factorFloats() int {
	if p.band != nil {
		return p.band.Len()
	}
	return p.cols * p.cols
}

// factorize writes the factor for alpha to a and returns its smallest squared pivot. ok is false if
// the system is singular to working precision.
func (p *Path) factorize(a []float64, alpha float64) (pivot float64, ok bool) {
	n := p.cols
	if p.band != nil {
		pivot, share, ok := p.band.Factor(a, alpha)
		return pivot, ok && share > 4*float64(n)*epsilon
	}
	for i := range n {
		copy(a[i*n:i*n+i+1], p.gram[i*n:i*n+i+1])
		a[i*n+i] += alpha
	}
	if !cholesky(p.ctx, a, n) {
		return 0, false
	}
	return minPivot(a, n), true
}
