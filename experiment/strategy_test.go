package experiment

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

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
		s := spec(t, halved, Override{"search.halving.least", "20"}, Override{"search.halving.resource", resource})
		p, err := NewPlan(context.Background(), s)
		if err != nil {
			t.Fatal(err)
		}
		r := execute(t, s)
		candidates := 9
		fits := 0
		for k, round := range r.Search.Rounds {
			if k >= len(want) || round.Resource != want[k] || round.Candidates != candidates || round.Best.Mean < 0.5 || len(round.Best.Params) != 2 {
				t.Errorf("%s: round %d is %+v, wanted %v of %v", resource, k, round, candidates, want)
			}
			fits += 3 * candidates
			candidates = (candidates + 2) / 3
		}
		if len(r.Search.Rounds) != len(want) || r.Search.Candidates != 9 || r.Search.Fits != fits || p.Fits != fits+1 || p.Candidates != 9 {
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
		r := execute(t, spec(t, halved, Override{"search.random", "4"}, Override{"seed", seed}))
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

// What a budget has left undone is done by the next run, with the result of a search that had time.
func TestBudget(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", sample(90, class))
	want := execute(t, spec(t, halved)).Search
	_, err := Run(context.Background(), spec(t, halved, Override{"search.budget", "1ns"}), Options{})
	if !errors.Is(err, gridsearch.ErrBudget) || !strings.Contains(err.Error(), "0 of 27 fits are done") {
		t.Fatalf("within a nanosecond: %v", err)
	}
	got := execute(t, spec(t, halved, Override{"search.budget", "1h"})).Search
	if !reflect.DeepEqual(got.Best, want.Best) || got.Unreached != 0 {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// A halving has a budget, too.
func TestBudgetOfHalving(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", sample(240, class))
	least := Override{"search.halving.least", "20"}
	want := execute(t, spec(t, halved, least)).Search
	_, err := Run(context.Background(), spec(t, halved, least, Override{"search.budget", "1ns"}), Options{})
	if !errors.Is(err, gridsearch.ErrBudget) {
		t.Fatalf("within a nanosecond: %v", err)
	}
	if got := execute(t, spec(t, halved, least, Override{"search.budget", "1h"})).Search; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if p, err := NewPlan(context.Background(), spec(t, halved, least, Override{"search.budget", "1ns"})); err != nil || p.Fits < 30 {
		t.Errorf("planned %+v, %v", p, err)
	}
	_, err = Run(context.Background(), spec(t, halved, least, Override{"search.halving.most", "1000000000000"}), Options{Force: true})
	if err == nil || err.Error() != "experiment: search.halving.most: got 1000000000000, wanted at most 160, the rows that a fold trains on" {
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
	grid := Override{"search.grid", "{" + strings.Join(axes, ", ") + "}"}
	if _, err := Parse(context.Background(), "spec.yaml", []byte(halved), grid); err == nil || !strings.Contains(err.Error(), "search.random tries some of them") {
		t.Errorf("all of them: %v", err)
	}
	r := execute(t, spec(t, halved, grid, Override{"search.random", "4"}))
	if r.Search.Candidates != 4 || r.Search.Fits != 12 {
		t.Errorf("%+v", r.Search)
	}
}

// An empty value on the command line takes away what the file says.
func TestUnset(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", sample(90, class))
	put(t, "more.csv", sample(30, class))
	text := strings.Replace(halved, "g]}", "g], split: {test: 0.3, stratify: true}, weight: w}", 1)
	text = strings.Replace(text, "features: 40", "features: 40, seed: 3, gamma: 2", 1)
	const split = "data.split"
	s := spec(t, text, Override{split, ""}, Override{"data.test", "more.csv"}, Override{"data.weight", ""}, Override{"rff.features", ""},
		Override{"rff.gamma", "null"}, Override{"rff.seed", ""}, Override{"data.csv", ""}, Override{"data.csv.missing", "'?'"}, Override{"search.halving", ""}, Override{"search.folds", ""})
	want := spec(t, "seed: 5\ndata: {train: rows.csv, test: more.csv, target: y, drop: [c, g], csv: {missing: '?'}}\n"+
		"pipeline: [impute, standardize, rff, logistic]\nsearch: {grid: {logistic.C: [0.1, 1, 10], rff.gamma: [0.01, 0.1, 1]}}\n")
	got, err := s.Encode("spec.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := want.Encode("spec.yaml"); err != nil || string(got) != string(text) {
		t.Errorf("%s\nwanted %s, %v", got, text, err)
	}
	if s := spec(t, text, Override{"search", ""}, Override{"search.random", ""}, Override{"search.halving", ""}); s.Search != nil {
		t.Error("a search that is not there has begun")
	}
	for path, want := range map[string]string{"data": "data: neither train nor dataset", "data.train": "data: neither train nor dataset", "pipeline": "the steps cannot be replaced", "data.splt": "data.splt"} {
		if _, err := Parse(context.Background(), "spec.yaml", []byte(text), Override{path, ""}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("without %s: %v", path, err)
		}
	}
}

// A search that was not finished keeps its journal, which does not depend on the budget.
func TestJournalOfBudgets(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", sample(90, class))
	stage, err := newStage("out")
	if err != nil {
		t.Fatal(err)
	}
	short := stage.journal(spec(t, halved, Override{"search.budget", "1s"}), Digests{})
	if long := stage.journal(spec(t, halved, Override{"search.budget", "1h"}), Digests{}); long != short {
		t.Errorf("%s with another budget is %s", short, long)
	}
	if other := stage.journal(spec(t, halved, Override{"search.random", "3"}), Digests{}); other == short {
		t.Error("another search has the same journal")
	}
	put(t, short, "")
	stage.keep = true
	if _, err := stage.publish(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(short); err != nil {
		t.Error(err)
	}
	stage.keep = false
	if _, err := stage.publish(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(short); err == nil {
		t.Error("the journal is still there")
	}
}

// Lengths of time are written as they are read.
func TestDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{"90s": 90 * time.Second, "10m": 10 * time.Minute, "1h30m": 90 * time.Minute, "2h": 2 * time.Hour, "1h0m5s": time.Hour + 5*time.Second, "": 0} {
		var d Duration
		if err := d.Set(text); err != nil || time.Duration(d) != want {
			t.Errorf("%q is %v, %v", text, d, err)
		}
		var again Duration
		if err := again.Set(d.Plain()); err != nil || again != d {
			t.Errorf("%q is written %q", text, d.Plain())
		}
	}
	for _, bad := range []any{"soon", 10, "-1s", "0s", nil} {
		if err := new(Duration).Set(bad); err == nil {
			t.Errorf("%v is a length of time", bad)
		}
	}
}
