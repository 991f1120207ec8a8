package gridsearch

import (
	"errors"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/param"
)

// Halving is the [Strategy] of successive halving: it evaluates all candidates with few resources
// and the best fraction with more, in several rounds on the same folds and test rows. The resource
// is the number of training rows or an integer parameter, such as the number of features. The
// result has the candidates of the last round. (Jamieson and Talwalkar, Non-stochastic best arm
// identification, AISTATS 2016.)
//
// The time budget is that of all rounds. If it ends within a round, the best candidate with scores
// on all folds is refitted with the resources of the round; if there is none, the best of the
// previous round. [Progress] counts the fits of the round.
//
// With Search.Start, the first rounds are skipped: the search begins with the first one after them that has at most as
// many candidates as Start has on the grid, and with the best of these.
//
// Use [NewHalving]: the zero value is invalid.
type Halving struct {
	// Resource is "rows", or the path of an integer parameter that is not an axis.
	Resource string
	// MinResources and MaxResources are the resources of the first and the last round. MaxResources
	// 0 means all training rows of a fold, or the value of the parameter in the estimator.
	MinResources, MaxResources int
	// Factor multiplies the resources of each round; one of Factor candidates survives it.
	Factor int
}

// NewHalving returns a Halving that starts with the given number of training rows and triples it.
func NewHalving(minResources int) Halving {
	return Halving{Resource: "rows", MinResources: minResources, Factor: 3}
}

// Params declares all parameters.
func (h *Halving) Params(l *param.List) {
	l.String(&h.Resource, "resource",
		"Resource that grows from round to round: rows, or the path of an integer parameter that is not an axis, such as "+
			"rff.features.")
	l.Int(&h.MinResources, "min_resources", "Resource of the first round; 0 disables halving.", param.AtLeast(0))
	l.Int(&h.MaxResources, "max_resources",
		"Resource of the last round, at most the training rows of a fold; 0 selects these, or the parameter of the pipeline.",
		param.AtLeast(0))
	l.Int(&h.Factor, "factor", "Growth of the resource per round; one of this number of candidates survives a round.",
		param.AtLeast(2))
}

func (h Halving) begin(s Search, grid axes, limit int) (proposer, param.FieldErrors) {
	if _, leaves := s.Splitter.(LeaveOneOut); leaves {
		return nil, param.FieldErrors{{Path: "strategy",
			Problem: "halving does not support leave-one-out; use k-fold cross-validation"}}
	}
	points, number, errs := s.samplePoints(grid, limit)
	starts, more := s.startPoints(grid)
	if errs = append(errs, more...); len(errs) > 0 {
		return nil, errs
	}
	if starts != nil {
		points = starts
	}
	if h.MaxResources == 0 && h.Resource != "rows" {
		own, _ := param.Get(s.Estimator, h.Resource)
		h.MaxResources, _ = own.(int)
	}
	w := &halvingRun{Halving: h, search: s, grid: grid, points: points, starts: starts, number: number,
		resources: h.MinResources}
	w.checked, errs = w.candidatesAt(h.MaxResources) // for their memory
	return w, errs
}

// halvingRun is the state of a Halving search.
type halvingRun struct {
	Halving
	search    Search
	grid      axes
	checked   []candidate
	starts    []point // of Search.Start, the best one first; nil without it
	points    []point // points of the round
	number    int     // number of candidates of the round
	resources int     // resources of the round
}

func (w *halvingRun) known() []candidate { return w.checked }

// candidatesAt returns the candidates of the round with the given resources.
func (w *halvingRun) candidatesAt(resources int) ([]candidate, param.FieldErrors) {
	if w.Resource == "rows" {
		return w.search.candidates(w.grid, w.points)
	}
	return w.search.candidates(w.grid, w.points, param.Setting{Path: w.Resource, Value: resources})
}

func (w *halvingRun) next(r *run) (p proposal, ok bool, err error) {
	switch {
	case r.round < 0:
		if err := w.resolveBounds(r); err != nil {
			return p, false, err
		}
		if w.starts != nil {
			w.firstRound()
		}
	case w.resources == w.MaxResources:
		return p, false, nil
	default:
		w.shrink()
		if w.points = w.survivors(r, min(w.number, len(w.points))); w.points == nil {
			return p, false, nil
		}
	}
	candidates, errs := w.candidatesAt(w.resources)
	return proposal{candidates: candidates, number: w.number, resource: w.resources, rows: w.Resource == "rows"}, true,
		errs.Err()
}

// shrink sets the number of candidates and the resources of the next round.
func (w *halvingRun) shrink() {
	w.number = 1 + (w.number-1)/w.Factor
	if w.resources <= w.MaxResources/w.Factor {
		w.resources *= w.Factor
	} else {
		w.resources = w.MaxResources
	}
}

// resolveBounds checks the resources against the rows, and sets MaxResources if it is 0.
func (w *halvingRun) resolveBounds(r *run) error {
	if w.Resource == "rows" {
		rows := r.trainRows()
		switch {
		case rows == 0:
			return errors.New("halving cannot reduce the rows of a stream; use a parameter as the resource")
		case w.MaxResources == 0:
			w.MaxResources = rows
		case w.MaxResources > rows:
			return param.FieldError{Path: "strategy.max_resources", Value: w.MaxResources,
				Constraint: fmt.Sprintf("at most %d, the rows that a fold trains on", rows)}
		}
	}
	if w.MinResources < 1 || w.MaxResources < w.MinResources {
		return fmt.Errorf("halving: min_resources must be at least 1 and at most max_resources, got %d and %d of %s",
			w.MinResources, w.MaxResources, w.Resource)
	}
	return nil
}

// survivors returns the n best points in grid order, or nil if all failed. A plan takes evenly
// spaced points.
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
	return fmt.Sprintf("the scores of the best candidate are those with %s %d, not %d", w.Resource, r.resource,
		w.MaxResources)
}

// seq returns 0 … n−1.
func seq(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}
