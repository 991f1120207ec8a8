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

// ErrBudget is the error of a search whose time budget ended before any candidate had scores on all
// folds.
var ErrBudget = errors.New("the time budget ended before any candidate had scores on all folds")

// errTimedOut is the cause of fits that were canceled by the time budget.
var errTimedOut = errors.New("not reached within the time budget")

// evaluateUntilDeadline runs the fits until the budget ends and marks the others as timed out. The
// journal does not contain those, so another run continues with them.
func (r *run) evaluateUntilDeadline(parent context.Context) error {
	if r.deadline.IsZero() {
		return r.fit(parent)
	}
	ctx, cancel := context.WithDeadlineCause(parent, r.deadline, errTimedOut)
	defer cancel()
	err := r.fit(ctx)
	if err == nil || r.fatal != nil || parent.Err() != nil || context.Cause(ctx) != errTimedOut {
		return err
	}
	for i := range r.outcomes {
		for k := range r.outcomes[i] {
			if o := &r.outcomes[i][k]; !o.done {
				*o = outcome{scores: slices.Repeat([]float64{math.NaN()}, len(r.scorer.metrics)), failed: errTimedOut.Error(),
					timedOut: true}
				r.timedOut = true
			}
		}
	}
	return nil
}

// budgetParts splits n candidates into eighths, in an order drawn by the seed. The first eighth is
// split again, into ranges that double in size from one candidate, so that a short budget has
// results.
func budgetParts(n int, seed uint64) (out [][2]int) {
	const maxParts = 8
	number := min(maxParts, n)
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

// allFailedError is the error of a search whose candidates all failed. It wraps the error of the first one.
type allFailedError struct {
	text  string
	first error
}

func (e *allFailedError) Error() string { return e.text }

func (e *allFailedError) Unwrap() error { return e.first }

// noCandidateError is the error of a search without a successful candidate.
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
		return &allFailedError{fmt.Sprintf("every candidate failed; the first, %s: %s", candidates[first],
			candidates[first].Failed), candidates[first].Err}
	}
	far := fmt.Sprintf("%d of %d fits are done", r.done, r.total())
	if failed > 0 {
		far += fmt.Sprintf(", and %d candidates failed, the first, %s: %s", failed, candidates[first],
			candidates[first].Failed)
	}
	if r.journal != nil {
		far += "; the journal has them, and another run resumes from it"
	}
	return fmt.Errorf("%w: %s; increase the budget or reduce candidates, folds, rows or features", ErrBudget, far)
}

// unreached reports whether candidate i lacks a fold because of the time budget and has not failed
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
	return fmt.Sprintf("the budget of %v ended before %d of %d fits; the best candidate is selected among those with "+
		"scores on all folds", budget, unreached, fits)
}
