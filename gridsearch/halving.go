package gridsearch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/param"
)

// Halving is a search that tries all candidates with few means and keeps a part of them for more, in
// several rungs. What it gives more of is rows to train on, or a parameter such as the number of
// features. Every rung is a [Search] on the same folds and test rows. (Jamieson & Talwalkar,
// Non-stochastic best arm identification, AISTATS 2016.)
//
// The search's budget of time is one for all rungs. Where it ends within a rung, that rung is the last:
// the best of its candidates that are scored on every fold is refitted, with the means of the rung; if
// there is none, that of the rung before.
type Halving struct {
	Search Search // of the last rung, but for its candidates; rung k journals to its Journal with .k added

	// Resource is "rows" or the path of a parameter that takes whole numbers and is no axis.
	Resource string
	// Least and Most are what the first and the last rung have of it. Of rows there are no more than a
	// fold trains on, for which Most 0 stands.
	Least, Most int
	// Factor is how much more the next rung has, and of how many candidates one is kept.
	Factor int
}

// NewHalving returns a Halving that begins with so many training rows and triples them.
func NewHalving(search Search, least int) Halving {
	return Halving{Search: search, Resource: "rows", Least: least, Factor: 3}
}

// Rung is one round of a Halving.
type Rung struct {
	Resource int
	Kept     []int // numbers of its candidates among those of the first rung's Result
	Result   *Result
}

// Rungs is what a Halving has found: the last one's result is that of the search.
type Rungs []Rung

// Last returns the result of the last rung.
func (r Rungs) Last() *Result { return r[len(r)-1].Result }

var (
	_ estimator.Estimator = Search{}
	_ estimator.Estimator = Halving{}
)

// Params declares the parameters that make a difference to the result; those of the search are below
// "search".
func (h *Halving) Params(l *param.List) {
	l.String(&h.Resource, "resource", "what each rung gives more of: rows, or the path of a parameter")
	l.Int(&h.Least, "least", "what the first rung has of it", param.AtLeast(1))
	l.Int(&h.Most, "most", "what the last rung has of it; 0 for all rows", param.AtLeast(0))
	l.Int(&h.Factor, "factor", "how much more the next rung has, and of how many candidates one is kept", param.AtLeast(2))
	l.Child("search", &h.Search)
}

// Task returns what the estimator says that it is for, [datasets.AnyTask] where it does not say.
func (h Halving) Task() datasets.Task { return h.Search.Task() }

// Fit runs the halving and returns what [Search.Fit] returns: the result of the last rung. It
// fails where the search refits none.
func (h Halving) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	if h.Search.Refit == RefitNone {
		return nil, errNoRefit
	}
	rungs, err := h.Run(ctx, data)
	if err != nil {
		return nil, err
	}
	return rungs.Last(), nil
}

// Run does one rung after the other.
func (h Halving) Run(ctx context.Context, data datasets.Set) (Rungs, error) {
	began := time.Now()
	first, err := h.begin(data, MaxCandidates)
	if err != nil {
		return nil, fmt.Errorf("gridsearch: %w", err)
	}
	if h.Search.Budget > 0 {
		h.Search.ends = began.Add(h.Search.Budget)
	}
	var rungs Rungs
	kept := count(len(first.candidates))
	for k, means := 0, h.Least; ; k++ {
		rung, err := h.rung(first, kept, means)
		if err != nil {
			return nil, fmt.Errorf("gridsearch: %w", err)
		}
		if rung.Journal != "" {
			rung.Journal += fmt.Sprintf(".%d", k)
		}
		result, err := rung.Run(ctx, data)
		if errors.Is(err, ErrBudget) && len(rungs) > 0 {
			unreached := len(kept) * len(first.folds)
			return rungs, h.stop(ctx, first, rungs[len(rungs)-1], unreached)
		}
		if err != nil {
			return nil, err
		}
		rungs = append(rungs, Rung{Resource: means, Kept: kept, Result: result})
		if means == h.Most {
			return rungs, nil
		}
		if result.Unreached > 0 {
			return rungs, h.stop(ctx, first, rungs[len(rungs)-1], 0)
		}
		kept = result.first(kept, h.fewer(len(kept)))
		means = h.next(means)
	}
}

// stop ends the halving after a rung that is not the last one planned: the best of its candidates is
// fitted again. So many fits of the next rung were to be done and gave nothing to choose from.
func (h Halving) stop(ctx context.Context, first *run, last Rung, unreached int) error {
	out := last.Result
	rung, err := h.rung(first, last.Kept, last.Resource)
	if err != nil {
		return fmt.Errorf("gridsearch: %w", err)
	}
	if h.Search.Refit == RefitOneStdError {
		out.BestIndex = h.Search.simplest(out.Candidates, out.BestIndex, first.scorer.metrics[0])
	}
	if out.Unreached += unreached; unreached > 0 {
		out.Warnings = append(out.Warnings, lateWarning(h.Search.Budget, unreached, unreached))
	}
	out.Warnings = append(out.Warnings, fmt.Sprintf("the best was scored with %s %d, not with %d", h.Resource, last.Resource, h.Most))
	return rung.refit(ctx, first.rows, out)
}

// Plan estimates all rungs, as [Search.Plan] does one: which candidates get to the next makes no
// difference to their number, and those in the middle of the axes stand for them.
func (h Halving) Plan(data datasets.Set) (Plan, error) { return added(h.plan(data)) }

func (h Halving) plan(data datasets.Set) (all Plan, refit float64, err error) {
	first, err := h.begin(data, plannedCandidates)
	if err != nil {
		return all, 0, err
	}
	all = Plan{Candidates: first.all, Known: true}
	n := first.all
	for means := h.Least; ; means = h.next(means) {
		looked := min(n, len(first.candidates))
		rung, err := h.rung(first, inner(first.candidates, looked), means)
		if err != nil {
			return all, 0, err
		}
		p, refit, err := rung.plan(data)
		if err != nil {
			return all, 0, err
		}
		p.times(float64(n) / float64(looked))
		p.Fits = n * p.Folds
		all.add(p)
		if means == h.Most {
			return all, refit, nil
		}
		n = h.fewer(n)
	}
}

// inner returns the numbers of n candidates in the middle of every axis: what a rung keeps are neighbours for the most part, some
// values of each axis, and how many of them share a map or a matrix depends on that.
func inner(list []candidate, n int) []int {
	if len(list) == 0 {
		return nil
	}
	ends := slices.Clone(list[0].at)
	for _, c := range list {
		for k, i := range c.at {
			ends[k] = max(ends[k], i)
		}
	}
	distance := func(of int) (most float64) {
		for k, i := range list[of].at {
			most = max(most, math.Abs(float64(2*i-ends[k]))/float64(ends[k]+1))
		}
		return most
	}
	numbers := count(len(list))
	slices.SortStableFunc(numbers, func(a, b int) int { return cmp.Compare(distance(a), distance(b)) })
	return slices.Sorted(slices.Values(numbers[:n]))
}

// add puts another search behind those planned.
func (p *Plan) add(q Plan) {
	p.Folds, p.Workers, p.Batch = q.Folds, q.Workers, q.Batch
	p.Fits += q.Fits
	p.Known = p.Known && q.Known
	p.Flops += q.Flops
	p.SharedFlops += q.SharedFlops
	if q.SharedFlops == 0 {
		p.SharedFlops += q.Flops
	}
	p.Bytes = max(p.Bytes, q.Bytes)
	p.Shared = slices.Compact(slices.Sorted(slices.Values(append(p.Shared, q.Shared...))))
}

// next returns what the rung after one with given means has.
func (h Halving) next(means int) int {
	if means > h.Most/h.Factor {
		return h.Most
	}
	return means * h.Factor
}

// fewer returns how many of n candidates get to the next rung.
func (h Halving) fewer(n int) int { return 1 + (n-1)/h.Factor }

// begin checks h, fills in Most and returns the search with at most so many of the candidates, as the
// last rung would have it.
func (h *Halving) begin(data datasets.Set, most int) (*run, error) {
	if h.Factor < 2 {
		return nil, param.Fault{Path: "factor", Value: h.Factor, Wanted: "a whole number ≥ 2"}
	}
	if _, leaves := h.Search.Splitter.(LeaveOneOut); leaves {
		return nil, errors.New("halving and leave one out do not go together; use k folds")
	}
	last := h.Search
	if h.Resource != "rows" {
		var err error
		if last, err = h.with(h.Most); err != nil {
			return nil, err
		}
	}
	r, err := last.prepare(data, most) // with most means, for the memory it takes
	if err != nil {
		return nil, err
	}
	if h.Resource == "rows" {
		rows := r.trainRows()
		if h.Most == 0 {
			h.Most = rows
		}
		if h.Most > rows {
			return nil, param.Fault{Path: "most", Value: h.Most, Wanted: fmt.Sprintf("at most %d, the rows that a fold trains on", rows)}
		}
	}
	if h.Least < 1 || h.Most < h.Least {
		return nil, fmt.Errorf("halving goes from %d to %d of %s, wanted from 1 or more upward", h.Least, h.Most, h.Resource)
	}
	return r, nil
}

// with returns the search with a parameter of the estimator set to so much.
func (h Halving) with(means int) (Search, error) {
	s := h.Search
	spec, err := param.With(s.Estimator, param.Setting{Path: h.Resource, Value: means})
	if err != nil {
		return s, err
	}
	var ok bool
	if s.Estimator, ok = spec.(estimator.Estimator); !ok {
		return s, fmt.Errorf("%T cannot be copied with another %s", s.Estimator, h.Resource)
	}
	return s, nil
}

// rung returns the search of the kept ones among the candidates of the first rung, with given means.
func (h Halving) rung(first *run, kept []int, means int) (s Search, err error) {
	if s = h.Search; h.Resource != "rows" {
		if s, err = h.with(means); err != nil {
			return s, err
		}
	} else {
		s.Splitter = fewerRows{of: h.Search, rows: means}
	}
	s.later = means < h.Most
	for _, i := range kept {
		s.only = append(s.only, first.candidates[i].at)
	}
	return s, nil
}

// count returns 0 … n−1.
func count(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// first returns those of kept that rank first, in the order of the grid.
func (r *Result) first(kept []int, n int) []int {
	order := count(len(kept))
	slices.SortStableFunc(order, func(a, b int) int { return r.Candidates[a].Rank - r.Candidates[b].Rank })
	out := make([]int, n)
	for i := range out {
		out[i] = kept[order[i]]
	}
	slices.Sort(out)
	return out
}

// fewerRows are a search's folds with some of the rows to train on, drawn by its seed: those of more
// rows have all of those of fewer.
type fewerRows struct {
	of   Search
	rows int
}

func (f fewerRows) Split(data datasets.Set) ([]datasets.Fold, error) {
	list, faults := f.of.metrics(&data)
	if len(faults) > 0 {
		return nil, faults
	}
	folds, err := f.of.split(data, f.of.task(list))
	if err != nil {
		return nil, err
	}
	rank := rand.New(rand.NewPCG(f.of.Seed, rowStream)).Perm(data.Rows())
	out := make([]datasets.Fold, len(folds))
	for k, fold := range folds {
		train := slices.Clone(fold.Train)
		slices.SortFunc(train, func(a, b int) int { return rank[a] - rank[b] })
		train = train[:min(f.rows, len(train))]
		slices.Sort(train)
		out[k] = datasets.Fold{Train: train, Test: fold.Test}
	}
	return out, nil
}
