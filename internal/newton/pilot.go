package newton

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/cause"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/solve"
)

// leastApart is how many times as many as their sample rows have to be for a pilot to pay.
const leastApart = 3

const (
	pilotTol   = 1e-2
	pilotSteps = 30
)

// begin moves the variables, which are 0, to near the minima, by a pilot: the same problems on those rows of which
// preconditioners are made, a pass over which costs little. It leads about as far as one can see from a sample. A problem that is worse
// there than at 0 stays at 0. It returns the norms of the gradients at 0, nil where there is no pilot, for it would cost as much as the
// way that it saves, or because it did not arrive: in single precision rows may be too large.
func (a *Batch) begin(tol float64) (reference []float64, err error) {
	every := sampling(float64(a.rows.N), float64(a.rows.Cols))
	if every < leastApart || tol >= pilotTol || a.rows.Sparse {
		return nil, nil
	}
	rows, fresh := a.rows, a.preconditioners
	if rows.Rounded != nil {
		a.rows = rows.Rounded
	}
	if reference, err = a.follow(every); err != nil {
		clear(a.x)
		a.rows, a.preconditioners, a.last, a.renew = rows, fresh, evaluation{}, true
		return nil, cause.Err(a.ctx)
	}
	return reference, nil
}

// follow is begin with one of every so many rows.
func (a *Batch) follow(every int) (reference []float64, err error) {
	var parts []datasets.Set
	values, reference, err := a.origin(func(first int, X mat.Matrix) error {
		n, _ := X.Dims()
		if list := oneOf(every, first, n); len(list) > 0 {
			parts = append(parts, datasets.Set{X: datasets.SelectRows(X, list)})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	sample, err := datasets.Stack(parts...)
	if err != nil {
		return nil, err
	}
	rows, err := design.OfSet(sample)
	if err != nil {
		return nil, err
	}
	pilot := NewBatch(a.ctx, rows, a.intercept, a.sampled(every))
	pilot.pilot, pilot.preconditioners.kept = true, sample.X
	if _, err := solve.Newton(pilot, a.x, len(a.problems), nil, pilotTol, pilotSteps); err != nil {
		return nil, err
	}
	own := *pilot.preconditioners
	own.problems, own.sample = a.problems, every
	a.preconditioners = &own
	a.renew = own.piloted()
	there, gradient := make([]float64, len(values)), make([]float64, len(a.x))
	if err := a.Evaluate(there, gradient, a.x); err != nil {
		return nil, err
	}
	for p, v := range there {
		if !(v <= values[p]) {
			for i := p; i < len(a.x); i += len(values) {
				a.x[i] = 0
			}
		}
	}
	return reference, nil
}

// oneOf lists one of every so many rows, of a block of rows from first on.
func oneOf(every, first, rows int) (list []int) {
	for i := (every - first%every) % every; i < rows; i += every {
		list = append(list, i)
	}
	return list
}

// sampled returns the problems on one of every so many rows, of so many times the weight.
func (a *Batch) sampled(every int) []Problem {
	pick := func(known map[*float64][]float64, list []float64, factor float64) []float64 {
		out := known[&list[0]]
		if out == nil {
			for i := 0; i < len(list); i += every {
				out = append(out, factor*list[i])
			}
			known[&list[0]] = out
		}
		return out
	}
	problems, y, weights := slices.Clone(a.problems), map[*float64][]float64{}, map[*float64][]float64{}
	for p := range problems {
		o := &problems[p]
		o.Y, o.Weights = pick(y, o.Y, 1), pick(weights, o.Weights, float64(every))
	}
	return problems
}

// origin returns the values of all problems at 0 and the norms of their gradients there, and calls sampled for each block of rows. Of
// problems that differ only in factor and width, one is evaluated.
func (a *Batch) origin(sampled func(first int, X mat.Matrix) error) (values, norms []float64, err error) {
	type source struct {
		loss       Loss
		y, weights *float64
	}
	first := map[source]int{} // the one that is evaluated
	var active []int
	for _, p := range a.order {
		o := &a.problems[p]
		s := source{o.Loss, &o.Y[0], &o.Weights[0]}
		if _, known := first[s]; !known {
			first[s] = p
			active = append(active, p)
		}
	}
	k := len(a.problems)
	gradient := make([]float64, len(a.x))
	sums, err := a.losses(gradient, a.x, active, sampled)
	if err != nil {
		return nil, nil, err
	}
	values, norms = make([]float64, k), make([]float64, k)
	for p := range a.problems {
		o := &a.problems[p]
		of := first[source{o.Loss, &o.Y[0], &o.Weights[0]}]
		share := o.Factor / a.problems[of].Factor
		values[p] = share * sums.Values[slices.Index(active, of)]
		square := 0.0
		for i := range len(gradient) / k {
			if v := gradient[i*k+of]; i < o.Width || i >= a.rows.Cols {
				square += v * v
			}
		}
		norms[p] = share * math.Sqrt(square)
	}
	return values, norms, nil
}
