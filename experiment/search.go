package experiment

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/experiment/internal/config"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/param"
)

// summary is the search section of result.json.
func summary(found *gridsearch.Result) *result.Search {
	out := &result.Search{
		Candidates: len(found.Candidates), Folds: found.Folds, Fits: found.Fits, Score: found.Score,
		Best:       candidate(found.Best()),
		OnGridEdge: append([]string{}, found.OnGridEdge...), Shared: append([]string{}, found.Shared...),
		Unreached: found.Unreached,
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

// journalKey identifies a search by its spec and data.
func journalKey(spec Spec, data digests) string {
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
	sum := sha256.Sum256([]byte(string(text) + data.Train + data.Test))
	return hex.EncodeToString(sum[:6])
}
