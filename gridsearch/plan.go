package gridsearch

import (
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
)

// Plan is what a search would do, estimated before it does it.
type Plan struct {
	Candidates int
	Folds      int
	Fits       int  // candidates × folds
	AtMost     bool // whether the search may end with fewer candidates, which a [Coordinate] does
	Workers    int  // fits side by side, 1 where the estimator fits them as one batch

	// Known tells whether the estimator says what it costs, as a [datasets.Coster]. Where it does
	// not, Flops is 0 and Bytes counts rows only.
	Known bool
	Flops float64 // of all fits done one by one, the refit included
	Bytes int64   // held at once by fits, beside the data itself

	// Batch tells whether the estimator fits all candidates together, as an [estimator.BatchFitter].
	// Shared names what it shares, and SharedFlops what is left to do.
	Batch       bool
	Shared      []string
	SharedFlops float64
}

// plannedCandidates is how many candidates a plan looks at. Of more it takes a part, which stands for
// all.
const plannedCandidates = 1000

// Plan checks the search and the data as Run does, and estimates the work without doing any. Of many
// candidates it looks at some, and takes the work to grow with their number.
func (s Search) Plan(data datasets.Set) (Plan, error) {
	return added(s.plan(data))
}

// added returns a plan with the work of the refit.
func added(p Plan, refit float64, err error) (Plan, error) {
	if err != nil {
		return Plan{}, fmt.Errorf("gridsearch: %w", err)
	}
	p.Flops += refit
	return p, nil
}

// plan estimates the work of the search, and that of the refit apart, but no time.
func (s Search) plan(data datasets.Set) (p Plan, refit float64, err error) {
	r, err := s.prepare(data, plannedCandidates)
	if err != nil {
		return p, 0, err
	}
	p, refit = r.plan()
	return p, refit, nil
}

// plan estimates the work of all candidates by that of those there are.
func (r *run) plan() (p Plan, refit float64) {
	s := r.search
	fits := r.all * len(r.folds)
	p = Plan{Candidates: r.all, Folds: len(r.folds), Fits: fits, Workers: min(s.workers(), fits)}
	if _, p.Batch = s.Estimator.(estimator.BatchFitter); p.Batch {
		p.Workers = 1
	}
	refit = r.planFits(&p)
	if _, left := s.Splitter.(LeaveOneOut); left { // one by one each row would be left out of a fit
		p.Flops *= float64(r.rows.Rows())
	}
	if cost, shared := r.batchCost(); shared != nil {
		p.Shared, p.SharedFlops, p.Bytes = shared, cost.Flops, cost.Bytes
	}
	p.times(float64(r.all) / float64(len(r.candidates)))
	if s.Refit == RefitNone || s.later {
		refit = 0
	}
	return p, refit
}

// times takes the work of the fits to be so many times as much.
func (p *Plan) times(more float64) {
	p.Flops *= more
	p.SharedFlops *= more
}

// Apart returns the plan where fits share nothing, as on a stream of rows that steps cannot learn from by passes.
func (p Plan) Apart() Plan {
	p.Shared, p.SharedFlops = nil, 0
	return p
}

// batchCost asks the estimator what fitting the whole grid costs and shares, nil where it is no
// BatchFitter or cannot say.
func (r *run) batchCost() (cost datasets.Cost, shared []string) {
	fitter, ok := r.search.Estimator.(estimator.BatchFitter)
	if !ok {
		return cost, nil
	}
	cost, shared, err := fitter.BatchCost(r.batch())
	if err != nil {
		return cost, nil
	}
	return cost, append([]string{}, shared...)
}

// planFits adds up what the fits cost one by one, and returns what the refit may.
func (r *run) planFits(p *Plan) (refit float64) {
	used := make([]int64, len(r.candidates))
	for i, c := range r.candidates {
		used[i] = r.bytes(c)
		coster, ok := c.spec.(datasets.Coster)
		if !ok {
			continue
		}
		p.Known = true
		for _, f := range r.folds {
			p.Flops += coster.Cost(r.shape(len(f.Train))).Flops
		}
		refit = max(refit, coster.Cost(r.rows.Shape()).Flops)
	}
	p.Bytes = r.bytesAtOnce(used, p.Workers)
	return refit
}

// bytesAtOnce is the most that fits side by side hold: the largest ones together, within the bound.
// A candidate's folds may all be among them.
func (r *run) bytesAtOnce(used []int64, workers int) int64 {
	slices.Sort(used)
	var bytes int64
	for i := len(used) - 1; i >= 0 && workers > 0; i-- {
		beside := min(workers, len(r.folds))
		bytes += used[i] * int64(beside)
		workers -= beside
	}
	if r.search.Memory > 0 {
		bytes = min(bytes, r.search.Memory)
	}
	return bytes
}
