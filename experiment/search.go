package experiment

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/experiment/document"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/internal/memory"
	"github.com/bochner-ml/bochner/param"
)

func (r *run) fitSearch(ctx context.Context) error {
	set, err := datasets.Gather(ctx, r.rows.Train)
	if err != nil {
		return err
	}
	search := r.spec.GridSearch(set.Groups != nil, r.rows.Task)
	search.Memory = memory.Available() / 2
	search.Journal = r.output.Journal(journalKey(r.spec, r.result.SHA256))
	search.Progress = func(p gridsearch.Progress) {
		phase := "search"
		if p.Done == p.Total {
			phase = "refit"
		}
		r.options.report(phase, p.Done, p.Total)
	}
	if err := r.runSearch(ctx, search, set); err != nil {
		return err
	}
	r.model = r.search.Model
	r.result.Seconds.Search, r.result.Seconds.Refit = r.search.Seconds, r.search.RefitSeconds
	r.output.KeepJournals = r.search.Unreached > 0
	r.warn(r.search.Warnings...)
	r.reportOf(r.model)
	return nil
}

// runSearch does the search, in rounds where the spec says so.
func (r *run) runSearch(ctx context.Context, search gridsearch.Search, set datasets.Set) error {
	if r.spec.Search.Halving.Least == 0 {
		var err error
		if r.search, err = search.Run(ctx, set); err == nil {
			r.result.Search = summary(r.search)
		}
		return err
	}
	rungs, err := r.spec.Rounds(search).Run(ctx, set)
	if err != nil {
		return ofHalving(err)
	}
	r.search = rungs.Last()
	out := summary(r.search)
	out.Candidates, out.Fits = len(rungs[0].Kept), 0
	seconds := 0.0
	for _, rung := range rungs {
		one := summary(rung.Result)
		out.Rounds = append(out.Rounds, Round{Resource: rung.Resource, Candidates: one.Candidates, Best: one.Best})
		out.Fits += one.Fits
		out.Shared = append(out.Shared, one.Shared...)
		seconds += rung.Result.Seconds
	}
	r.search.Seconds = seconds
	slices.Sort(out.Shared)
	out.Shared = slices.Compact(out.Shared)
	r.result.Search = out
	return nil
}

// summary is what result.json says of a search.
func summary(found *gridsearch.Result) *SearchResult {
	best := found.Best()
	out := &SearchResult{
		Candidates: len(found.Candidates), Folds: found.Folds, Fits: found.Fits, Score: found.Score,
		Best:       Candidate{Params: map[string]any{}, Mean: best.Mean, Std: best.Std},
		OnGridEdge: append([]string{}, found.OnGridEdge...), Shared: append([]string{}, found.Shared...), Unreached: found.Unreached,
	}
	slices.Sort(out.Shared) // the sweeps of a search that was resumed end in another order
	for _, s := range best.Settings {
		out.Best.Params[s.Path] = s.Value
	}
	return out
}

// ofHalving gives a fault of the rounds, which only the number of rows shows, its place in the file.
func ofHalving(err error) error {
	var f param.Fault
	if !errors.As(err, &f) || !slices.Contains([]string{"least", "most", "factor"}, f.Path) {
		return err
	}
	f.Path = "search.halving." + f.Path
	return fmt.Errorf("experiment: %w", f)
}

// journalKey tells a search from those of other specs and data, which do not share its journal.
func journalKey(spec Spec, data Digests) string {
	spec.Output = document.Output{}
	if spec.Search != nil {
		search := *spec.Search
		search.Budget = 0 // more time goes on with the same search
		spec.Search = &search
	}
	text, err := spec.Encode("spec.yaml")
	if err != nil {
		text = []byte(spec.Name)
	}
	sum := sha256.Sum256([]byte(string(text) + data.Train + data.Test))
	return hex.EncodeToString(sum[:6])
}
