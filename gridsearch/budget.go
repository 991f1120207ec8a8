package gridsearch

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/bochner-ml/bochner/estimator"
)

// sweepParts is into how many parts a grid is cut where time is bounded.
const sweepParts = 8

// errLate ends a search whose time is over.
var errLate = errors.New("not reached within the budget of time")

// workWithin does what can be done in time. What is left then fails for lack of it; the journal does
// not say so, and another run goes on there.
func (r *run) workWithin(parent context.Context, budget time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(parent, budget, errLate)
	defer cancel()
	err := r.workInParts(ctx)
	if err == nil || context.Cause(ctx) != errLate || parent.Err() != nil || !errors.Is(err, ctx.Err()) && !errors.Is(err, errLate) {
		return err
	}
	r.late = true
	for i := range r.outcomes {
		for k := range r.outcomes[i] {
			if o := &r.outcomes[i][k]; !o.done {
				*o = outcome{scores: slices.Repeat([]float64{math.NaN()}, len(r.scorer.metrics)), failed: errLate.Error()}
			}
		}
	}
	return nil
}

// workInParts asks a Resumer for one part of the candidates after the other. A part is neighbours in
// the grid, which have most in common.
func (r *run) workInParts(ctx context.Context) error {
	sweeper, ok := r.search.Estimator.(estimator.Resumer)
	if _, left := r.search.Splitter.(LeaveOneOut); !ok || left {
		return r.work(ctx)
	}
	n := len(r.candidates)
	parts := min(sweepParts, n)
	for _, p := range rand.New(rand.NewPCG(r.search.Seed, partStream)).Perm(parts) {
		r.part = make([]bool, n)
		open := false
		for i := p * n / parts; i < (p+1)*n/parts; i++ {
			r.part[i] = true
			open = open || slices.ContainsFunc(r.outcomes[i], func(o outcome) bool { return !o.done })
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if open {
			if err := r.sweep(ctx, sweeper); err != nil {
				return err
			}
		}
	}
	return nil
}
