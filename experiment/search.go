package experiment

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/experiment/internal/config"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/internal/rows/reader"
	"github.com/bochner-ml/bochner/internal/runtime/files"
	"github.com/bochner-ml/bochner/param"
)

// summary is the search section of result.json.
func summary(found *gridsearch.Result, before *result.Search) *result.Search {
	out := &result.Search{
		Candidates: len(found.Candidates), Folds: found.Folds, Fits: found.Fits, Score: found.Score,
		Best:       candidate(found.Best()),
		OnGridEdge: append([]string{}, found.OnGridEdge...), Shared: append([]string{}, found.Shared...),
		Unreached: found.Unreached,
	}
	if before != nil {
		out.Started = before.Started
		out.Started.GridSize = found.GridSize
	}
	slices.Sort(out.Shared) // the sweeps of a search that was resumed end in another order
	out.Rounds = slices.Grow(out.Rounds, len(found.Rounds))[:len(found.Rounds)]
	for k, round := range found.Rounds {
		r := &out.Rounds[k]
		r.Resource, r.Candidates, r.Best = round.Resource, len(round.Candidates), candidate(round.Best())
		out.Candidates = max(out.Candidates, len(round.Candidates))
	}
	for _, c := range found.Candidates {
		one := candidate(c)
		one.Folds, one.Rank, one.Seconds, one.Failed = c.Folds, c.Rank, c.Seconds, c.Failed
		out.All = append(out.All, one)
	}
	return out
}

func candidate(c gridsearch.Candidate) result.Candidate {
	out := result.Candidate{Params: map[string]any{}, Mean: c.Mean, Std: c.Std}
	for _, s := range c.Settings {
		out.Params[s.Path] = s.Value
	}
	return out
}

// readStart reads the candidates of an earlier run, and returns a summary of the search that starts from them.
func readStart(ctx context.Context, spec Spec, folder string) ([]gridsearch.Candidate, *result.Search, error) {
	earlier, err := ReadRun(folder)
	switch {
	case err != nil:
		return nil, nil, err
	case spec.Search == nil:
		return nil, nil, errors.New("the experiment must have a search")
	case earlier.Auto != nil:
		return nil, nil, errors.New("it is a run of bochner auto; use bochner auto with the same flag")
	case earlier.Search == nil:
		return nil, nil, errors.New("its experiment must have a search")
	}
	digest, err := files.Digest(ctx, reader.Files{}, filepath.Join(folder, candidatesName))
	candidates := make([]gridsearch.Candidate, 0, len(earlier.Search.All))
	for _, c := range earlier.Search.All {
		one := gridsearch.Candidate{Summary: gridsearch.Summary{Name: earlier.Search.Score, Mean: c.Mean}, Rank: c.Rank,
			Failed: c.Failed}
		for _, path := range slices.Sorted(maps.Keys(c.Params)) {
			one.Settings = append(one.Settings, param.Setting{Path: path, Value: c.Params[path]})
		}
		candidates = append(candidates, one)
	}
	out := &result.Search{}
	out.Started.Run, out.Started.SHA256 = filepath.ToSlash(folder), digest
	return candidates, out, err
}

// ofStart names the flag in the errors of a search that starts from an earlier run.
func ofStart(err error, folder string) error {
	var errs param.FieldErrors
	if folder == "" || !errors.As(err, &errs) {
		return err
	}
	errs = slices.Clone(errs)
	for i := range errs {
		if errs[i].Path == "start" {
			errs[i].Path = startFrom + " " + folder
		}
	}
	return fmt.Errorf("experiment: %w", errs)
}

// planOfSearch is the plan of the search on rows that are stood for, without the last fit.
func planOfSearch(spec Spec, train datasets.Set, task datasets.Task) (p gridsearch.Plan, err error) {
	p, err = spec.GridSearch(train.Groups != nil, task).Plan(train)
	return p, ofHalving(err)
}

// ofHalving adds the position in the file to an error of halving, which depends on the number of
// rows.
func ofHalving(err error) error {
	var f param.FieldError
	if !errors.As(err, &f) || !strings.HasPrefix(f.Path, "strategy.") {
		return err
	}
	f.Path = strings.Replace(f.Path, "strategy", "search.halving", 1)
	return fmt.Errorf("experiment: %w", f)
}

// journalKey identifies a search by its spec, its data and the candidates that it starts from, "" for none.
func journalKey(spec Spec, data digests, start string) string {
	spec.Output, spec.Intervals = config.Output{}, nil // candidates have none
	spec.Report = config.NewReport()
	if spec.Search != nil {
		search := *spec.Search
		search.Budget = 0 // more time continues the same search
		spec.Search = &search
	}
	text, err := spec.Encode("spec.yaml")
	if err != nil {
		text = []byte(spec.Name)
	}
	sum := sha256.Sum256([]byte(string(text) + data.Train + data.Test + start))
	return hex.EncodeToString(sum[:6])
}
