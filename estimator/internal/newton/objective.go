package newton

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/leastsquares"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/solve"
)

// objective is Σ s_i·loss(Wᵀx_i + b) + ½‖W‖² as a function of (W, b). Variables are a row-major
// matrix with cols rows, one more for the intercept, and outputs columns. An evaluation or a
// product with the Hessian takes one pass over the rows. It stores a few values per row and output,
// but no inputs.
//
// The preconditioner is the Cholesky factor of Σ s_i·loss″_i·(x_i−x̄)(x_i−x̄)ᵀ + I, centered to
// eliminate b. It is summed over a sample of the rows during an evaluation and renewed when CG
// needs many products. If the matrix is too large, its diagonal is used. All classes share the
// matrix until a matrix per class pays (see [coupled]).
type objective struct {
	ctx       context.Context
	rows      *design.Rows // for evaluations
	products  *design.Rows // for Hessian products
	loss      Loss
	outputs   int
	groups    int
	intercept bool
	y         []float64
	weights   []float64 // including C

	unpenalized bool // without ½‖W‖²

	curve []float64 // rows × outputs, of the last evaluation
	pass  pass

	// Preconditioner.
	renew        bool
	sampleStep   int  // every sampleStep-th row
	renewAfter   int  // Hessian products that cost as much as a renewal
	usesMatrix   bool // a matrix, not a diagonal
	coupledAfter int  // products that cost as much as a matrix per class, 0 if unavailable
	useCoupled   bool // whether a matrix per class is used
	coupled      *coupled
	gram         *leastsquares.Moments
	factor       *leastsquares.Factor
	mean         []float64
	weight       float64
	diagonal     []float64 // followed by that of the intercept
}

var _ solve.Problem = (*objective)(nil)

func newObjective(ctx context.Context, r *design.Rows, l Loss, outputs, groups int, intercept bool, y,
	weights []float64) *objective {
	o := &objective{ctx: ctx, rows: r, products: r, loss: l, outputs: outputs, groups: groups, intercept: intercept, y: y,
		weights: weights}
	o.curve = make([]float64, len(y)*outputs)
	o.pass = pass{cols: r.Cols, outputs: outputs, intercept: intercept}
	o.planPreconditioner(len(y))
	return o
}

// size returns the number of variables of all outputs.
func (o *objective) size() int {
	if o.intercept {
		return (o.rows.Cols + 1) * o.outputs
	}
	return o.rows.Cols * o.outputs
}

// Largest numbers of columns with a factored preconditioner, dense and sparse.
const (
	maxFactorColumns       = 8192
	MaxSparseFactorColumns = 512
)

// planPreconditioner chooses the preconditioner by its cost relative to a pass.
func (o *objective) planPreconditioner(rows int) {
	o.renew = true
	n, d := float64(rows), float64(o.rows.Cols)
	few := d > MaxSparseFactorColumns && n < 0.3*d // n CG steps cost less than a factor
	if o.rows.Sparse && o.rows.Cols > MaxSparseFactorColumns || o.rows.Cols > maxFactorColumns || few {
		o.renewAfter = 20
		return
	}
	pass := 4 * n * d * gemmEquivalent(float64(o.outputs))
	// More sampled rows save products up to about 32 rows per column. A renewal may therefore cost
	// as much as one product.
	picked := min(n, max(4*d, 2e9/(d*d), 2048, min(32*d, pass/(d*d))))
	o.sampleStep = max(1, int(n/picked))
	if o.sampleStep < 3 && n*d*d < 8e9 {
		o.sampleStep = 1
	}
	cost := n/float64(o.sampleStep)*d*d + d*d*d/3
	o.renewAfter = 1 + int(cost/pass)
	o.usesMatrix = true
	if _, ok := o.loss.(softmaxLoss); ok && shouldCouple(n, d, float64(o.outputs)) {
		o.sampleStep = max(1, int(n/max(picked, min(n, coupledRowsPerColumn*float64(o.outputs)*d))))
		o.coupledAfter = 1 + int(coupledFlops(n/float64(o.sampleStep), d, float64(o.outputs))/pass)
	}
}

// gemmEquivalent returns the number of GEMM outputs that take as long as the given outputs of a
// pass (measured). One or two outputs are memory-bound. A few cost as much as a full panel. Many
// are nearly as fast as GEMM.
func gemmEquivalent(outputs float64) float64 {
	if outputs <= 2 {
		return 5 * outputs
	}
	return max(12, 1.4*outputs)
}

// Advance requests a new preconditioner if the last step cost as much in products. It switches to a
// matrix per class if that pays.
func (o *objective) Advance(products int) {
	o.useCoupled = o.coupledAfter > 0 && products < math.MaxInt && (o.useCoupled || products > o.coupledAfter)
	o.renew = products > o.renewAfter
	if o.useCoupled {
		o.renew = products > o.coupledAfter
	}
}

// Noise returns the relative rounding error of the values.
func (o *objective) Noise() float64 {
	if o.rows.Float32 {
		return 1e-6
	}
	return 1e-12
}

// Evaluate computes the value of each group and the gradient at x.
func (o *objective) Evaluate(values, gradient, x []float64) error {
	o.resetSums(values, gradient)
	o.pass.start(x, gradient, values)
	err := o.rows.EachExpected(o.ctx, len(o.y), func(first int, block datasets.Set) error {
		n, k := block.Rows(), o.outputs
		y, weights, curve := o.y[first:first+n], o.weights[first:first+n], o.curve[first*k:(first+n)*k]
		o.pass.add(block.X, func(values, scores []float64, lo, hi int) {
			o.loss.evaluate(values, scores, curve[lo*k:hi*k], y[lo:hi], weights[lo:hi])
		})
		if !o.pass.finite() {
			return design.NonFiniteError(first, block)
		}
		if o.renew {
			return o.addSample(first, block, curve, weights)
		}
		return nil
	})
	if err != nil {
		return err
	}
	o.pass.end()
	o.addPenalty(values, gradient, x)
	if o.renew {
		o.renew = false
		o.factorize()
	}
	return ctxerr.Check(o.ctx)
}

func (o *objective) resetSums(values, gradient []float64) {
	clear(values)
	clear(gradient)
	if !o.renew {
		return
	}
	o.weight = 0
	switch {
	case !o.usesMatrix:
		o.diagonal = make([]float64, o.rows.Cols+1)
	case o.useCoupled && o.coupled == nil:
		o.coupled = newCoupled(o.rows.Cols, o.outputs, o.intercept)
	case o.useCoupled:
		o.coupled.reset()
	case o.gram == nil:
		o.gram = leastsquares.NewMoments(o.rows.Cols, 0, o.intercept)
	default:
		o.gram.Clear()
	}
}

// addPenalty adds ½‖W‖² and its gradient.
func (o *objective) addPenalty(values, gradient, x []float64) {
	if o.unpenalized {
		return
	}
	d, k := o.rows.Cols, o.outputs
	kern.Axpy(1, x[:d*k], gradient[:d*k])
	for i, v := range x[:d*k] {
		values[i%o.groups] += v * v / 2
	}
}

// Hessian computes dst = H·v at the last evaluated point.
func (o *objective) Hessian(dst, v []float64) error { return o.product(nil, dst, v) }

// product is Hessian with values for the loss to add to.
func (o *objective) product(values, dst, v []float64) error {
	clear(dst)
	k := o.outputs
	o.pass.start(v, dst, values)
	err := o.products.EachExpected(o.ctx, len(o.y), func(first int, block datasets.Set) error {
		weights, curve := o.weights[first:], o.curve[first*k:]
		o.pass.add(block.X, func(values, scores []float64, lo, hi int) {
			o.loss.multiply(values, scores, curve[lo*k:hi*k], weights[lo:hi])
		})
		return nil
	})
	o.pass.end()
	o.addPenaltyProduct(dst, v)
	return err
}

// addPenaltyProduct adds the product of the Hessian of ½‖W‖² and v.
func (o *objective) addPenaltyProduct(dst, v []float64) {
	if size := o.rows.Cols * o.outputs; !o.unpenalized {
		kern.Axpy(1, v[:size], dst[:size])
	}
}

// addSample adds the sampled rows of a block to the preconditioner.
func (o *objective) addSample(first int, block datasets.Set, curve, weights []float64) error {
	n := block.Rows()
	if o.useCoupled {
		if o.coupled.add(o.ctx, block.X, first, o.sampleStep, curve[:n*o.outputs], weights[:n]) != nil {
			return design.NonFiniteError(first, block)
		}
		return nil
	}
	mass := make([]float64, n)
	o.loss.rowCurvature(mass, curve[:n*o.outputs], weights[:n])
	if !o.usesMatrix {
		o.addDiagonal(block.X, mass)
		return nil
	}
	X := block.X
	if o.sampleStep > 1 {
		start := (o.sampleStep - first%o.sampleStep) % o.sampleStep
		var picked []int
		for i := start; i < n; i += o.sampleStep {
			mass[len(picked)] = mass[i] * float64(o.sampleStep)
			picked = append(picked, i)
		}
		if len(picked) == 0 {
			return nil
		}
		X, mass = rowblock.Select(X, picked), mass[:len(picked)]
	}
	if o.gram.Add(o.ctx, X, nil, mass) != nil {
		return design.NonFiniteError(first, block)
	}
	return nil
}

func (o *objective) addDiagonal(X mat.Matrix, mass []float64) {
	d := o.rows.Cols
	o.diagonal[d] += kern.Sum(mass)
	design.AddSquares(o.diagonal, X, mass)
}

// factorize computes the preconditioner from the sums. If Cholesky fails, it uses the diagonal.
func (o *objective) factorize() {
	d := o.rows.Cols
	o.factor = nil
	if !o.usesMatrix {
		o.addRidge(o.diagonal[:d])
		o.diagonal[d] = max(o.diagonal[d], 1e-300)
		return
	}
	if o.useCoupled {
		if !o.coupled.factorize(o.ctx) {
			o.diagonal = o.coupled.diagonal()
			o.coupled, o.useCoupled, o.coupledAfter = nil, false, 0
		}
		return
	}
	o.weight = o.gram.Weight
	if !(o.weight > 0) {
		o.gram.Weight = 1 // no curvature: factor I
	}
	var f *leastsquares.Factor
	var ok bool
	if o.unpenalized {
		const part = 1e-11 // keeps the factor positive definite
		f, ok = o.gram.FactorizeScaled(o.ctx, part)
	} else {
		f, ok = o.gram.Factorize(o.ctx, 1)
	}
	if ok {
		o.factor, o.mean = f, o.gram.Mean()
		return
	}
	o.diagonal = make([]float64, d+1)
	for j := range d {
		o.diagonal[j] = max(0, o.gram.Gram[j*d+j])
	}
	o.addRidge(o.diagonal[:d])
	o.diagonal[d] = max(o.weight, 1e-300)
}

// addRidge adds the second derivatives of the penalty to those of the loss. Without a penalty only
// those of columns that are 0 change.
func (o *objective) addRidge(diagonal []float64) {
	for j, v := range diagonal {
		if !o.unpenalized || v == 0 {
			diagonal[j]++
		}
	}
}

// Precondition computes dst = M⁻¹·v. With the centered factor A and an intercept, w = A⁻¹(v_w −
// x̄·v_b) and b = v_b/Σs − x̄ᵀw.
func (o *objective) Precondition(dst, v []float64) error {
	d, k := o.rows.Cols, o.outputs
	if o.useCoupled {
		return o.coupled.solve(o.ctx, dst, v, o.intercept)
	}
	copy(dst, v)
	if o.factor == nil {
		for i := range dst {
			dst[i] /= o.diagonal[i/k]
		}
		return nil
	}
	if !o.intercept {
		return o.factor.Solve(o.ctx, dst, k)
	}
	w, b := dst[:d*k], dst[d*k:]
	for i, m := range o.mean {
		kern.Axpy(-m, b, w[i*k:(i+1)*k])
	}
	if err := o.factor.Solve(o.ctx, w, k); err != nil {
		return err
	}
	kern.Scale(1/math.Max(o.weight, 1e-300), b)
	for i, m := range o.mean {
		kern.Axpy(-m, w[i*k:(i+1)*k], b)
	}
	return nil
}

// minimize runs Newton from zero. It returns the weights, cols × outputs, and the intercepts.
func (o *objective) minimize(tol float64, maxIter int) (solve.Linear, error) {
	x := make([]float64, o.size())
	result, err := minimizeMixed(o.ctx, o, o.rows, x, o.groups, tol, maxIter)
	if err = cmp.Or(ctxerr.Check(o.ctx), err); err != nil { // errors after cancellation are consequences of it
		return solve.Linear{}, err
	}
	return o.solution(x, newReport(result, tol)), nil
}

// solution returns the weights and intercepts of variables.
func (o *objective) solution(x []float64, report solve.Report) solve.Linear {
	d, k := o.rows.Cols, o.outputs
	intercept := make([]float64, k)
	copy(intercept, x[d*k:])
	return solve.Linear{Weights: x[:d*k], Intercept: intercept, Report: report}
}

// setRows sets the rows for evaluations and those for Hessian products.
func (o *objective) setRows(evaluations, products *design.Rows) {
	o.rows, o.products = evaluations, products
}

// newReport summarizes a Newton run.
func newReport(result solve.NewtonResult, tol float64) solve.Report {
	report := solve.Report{Solver: "newton-cg", Iterations: result.Iterations, Converged: result.Converged,
		Gradient:  result.Gradient,
		Objective: kern.Sum(result.Values)}
	if !result.Converged {
		report.Warnings = []string{fmt.Sprintf("not converged after %d iterations: relative gradient norm %.2g, tolerance "+
			"%.2g", result.Iterations, result.Gradient, tol)}
	}
	return report
}
