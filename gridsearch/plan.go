package gridsearch

import (
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/share"
)

// Plan is what a search would do, estimated before it does it.
type Plan struct {
	Candidates   int
	Folds        int
	Fits         int   // of candidates on folds
	MayStopEarly bool  // whether the search may end with fewer candidates, which a [Coordinate] does
	Bytes        int64 // held at once by fits, beside the data itself
}

// maxPlanCandidates is how many candidates a plan looks at. Of more it takes a part, which stands for
// all.
const maxPlanCandidates = 1000

// Plan checks the search and the data as Run does, and goes through the rounds without fitting. Of many
// candidates it looks at some. Which candidates get to the next round makes no difference to their number.
func (s Search) Plan(data datasets.Set) (Plan, error) {
	r, err := s.prepare(data, maxPlanCandidates)
	if err != nil {
		return Plan{}, fmt.Errorf("gridsearch: %w", err)
	}
	r.planOnly = true
	p := Plan{Folds: len(r.fullFolds)}
	tried := 0
	for {
		more, err := r.next()
		if err != nil {
			return Plan{}, fmt.Errorf("gridsearch: %w", err)
		}
		if !more {
			break
		}
		if r.firstNew == 0 {
			p.Fits += (r.proposal.number + r.proposal.left) * p.Folds
		}
		if len(r.earlierStages) == 0 {
			tried += r.proposal.number
			p.Candidates = max(p.Candidates, tried+r.proposal.left)
		}
		p.Bytes = max(p.Bytes, r.bytesAtOnce())
	}
	p.MayStopEarly = tried < p.Candidates
	return p, nil
}

// bytesAtOnce is the memory of the fits of the round: of a batch what the estimator says, else the most that fits side
// by side hold, the largest ones together, within the bound. A candidate's folds may all be among them.
func (r *inMemory) bytesAtOnce() (bytes int64) {
	if fitter, ok := r.search.Estimator.(share.BatchFitter); ok {
		if bytes, err := fitter.PlanBatch(r.batch()); err == nil {
			return bytes
		}
	}
	used := make([]int64, 0, len(r.candidates))
	for _, c := range r.candidates[r.firstNew:] {
		used = append(used, r.fitBytes(c))
	}
	slices.Sort(used)
	workers := r.search.workers()
	for i := len(used) - 1; i >= 0 && workers > 0; i-- {
		concurrent := min(workers, len(r.folds))
		bytes += used[i] * int64(concurrent)
		workers -= concurrent
	}
	if r.search.Memory > 0 {
		bytes = min(bytes, r.search.Memory)
	}
	return bytes
}
