package experiment

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/gridsearch"
)

// TestWatch checks that the remaining time is extrapolated from the work done.
func TestWatch(t *testing.T) {
	clock := time.Unix(0, 0)
	var last SearchProgress
	w := newWatch(func(s SearchProgress) { last = s }, func() time.Time { return clock })
	w.tick()
	if last.Of != 0 {
		t.Error("progress before the first fit")
	}
	w.see(gridsearch.Progress{Done: 0, Total: 100, Candidate: -1, Best: math.NaN()})
	if last.Left >= 0 || !math.IsNaN(last.Best) || last.Rate != 0 {
		t.Errorf("at the beginning: %+v", last)
	}
	for done := 1; done <= 100; done++ {
		clock = clock.Add(time.Second)
		w.see(gridsearch.Progress{Done: done, Total: 100, Scored: done / 5, Folds: 5, Best: 0.5, Settings: "a=1",
			Metric: "r2"})
		whole := (last.Elapsed + last.Left).Seconds()
		if math.Abs(whole-100) > 1e-6 {
			t.Fatalf("after %d fits the whole is to take %v s", done, whole)
		}
	}
	if math.Abs(last.Rate-0.2) > 1e-9 || last.Left != 0 || last.Settings != "a=1" {
		t.Errorf("in the end: %+v", last)
	}
	clock = clock.Add(time.Hour)
	w.tick()
	if last.Elapsed > 2*time.Minute {
		t.Error("the clock runs after the end of the search")
	}
}

// TestWatchResumed checks that work resumed from an earlier run does not affect the speed.
func TestWatchResumed(t *testing.T) {
	clock := time.Unix(0, 0)
	var last SearchProgress
	w := newWatch(func(s SearchProgress) { last = s }, func() time.Time { return clock })
	w.see(gridsearch.Progress{Done: 80, Total: 100, Scored: 16})
	if last.Left >= 0 {
		t.Errorf("unknown speed, but output %v", last.Left)
	}
	clock = clock.Add(2 * time.Second)
	w.see(gridsearch.Progress{Done: 90, Total: 100, Scored: 18})
	if last.Left != 2*time.Second || last.Rate != 1 {
		t.Errorf("%+v", last)
	}
	clock = clock.Add(time.Second)
	w.tick()
	if last.Left != time.Second {
		t.Errorf("a second later %v", last.Left)
	}
}

// A run reports the progress of its search.
func TestRunTellsOfItsSearch(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", measured(200))
	var all []SearchProgress
	r, err := Run(context.Background(), spec(t, reported), Options{Searching: func(s SearchProgress) {
		all = append(all, s)
	}})
	if err != nil {
		t.Fatal(err)
	}
	last := all[len(all)-1]
	if last.Fits != 24 || last.Of != 24 || last.Candidates != 8 || last.Metric != "r2" ||
		math.Abs(last.Best-r.Search.Best.Mean) > 1e-12 || last.Settings == "" || last.Folds != 3 {
		t.Errorf("%+v, best %+v", last, r.Search.Best)
	}
}

// TestWatchRounds checks that with several rounds the remaining time is that of the round.
func TestWatchRounds(t *testing.T) {
	clock := time.Unix(0, 0)
	var last SearchProgress
	w := newWatch(func(s SearchProgress) { last = s }, func() time.Time { return clock })
	w.see(gridsearch.Progress{Done: 0, Total: 90})
	clock = clock.Add(20 * time.Second)
	w.see(gridsearch.Progress{Done: 90, Total: 90, Scored: 30})
	if last.Left != 0 {
		t.Errorf("after the first round %v are left", last.Left)
	}
	w.see(gridsearch.Progress{Done: 0, Total: 30})
	clock = clock.Add(60 * time.Second)
	w.see(gridsearch.Progress{Done: 15, Total: 30, Scored: 5})
	if last.Left != 60*time.Second || last.Elapsed != 80*time.Second {
		t.Errorf("in the second round %v are left of %v", last.Left, last.Elapsed)
	}
}
