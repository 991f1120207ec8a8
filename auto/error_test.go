package auto

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/learning/searchloop"
	"github.com/bochner-ml/bochner/metrics"
)

// The error of a mean over folds counts the overlap of their training rows, that of parts of one test
// set does not.
func TestStdError(t *testing.T) {
	for _, c := range []struct {
		rows, folds int
		overlap     float64
	}{{2000, 5, 0.25}, {120, 25, 0.25}, {heldOutFrom, heldOutParts, 0}} {
		r, err := newRun(noise(c.rows, 2), NewOptions())
		if err != nil {
			t.Fatal(err)
		}
		r.lessonRows = nil // they are no test rows
		d, err := r.divide(c.rows)
		if err != nil || len(d.scores) != c.folds {
			t.Fatalf("%d scores: %v", len(d.scores), err)
		}
		s := scored{on: c.rows}
		for k := range d.scores {
			s.Scores = append(s.Scores, float64(k%5))
		}
		s.mean = 2
		n := float64(c.folds)
		square := 2 * n / (n - 1) // of 0 … 4, each as often
		if got, want := r.stdError(s), math.Sqrt((1/n+c.overlap)*square); math.Abs(got-want) > 1e-9 {
			t.Errorf("%d folds of %d rows: %g, want %g", c.folds, c.rows, got, want)
		}
	}
}

// A model that predicts one class has the same accuracy in all stratified folds; its error is that of
// the share of the class.
func TestStdErrorOfOneClass(t *testing.T) {
	const n, share = 200, 0.9
	data := noise(n, 2)
	for i := range data.Y {
		data.Y[i] = 0
		if float64(i) >= share*n {
			data.Y[i] = 1
		}
	}
	data.Schema.Targets = []datasets.Column{{Name: "y", Kind: datasets.Categorical, Categories: []string{"no", "yes"}}}
	for _, weighted := range []bool{false, true} {
		o, rows := NewOptions(), float64(n)
		if o.Score = "accuracy"; weighted {
			data.Weights = make([]float64, n)
			for i := range n / 2 {
				data.Weights[2*i] = 3
			}
			rows = n / 2
		}
		r, err := newRun(data, o)
		if err != nil {
			t.Fatal(err)
		}
		d, err := r.divide(n)
		if err != nil {
			t.Fatal(err)
		}
		s := scored{on: n, mean: share}
		for range d.scores {
			s.Scores = append(s.Scores, share)
		}
		if got, want := r.stdError(s), math.Sqrt(share*(1-share)/rows); math.Abs(got-want) > 1e-12 {
			t.Errorf("weighted %v: %g, want %g", weighted, got, want)
		}
	}
}

// Most of the excess of the best of many candidates that differ by chance is found, and not more; one
// that is much better than the others has none.
func TestOptimism(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, name := range []string{"r2", "root_mean_squared_error"} {
		excess, found := 0.0, 0.0
		for range 20 {
			r, err := newRun(noise(2000, 2), NewOptions())
			if err != nil {
				t.Fatal(err)
			}
			if r.metric, err = metrics.ByName(name); err != nil {
				t.Fatal(err)
			}
			r.divided[2000] = &division{} // independent scores
			for k := range 60 {
				s := scored{point: point{gamma: k}, on: 2000}
				for range 5 {
					s.Scores = append(s.Scores, 0.5+0.1*rng.NormFloat64())
				}
				s.mean, s.spread = meanAndSpread(s.Scores, 1)
				r.log = append(r.log, s)
			}
			leader := slices.MinFunc(r.log, r.compare)
			best := leader.mean
			excess += (best - 0.5) / 20
			all := r.optimism(Entry{Rows: 2000, Score: best})
			found += all / 20
			if got := r.optimism(Entry{Rows: 2000, Score: best - all/4}); math.Abs(got-0.75*all) > 1e-12 {
				t.Errorf("%s: optimism %g of a score that is not the best, want %g", name, got, 0.75*all)
			}
			// not comparable, because of other rows
			r.log = append(r.log, scored{point: point{gamma: 99}, on: 1000, mean: 0.9,
				Outcome: searchloop.Outcome{Scores: []float64{0.9}}})
			better := r.log[0]
			better.Scores = slices.Repeat([]float64{2}, 5)
			if !r.metric.GreaterIsBetter {
				better.Scores = slices.Repeat([]float64{-2}, 5)
			}
			better.mean, _ = meanAndSpread(better.Scores, 1)
			r.log[0] = better
			if got := r.optimism(Entry{Rows: 2000, Score: better.mean}); got != 0 {
				t.Errorf("%s: optimism %g of a candidate that is the best in all folds", name, got)
			}
		}
		if ratio := found / excess; ratio < 0.55 || ratio > 1.05 { // 1/√2 for independent candidates
			t.Errorf("%s: optimism %.3f, want most of %.3f", name, found, excess)
		}
	}
}

// A candidate that fails in one fold says nothing about the optimism of the best one, nor do candidates that all are bad
// in one, as with a target of a long tail: no other fold is as good as that one is bad.
func TestOptimismOfUnstable(t *testing.T) {
	for _, list := range [][][]float64{
		{{0.9, 0.88, 0.91, 0.89, 0.9}, {0.9, 0.88, 0.91, -20, 0.9}},
		{{0.4, 0.41, 0.39, -1, 0.4}, {0.38, 0.41, 0.4, -2.5, 0.4}, {0.4, 0.4, 0.38, -3, 0.38}},
	} {
		r, err := newRun(noise(2000, 2), NewOptions())
		if err != nil {
			t.Fatal(err)
		}
		for k, folds := range list {
			s := scored{point: point{gamma: k}, on: 2000, Outcome: searchloop.Outcome{Scores: folds}}
			s.mean, s.spread = meanAndSpread(folds, 1)
			r.log = append(r.log, s)
		}
		if got := r.optimism(Entry{Rows: 2000, Score: r.log[0].mean}); got < 0 || got > 0.02 {
			t.Errorf("optimism %g of %v", got, list)
		}
	}
}
