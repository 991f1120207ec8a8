package estimator

import (
	"context"
	"errors"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/solve"
)

// abreast is problems on the same features or the first of them, of several C, folds and classes, that
// Newton's method minimises together. A pass over the rows is then a product of matrices, which
// computes as fast as there is arithmetic, where a problem by itself waits for memory. What is done, a
// problem or a column of conjugate gradients, is left out of a pass. A row that a fold does not train
// on has weight 0 in its problems.
//
// All problems with the same C and features have the same preconditioner, the Cholesky factor of a
// mean of their Hessians over a sample of the rows. The first is made once, for the curvature at 0.
type abreast struct {
	ctx       context.Context
	rows      *design.Rows // of all parts
	intercept bool
	problems  []oneOfMany
	curve     []float64 // problems × rows, of the last evaluation
	last      evaluation

	levels []level // by C and width, the widest first
	renew  bool
	fresh  bool // whether all x are 0 at the evaluation that renews
	sample int
	most   int // problems in a product of the last step
}

// oneOfMany is the problem of one C on one fold for one output.
type oneOfMany struct {
	loss    loss      // one whose second derivative is all in its curve
	y       []float64 // of all rows
	weights []float64 // of all rows, without C
	factor  float64   // C
	width   int       // the features it has, the first ones; variables of others stay 0
}

var _ solve.Problem = (*abreast)(nil)

func newAbreast(ctx context.Context, r *design.Rows, intercept bool, problems []oneOfMany) *abreast {
	a := &abreast{ctx: ctx, rows: r, intercept: intercept, problems: problems, renew: true, fresh: true}
	a.curve = make([]float64, len(problems)*r.N)
	for p, o := range problems {
		at := slices.IndexFunc(a.levels, func(l level) bool { return l.factor == o.factor && l.width == o.width })
		if at < 0 {
			at = len(a.levels)
			a.levels = append(a.levels, level{factor: o.factor, width: o.width})
		}
		a.levels[at].problems = append(a.levels[at].problems, p)
	}
	slices.SortStableFunc(a.levels, func(x, y level) int { return y.width - x.width })
	n, d := float64(r.N), float64(r.Cols)
	kept := min(n, max(4*d, 2048))
	a.sample = max(1, int(n/kept))
	return a
}

func (a *abreast) size() int {
	if a.intercept {
		return (a.rows.Cols + 1) * len(a.problems)
	}
	return a.rows.Cols * len(a.problems)
}

// slots is the number of places where rows are folded, for so many cores at least; the rows of a
// block go to places by their number, so that sums do not depend on the cores there are.
const slots = 8

// slot is a place where rows are folded.
type slot struct {
	*kern.NarrowFold
	totals []float64 // of the weights of the rows, by problem
	values []float64
	room   []float64 // for the weights of a tile
}

// pass folds all rows for some of the problems: f replaces the scores of each of them, problems × rows
// of a tile that begins at row first, by what the features are multiplied with and added to out.
func (a *abreast) pass(out, x []float64, active []int, f func(s *slot, scores kern.View[float64], first int), sampled func(first int, X *mat.Dense) error) (places []slot, err error) {
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
	vectors := kern.NewNarrow(kern.Dense(k, d, d, w))
	places = make([]slot, slots)
	for s := range places {
		places[s] = slot{vectors.NewFold(), make([]float64, k), make([]float64, k), make([]float64, kern.NarrowTile)}
	}
	err = a.rows.Again(a.ctx, a.rows.N, func(first int, block datasets.Set) error {
		X := block.X.(*mat.Dense)
		if rows, _ := X.Dims(); k > 0 {
			kern.Parallel(slots, 1, func(lo, hi int) {
				for s := lo; s < hi; s++ {
					places[s].fold(design.View(X).Slice(s*rows/slots, (s+1)*rows/slots, 0, d), first+s*rows/slots, offsets, f)
				}
			})
		}
		if sampled != nil {
			return sampled(first, X)
		}
		return nil
	})
	for q, p := range active {
		for _, s := range places {
			for i, v := range s.Sums().Row(q)[:a.problems[p].width] {
				out[i*all+p] += v
			}
			if a.intercept {
				out[d*all+p] += s.totals[q]
			}
		}
	}
	return places, err
}

// fold adds rows that begin at row first of all.
func (s *slot) fold(rows kern.View[float64], first int, offsets []float64, f func(s *slot, scores kern.View[float64], first int)) {
	for lo := 0; lo < rows.Rows; lo += kern.NarrowTile {
		z := rows.Slice(lo, min(lo+kern.NarrowTile, rows.Rows), 0, rows.Cols)
		scores := s.Scores(z)
		for q, b := range offsets {
			row := scores.Row(q)
			for i := range row {
				row[i] += b
			}
		}
		f(s, scores, first+lo)
		s.Add(z)
		for q := range s.totals {
			s.totals[q] += kern.Sum(scores.Row(q))
		}
	}
}

// evaluation is what was found at a point.
type evaluation struct{ x, values, gradient []float64 }

// moved returns the problems whose variables are not those of the last evaluation, and takes the
// results of the others from there.
func (a *abreast) moved(values, gradient, x []float64) (active []int) {
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
func (a *abreast) Evaluate(values, gradient, x []float64) error {
	k, d := len(a.problems), a.rows.Cols
	active := a.moved(values, gradient, x)
	var sampled func(int, *mat.Dense) error
	if a.renew {
		a.open(active)
		a.forget()
		sampled = a.addSample
	}
	places, err := a.pass(gradient, x, active, func(s *slot, scores kern.View[float64], first int) {
		n := scores.Cols
		for q, p := range active {
			o := &a.problems[p]
			weights := s.room[:n]
			copy(weights, o.weights[first:first+n])
			kern.Scale(o.factor, weights)
			o.loss.evaluate(s.values[q:q+1], scores.Row(q), a.curve[p*a.rows.N+first:][:n], o.y[first:first+n], weights)
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
		a.factorise()
	}
	return a.ctx.Err()
}

// Hessian computes dst = H·v at the point evaluated last.
func (a *abreast) Hessian(dst, v []float64) error {
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
		a.open(active)
	}
	_, err := a.pass(dst, v, active, func(_ *slot, scores kern.View[float64], first int) {
		for q, p := range active {
			a.problems[p].loss.multiply(scores.Row(q), a.curve[p*a.rows.N+first:][:scores.Cols], nil)
		}
	}, nil)
	kern.Axpy(1, v[:d*k], dst[:d*k])
	return err
}

// isZero reports whether column p of k is 0.
func isZero(v []float64, p, k int) bool {
	for i := p; i < len(v); i += k {
		if v[i] != 0 {
			return false
		}
	}
	return true
}

// Precondition computes dst = M⁻¹·v, for the problems of each level as [objective.Precondition] does.
func (a *abreast) Precondition(dst, v []float64) error {
	k, d := len(a.problems), a.rows.Cols
	kern.Parallel(len(a.levels), 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			a.levels[i].solve(a.ctx, dst, v, k, d, a.intercept)
		}
	})
	return a.ctx.Err()
}

// Advance asks for new preconditioners when the products that the last step took have cost as much.
func (a *abreast) Advance(products int) {
	n, d := float64(a.rows.N), float64(a.rows.Cols)
	renewal := 0.0
	for _, l := range a.levels {
		if w := float64(l.width); l.open {
			renewal += n/float64(a.sample)*w*w + w*w*w/3
		}
	}
	pass := n * d * max(4*float64(a.most), 50) // few problems wait for memory
	a.renew = float64(products) > 2+0.3*renewal/pass
	a.most = 0
}

// Noise is what the rounding of sums does to values.
func (a *abreast) Noise() float64 { return 1e-13 }
