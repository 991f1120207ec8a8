package gridsearch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/internal/learning/searchloop"
)

// ErrBudget is the error of a search whose time budget ended before any candidate had scores on all
// folds.
var ErrBudget = errors.New("the time budget ended before any candidate had scores on all folds")

// fit does the pending fits of the round until the budget ends and marks the others as timed out. The journal does not
// contain those, so another run continues with them. With a budget, candidates that share work are fitted in parts;
// those of a part are neighbors in the grid and share most of their work.
func (r *run) fit(ctx context.Context) error {
	_, shares := r.search.Estimator.(batch.Fitter)
	_, left := r.search.Splitter.(LeaveOneOut)
	parts := [][2]int{{0, len(r.candidates) - r.firstNew}}
	if shares && !left && r.stream == nil && !r.deadline.IsZero() {
		parts = budgetParts(parts[0][1], r.search.Seed)
	}
	err := r.Run(ctx, len(parts), func(i int) (*searchloop.Proposal, error) {
		return r.propose(r.firstNew+parts[i][0], r.firstNew+parts[i][1], shares), nil
	})
	if !errors.Is(err, searchloop.ErrEnded) {
		return err
	}
	for i := range r.outcomes {
		for k := range r.outcomes[i] {
			if o := &r.outcomes[i][k]; !o.Done {
				*o = outcome{Scores: slices.Repeat([]float64{math.NaN()}, len(r.scorer.metrics)), Failed: err.Error(),
					TimedOut: true}
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
	if r.Journaled() {
		far += "; the journal has them, and another run resumes from it"
	}
	return fmt.Errorf("%w: %s; increase the budget or reduce candidates, folds, rows or features", ErrBudget, far)
}

// unreached reports whether candidate i lacks a fold because of the time budget and has not failed
// on another.
func (r *run) unreached(i int) bool {
	late := false
	for _, o := range r.outcomes[i] {
		if o.Failed != "" && !o.TimedOut {
			return false
		}
		late = late || o.TimedOut
	}
	return late
}

func budgetWarning(budget time.Duration, unreached, fits int) string {
	return fmt.Sprintf("the budget of %v ended before %d of %d fits; the best candidate is selected among those with "+
		"scores on all folds", budget, unreached, fits)
}
