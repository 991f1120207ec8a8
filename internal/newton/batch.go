package newton

import (
	"context"
	"errors"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/solve"
	"github.com/bochner-ml/bochner/single"
)

// Batch is problems on the same features or the first of them, of several C, folds and classes, that
// Newton's method minimises together. A pass over the rows is then a product of matrices, which
// computes as fast as there is arithmetic, where a problem by itself waits for memory. What is done, a
// problem or a column of conjugate gradients, is left out of a pass. A row that a fold does not train
// on has weight 0 in its problems.
//
// All problems with the same C and features have the same preconditioner, the Cholesky factor of a
// mean of their Hessians over a sample of the rows. The first is made once, for the curvature at 0.
type Batch struct {
	ctx       context.Context
	rows      *design.Rows // of all parts, for evaluations
	products  *design.Rows // the same for products with the Hessian
	intercept bool
	problems  []Problem
	last      evaluation

	preconditioners *preconditioners
	renew           bool // whether the next evaluation makes new ones
	most            int  // problems in a product of the last step

	x      []float64 // the solutions
	result solve.NewtonResult
}

var _ solve.Problem = (*Batch)(nil)

// NewBatch returns the batch of problems on rows, which have the columns of the widest.
func NewBatch(ctx context.Context, r *design.Rows, intercept bool, problems []Problem) *Batch {
	a := &Batch{ctx: ctx, rows: r, products: r, intercept: intercept, problems: problems, renew: true}
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
	a.result, err = minimise(a.ctx, a, a.rows, a.x, len(a.problems), nil, tol, maxIter)
	return err
}

// read has values and gradients of some rows from now on, and products with the Hessian of others.
func (a *Batch) read(evaluations, products *design.Rows) {
	a.rows, a.products, a.last = evaluations, products, evaluation{}
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

// slots is the number of places where rows are added up, for so many cores at least; the rows of a
// block go to places by their number, so that sums do not depend on the cores there are.
const slots = 8

// slot is a place where rows are added up.
type slot struct {
	sums   []float64 // of the rows times their weights, by problem
	totals []float64 // of the weights of the rows, by problem
	values []float64
	room   []float64 // for the weights of a tile
	scores []float64 // of a tile in single precision
}

// A rescore replaces the scores of each problem, problems × rows of a tile that begins at row first, by what the
// features are multiplied with before they are added up.
type rescore func(s *slot, scores kern.View[float64], first int)

// pass adds up all rows, times what f makes of their scores, to out for some of the problems.
func (a *Batch) pass(rows *design.Rows, out, x []float64, active []int, f rescore, sampled func(first int, X mat.Matrix) error) (places []slot, err error) {
	k, d, all := len(active), a.rows.Cols, len(a.problems)
	w, offsets := make([]float64, k*d), make([]float64, k)
	for q, p := range active {
		for i := range d {
			w[q*d+i] = x[i*all+p]
		}
		if a.intercept {
			offsets[q] = x[d*all+p]
		}
	}
	places = make([]slot, slots)
	for s := range places {
		places[s] = slot{make([]float64, k*d), make([]float64, k), make([]float64, k), make([]float64, kern.NarrowTile), nil}
	}
	if rows.Float32 {
		err = addTiles[float32](a.ctx, rows, places, w, offsets, f, sampled)
	} else {
		err = addTiles[float64](a.ctx, rows, places, w, offsets, f, sampled)
	}
	for q, p := range active {
		for _, s := range places {
			for i, v := range s.sums[q*d : q*d+a.problems[p].Width] {
				out[i*all+p] += v
			}
			if a.intercept {
				out[d*all+p] += s.totals[q]
			}
		}
	}
	return places, err
}

// addTiles adds up rows in the precision T, their sums over a block in double precision.
func addTiles[T kern.Float](ctx context.Context, rows *design.Rows, places []slot, w, offsets []float64, f rescore, sampled func(first int, X mat.Matrix) error) error {
	k, d := len(offsets), rows.Cols
	own := make([]T, len(w))
	design.Round(own, w)
	vectors := kern.NewNarrow(kern.Dense(k, d, d, own))
	passes := make([]*kern.NarrowPass[T], len(places))
	for s := range passes {
		passes[s] = vectors.NewPass()
	}
	return rows.Again(ctx, rows.N, func(first int, block datasets.Set) error {
		X := viewOf[T](block.X)
		if n := X.Rows; k > 0 {
			kern.Parallel(slots, 1, func(lo, hi int) {
				for s := lo; s < hi; s++ {
					addRows(&places[s], passes[s], X.Slice(s*n/slots, (s+1)*n/slots, 0, d), first+s*n/slots, offsets, f)
				}
			})
		}
		if sampled != nil {
			return sampled(first, block.X)
		}
		return nil
	})
}

// viewOf returns dense rows, whose numbers are of type T, as kern sees them.
func viewOf[T kern.Float](X mat.Matrix) kern.View[T] {
	if m, ok := X.(*single.Dense); ok {
		return any(design.ViewFloat32(m)).(kern.View[T])
	}
	return any(design.View(X.(*mat.Dense))).(kern.View[T])
}

// addRows adds rows that begin at row first of all.
func addRows[T kern.Float](s *slot, p *kern.NarrowPass[T], rows kern.View[T], first int, offsets []float64, f rescore) {
	for lo := 0; lo < rows.Rows; lo += kern.NarrowTile {
		z := rows.Slice(lo, min(lo+kern.NarrowTile, rows.Rows), 0, rows.Cols)
		own := p.Scores(z)
		scores := s.widened(own)
		for q, b := range offsets {
			row := scores.Row(q)
			for i := range row {
				row[i] += b
			}
		}
		f(s, scores, first+lo)
		for q := range offsets {
			s.totals[q] += kern.Sum(scores.Row(q))
			if to, ok := any(own.Row(q)).([]float32); ok {
				design.Round(to, scores.Row(q))
			}
		}
		p.Add(z)
	}
	sums, d := p.Sums(), rows.Cols
	for q := range offsets {
		row, to := sums.Row(q), s.sums[q*d:(q+1)*d]
		for i, v := range row {
			to[i] += float64(v)
		}
		clear(row)
	}
}

// widened returns scores in double precision: themselves, or a copy in room that is used again.
func (s *slot) widened(scores any) kern.View[float64] {
	own, ok := scores.(kern.View[float32])
	if !ok {
		return scores.(kern.View[float64])
	}
	if s.scores == nil {
		s.scores = make([]float64, own.Rows*kern.NarrowTile)
	}
	out := kern.Dense(own.Rows, own.Cols, kern.NarrowTile, s.scores)
	for q := range own.Rows {
		design.Widen(out.Row(q), own.Row(q))
	}
	return out
}

// evaluation is what was found at a point.
type evaluation struct{ x, values, gradient []float64 }

// moved returns the problems whose variables are not those of the last evaluation, and takes the
// results of the others from there.
func (a *Batch) moved(values, gradient, x []float64) (active []int) {
	k := len(a.problems)
	for p := range k {
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
	if a.renew {
		a.preconditioners.open(active)
		a.preconditioners.forget()
		sampled = a.preconditioners.addSample
	}
	places, err := a.pass(a.rows, gradient, x, active, func(s *slot, scores kern.View[float64], first int) {
		n := scores.Cols
		for q, p := range active {
			o := &a.problems[p]
			weights := s.room[:n]
			copy(weights, o.Weights[first:first+n])
			kern.Scale(o.Factor, weights)
			o.Loss.evaluate(s.values[q:q+1], scores.Row(q), o.curve[first:][:n], o.Y[first:first+n], weights)
		}
	}, sampled)
	if err != nil {
		return err
	}
	for q, p := range active {
		values[p] = 0
		for _, s := range places {
			values[p] += s.values[q]
		}
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
		a.preconditioners.factorise()
	}
	return a.ctx.Err()
}

// Hessian computes dst = H·v at the point evaluated last.
func (a *Batch) Hessian(dst, v []float64) error {
	clear(dst)
	k, d := len(a.problems), a.rows.Cols
	var active []int
	for p := range k {
		if !isZero(v, p, k) {
			active = append(active, p)
		}
	}
	if len(active) > a.most {
		a.most = len(active)
		a.preconditioners.open(active)
	}
	_, err := a.pass(a.products, dst, v, active, func(_ *slot, scores kern.View[float64], first int) {
		for q, p := range active {
			a.problems[p].Loss.multiply(scores.Row(q), a.problems[p].curve[first:][:scores.Cols], nil)
		}
	}, nil)
	kern.Axpy(1, v[:d*k], dst[:d*k])
	return err
}

// Precondition computes dst = M⁻¹·v, as [objective.Precondition] does for each problem.
func (a *Batch) Precondition(dst, v []float64) error {
	return a.preconditioners.solve(dst, v, len(a.problems), a.rows.Cols)
}

// Advance asks for new preconditioners when the products that the last step took have cost as much.
func (a *Batch) Advance(products int) {
	n, d := float64(a.rows.N), float64(a.rows.Cols)
	renewal := a.preconditioners.renewal(n)
	pass := n * d * max(4*float64(a.most), 50) // few problems wait for memory
	a.renew = float64(products) > 2+0.3*renewal/pass
	a.most = 0
}

// Noise is what the rounding of rows in single precision, or of sums in double, does to values.
func (a *Batch) Noise() float64 {
	if a.rows.Float32 {
		return 1e-6
	}
	return 1e-13
}
