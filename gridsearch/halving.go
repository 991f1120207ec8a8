package gridsearch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/param"
)

// Halving is a search that tries all candidates with few means and keeps a part of them for more, in
// several rungs. What it gives more of is rows to train on, or a parameter such as the number of
// features. Every rung is a [Search] on the same folds and test rows. (Jamieson & Talwalkar,
// Non-stochastic best arm identification, AISTATS 2016.)
type Halving struct {
	Search Search // of the last rung, but for its candidates; rung k journals to its Journal with .k added

	// Resource is "rows" or the path of a parameter that takes whole numbers and is no axis.
	Resource string
	// Least and Most are what the first and the last rung have of it. Most 0 stands for all rows.
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
	Kept     []int // numbers of its candidates in the grid
	Result   *Result
}

// Rungs is what a Halving has found: the last one's result is that of the search.
type Rungs []Rung

// Last returns the result of the last rung.
func (r Rungs) Last() *Result { return r[len(r)-1].Result }

// Run does one rung after the other.
func (h Halving) Run(ctx context.Context, data datasets.Set) (Rungs, error) {
	all, err := h.begin(data)
	if err != nil {
		return nil, fmt.Errorf("gridsearch: %w", err)
	}
	var rungs Rungs
	kept := all
	for k, means := 0, min(h.Least, h.Most); ; k++ {
		last := means == h.Most
		rung, err := h.rung(kept, means, last)
		if err != nil {
			return nil, fmt.Errorf("gridsearch: %w", err)
		}
		if rung.Journal != "" {
			rung.Journal += fmt.Sprintf(".%d", k)
		}
		result, err := rung.Run(ctx, data)
		if err != nil {
			return nil, err
		}
		rungs = append(rungs, Rung{Resource: means, Kept: kept, Result: result})
		if last {
			return rungs, nil
		}
		kept = result.first(kept, (len(kept)+h.Factor-1)/h.Factor)
		means = h.next(means)
	}
}

// Plan estimates all rungs, as [Search.Plan] does one: which candidates get to the next makes no
// difference to their number, and the first ones stand for them.
func (h Halving) Plan(data datasets.Set) (Plan, error) {
	kept, err := h.begin(data)
	if err != nil {
		return Plan{}, fmt.Errorf("gridsearch: %w", err)
	}
	all := Plan{Candidates: len(kept), Known: true}
	for means := min(h.Least, h.Most); ; means = h.next(means) {
		rung, err := h.rung(kept, means, means == h.Most)
		if err != nil {
			return Plan{}, fmt.Errorf("gridsearch: %w", err)
		}
		p, err := rung.Plan(data)
		if err != nil {
			return Plan{}, err
		}
		all.add(p)
		if means == h.Most {
			return all, nil
		}
		kept = kept[:(len(kept)+h.Factor-1)/h.Factor]
	}
}

// add puts another search behind those planned.
func (p *Plan) add(q Plan) {
	p.Folds, p.Workers, p.Sweeps = q.Folds, q.Workers, q.Sweeps
	p.Fits += q.Fits
	p.Known = p.Known && q.Known
	p.Flops += q.Flops
	p.SharedFlops += q.SharedFlops
	if q.SharedFlops == 0 {
		p.SharedFlops += q.Flops
	}
	p.Bytes = max(p.Bytes, q.Bytes)
	p.Seconds, p.OneByOne = p.Seconds+q.Seconds, p.OneByOne+q.OneByOne
	p.Shared = slices.Compact(slices.Sorted(slices.Values(append(p.Shared, q.Shared...))))
}

// next returns what the rung after one with given means has.
func (h Halving) next(means int) int {
	if means > h.Most/h.Factor {
		return h.Most
	}
	return means * h.Factor
}

// begin checks h, fills in Most and returns the numbers of the candidates.
func (h *Halving) begin(data datasets.Set) ([]int, error) {
	if h.Factor < 2 {
		return nil, param.Fault{Path: "factor", Value: h.Factor, Wanted: "a whole number ≥ 2"}
	}
	if _, leaves := h.Search.Splitter.(LeaveOneOut); leaves {
		return nil, errors.New("halving and leave one out do not go together; use k folds")
	}
	r, err := h.Search.prepare(data)
	if err != nil {
		return nil, err
	}
	if h.Resource == "rows" {
		if rows := r.trainRows(); h.Most == 0 || h.Most > rows {
			h.Most = rows
		}
	}
	if h.Least < 1 || h.Most < h.Least {
		return nil, fmt.Errorf("halving goes from %d to %d of %s, wanted from 1 or more upward", h.Least, h.Most, h.Resource)
	}
	whole := h.Search
	whole.Random = 0
	grid, faults := whole.candidates()
	if len(faults) > 0 {
		return nil, faults
	}
	var kept []int
	for i, c := range grid {
		if len(r.candidates) == len(grid) || slices.ContainsFunc(r.candidates, func(o candidate) bool { return label(o.settings) == label(c.settings) }) {
			kept = append(kept, i)
		}
	}
	return kept, nil
}

// rung returns the search with given means.
func (h Halving) rung(kept []int, means int, last bool) (Search, error) {
	s := h.Search
	s.only = kept
	if !last {
		s.Refit = RefitNone
	}
	if h.Resource == "rows" {
		s.Splitter = fewerRows{of: h.Search, rows: means}
		return s, nil
	}
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

// first returns those of kept that rank first, in the order of the grid.
func (r *Result) first(kept []int, n int) []int {
	order := make([]int, len(kept))
	for i := range order {
		order[i] = i
	}
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
	folds, err := f.of.split(data, list[0].Task)
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
