package newton

import (
	"context"
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/cause"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/solve"
)

// Batch is problems on the same features or the first of them, of several C, folds and classes, that
// Newton's method minimises together. A pass over the rows is then a product of matrices, which
// computes as fast as there is arithmetic, where a problem by itself waits for memory. What is done, a
// problem or a column of conjugate gradients, is left out of a pass. A row that a fold does not train
// on has weight 0 in its problems.
//
// All problems with the same C and features have the same preconditioner, the Cholesky factor of a
// mean of Hessians over a sample of the rows: of those of the same C, whatever features they have, for the predictions of these are
// alike, and so are curvatures. Several C whose curvatures are near each other share a mean, and one that was made
// for such curvatures as there are now is not made anew. The first is made once, for the curvature at 0.
type Batch struct {
	ctx       context.Context
	rows      *design.Rows // of all parts, for evaluations
	products  *design.Rows // the same for products with the Hessian
	intercept bool
	problems  []Problem
	order     []int // of the problems in a pass, the widest first
	last      evaluation

	preconditioners *preconditioners
	renew           bool // whether the next evaluation makes new ones
	pilot           bool // whether the rows are a sample, on which the first preconditioners have to do

	pairs  []pairs   // of the problems
	x      []float64 // the solutions
	result solve.NewtonResult
}

var _ solve.Problem = (*Batch)(nil)

// NewBatch returns the batch of problems on rows, which have the columns of the widest.
func NewBatch(ctx context.Context, r *design.Rows, intercept bool, problems []Problem) *Batch {
	a := &Batch{ctx: ctx, rows: r, products: r, intercept: intercept, problems: problems, renew: true, pairs: make([]pairs, len(problems))}
	for p := range problems {
		a.order = append(a.order, p)
	}
	slices.SortStableFunc(a.order, func(p, q int) int { return problems[q].Width - problems[p].Width })
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

// Solve minimises all problems from 0.
func (a *Batch) Solve(tol float64, maxIter int) (err error) {
	a.x = make([]float64, a.size())
	rows := a.rows
	reference, err := a.begin(tol)
	if err != nil {
		return err
	}
	a.result, err = minimise(a.ctx, a, rows, a.x, len(a.problems), reference, tol, maxIter)
	return err
}

// read has values and gradients of some rows from now on, and products with the Hessian of others.
func (a *Batch) read(evaluations, products *design.Rows) {
	if a.rows != evaluations {
		a.last = evaluation{}
	}
	if a.products != products && !products.Float32 {
		a.preconditioners.kept = nil // single precision does not hold them
	}
	a.rows, a.products = evaluations, products
}

// Model puts the solutions of outputs problems from first on together, as one of so many outputs.
func (a *Batch) Model(first, outputs int, tol float64) solve.Linear {
	part, all, width := a.result, len(a.problems), a.problems[first].Width
	part.Values = a.result.Values[first : first+outputs]
	m := solve.Linear{Weights: make([]float64, width*outputs), Intercept: make([]float64, outputs), Report: reportOf(part, tol)}
	for row := range width {
		copy(m.Weights[row*outputs:(row+1)*outputs], a.x[row*all+first:])
	}
	copy(m.Intercept, a.x[min(a.rows.Cols*all+first, len(a.x)):])
	return m
}

// pass adds up all rows, times what f makes of their scores, to out for some of the problems, the widest first.
func (a *Batch) pass(rows *design.Rows, out, x []float64, active []int, f design.Rescore, sampled func(first int, X mat.Matrix) error) (sums *design.Sums, err error) {
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
	t := design.NewBothWays(rows.Float32, w, offsets, widths, k)
	err = rows.Again(a.ctx, rows.N, func(first int, block datasets.Set) error {
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

// evaluation is what was found at a point.
type evaluation struct{ x, values, gradient []float64 }

// moved returns the problems whose variables are not those of the last evaluation, and takes the
// results of the others from there.
func (a *Batch) moved(values, gradient, x []float64) (active []int) {
	k := len(a.problems)
	for _, p := range a.order {
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
	active := a.moved(values, gradient, x)
	var sampled func(int, mat.Matrix) error
	if a.renew && a.preconditioners.kept == nil {
		a.preconditioners.forget()
		sampled = a.preconditioners.addSample
	}
	sums, err := a.losses(gradient, x, active, sampled)
	if err != nil {
		return err
	}
	for q, p := range active {
		values[p] = sums.Values[q]
		a.pairs[p].move(kern.Sum(a.problems[p].curve))
		for i := p; i < d*k; i += k {
			gradient[i] += x[i]
			values[p] += x[i] * x[i] / 2
		}
	}
	if !kern.Finite(values) || !kern.Finite(gradient) {
		return errors.New("sums over the rows are not finite")
	}
	a.last = evaluation{slices.Clone(x), slices.Clone(values), slices.Clone(gradient)}
	if a.renew {
		a.renew = false
		if a.preconditioners.kept != nil {
			if err := a.preconditioners.addKept(a.rows.N); err != nil {
				return err
			}
		}
		a.preconditioners.factorise()
	}
	return cause.Err(a.ctx)
}

// losses adds up those of all rows, and their gradients to out, for some of the problems.
func (a *Batch) losses(out, x []float64, active []int, sampled func(first int, X mat.Matrix) error) (*design.Sums, error) {
	return a.pass(a.rows, out, x, active, func(s *design.Place, scores kern.View[float64], first int) {
		n := scores.Cols
		for q, p := range active {
			o := &a.problems[p]
			weights := s.Room[:n]
			copy(weights, o.Weights[first:first+n])
			kern.Scale(o.Factor, weights)
			o.Loss.evaluate(s.Values[q:q+1], scores.Row(q), o.curve[first:][:n], o.Y[first:first+n], weights)
		}
	}, sampled)
}

func (a *Batch) share(r *design.Rows, list []int, x []float64) ([]float64, error) {
	all, out, curve := a.order, make([]float64, len(x)), make([]float64, len(a.problems)*len(list))
	_, err := a.pass(r, out, x, all, func(s *design.Place, scores kern.View[float64], first int) {
		n := scores.Cols
		y := make([]float64, n)
		weights := s.Room[:n]
		for q, p := range all {
			o := &a.problems[p]
			for k, i := range list[first : first+n] {
				y[k], weights[k] = o.Y[i], o.Factor*o.Weights[i]
			}
			o.Loss.evaluate(s.Values[q:q+1], scores.Row(q), curve[p*len(list)+first:][:n], y, weights)
		}
	}, nil)
	return out, err
}

// Hessian computes dst = H·v at the point evaluated last.
func (a *Batch) Hessian(dst, v []float64) error {
	clear(dst)
	k, d := len(a.problems), a.rows.Cols
	var active []int
	for _, p := range a.order {
		if !isZero(v, p, k) {
			active = append(active, p)
		}
	}
	a.preconditioners.count(active)
	_, err := a.pass(a.products, dst, v, active, func(_ *design.Place, scores kern.View[float64], first int) {
		for q, p := range active {
			a.problems[p].Loss.multiply(scores.Row(q), a.problems[p].curve[first:][:scores.Cols], nil)
		}
	}, nil)
	kern.Axpy(1, v[:d*k], dst[:d*k])
	if !a.pilot {
		for _, p := range active {
			a.pairs[p].add(a.column(v, p), a.column(dst, p))
		}
	}
	return err
}

// column returns what problem p has of v: its features, and the intercept.
func (a *Batch) column(v []float64, p int) []float64 {
	k, width := len(a.problems), a.problems[p].Width
	out := make([]float64, width, width+1)
	for i := range out {
		out[i] = v[i*k+p]
	}
	if a.intercept {
		out = append(out, v[a.rows.Cols*k+p])
	}
	return out
}

// putColumn is the way back.
func (a *Batch) putColumn(v []float64, p int, list []float64) {
	k, width := len(a.problems), a.problems[p].Width
	for i, own := range list[:width] {
		v[i*k+p] = own
	}
	if a.intercept {
		v[a.rows.Cols*k+p] = list[width]
	}
}

// Precondition computes dst = M⁻¹·v, as [objective.Precondition] does for each problem, with what its pairs know.
func (a *Batch) Precondition(dst, v []float64) error {
	k := len(a.problems)
	left, shares := slices.Clone(v), make([][]float64, k)
	for p := range a.pairs {
		if a.pairs[p].used > 0 && !isZero(v, p, k) {
			own := a.column(v, p)
			shares[p] = a.pairs[p].before(own)
			a.putColumn(left, p, own)
		}
	}
	if err := a.preconditioners.solve(dst, left, k, a.rows.Cols); err != nil {
		return err
	}
	for p, list := range shares {
		if list != nil {
			own := a.column(dst, p)
			a.pairs[p].after(own, list)
			a.putColumn(dst, p, own)
		}
	}
	return nil
}

// Advance asks for new preconditioners of those problems for which the products that the last step took have cost as much, of
// all where these are math.MaxInt.
func (a *Batch) Advance(products int) {
	for p := range a.pairs {
		a.pairs[p].turn()
	}
	switch {
	case a.pilot:
		return
	case products == math.MaxInt:
		a.preconditioners.open()
		a.renew = true
		return
	}
	a.renew = a.preconditioners.wear(float64(a.rows.N), float64(a.rows.Cols))
}

// Noise is what the rounding of rows in single precision, or of sums in double, does to values.
func (a *Batch) Noise() float64 {
	if a.rows.Float32 {
		return 1e-6
	}
	return 1e-13
}
