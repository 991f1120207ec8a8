package shardfit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/bochner-ml/bochner/experiment"
	"github.com/bochner-ml/bochner/experiment/internal/config"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/experiment/shardfit"
	"github.com/bochner-ml/bochner/internal/testing/exhaustive"
)

const searched = `
data: {train: rows.csv, target: quantity, drop: [class, colour], task: regression, split: {test: 0.2}}
pipeline:
  - impute
  - standardize
  - rff: {features: 40}
  - ridge
search:
  grid:
    rff.gamma: [0.01, 0.03, 0.1, 0.3, 1]
    ridge.alpha: [0.0001, 0.001, 0.01, 0.1, 1, 10, 100, 1000, 10000, 100000]
  folds: 3
`

// TestSearchInShards checks that a search in shards, more than values of γ or more than candidates,
// has the results of a run on one host, except for the times.
func TestSearchInShards(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	table(t, dir, 700)
	at := func(name string) config.Override {
		return config.Override{Path: "output.dir", Value: filepath.Join(dir, name)}
	}
	whole, err := experiment.Run(ctx, load(t, dir, searched, at("whole")), experiment.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := reported(t, whole)
	for _, n := range []int{5, 1, 7, 64}[:exhaustive.Of(1, 4)] {
		spec := load(t, dir, searched, at("shards"))
		var states []*shardfit.State
		for i := range n {
			part, err := shardfit.Fit(ctx, spec, shardfit.Options{Shard: i, Shards: n})
			if err != nil {
				t.Fatal(err)
			}
			states = append(states, through(t, part))
		}
		merged, err := shardfit.Merge(ctx, states...)
		if err != nil {
			t.Fatal(err)
		}
		out, err := through(t, merged).Finish(ctx, false)
		if err != nil {
			t.Fatal(err)
		}
		if got := reported(t, *out.Result); got != want {
			t.Errorf("in %d shards:\n%s\nwant\n%s", n, got, want)
		}
		for _, name := range []string{"predictions.csv", "model.bochner"} {
			ours, _ := os.ReadFile(filepath.Join(dir, "whole", name))
			theirs, _ := os.ReadFile(filepath.Join(dir, "shards", name))
			if len(ours) == 0 || !bytes.Equal(ours, theirs) {
				t.Errorf("in %d shards another %s", n, name)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, "shards", "cv_results.csv")); err != nil || out.Model == nil {
			t.Errorf("no table, or no model: %v", err)
		}
	}
}

// reported is all of a result that does not depend on time or place.
func reported(t *testing.T, r result.Result) string {
	t.Helper()
	r.Seconds, r.Memory, r.Files, r.Spec = result.Result{}.Seconds, 0, nil, ""
	s := *r.Search
	s.All = append([]result.Candidate{}, s.All...)
	for k := range s.All {
		s.All[k].Seconds = 0
	}
	r.Search = &s
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
