package gridsearch

import (
	"context"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
)

// A random search has some of the grid's candidates, with the scores they have in the whole of it.
func TestRandomSearch(t *testing.T) {
	data := quantities(60)
	whole := mustRun(t, lineSearch(nil), data)
	s := lineSearch(nil)
	s.Random, s.Seed = 5, 3
	some := mustRun(t, s, data)
	if len(some.Candidates) != 5 || some.Fits != 15 {
		t.Fatalf("%d candidates, %d fits", len(some.Candidates), some.Fits)
	}
	at := -1
	for _, c := range some.Candidates {
		next := slices.IndexFunc(whole.Candidates, func(w Candidate) bool { return reflect.DeepEqual(w.Settings, c.Settings) })
		if next <= at || !reflect.DeepEqual(whole.Candidates[next].Folds, c.Folds) {
			t.Errorf("%s is number %d of the grid, after %d", c, next, at)
		}
		at = next
	}
	again := mustRun(t, s, data)
	s.Seed = 4
	other := mustRun(t, s, data)
	if table(again) != table(some) || table(other) == table(some) {
		t.Error("the candidates are not those of the seed")
	}
	s.Random = -1
	if _, err := s.Run(context.Background(), data); err == nil || !strings.Contains(err.Error(), "random: got -1") {
		t.Errorf("error is %v", err)
	}
}

// A search whose time is over has the best of what it reached, and its journal the rest later.
func TestBudget(t *testing.T) {
	data := quantities(60)
	want := table(mustRun(t, lineSearch(nil), data))
	s := lineSearch(&probe{delay: 20 * time.Millisecond})
	s.Workers, s.Budget, s.Refit = 1, 150*time.Millisecond, RefitNone
	s.Journal = filepath.Join(t.TempDir(), "journal")
	r := mustRun(t, s, data)
	late := 0
	for _, c := range r.Candidates {
		if strings.Contains(c.Failed, "not reached within the budget of time") {
			late++
		}
	}
	if late == 0 || late == len(r.Candidates) || r.Best().Failed != "" || !strings.Contains(strings.Join(r.Warnings, ";"), "budget") {
		t.Errorf("%d of %d not reached; best %s; %q", late, len(r.Candidates), r.Best(), r.Warnings)
	}
	s.Budget, s.Estimator, s.Refit = 0, lineSearch(nil).Estimator, RefitBest
	if r := mustRun(t, s, data); r.Resumed == 0 || table(r) != want {
		t.Errorf("%d taken; the table differs: %v", r.Resumed, table(r) != want)
	}
}

// Ridge is no Resumer, and is swept at once; a sweeper that is one is asked part by part.
func TestBudgetOfASweep(t *testing.T) {
	s := NewSearch(estimator.NewRidge(), Axis{Path: "alpha", Values: Log(1e-3, 1e3, 9)})
	want := table(mustRun(t, s, quantities(60)))
	s.Budget = time.Hour
	if r := mustRun(t, s, quantities(60)); table(r) != want || len(r.Warnings) > 0 {
		t.Errorf("the table differs, or %q", r.Warnings)
	}
}

// Each rung of a halving is the search of its candidates on its rows; the last has all rows.
func TestHalving(t *testing.T) {
	data := quantities(240)
	s := NewSearch(estimator.NewRidge(), Axis{Path: "alpha", Values: Log(1e-3, 1e4, 18)})
	s.Score, s.Splitter = "mse", datasets.KFold{Folds: 4}
	s.Journal = filepath.Join(t.TempDir(), "journal")
	h := NewHalving(s, 20)
	rungs, err := h.Run(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	var rows, kept []int
	for _, r := range rungs {
		rows, kept = append(rows, r.Resource), append(kept, len(r.Kept))
	}
	if !slices.Equal(rows, []int{20, 60, 180}) || !slices.Equal(kept, []int{18, 6, 2}) {
		t.Errorf("rungs of %v rows and %v candidates", rows, kept)
	}
	s.Journal = ""
	whole := mustRun(t, s, data)
	if best := rungs.Last().Best(); best.Mean != whole.Candidates[rungs[2].Kept[rungs.Last().BestIndex]].Mean || rungs.Last().Model == nil || rungs[0].Result.Model != nil {
		t.Errorf("the best is %s", best)
	}
	for _, c := range whole.Candidates[rungs[1].Kept[0]:][:1] {
		if !slices.Contains(rungs[0].Kept, slices.IndexFunc(whole.Candidates, func(w Candidate) bool { return w.String() == c.String() })) {
			t.Errorf("%s was not in the first rung", c)
		}
	}
	again, err := h.Run(context.Background(), data)
	if err != nil || again[0].Result.Resumed != 72 || table(again.Last()) != table(rungs.Last()) {
		t.Errorf("again: %v", err)
	}
}

// A parameter can be what the rungs have more of.
func TestHalvingOfAParameter(t *testing.T) {
	s := NewSearch(estimator.NewLogistic(), Axis{Path: "C", Values: Log(1e-3, 1e2, 6)})
	h := Halving{Search: s, Resource: "max_iter", Least: 1, Most: 50, Factor: 4}
	rungs, err := h.Run(context.Background(), labels(80))
	if err != nil || len(rungs) != 4 || rungs[3].Resource != 50 || len(rungs[1].Kept) != 2 || len(rungs.Last().Candidates) != 1 {
		t.Fatalf("%d rungs, %v", len(rungs), err)
	}
	for _, c := range []struct {
		h    Halving
		want string
	}{
		{Halving{Search: s, Resource: "max_iter", Least: 5, Most: 4, Factor: 2}, "halving goes from 5 to 4 of max_iter"},
		{Halving{Search: s, Resource: "rows", Least: 5, Factor: 1}, "factor: got 1"},
		{Halving{Search: s, Resource: "rank", Least: 5, Most: 9, Factor: 2}, "rank"},
	} {
		if _, err := c.h.Run(context.Background(), labels(80)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, wanted %s", err, c.want)
		}
	}
}
