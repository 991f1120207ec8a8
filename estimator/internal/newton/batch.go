package newton

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/solve"
)

// Batch minimizes several problems jointly by Newton's method. They share the features or a prefix
// of them, and differ in C, fold and class. A pass over the rows is then a matrix product, which is
// compute-bound, while the pass of a single problem is memory-bound. Converged problems and CG
// columns drop out of a pass. Rows outside the training set of a fold have weight 0.
//
// Problems with equal C and features share a preconditioner: the Cholesky factor of a mean Hessian
// over a sample of the rows. The mean is taken over all problems with the same C, whatever their
// features, since similar predictions have similar curvatures. The first factor uses the curvature
// at 0.
type Batch struct {
	ctx       context.Context
	rows      *design.Rows // for evaluations
	products  *design.Rows // for Hessian products
	intercept bool
	problems  []Problem
	byWidth   []int // problems by descending width
	last      evaluation

	preconditioners *preconditioners
	renew           bool // whether the next evaluation renews preconditioners

	x      []float64 // solutions
	result solve.NewtonResult
}

var _ solve.Problem = (*Batch)(nil)

// NewBatch returns a batch on rows with the columns of the widest problem.
func NewBatch(ctx context.Context, r *design.Rows, intercept bool, problems []Problem) *Batch {
	a := &Batch{ctx: ctx, rows: r, products: r, intercept: intercept, problems: problems, renew: true}
	for p := range problems {
		a.byWidth = append(a.byWidth, p)
	}
	slices.SortStableFunc(a.byWidth, func(p, q int) int { return problems[q].Width - problems[p].Width })
	curve := make([]float64, len(problems)*r.N)
	for p := range problems {
		problems[p].curve = curve[p*r.N : (p+1)*r.N]
	}
	a.preconditioners = newPreconditioners(ctx, intercept, problems, float64(r.N), float64(r.Cols))
	return a
}

func (a *Batch) size() int {
	if a.intercept {
		return (a.rows.Cols + 1) * len(a.problems)
	}
	return a.rows.Cols * len(a.problems)
}

// Solve minimizes all problems from 0.
func (a *Batch) Solve(tol float64, maxIter int) (err error) {
	a.x = make([]float64, a.size())
	a.result, err = minimizeMixed(a.ctx, a, a.rows, a.x, len(a.problems), tol, maxIter)
	return err
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
	problems := make([]Problem, len(tasks))
	for j, t := range tasks {
		problems[j] = Problem{Loss: t.Loss, Y: t.y, Weights: t.weights, C: C, WeightFactor: C, Width: r.Cols}
	}
	b := NewBatch(ctx, r, tasks[0].intercept, problems)
	if err := cmp.Or(b.Solve(tol, maxIter), ctxerr.Check(ctx)); err != nil {
		return nil, err
	}
	for j, t := range tasks {
		m := b.Model(j, 1, tol)
		if err = solve.CheckObjective(m.Report, C*t.ObjectiveBound); err == nil {
			models[j], err = t.Finish(m)
		}
		if err != nil {
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

// Model returns the solutions of problems [first, first+outputs) as one model.
func (a *Batch) Model(first, outputs int, tol float64) solve.Linear {
	part, all, width := a.result, len(a.problems), a.problems[first].Width
	part.Values = a.result.Values[first : first+outputs]
	m := solve.Linear{Weights: make([]float64, width*outputs), Intercept: make([]float64, outputs),
		Report: newReport(part, tol)}
	for row := range width {
		copy(m.Weights[row*outputs:(row+1)*outputs], a.x[row*all+first:])
	}
	copy(m.Intercept, a.x[min(a.rows.Cols*all+first, len(a.x)):])
	return m
}

// pass computes out += Xᵀf(Xx) for the active problems, given by descending width.
func (a *Batch) pass(rows *design.Rows, out, x []float64, active []int, f design.ScoreFunc,
	sampled func(first int, X mat.Matrix) error) (sums *design.Sums, err error) {
	k, d, all := len(active), a.rows.Cols, len(a.problems)
	w, offsets, widths := make([]float64, k*d), make([]float64, k), make([]int, k)
	for q, p := range active {
		widths[q] = a.problems[p].Width
		for i := range widths[q] {
			w[q*d+i] = x[i*all+p]
		}
		if a.intercept {
			offsets[q] = x[d*all+p]
		}
	}
	t := design.NewFusedProduct(rows.Float32, w, offsets, widths, k)
	err = rows.EachExpected(a.ctx, rows.N, func(first int, block datasets.Set) error {
		t.Add(block.X, first, f)
		if sampled != nil {
			return sampled(first, block.X)
		}
		return nil
	})
	sums = t.Sums()
	for q, p := range active {
		for i, v := range sums.Rows[q*d : q*d+a.problems[p].Width] {
			out[i*all+p] += v
		}
		if a.intercept {
			out[d*all+p] += sums.Totals[q]
		}
	}
	return sums, err
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
			for i := p; i < len(x); i += k {
				gradient[i] = 0
			}
			continue
		}
		values[p] = a.last.values[p]
		for i := p; i < len(x); i += k {
			gradient[i] = a.last.gradient[i]
		}
	}
	return active
}

// Evaluate computes the value of each problem and the gradient at x.
func (a *Batch) Evaluate(values, gradient, x []float64) error {
	k, d := len(a.problems), a.rows.Cols
	active := a.changedProblems(values, gradient, x)
	var sampled func(int, mat.Matrix) error
	if a.renew {
		a.preconditioners.resetSums()
		sampled = a.preconditioners.addSample
	}
	sums, err := a.pass(a.rows, gradient, x, active, func(s *design.Accumulator, scores kern.View[float64], first int) {
		n := scores.Cols
		for q, p := range active {
			o := &a.problems[p]
			weights := s.Scratch[:n]
			copy(weights, o.Weights[first:first+n])
			kern.Scale(o.WeightFactor, weights)
			o.Loss.evaluate(s.Values[q:q+1], scores.Row(q), o.curve[first:][:n], o.Y[first:first+n], weights)
		}
	}, sampled)
	if err != nil {
		return err
	}
	for q, p := range active {
		values[p] = sums.Values[q]
		for i := p; i < d*k; i += k {
			gradient[i] += x[i]
			values[p] += x[i] * x[i] / 2
		}
	}
	if !kern.AllFinite(values) || !kern.AllFinite(gradient) {
		return errors.New("sums over the rows are not finite")
	}
	a.last = evaluation{slices.Clone(x), slices.Clone(values), slices.Clone(gradient)}
	if a.renew {
		a.renew = false
		a.preconditioners.factorize()
	}
	return ctxerr.Check(a.ctx)
}

// Hessian computes dst = H·v at the last evaluated point.
func (a *Batch) Hessian(dst, v []float64) error {
	clear(dst)
	k, d := len(a.problems), a.rows.Cols
	var active []int
	for _, p := range a.byWidth {
		if !columnIsZero(v, p, k) {
			active = append(active, p)
		}
	}
	a.preconditioners.countProducts(active)
	_, err := a.pass(a.products, dst, v, active, func(_ *design.Accumulator, scores kern.View[float64], first int) {
		for q, p := range active {
			a.problems[p].Loss.multiply(nil, scores.Row(q), a.problems[p].curve[first:][:scores.Cols], nil)
		}
	}, nil)
	kern.Axpy(1, v[:d*k], dst[:d*k])
	return err
}

// Precondition computes dst = M⁻¹·v, as [objective.Precondition] for each problem.
func (a *Batch) Precondition(dst, v []float64) error {
	return a.preconditioners.solve(dst, v, len(a.problems), a.rows.Cols)
}

// Advance marks as stale the preconditioners whose last step cost as much in products as a renewal.
// math.MaxInt marks all as stale.
func (a *Batch) Advance(products int) {
	if products == math.MaxInt {
		a.preconditioners.markAllStale()
		a.renew = true
		return
	}
	a.renew = a.preconditioners.markStale(float64(a.rows.N), float64(a.rows.Cols))
}

// Noise returns the relative rounding error of the values.
func (a *Batch) Noise() float64 {
	if a.rows.Float32 {
		return 1e-6
	}
	return 1e-13
}
