package gridsearch

import (
	"errors"
	"fmt"
	"hash"
	"math"

	"github.com/bochner-ml/bochner/internal/learning/searchloop"
	"github.com/bochner-ml/bochner/internal/runtime/journal"
	"github.com/bochner-ml/bochner/metrics"
)

const (
	journalKind    = "bochner grid search"
	journalVersion = 2
)

// openJournal opens or creates the journal and reads its outcomes.
func (r *run) openJournal() error {
	r.sharedKnown = map[int]bool{}
	return r.Open(r.search.Journal, r.head(), func(at searchloop.Fit, o outcome) error {
		switch {
		case at.Candidate < 0 || at.Candidate >= len(r.candidates)+r.proposal.left || at.Fold < 0 ||
			at.Fold >= len(r.folds) || len(o.Scores) != len(r.scorer.metrics):
			return errors.New("it is of no fit of this search")
		case math.IsNaN(o.Scores[0]) != (o.Failed != ""):
			return errors.New("a fit has either a score or a failure")
		}
		return nil
	}, func(e searchloop.Entry) {
		r.addShared(e.Shared)
		r.sharedKnown[e.Round] = true
	})
}

// head describes r. The values of an axis are no part of the estimator, for the grid has them.
func (r *run) head() journal.Head {
	var searched []string
	for _, a := range r.search.Grid {
		searched = append(searched, a.Path)
	}
	sums := map[string]string{
		"estimator": journal.Sum(func(w hash.Hash) { journal.Spec(w, r.candidates[0].spec, searched...) }),
		"grid": journal.Sum(func(w hash.Hash) {
			fmt.Fprintf(w, "%#v\n", r.search.Strategy)
			var grid axes
			for _, a := range r.search.Grid {
				settings, _ := r.search.settings(a)
				fmt.Fprintf(w, "%#v\n", settings)
				grid = append(grid, settings)
			}
			starts, _ := r.search.startPoints(grid)
			for _, p := range starts {
				fmt.Fprint(w, "start ")
				journal.Numbers(w, p)
			}
			for _, c := range r.candidates {
				journal.Numbers(w, c.point)
			}
		}),
		"scores": journal.Sum(func(w hash.Hash) {
			for _, m := range r.scorer.metrics {
				fmt.Fprintf(w, "%s\n", m.Name)
				if m.Requires == metrics.RequiresPredictionsAndCosts {
					fmt.Fprintf(w, "%v\n", r.scorer.truth[0].Costs)
				}
			}
		}),
	}
	sums["folds"], sums["data"] = journal.Sum(r.writeFolds), journal.Sum(r.writeData)
	return journal.Head{Journal: journalKind, Version: journalVersion, Sums: sums}
}

// writeFolds writes the identity of the folds.
func (r *run) writeFolds(w hash.Hash) {
	if r.stream != nil {
		by := r.search.hashFolds()
		fmt.Fprintf(w, "hash %d %d", by.Folds, by.Seed)
	}
	for _, f := range r.folds {
		if r.stream == nil {
			journal.Numbers(w, f.Train)
			journal.Numbers(w, f.Test)
		}
	}
}

// writeData writes the identity of the rows, by the targets if they are streamed.
func (r *run) writeData(w hash.Hash) {
	if r.stream == nil {
		journal.Rows(w, r.data)
		return
	}
	fmt.Fprintf(w, "%v\n", r.data.Schema)
	for _, t := range r.scorer.truth {
		for _, list := range [][]float64{t.YTrue, t.Weights} {
			for _, v := range list {
				fmt.Fprintf(w, "%x ", math.Float64bits(v))
			}
		}
		if t.YTrueTargets != nil {
			fmt.Fprintf(w, "%x ", t.YTrueTargets.RawMatrix().Data)
		}
	}
}
