package gridsearch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// ErrBudget is the error of a search whose budget of time ended before any candidate was scored on
// every fold.
var ErrBudget = errors.New("the budget of time ended before any candidate was scored on every fold")

// errTimedOut is why a fit is not done whose time was over.
var errTimedOut = errors.New("not reached within the budget of time")

// evaluateUntilDeadline does what can be done until the budget ends. What is left then is late; the journal
// does not say so, and another run goes on there.
func (r *run) evaluateUntilDeadline(parent context.Context) error {
	if r.deadline.IsZero() {
		return r.fitter.fit(parent)
	}
	ctx, cancel := context.WithDeadlineCause(parent, r.deadline, errTimedOut)
	defer cancel()
	err := r.fitter.fit(ctx)
	if err == nil || r.fatal != nil || parent.Err() != nil || context.Cause(ctx) != errTimedOut {
		return err
	}
	for i := range r.outcomes {
		for k := range r.outcomes[i] {
			if o := &r.outcomes[i][k]; !o.done {
				*o = outcome{scores: slices.Repeat([]float64{math.NaN()}, len(r.scorer.metrics)), failed: errTimedOut.Error(), timedOut: true}
				r.timedOut = true
			}
		}
	}
	return nil
}

// budgetParts cuts n candidates into ranges: eighths in an order drawn by the seed. The first one is cut
// again, into ranges that double in size from a single candidate, for the budget may be short.
func budgetParts(n int, seed uint64) (out [][2]int) {
	const most = 8
	number := min(most, n)
	for k, p := range rand.New(rand.NewPCG(seed, partStream)).Perm(number) {
		from, to := p*n/number, (p+1)*n/number
		for size := 1; k == 0 && size < to-from; size *= 2 {
			out = append(out, [2]int{from, from + size})
			from += size
		}
		out = append(out, [2]int{from, to})
	}
	return out
}

// noCandidateError is the error of a search that has no candidate to choose.
func (r *run) noCandidateError(candidates []Candidate) error {
	failed, first := 0, -1
	for i := range candidates {
		if !r.unreached(i) {
			if failed++; first < 0 {
				first = i
			}
		}
	}
	if !r.timedOut {
		return fmt.Errorf("every candidate failed; the first, %s: %s", candidates[first], candidates[first].Failed)
	}
	far := fmt.Sprintf("%d of %d fits are done", r.done, r.total())
	if failed > 0 {
		far += fmt.Sprintf(", and %d candidates failed, the first, %s: %s", failed, candidates[first], candidates[first].Failed)
	}
	if r.journal != nil {
		far += "; the journal has them, and another run goes on there"
	}
	return fmt.Errorf("%w: %s; allow more time, or less work: fewer candidates, folds, rows or features", ErrBudget, far)
}

// unreached reports whether candidate i lacks a fold for which there was no time, and has not failed
// on another.
func (r *run) unreached(i int) bool {
	late := false
	for _, o := range r.outcomes[i] {
		if o.failed != "" && !o.timedOut {
			return false
		}
		late = late || o.timedOut
	}
	return late
}

func budgetWarning(budget time.Duration, unreached, fits int) string {
	return fmt.Sprintf("the budget of %v ended before %d of %d fits; the best is that of the candidates that were scored on every fold", budget, unreached, fits)
}
