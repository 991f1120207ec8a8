package gridsearch

import (
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
)

// Plan describes a search before it runs.
type Plan struct {
	Candidates   int
	Folds        int
	Fits         int   // candidates × folds
	MayStopEarly bool  // whether the search may evaluate fewer candidates, as [Coordinate] does
	Bytes        int64 // memory of concurrent fits, without the data
}

// maxPlanCandidates bounds the candidates that a plan inspects; more are sampled.
const maxPlanCandidates = 1000

// Plan checks the search and the data as Run does, and simulates the rounds without fitting. It
// samples large grids. The number of surviving candidates does not depend on which ones survive.
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

// bytesAtOnce returns the memory of the fits of the round: what the batch fitter declares, else the
// sum of the largest concurrent fits within the bound. The folds of one candidate may run
// concurrently.
func (r *run) bytesAtOnce() (bytes int64) {
	j := r.job()
	if fitter, ok := r.search.Estimator.(batch.Fitter); ok {
		if bytes, err := fitter.PlanBatch(j); err == nil {
			return bytes
		}
	}
	used := make([]int64, len(j.Candidates))
	for i := range used {
		used[i] = j.FitBytes(i)
	}
	slices.Sort(used)
	workers := r.search.workers()
	for i := len(used) - 1; i >= 0 && workers > 0; i-- {
		concurrent := min(workers, len(r.folds))
		bytes += used[i] * int64(concurrent)
		workers -= concurrent
	}
	return min(bytes, r.Memory)
}
