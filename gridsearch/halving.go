package gridsearch

import (
	"errors"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/param"
)

// Halving is the [Strategy] that tries all candidates with few means and keeps a part of them for more, in
// several rounds on the same folds and test rows. What it gives more of is rows to train on, or a parameter such as
// the number of features. The result has the candidates of the last round. (Jamieson & Talwalkar, Non-stochastic best arm
// identification, AISTATS 2016.)
//
// The search's budget of time is one for all rounds. Where it ends within a round, the best of its candidates that
// are scored on every fold is refitted, with the means of the round; if there is none, that of the round before.
// The fits that [Progress] counts are those of the round.
type Halving struct {
	// Resource is "rows" or the path of a parameter that takes integers and is no axis.
	Resource string
	// MinResources and Most are what the first and the last round have of it. Of rows there are no more than a
	// fold trains on, for which Most 0 stands; of a parameter it stands for the value that the estimator has.
	MinResources, MaxResources int
	// Factor is how much more the next round has, and of how many candidates one is kept.
	Factor int
}

// NewHalving returns a Halving that begins with so many training rows and triples them.
func NewHalving(minResources int) Halving {
	return Halving{Resource: "rows", MinResources: minResources, Factor: 3}
}

// Params declares all parameters.
func (h *Halving) Params(l *param.List) {
	l.String(&h.Resource, "resource", "What a round has more of than the one before: rows to train on, or the path of a parameter that takes integers and is no axis, such as rff.features.")
	l.Int(&h.MinResources, "min_resources", "Resource of the first round; 0 disables halving.", param.AtLeast(0))
	l.Int(&h.MaxResources, "max_resources", "Resource of the last round, at most the training rows of a fold; 0 selects these, or the parameter of the pipeline.", param.AtLeast(0))
	l.Int(&h.Factor, "factor", "How many times as much the next round has, and of how many candidates one gets there.", param.AtLeast(2))
}

func (h Halving) begin(s Search, grid axes, limit int) (proposer, param.FieldErrors) {
	if _, leaves := s.Splitter.(LeaveOneOut); leaves {
		return nil, param.FieldErrors{{Path: "strategy", Problem: "halving and leave one out do not go together; use k folds"}}
	}
	points, number, faults := s.samplePoints(grid, limit)
	if len(faults) > 0 {
		return nil, faults
	}
	if h.MaxResources == 0 && h.Resource != "rows" {
		own, _ := param.Get(s.Estimator, h.Resource)
		h.MaxResources, _ = own.(int)
	}
	w := &halvingRun{Halving: h, search: s, grid: grid, points: points, number: number, resources: h.MinResources}
	w.checked, faults = w.candidatesAt(h.MaxResources) // for the memory it takes
	return w, faults
}

// halvingRun are the rounds of a Halving.
type halvingRun struct {
	Halving
	search    Search
	grid      axes
	checked   []candidate
	points    []point // of the round
	number    int     // of candidates that the points stand for
	resources int     // of the round
}

func (w *halvingRun) known() []candidate { return w.checked }

// candidatesAt returns the candidates of the round with given means.
func (w *halvingRun) candidatesAt(means int) ([]candidate, param.FieldErrors) {
	if w.Resource == "rows" {
		return w.search.candidates(w.grid, w.points)
	}
	return w.search.candidates(w.grid, w.points, param.Setting{Path: w.Resource, Value: means})
}

func (w *halvingRun) next(r *run) (p proposal, ok bool, err error) {
	switch {
	case r.round < 0:
		if err := w.resolveBounds(r); err != nil {
			return p, false, err
		}
	case w.resources == w.MaxResources:
		return p, false, nil
	default:
		w.number = 1 + (w.number-1)/w.Factor
		if w.points = w.survivors(r, min(w.number, len(w.points))); w.points == nil {
			return p, false, nil
		}
		if w.resources <= w.MaxResources/w.Factor {
			w.resources *= w.Factor
		} else {
			w.resources = w.MaxResources
		}
	}
	candidates, faults := w.candidatesAt(w.resources)
	return proposal{candidates: candidates, number: w.number, resource: w.resources, rows: w.Resource == "rows"}, true, faults.Err()
}

// resolveBounds checks the means against the rows, and fills in Most.
func (w *halvingRun) resolveBounds(r *run) error {
	if w.Resource == "rows" {
		rows := r.trainRows()
		switch {
		case rows == 0:
			return errors.New("fits cannot have fewer rows of a stream; halve a parameter")
		case w.MaxResources == 0:
			w.MaxResources = rows
		case w.MaxResources > rows:
			return param.FieldError{Path: "strategy.max_resources", Value: w.MaxResources, Constraint: fmt.Sprintf("at most %d, the rows that a fold trains on", rows)}
		}
	}
	if w.MinResources < 1 || w.MaxResources < w.MinResources {
		return fmt.Errorf("halving goes from %d to %d of %s, wanted from 1 or more upward", w.MinResources, w.MaxResources, w.Resource)
	}
	return nil
}

// survivors returns the n points that rank first, in the order of the grid; nil where all have failed. A plan takes some.
func (w *halvingRun) survivors(r *run, n int) []point {
	if r.planOnly {
		return evenlySpaced(w.points, n)
	}
	list := r.ranked(r.stage)
	order := seq(len(list))
	slices.SortStableFunc(order, func(a, b int) int { return list[a].Rank - list[b].Rank })
	if list[order[0]].Failed != "" {
		return nil
	}
	order = order[:n]
	slices.Sort(order)
	out := make([]point, n)
	for k, i := range order {
		out[k] = w.points[i]
	}
	return out
}

func (w *halvingRun) cut(r *run) string {
	if r.resource == w.MaxResources {
		return ""
	}
	return fmt.Sprintf("the best was scored with %s %d, not with %d", w.Resource, r.resource, w.MaxResources)
}

// seq returns 0 … n−1.
func seq(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}
