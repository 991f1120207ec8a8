package gridsearch

import (
	"errors"
	"fmt"
	"hash"
	"math"

	"github.com/bochner-ml/bochner/internal/runtime/journal"
	"github.com/bochner-ml/bochner/metrics"
)

const (
	journalKind    = "bochner grid search"
	journalVersion = 2
)

// entry records a finished fit, or the names of the work that a batch shared.
type entry struct {
	Round       int              `json:"round,omitempty"`
	Candidate   *int             `json:"candidate,omitempty"` // among those with the same resource
	Fold        *int             `json:"fold,omitempty"`
	Scores      []journal.Number `json:"scores,omitempty"`
	Seconds     float64          `json:"seconds,omitempty"`
	Failed      string           `json:"failed,omitempty"`
	Unconverged bool             `json:"unconverged,omitempty"`
	Shared      []string         `json:"shared,omitempty"`
}

func entryOf(at fitKey, o outcome) entry {
	e := entry{Round: at.round, Candidate: &at.candidate, Fold: &at.fold, Seconds: o.seconds, Failed: o.failed,
		Unconverged: o.unconverged}
	for _, v := range o.scores {
		e.Scores = append(e.Scores, journal.Number(v))
	}
	return e
}

// fitKey returns the fit of the entry; ok is false if it has none.
func (e entry) fitKey() (at fitKey, ok bool) {
	if e.Candidate == nil || e.Fold == nil {
		return at, false
	}
	return fitKey{e.Round, *e.Candidate, *e.Fold}, true
}

// openJournal opens or creates the journal and reads its outcomes.
func (r *run) openJournal() (err error) {
	r.recorded, r.sharedKnown = map[fitKey]outcome{}, map[int]bool{}
	r.journal, err = journal.Open(r.search.Journal, r.head(), r.replay)
	return err
}

// replay reads an entry.
func (r *run) replay(line []byte) error {
	var e entry
	if err := journal.Decode(line, &e); err != nil {
		return err
	}
	if e.Candidate == nil && e.Fold == nil {
		r.addShared(e.Shared)
		r.sharedKnown[e.Round] = true
		return nil
	}
	at, ok := e.fitKey()
	if !ok || at.candidate < 0 || at.candidate >= len(r.candidates)+r.proposal.left || at.fold < 0 ||
		at.fold >= len(r.folds) || len(e.Scores) != len(r.scorer.metrics) {
		return errors.New("it is of no fit of this search")
	}
	out := outcome{done: true, seconds: e.Seconds, failed: e.Failed, unconverged: e.Unconverged}
	for _, v := range e.Scores {
		out.scores = append(out.scores, float64(v))
	}
	if math.IsNaN(out.scores[0]) != (out.failed != "") {
		return errors.New("a fit has either a score or a failure")
	}
	r.recorded[at] = out
	return nil
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
			for _, a := range r.search.Grid {
				settings, _ := r.search.settings(a)
				fmt.Fprintf(w, "%#v\n", settings)
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
