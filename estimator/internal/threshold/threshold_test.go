package threshold

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// counts is a straightforward reference implementation.
func counts(scores []float64, positive []bool, weights []float64, t float64) Cut {
	c := Cut{At: t}
	for i, s := range scores {
		switch {
		case s > t && positive[i]:
			c.TruePositive += weights[i]
		case s > t:
			c.FalsePositive += weights[i]
		case positive[i]:
			c.FalseNegative += weights[i]
		default:
			c.TrueNegative += weights[i]
		}
	}
	return c
}

// TestCutsAreComplete checks that every cut has correct counts, and that every threshold within
// the bounds divides rows like one of the cuts. Weights are integers, so that sums are exact in any
// order.
func TestCutsAreComplete(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for round := range 300 {
		n := 1 + rng.IntN(20)
		scores, positive, weights := make([]float64, n), make([]bool, n), make([]float64, n)
		bounded, usual, low, high := round%2 == 0, 0.0, math.Inf(-1), math.Inf(1)
		if bounded {
			usual, low, high = 0.5, 0, 1
		}
		for i := range n {
			scores[i], positive[i], weights[i] = float64(rng.IntN(9))/8, rng.IntN(2) == 0, float64(rng.IntN(4))
			if !bounded {
				scores[i] = 3*scores[i] - 1
			}
		}
		if slices.Max(weights) == 0 {
			if Cuts(scores, positive, weights, low, high, usual) != nil {
				t.Fatal("cuts of nothing")
			}
			continue
		}
		cuts := Cuts(scores, positive, weights, low, high, usual)
		for k, c := range cuts {
			if c != counts(scores, positive, weights, c.At) || k > 0 && c.At <= cuts[k-1].At || bounded &&
				(c.At < 0 || c.At > 1) {
				t.Fatalf("cut %+v of %v, want %+v", c, scores, counts(scores, positive, weights, c.At))
			}
		}
		for x := -2.0; x <= 3; x += 1.0 / 64 {
			want := counts(scores, positive, weights, x)
			if !slices.ContainsFunc(cuts, func(c Cut) bool { c.At = x; return c == want }) && !(bounded && (x < 0 || x >= 1)) {
				t.Fatalf("threshold %v divides %v otherwise than all cuts %v", x, scores, cuts)
			}
		}
		if k := Usual(cuts, usual); k < 0 {
			t.Fatalf("the usual threshold is not among %v of %v", cuts, scores)
		}
	}
}

func TestBest(t *testing.T) {
	cuts := []Cut{{At: 0.1}, {At: 0.3}, {At: 0.5}, {At: 0.8}}
	for _, c := range []struct {
		values  []float64
		greater bool
		want    int
	}{
		{[]float64{1, 2, 2, 2}, true, 2}, // the usual one
		{[]float64{1, 2, 1, 2}, true, 1}, // the nearer one
		{[]float64{1, 2, 3, 0}, false, 3},
		{[]float64{math.NaN(), 2, 1, math.NaN()}, true, 1},
		{[]float64{math.NaN(), math.NaN(), math.NaN(), math.NaN()}, true, -1},
	} {
		if got := Best(cuts, c.values, c.greater, 0.5); got != c.want {
			t.Errorf("%v: %d, want %d", c.values, got, c.want)
		}
	}
}

func TestThinned(t *testing.T) {
	if got := Thinned(4, 100, 2); !slices.Equal(got, []int{0, 1, 2, 3}) {
		t.Error(got)
	}
	got := Thinned(1000, 10, 333, 7)
	if len(got) > 10 || got[0] != 0 || got[len(got)-1] != 999 || !slices.Contains(got, 333) || !slices.Contains(got, 7) ||
		!slices.IsSorted(got) {
		t.Error(got)
	}
}

// Neighbors that have no number between them are still divided.
func TestCutBetweenNeighbors(t *testing.T) {
	a := 0.25
	b := math.Nextafter(a, 1)
	for _, c := range Cuts([]float64{b, a}, []bool{true, false}, []float64{1, 1}, 0, 1, 0.9) {
		if c != counts([]float64{b, a}, []bool{true, false}, []float64{1, 1}, c.At) {
			t.Error(c)
		}
	}
}
