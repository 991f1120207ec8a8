package newton

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// Problem is Σ s_i·loss(Wᵀx_i + b) + ½‖W‖² as a function of (W, b). It has one output, unless the
// loss is that of several classes together.
type Problem struct {
	Loss         Loss
	Y            []float64 // all rows
	Weights      []float64 // all rows, without WeightFactor
	C            float64   // as searched
	WeightFactor float64   // C times the squared scale of the features
	Width        int       // leading columns used; other variables stay 0

	outputs int       // scores per row
	curve   []float64 // rows × outputs, of the last evaluation
}

// Batch minimizes several problems jointly by Newton's method. They share the features or a prefix
// of them, and differ in C, fold and class. A pass over the rows is then a matrix product, which is
// compute-bound, while the pass of a single problem is memory-bound. Converged problems and CG
// columns drop out of a pass. Rows outside the training set of a fold have weight 0. A single
// [Task] is a batch of its problems, which are all in every pass.
//
// Variables are a row-major matrix with a row for each column, one more for the intercept, and a
// column for each output. An evaluation or a product with the Hessian takes one pass over the rows.
// It stores a few values per row and output, but no inputs.
type Batch struct {
	ctx       context.Context
	rows      *design.Rows // for evaluations
	products  *design.Rows // for Hessian products
	n         int          // rows
	intercept bool
	problems  []Problem
	outputs   int   // of all problems
	byWidth   []int // problems by descending width
	last      evaluation

	preconditioners *preconditioners

	x      []float64 // solutions
	result solve.NewtonResult
}

var _ rowProblem = (*Batch)(nil)

// NewBatch returns a batch on rows with the columns of the widest problem. Each problem has one
// output.
func NewBatch(ctx context.Context, r *design.Rows, intercept bool, problems []Problem) *Batch {
	a := newBatch(ctx, r, intercept, problems, r.N)
	a.setCurves(make([]float64, r.N*len(problems)))
	return a
}

// newBatch returns a batch on n rows, without memory for second derivatives.
func newBatch(ctx context.Context, r *design.Rows, intercept bool, problems []Problem, n int) *Batch {
	a := &Batch{ctx: ctx, rows: r, products: r, n: n, intercept: intercept, problems: problems}
	for p := range problems {
		problems[p].outputs = max(problems[p].outputs, 1)
		a.outputs += problems[p].outputs
		a.byWidth = append(a.byWidth, p)
	}
	slices.SortStableFunc(a.byWidth, func(p, q int) int { return problems[q].Width - problems[p].Width })
	a.preconditioners = newPreconditioners(ctx, intercept, problems, float64(n), float64(r.Cols))
	return a
}

// setCurves provides memory, rows × outputs, for the second derivatives.
func (a *Batch) setCurves(curve []float64) {
	n := len(curve) / a.outputs
	for p := range a.problems {
		size := n * a.problems[p].outputs
		a.problems[p].curve, curve = curve[:size], curve[size:]
	}
}

// size returns the number of variables.
func (a *Batch) size() int {
	if a.intercept {
		return (a.rows.Cols + 1) * a.outputs
	}
	return a.rows.Cols * a.outputs
}

// Solve minimizes all problems from 0.
func (a *Batch) Solve(tol float64, maxIter int) (err error) {
	a.x = make([]float64, a.size())
	a.result, err = minimizeMixed(a.ctx, a, a.rows, a.x, len(a.problems), tol, maxIter)
	return cmp.Or(ctxerr.Check(a.ctx), err) // errors after cancellation are consequences of it
}

// SolveTogether minimizes C times the losses of tasks of one output on the same rows, and returns a
// model for each. Tasks on dense rows share the passes.
func SolveTogether(ctx context.Context, r *design.Rows, tasks []Task, C, tol float64, maxIter int) (
	models []solve.Linear, err error) {
	models = make([]solve.Linear, len(tasks))
	if r.Sparse || r.Cols > min(maxFactorColumns, 3*r.N) { // a batch always factors its preconditioner
		for j, t := range tasks {
			if models[j], err = t.SolveScaled(ctx, r, C, 1, tol, maxIter); err != nil {
				return nil, err
			}
		}
		return models, nil
	}
	var problems []Problem
	for _, t := range tasks {
		problems = append(problems, t.Problems(t.y, t.weights, C, 1, r.Cols)...)
	}
	b := NewBatch(ctx, r, tasks[0].intercept, problems)
	if err := b.Solve(tol, maxIter); err != nil {
		return nil, err
	}
	for j, t := range tasks {
		if models[j], err = t.Finish(b.Model(j, 1, tol), C, 1); err != nil {
			return nil, err
		}
	}
	return models, nil
}

// setRows sets the rows for evaluations and those for Hessian products.
func (a *Batch) setRows(evaluations, products *design.Rows) {
	if a.rows != evaluations {
		a.last = evaluation{}
	}
	a.rows, a.products = evaluations, products
}

// Model returns the solutions of problems [first, first+count) as one model.
func (a *Batch) Model(first, count int, tol float64) solve.Linear {
	part := a.result
	part.Values = a.result.Values[first : first+count]
	return a.model(a.x, first, count*a.problems[first].outputs, newReport(part, tol))
}

// model returns the variables of outputs [first, first+outputs) of x as a model.
func (a *Batch) model(x []float64, first, outputs int, report solve.Report) solve.Linear {
	width := a.problems[min(first, len(a.problems)-1)].Width
	m := solve.Linear{Weights: make([]float64, width*outputs), Intercept: make([]float64, outputs), Report: report}
	for row := range width {
		copy(m.Weights[row*outputs:(row+1)*outputs], x[row*a.outputs+first:])
	}
	copy(m.Intercept, x[min(a.rows.Cols*a.outputs+first, len(x)):])
	return m
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

// A problemUpdate replaces the scores of a problem, rows × outputs, and adds to its values. The
// scores begin at row first.
type problemUpdate func(o *Problem, values, scores []float64, first int)

// each makes a pass over rows that computes out += X̃ᵀf(X̃x) for the active problems. It calls
// check, if that is not nil, after each block.
func (a *Batch) each(rows *design.Rows, values, out, x []float64, active []int, f problemUpdate,
	check func(p *pass, first int, block datasets.Set) error) error {
	p, update := a.newPass(active), a.scoreUpdate(active, f)
	p.start(x, out, values)
	err := rows.EachExpected(a.ctx, a.n, func(first int, block datasets.Set) error {
		if p.add(block.X, first, update); check == nil {
			return nil
		}
		return check(p, first, block)
	})
	p.end()
	return err
}

// newPass returns a pass of the active problems.
func (a *Batch) newPass(active []int) *pass {
	p := &pass{cols: a.rows.Cols, outputs: a.outputs, intercept: a.intercept}
	for _, k := range active {
		for j := range a.problems[k].outputs {
			p.active, p.widths = append(p.active, k+j), append(p.widths, a.problems[k].Width)
		}
	}
	return p
}

// scoreUpdate returns the update of the scores of the active problems by f.
func (a *Batch) scoreUpdate(active []int, f problemUpdate) scoreUpdate {
	return func(values []float64, scores kern.View[float64], first int) {
		slots, at := len(values)/len(a.problems), 0
		for _, p := range active {
			o := &a.problems[p]
			k, n := o.outputs, scores.Cols
			own := scores.Slice(at, at+k, 0, n)
			at += k
			if k == 1 && own.ColStride == 1 || own.RowStride == 1 && own.ColStride == k {
				f(o, values[p*slots:(p+1)*slots], own.Data[:n*k], first)
				continue
			}
			turned := design.Borrow[float64](n * k)
			rowMajor := kern.Dense(n, k, k, turned.Data)
			copyView(rowMajor.T(), own)
			f(o, values[p*slots:(p+1)*slots], turned.Data, first)
			copyView(own, rowMajor.T())
			turned.Release()
		}
	}
}

// evaluation is the result at a point.
type evaluation struct{ x, values, gradient []float64 }

// changedProblems returns the problems whose variables differ from the last evaluation, and copies
// the results of the others.
func (a *Batch) changedProblems(values, gradient, x []float64) (active []int) {
	k := len(a.problems)
	for _, p := range a.byWidth {
		same := a.last.x != nil
		for i := p; same && i < len(x); i += k {
			same = x[i] == a.last.x[i]
		}
		if !same {
			active = append(active, p)
			continue
		}
		values[p] = a.last.values[p]
		for i := p; i < len(x); i += k {
			gradient[i] = a.last.gradient[i]
		}
	}
	return active
}

// copyView copies a view to another of the same shape.
func copyView(dst, src kern.View[float64]) {
	for i := range src.Rows {
		to, from := i*dst.RowStride, i*src.RowStride
		for range src.Cols {
			dst.Data[to] = src.Data[from]
			to, from = to+dst.ColStride, from+src.ColStride
		}
	}
}

// Evaluate computes the value of each problem and the gradient at x.
func (a *Batch) Evaluate(values, gradient, x []float64) error {
	clear(values)
	clear(gradient)
	active := a.changedProblems(values, gradient, x)
	m := a.preconditioners
	if m.renew {
		m.resetSums()
	}
	check := func(p *pass, first int, block datasets.Set) error {
		if !p.finite() || m.renew && m.addSample(a.problems, first, first, block.X) != nil {
			return design.NonFiniteError(first, block)
		}
		return nil
	}
	if err := a.each(a.rows, values, gradient, x, active, (*Problem).evaluate, check); err != nil {
		return err
	}
	a.addPenalty(values, gradient, x, active)
	if !m.single {
		a.last = evaluation{slices.Clone(x), slices.Clone(values), slices.Clone(gradient)}
	}
	if m.renew {
		m.factorize()
	}
	return ctxerr.Check(a.ctx)
}

// evaluate replaces the scores of rows from first on by derivatives of the loss.
func (o *Problem) evaluate(values, scores []float64, first int) {
	k, n := o.outputs, len(scores)/o.outputs
	weights := o.Weights[first : first+n]
	if o.WeightFactor != 1 {
		scaled := design.Borrow[float64](n)
		defer scaled.Release()
		copy(scaled.Data, weights)
		kern.Scale(o.WeightFactor, scaled.Data)
		weights = scaled.Data
	}
	o.Loss.evaluate(values, scores, o.curve[first*k:(first+n)*k], o.Y[first:first+n], weights)
}

// multiply replaces the scores of rows from first on by their products with second derivatives.
func (o *Problem) multiply(values, scores []float64, first int) {
	k, n := o.outputs, len(scores)/o.outputs
	o.Loss.multiply(values, scores, o.curve[first*k:(first+n)*k], o.Weights[first:first+n])
}

// addPenalty adds ½‖W‖² and its gradient.
func (a *Batch) addPenalty(values, gradient, x []float64, active []int) {
	if a.preconditioners.unpenalized {
		return
	}
	for _, p := range active {
		for i := p; i < a.rows.Cols*a.outputs; i += len(a.problems) {
			gradient[i] += x[i]
			values[p] += x[i] * x[i] / 2
		}
	}
}

// Hessian computes dst = H·v at the last evaluated point.
func (a *Batch) Hessian(dst, v []float64) error { return a.product(nil, dst, v) }

// product is Hessian with values for the loss to add to.
func (a *Batch) product(values, dst, v []float64) error {
	clear(dst)
	active := a.byWidth
	if !a.preconditioners.single {
		active = slices.DeleteFunc(slices.Clone(active), func(p int) bool { return columnIsZero(v, p, len(a.problems)) })
		a.preconditioners.countProducts(active)
	}
	err := a.each(a.products, values, dst, v, active, (*Problem).multiply, nil)
	a.addPenaltyProduct(dst, v)
	return err
}

// addPenaltyProduct adds the product of the Hessian of ½‖W‖² and v.
func (a *Batch) addPenaltyProduct(dst, v []float64) {
	if size := a.rows.Cols * a.outputs; !a.preconditioners.unpenalized {
		kern.Axpy(1, v[:size], dst[:size])
	}
}

// Precondition computes dst = M⁻¹·v. With the centered factor A and an intercept, w = A⁻¹(v_w −
// x̄·v_b) and b = v_b/Σs − x̄ᵀw.
func (a *Batch) Precondition(dst, v []float64) error {
	return a.preconditioners.solve(dst, v, a.outputs, a.rows.Cols)
}

// Advance decides which preconditioners the next evaluation renews, after a step with the given
// number of products. math.MaxInt renews all.
func (a *Batch) Advance(products int) {
	a.preconditioners.advance(products, float64(a.n), float64(a.rows.Cols))
}

// Noise returns the relative rounding error of the values.
func (a *Batch) Noise() float64 {
	switch {
	case a.rows.Float32:
		return 1e-6
	case a.preconditioners.single:
		return 1e-12
	}
	return 1e-13
}
