package newton

import (
	"context"
	"fmt"
	"math"
	"slices"

	passes "github.com/bochner-ml/bochner/datasets/pass"
	"github.com/bochner-ml/bochner/estimator/internal/leastsquares"
	"github.com/bochner-ml/bochner/internal/kern"
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
			p.preconditioner = p.batch(context.Background()).preconditioners
		}
		p.preconditioner.state(s.Child("preconditioner"))
		if s.Restoring() && s.Err() == nil && p.preconditioner.usesMatrix {
			if p.preconditioner.list[0].gram == nil && !p.preconditioner.useCoupled {
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
			p.sample = p.emptySample()
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

// merge adds the sums of disjoint rows.
func (a *preconditioners) merge(o *preconditioners) {
	to, from := &a.list[0], &o.list[0]
	switch {
	case a.useCoupled:
		for class, g := range a.coupled.grams {
			g.Merge(o.coupled.grams[class])
		}
	case a.usesMatrix:
		to.gram.Merge(from.gram)
	default:
		kern.Axpy(1, from.diagonal, to.diagonal)
	}
}

// state serializes the sums.
func (a *preconditioners) state(s *model.State) {
	l := &a.list[0]
	if !a.usesMatrix {
		passes.Floats(s, "diagonal", &l.diagonal, l.width+1, passes.NonNegative)
		return
	}
	if s.Bool("apart", &a.useCoupled); a.useCoupled {
		if s.Require(a.coupledAfter > 0, "matrices per class are unavailable"); s.Err() != nil {
			return
		}
		if s.Restoring() {
			a.resetSums()
		}
		for class := range a.coupled.grams {
			a.stateMoments(s.Child(fmt.Sprint("class", class)), &a.coupled.grams[class])
		}
		return
	}
	a.stateMoments(s, &l.gram)
}

// stateMoments serializes moments unless they have no rows.
func (a *preconditioners) stateMoments(s *model.State, m **leastsquares.Moments) {
	empty := *m == nil || (*m).Rows() == 0
	if s.Bool("empty", &empty); empty || s.Err() != nil {
		return
	}
	if s.Restoring() {
		*m = leastsquares.NewMoments(a.list[0].width, 0, a.intercept)
	}
	(*m).State(s, a.intercept, 0)
}
