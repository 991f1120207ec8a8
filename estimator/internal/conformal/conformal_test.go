package conformal

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestRank checks that the rank is the smallest k with k ≥ level·(n+1) despite rounding of the
// product, and that Least is the smallest number of rows for which such a rank exists.
func TestRank(t *testing.T) {
	for percent := 1; percent < 100; percent++ {
		level := float64(percent) / 100
		smallest := 0
		for n := 1; n < 400; n++ {
			want := (percent*(n+1) + 99) / 100
			k, err := Rank(n, level)
			switch {
			case want > n:
				if err == nil {
					t.Fatalf("level %v of %d rows has rank %d", level, n, k)
				}
				continue
			case err != nil || k != want:
				t.Fatalf("level %v of %d rows has rank %d, %v, want %d", level, n, k, err, want)
			}
			if smallest == 0 {
				smallest = n
			}
		}
		if got := Least(level); got != smallest {
			t.Fatalf("level %v takes %d rows, Least reports %d", level, smallest, got)
		}
	}
	for _, level := range []float64{0, 1, -1, 2, math.NaN()} {
		if _, err := Rank(100, level); err == nil {
			t.Errorf("level %v is taken", level)
		}
	}
}

func TestSelectIsTheSortedList(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for n := 1; n < 60; n++ {
		for _, values := range []int{1, 2, 5, 1000} { // many of them equal, or few
			list := make([]float64, n)
			for i := range list {
				list[i] = float64(rng.IntN(values))
			}
			sorted := slices.Sorted(slices.Values(list))
			for k := 1; k <= n; k++ {
				if got := Select(slices.Clone(list), k); got != sorted[k-1] {
					t.Fatalf("number %d of %v is %v", k, list, got)
				}
			}
		}
	}
}

func TestSets(t *testing.T) {
	for _, c := range []struct {
		got  []float64
		most float64
		want []float64
	}{
		{[]float64{0.5, 0.3, 0.2}, -0.25, []float64{1, 1, 0}},
		{[]float64{0.5, 0.3, 0.2}, -0.9, []float64{1, 0, 0}}, // never empty
		{[]float64{0.5, 0.3, 0.2}, -0.1, []float64{1, 1, 1}},
		{[]float64{-0.4}, 0.5, []float64{1, 1}},
		{[]float64{-0.4}, 0, []float64{1, 0}},
		{[]float64{0.4}, 0, []float64{0, 1}},
		{[]float64{0.4}, -0.9, []float64{0, 1}},
	} {
		got := make([]float64, len(c.want))
		if Set(got, c.got, c.most); !slices.Equal(got, c.want) {
			t.Errorf("set of %v at most %v strange: %v, want %v", c.got, c.most, got, c.want)
		}
	}
}
