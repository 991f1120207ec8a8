package gridsearch

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/kern"
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

	// Lone is the work of all fits one by one, without the refit, and Together that of the batch.
	Lone, Together datasets.Cost

	// Pace is that of this machine, as [Speed] measures it. Seconds is what the search, without the refit, takes at that pace,
	// and OneByOne what all fits would take without sharing. All are 0 where the estimator does not say what it costs.
	Pace              datasets.Pace
	Seconds, OneByOne float64
}

// fitFlops is what a candidate takes on a fold beside its fit, in flops of other work: its spec, what goes from hand to hand,
// scores, a line of the journal. It was measured on fits of 60 rows.
const fitFlops = 4e6

// plannedCandidates is how many candidates a plan looks at. Of more it takes a part, which stands for
// all.
const plannedCandidates = 1000

// Plan checks the search and the data as Run does, and estimates the work without doing any. Of many
// candidates it looks at some, and takes the work to grow with their number.
func (s Search) Plan(data datasets.Set) (Plan, error) {
	return timed(s.plan(data))
}

// Work is [Search.Plan] but for the times, for which the speed of the machine would have to be measured.
func (s Search) Work(data datasets.Set) (Plan, error) { return untimed(s.plan(data)) }

// timed and untimed finish a plan, the work of the refit added.
func timed(p Plan, refit float64, err error) (Plan, error) {
	if err != nil {
		return Plan{}, fmt.Errorf("gridsearch: %w", err)
	}
	p.measure()
	p.Flops += refit
	return p, nil
}

func untimed(p Plan, refit float64, err error) (Plan, error) {
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
		p.Lone = p.Lone.Times(float64(r.rows.Rows()))
	}
	if cost, shared := r.batchCost(); shared != nil {
		p.Shared, p.SharedFlops, p.Together, p.Bytes = shared, cost.Flops, cost, cost.Bytes
	}
	each := datasets.Cost{Flops: fitFlops, Others: fitFlops}.Times(float64(len(r.candidates) * len(r.folds)))
	if p.Known {
		p.Lone = p.Lone.With(each)
	}
	if p.SharedFlops > 0 {
		p.Together = p.Together.With(each)
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
	p.Lone, p.Together = p.Lone.Times(more), p.Together.Times(more)
}

// measure says how long the work takes at the pace that the machine has now.
func (p *Plan) measure() {
	if p.Known {
		p.Pace = Speed()
		*p = p.Oftener(1)
	}
}

// Oftener returns the plan where fits read the rows so many times as often as is usual, at the same pace.
func (p Plan) Oftener(times float64) Plan {
	if !p.Known {
		return p
	}
	p.Lone, p.Together = p.Lone.Oftener(times), p.Together.Oftener(times)
	p.OneByOne = p.Pace.Seconds(p.Lone)
	if p.Seconds = p.OneByOne; p.SharedFlops > 0 {
		p.Seconds = p.Pace.Seconds(p.Together)
	}
	return p
}

// Apart returns the plan where fits share nothing, as on a stream of rows that steps cannot learn from by passes.
func (p Plan) Apart() Plan {
	p.Shared, p.SharedFlops, p.Together = nil, 0, datasets.Cost{}
	return p.Oftener(1)
}

// Speed measures the pace of this machine, now and on all cores: at Gram matrices and factors as large as they are in a fit, and at
// other work. It takes about 0.15 s.
func Speed() datasets.Pace {
	return datasets.Pace{Products: kern.Speed(), Others: kern.OtherSpeed(), Cores: runtime.GOMAXPROCS(0)}
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
			cost := coster.Cost(r.shape(len(f.Train)))
			cost.Alone = 0 // fits go side by side
			p.Flops += cost.Flops
			p.Lone = p.Lone.With(cost)
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
