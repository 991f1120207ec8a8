package experiment

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/experiment/internal/runfolder"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/gridsearch"
)

const halved = `
seed: 5
data: {train: rows.csv, target: y, csv: {missing: '?'}, drop: [c, g]}
pipeline: [impute, standardize, {rff: {features: 40}}, logistic]
search: {grid: {logistic.C: [0.1, 1, 10], rff.gamma: [0.01, 0.1, 1]}, folds: 3}
`

// Rounds have more rows, or features, and fewer candidates; the plan counts their fits.
func TestHalving(t *testing.T) {
	for resource, want := range map[string][]int{"rows": {20, 60, 160}, "rff.features": {20, 40}} {
		t.Chdir(t.TempDir())
		put(t, "rows.csv", sample(240, class))
		s := spec(t, halved, set("search.halving.min_resources", "20"), set("search.halving.resource", resource))
		p, err := NewPlan(context.Background(), s)
		if err != nil {
			t.Fatal(err)
		}
		r := execute(t, s)
		candidates := 9
		fits := 0
		for k, round := range r.Search.Rounds {
			if k >= len(want) || round.Resource != want[k] || round.Candidates != candidates || round.Best.Mean < 0.5 ||
				len(round.Best.Params) != 2 {
				t.Errorf("%s: round %d is %+v, want %v of %v", resource, k, round, candidates, want)
			}
			fits += 3 * candidates
			candidates = (candidates + 2) / 3
		}
		if len(r.Search.Rounds) != len(want) || r.Search.Candidates != 9 || r.Search.Fits != fits || p.Fits != fits+1 ||
			p.Candidates != 9 {
			t.Errorf("%s: %d rounds of %d, %+v, planned %+v", resource, len(r.Search.Rounds), len(want), r.Search, p)
		}
		if left, _ := filepath.Glob("runs/spec/*journal*"); len(left) > 0 {
			t.Errorf("%s: %v is left", resource, left)
		}
	}
}

// A part of the grid is drawn by the seed.
func TestRandomCandidates(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", sample(90, class))
	drawn := func(seed string) []string {
		r := execute(t, spec(t, halved, set("search.random", "4"), set("seed", seed)))
		if r.Search.Candidates != 4 || r.Search.Fits != 12 {
			t.Errorf("%+v", r.Search)
		}
		return append(column(t, "runs/spec/cv_results.csv", 1), column(t, "runs/spec/cv_results.csv", 2)...)
	}
	first := drawn("1")
	if again := drawn("1"); !reflect.DeepEqual(first, again) {
		t.Errorf("%v, and then %v", first, again)
	}
	if other := drawn("2"); reflect.DeepEqual(first, other) {
		t.Errorf("two seeds draw %v", first)
	}
}

// TestBudget checks that the next run completes a search ended by the budget, with the result of a
// search without limit.
func TestBudget(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", sample(90, class))
	want := execute(t, spec(t, halved)).Search
	_, err := Run(context.Background(), spec(t, halved, set("search.budget", "1ns")), Options{})
	if !errors.Is(err, gridsearch.ErrBudget) || !strings.Contains(err.Error(), "0 of 27 fits are done") {
		t.Fatalf("within a nanosecond: %v", err)
	}
	got := execute(t, spec(t, halved, set("search.budget", "1h"))).Search
	if !reflect.DeepEqual(got.Best, want.Best) || got.Unreached != 0 {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// A halving has a budget, too.
func TestBudgetOfHalving(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", sample(240, class))
	least := set("search.halving.min_resources", "20")
	want := execute(t, spec(t, halved, least)).Search
	_, err := Run(context.Background(), spec(t, halved, least, set("search.budget", "1ns")), Options{})
	if !errors.Is(err, gridsearch.ErrBudget) {
		t.Fatalf("within a nanosecond: %v", err)
	}
	if got := execute(t, spec(t, halved, least, set("search.budget", "1h"))).Search; !reflect.DeepEqual(untimed(got),
		untimed(want)) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if p, err := NewPlan(context.Background(), spec(t, halved, least, set("search.budget", "1ns"))); err != nil ||
		p.Fits < 30 {
		t.Errorf("planned %+v, %v", p, err)
	}
	_, err = Run(context.Background(), spec(t, halved, least, set("search.halving.max_resources", "1000000000")),
		Options{Force: true})
	if err == nil || err.Error() != "experiment: search.halving.max_resources: must be at most 160, the rows that a "+
		"fold trains on, got 1000000000" {
		t.Errorf("more than there are: %v", err)
	}
}

// Of a grid that is too large to be tried some candidates can be.
func TestRandomCandidatesOfAFineGrid(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", sample(90, class))
	var axes []string
	for _, path := range []string{"logistic.C", "logistic.tol", "rff.gamma"} {
		axes = append(axes, path+": {log: [1e-3, 1e-1, 200]}")
	}
	grid := set("search.grid", "{"+strings.Join(axes, ", ")+"}")
	if _, err := Parse(context.Background(), "spec.yaml", []byte(halved), grid); err == nil ||
		!strings.Contains(err.Error(), "use search.random to sample the grid") {
		t.Errorf("all of them: %v", err)
	}
	r := execute(t, spec(t, halved, grid, set("search.random", "4")))
	if r.Search.Candidates != 4 || r.Search.Fits != 12 {
		t.Errorf("%+v", r.Search)
	}
}

// An empty value on the command line removes the value of the file.
func TestUnset(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", sample(90, class))
	put(t, "more.csv", sample(30, class))
	text := strings.Replace(halved, "g]}", "g], split: {test: 0.3, stratify: true}, weight: w}", 1)
	text = strings.Replace(text, "features: 40", "features: 40, seed: 3, gamma: 2", 1)
	const split = "data.split"
	s := spec(t, text, set(split, ""), set("data.test", "more.csv"), set("data.weight", ""), set("rff.features", ""),
		set("rff.gamma", "null"), set("rff.seed", ""), set("data.csv", ""), set("data.csv.missing", "'?'"),
		set("search.halving", ""), set("search.folds", ""))
	want := spec(t, "seed: 5\ndata: {train: rows.csv, test: more.csv, target: y, drop: [c, g], csv: {missing: '?'}}\n"+
		"pipeline: [impute, standardize, rff, logistic]\nsearch: {grid: {logistic.C: [0.1, 1, 10], rff.gamma: [0.01, 0.1, "+
		"1]}}\n")
	got, err := s.Encode("spec.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := want.Encode("spec.yaml"); err != nil || string(got) != string(text) {
		t.Errorf("%s\nwanted %s, %v", got, text, err)
	}
	if s := spec(t, text, set("search", ""), set("search.random", ""), set("search.halving", "")); s.Search != nil {
		t.Error("a search that is not there has begun")
	}
	for path, want := range map[string]string{"data": "data: must have train, sql or dataset",
		"data.train": "data: must have train, sql or dataset", "pipeline": "cannot replace a list of steps",
		"data.splt": "data.splt"} {
		if _, err := Parse(context.Background(), "spec.yaml", []byte(text), set(path, "")); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("without %s: %v", path, err)
		}
	}
}

// A search that was not finished keeps its journal, which does not depend on the budget.
func TestJournalOfBudgets(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", sample(90, class))
	folder, err := runfolder.NewFolder("out")
	if err != nil {
		t.Fatal(err)
	}
	short := folder.Journal(journalKey(spec(t, halved, set("search.budget", "1s")), digests{}, ""))
	if long := folder.Journal(journalKey(spec(t, halved, set("search.budget", "1h")), digests{}, "")); long != short {
		t.Errorf("%s with another budget is %s", short, long)
	}
	if other := folder.Journal(journalKey(spec(t, halved, set("search.random", "3")), digests{}, "")); other == short {
		t.Error("another search has the same journal")
	}
	put(t, short, "")
	folder.KeepJournals = true
	if _, err := folder.Publish(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(short); err != nil {
		t.Error(err)
	}
	folder.KeepJournals = false
	if _, err := folder.Publish(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(short); err == nil {
		t.Error("the journal is still there")
	}
}

// untimed returns a search result without the times of its fits.
func untimed(found *result.Search) result.Search {
	out := *found
	out.All = slices.Clone(found.All)
	for k := range out.All {
		out.All[k].Seconds = 0
	}
	return out
}
