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
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/param"
)

// runSearch does the search that the spec asks for, in rounds where it says so. What it found comes with what
// result.json says of it.
func runSearch(ctx context.Context, spec Spec, rows datasets.Set, search gridsearch.Search) (*gridsearch.Result, *result.Search, error) {
	if spec.Search.Halving.Least == 0 {
		run := search.Run
		if spec.Search.Coordinate() {
			run = spec.AlongAxes(search).Run
		}
		found, err := run(ctx, rows)
		if err != nil {
			return nil, nil, err
		}
		return found, summary(found), nil
	}
	rungs, err := spec.Rounds(search).Run(ctx, rows)
	if err != nil {
		return nil, nil, ofHalving(err)
	}
	found := rungs.Last()
	out := summary(found)
	out.Candidates, out.Fits = len(rungs[0].Kept), 0
	seconds := 0.0
	for _, rung := range rungs {
		one := summary(rung.Result)
		out.Rounds = append(out.Rounds, result.Round{Resource: rung.Resource, Candidates: one.Candidates, Best: one.Best})
		out.Fits += one.Fits
		out.Shared = append(out.Shared, one.Shared...)
		seconds += rung.Result.Seconds
	}
	found.Seconds = seconds
	slices.Sort(out.Shared)
	out.Shared = slices.Compact(out.Shared)
	return found, out, nil
}

// streamSearch does the search on rows that stay where they are.
func streamSearch(ctx context.Context, rows datasets.Source, search gridsearch.Search) (*gridsearch.Result, *result.Search, error) {
	found, err := search.RunSource(ctx, rows)
	if err != nil {
		return nil, nil, err
	}
	return found, summary(found), nil
}

// summary is what result.json says of a search.
func summary(found *gridsearch.Result) *result.Search {
	best := found.Best()
	out := &result.Search{
		Candidates: len(found.Candidates), Folds: found.Folds, Fits: found.Fits, Score: found.Score,
		Best:       result.Candidate{Params: map[string]any{}, Mean: best.Mean, Std: best.Std},
		OnGridEdge: append([]string{}, found.OnGridEdge...), Shared: append([]string{}, found.Shared...), Unreached: found.Unreached,
	}
	slices.Sort(out.Shared) // the sweeps of a search that was resumed end in another order
	for _, s := range best.Settings {
		out.Best.Params[s.Path] = s.Value
	}
	for _, c := range found.Candidates {
		one := result.Tried{Candidate: result.Candidate{Params: map[string]any{}, Mean: c.Mean, Std: c.Std}, Folds: c.Folds, Rank: c.Rank, Seconds: c.Seconds, Failed: c.Failed}
		for _, s := range c.Settings {
			one.Params[s.Path] = s.Value
		}
		out.All = append(out.All, one)
	}
	return out
}

// planOfSearch is the plan of the search on rows that are stood for, without the last fit.
func planOfSearch(spec Spec, train datasets.Set, task datasets.Task) (p gridsearch.Plan, err error) {
	search := spec.GridSearch(train.Groups != nil, task)
	switch {
	case spec.Search.Coordinate():
		p, err = spec.AlongAxes(search).Plan(train)
	case spec.Search.Halving.Least == 0:
		p, err = search.Plan(train)
	default:
		p, err = spec.Rounds(search).Plan(train)
	}
	return p, ofHalving(err)
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
func journalKey(spec Spec, data result.Digests) string {
	spec.Output, spec.Intervals = document.Output{}, nil // candidates have none
	spec.Report = document.NewReport()
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
