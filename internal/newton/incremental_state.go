package newton

import (
	"context"
	"fmt"
	"math"
	"slices"

	passes "github.com/bochner-ml/bochner/datasets/pass"
	"github.com/bochner-ml/bochner/internal/leastsquares"
	"github.com/bochner-ml/bochner/model"
)

// State carries the pass to a file and back, into one of the same task on the same plan.
func (p *IncrementalNewton) State(s *model.State) {
	size, groups := p.task.size(p.plan.Cols), p.task.Groups
	p.followed = nil
	p.stateOfLog(s.Child("told"), size, groups)
	prepared := p.ready != nil
	s.Bool("product", &p.ask.product)
	s.Bool("renew", &p.ask.renew)
	s.Bool("apart", &p.ask.apart)
	s.Bool("prepared", &prepared)
	passes.Floats(s, "at", &p.ask.at, size, passes.Finite)
	if p.ask.product {
		passes.Floats(s, "vector", &p.ask.v, size, passes.Finite)
	}
	s.Int("seen", &p.seen)
	passes.Floats(s, "values", &p.values, groups, passes.Finite)
	passes.Floats(s, "sums", &p.out, size, passes.Finite)
	s.Require(p.seen >= 0 && prepared == (len(p.log) > 0) && !(p.ask.product && p.ask.renew), "the question and what was told do not fit")
	if s.Err() != nil {
		return
	}
	if s.Reading() {
		p.sample, p.ready = nil, nil
	}
	if prepared {
		if s.Reading() {
			p.ready = p.objective(context.Background())
		}
		p.ready.state(s.Child("preconditioner"))
		if s.Reading() && s.Err() == nil && p.ready.matrix {
			if p.ready.gram == nil && !p.ready.apart {
				s.Fail("the preconditioner is of no rows")
				return
			}
			p.ready.factorise()
		}
	}
	if s.Reading() && s.Err() == nil && !p.asks() {
		s.Fail("the solver does not ask what these rows were read for: another version of it has begun the fit, which has to begin anew")
		return
	}
	if p.ask.renew && s.Err() == nil {
		if s.Reading() {
			p.sample = p.objective(context.Background())
			p.sample.apart = p.ask.apart
			p.sample.begin(make([]float64, groups), make([]float64, size))
		}
		p.sample.state(s.Child("sample"))
	}
}

// asks reports whether the solver, told what it was told, asks the question that it has asked: so that none goes on from answers
// to the questions of another one. Its variables may be those of another processor, which rounds otherwise.
func (p *IncrementalNewton) asks() bool {
	then, err := p.run(context.Background(), p.log, p.ready)
	if err != nil || then.next == nil {
		return false
	}
	a, b := p.ask, then.next.ask
	return a.product == b.product && a.renew == b.renew && a.apart == b.apart && len(then.next.log) == len(p.log) && alike(a.at, b.at) && alike(a.v, b.v)
}

// alike reports whether lists are the same but for rounding.
func alike(a, b []float64) bool {
	const rounding = 1e-6
	largest := 0.0
	for _, v := range a {
		largest = max(largest, math.Abs(v))
	}
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Abs(x-y) <= rounding*largest })
}

// stateOfLog carries the answers, one after the other.
func (p *IncrementalNewton) stateOfLog(s *model.State, size, groups int) {
	var evaluations []int // 1 for an evaluation
	var values, vectors []float64
	for _, a := range p.log {
		evaluations = append(evaluations, min(1, len(a.values)))
		values, vectors = append(values, a.values...), append(vectors, a.vector...)
	}
	s.Ints("evaluations", &evaluations)
	n := 0
	for _, e := range evaluations {
		n += min(max(e, 0), 1)
	}
	passes.Floats(s, "values", &values, n*groups, passes.Finite)
	passes.Floats(s, "vectors", &vectors, len(evaluations)*size, passes.Finite)
	if !s.Reading() || s.Err() != nil {
		return
	}
	p.log = make([]answer, len(evaluations))
	for i, e := range evaluations {
		if e > 0 {
			p.log[i].values, values = values[:groups:groups], values[groups:]
		}
		p.log[i].vector = vectors[i*size : (i+1)*size : (i+1)*size]
	}
}

// state carries what a preconditioner is made of.
func (o *objective) state(s *model.State) {
	if !o.matrix {
		passes.Floats(s, "diagonal", &o.diagonal, o.rows.Cols+1, passes.Count)
		return
	}
	if s.Bool("apart", &o.apart); o.apart {
		o.stateOfClasses(s)
		return
	}
	empty := o.gram == nil || o.gram.Rows() == 0
	if s.Bool("empty", &empty); empty || s.Err() != nil {
		return
	}
	if s.Reading() {
		o.gram = leastsquares.NewMoments(o.rows.Cols, 0, o.intercept)
	}
	if s.Reading() {
		o.gram.State(s, o.intercept, 0)
		return
	}
	gram := *o.gram
	if o.factor != nil || o.diagonal != nil {
		gram.Weight = o.weight // which factorise has changed where it is 0
	}
	gram.State(s, o.intercept, 0)
}

// stateOfClasses carries the matrices of the classes.
func (o *objective) stateOfClasses(s *model.State) {
	if s.Require(o.far > 0, "there are no matrices of classes"); s.Err() != nil {
		return
	}
	if s.Reading() {
		o.coupled = newCoupled(o.rows.Cols, o.outputs, o.intercept)
	}
	for class, g := range o.coupled.grams {
		part := s.Child(fmt.Sprint("class", class))
		empty := g.Rows() == 0
		if part.Bool("empty", &empty); !empty && s.Err() == nil {
			g.State(part, o.intercept, 0)
		}
	}
}
