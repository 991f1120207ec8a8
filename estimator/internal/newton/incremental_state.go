package newton

import (
	"context"
	"fmt"
	"math"
	"slices"

	passes "github.com/bochner-ml/bochner/datasets/pass"
	"github.com/bochner-ml/bochner/estimator/internal/leastsquares"
	"github.com/bochner-ml/bochner/model"
)

// State serializes the pass. It restores into a pass of the same task and options.
func (p *IncrementalNewton) State(s *model.State) {
	size, groups := p.task.size(p.plan.Cols), p.task.Groups
	p.outcome = nil
	p.stateReplies(s.Child("told"), size, groups)
	prepared := p.preconditioner != nil
	s.Bool("product", &p.request.isProduct)
	s.Bool("renew", &p.request.renew)
	s.Bool("apart", &p.request.coupled)
	s.Bool("prepared", &prepared)
	passes.Floats(s, "at", &p.request.x, size, passes.Finite)
	if p.request.isProduct {
		passes.Floats(s, "vector", &p.request.v, size, passes.Finite)
	}
	s.Int("seen", &p.rowsSeen)
	passes.Floats(s, "values", &p.values, groups, passes.Finite)
	passes.Floats(s, "sums", &p.out, size, passes.Finite)
	s.Require(p.rowsSeen >= 0 && prepared == (len(p.replies) > 0) && !(p.request.isProduct && p.request.renew),
		"the request does not match the replies")
	if s.Err() != nil {
		return
	}
	if s.Restoring() {
		p.sample, p.preconditioner = nil, nil
	}
	if prepared {
		if s.Restoring() {
			p.preconditioner = p.objective(context.Background())
		}
		p.preconditioner.state(s.Child("preconditioner"))
		if s.Restoring() && s.Err() == nil && p.preconditioner.usesMatrix {
			if p.preconditioner.gram == nil && !p.preconditioner.useCoupled {
				s.Fail("the preconditioner has no rows")
				return
			}
			p.preconditioner.factorize()
		}
	}
	if s.Restoring() && s.Err() == nil && !p.requestMatches() {
		s.Fail("the state does not match this version of the solver; restart the fit")
		return
	}
	if p.request.renew && s.Err() == nil {
		if s.Restoring() {
			p.sample = p.objective(context.Background())
			p.sample.useCoupled = p.request.coupled
			p.sample.resetSums(make([]float64, groups), make([]float64, size))
		}
		p.sample.state(s.Child("sample"))
	}
}

// requestMatches reports whether the solver, given the replies, makes the stored request. This
// rejects states of another solver version. Variables are compared up to rounding, since hosts may
// differ in the last bits.
func (p *IncrementalNewton) requestMatches() bool {
	then, err := p.run(context.Background(), p.replies, p.preconditioner)
	if err != nil || then.next == nil {
		return false
	}
	a, b := p.request, then.next.request
	return a.isProduct == b.isProduct && a.renew == b.renew && a.coupled == b.coupled &&
		len(then.next.replies) == len(p.replies) && approxEqual(a.x, b.x) && approxEqual(a.v, b.v)
}

// approxEqual reports whether two slices are equal up to rounding.
func approxEqual(a, b []float64) bool {
	const rounding = 1e-6
	largest := 0.0
	for _, v := range a {
		largest = max(largest, math.Abs(v))
	}
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Abs(x-y) <= rounding*largest })
}

// stateReplies serializes the replies.
func (p *IncrementalNewton) stateReplies(s *model.State, size, groups int) {
	var evaluations []int // 1 for an evaluation
	var values, vectors []float64
	for _, a := range p.replies {
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
	if !s.Restoring() || s.Err() != nil {
		return
	}
	p.replies = make([]reply, len(evaluations))
	for i, e := range evaluations {
		if e > 0 {
			p.replies[i].values, values = values[:groups:groups], values[groups:]
		}
		p.replies[i].vector = vectors[i*size : (i+1)*size : (i+1)*size]
	}
}

// state serializes the sums of the preconditioner.
func (o *objective) state(s *model.State) {
	if !o.usesMatrix {
		passes.Floats(s, "diagonal", &o.diagonal, o.rows.Cols+1, passes.NonNegative)
		return
	}
	if s.Bool("apart", &o.useCoupled); o.useCoupled {
		o.stateCoupled(s)
		return
	}
	empty := o.gram == nil || o.gram.Rows() == 0
	if s.Bool("empty", &empty); empty || s.Err() != nil {
		return
	}
	if s.Restoring() {
		o.gram = leastsquares.NewMoments(o.rows.Cols, 0, o.intercept)
	}
	if s.Restoring() {
		o.gram.State(s, o.intercept, 0)
		return
	}
	gram := *o.gram
	if o.factor != nil || o.diagonal != nil {
		gram.Weight = o.weight // factorize replaces a weight of 0
	}
	gram.State(s, o.intercept, 0)
}

// stateCoupled serializes the matrices per class.
func (o *objective) stateCoupled(s *model.State) {
	if s.Require(o.coupledAfter > 0, "matrices per class are unavailable"); s.Err() != nil {
		return
	}
	if s.Restoring() {
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
