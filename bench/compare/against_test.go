package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// The interval has its nominal coverage and is not conservative: checked over many draws of a
// skewed distribution.
func TestIntervalCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{3, 6, 7, 12, 25} {
		const draws = 20_000
		inside, got := 0, 0.0
		for range draws {
			list := make([]float64, n)
			for i := range list {
				list[i] = rng.ExpFloat64()
			}
			slices.Sort(list)
			low, high, sure := interval(list)
			if low <= math.Ln2 && math.Ln2 <= high {
				inside++
			}
			got = sure
		}
		share := float64(inside) / draws
		if sd := math.Sqrt(got * (1 - got) / draws); math.Abs(share-got) > 4*sd {
			t.Errorf("%d numbers: the median is inside in %.4f of the draws, want %.4f", n, share, got)
		}
		if n >= 6 && got < sureness {
			t.Errorf("%d numbers: only %.4f sure", n, got)
		}
	}
}

func TestChangeByInterval(t *testing.T) {
	for _, c := range []struct {
		before, after []float64
		want          string
	}{
		{[]float64{2, 2, 2, 2, 2, 2}, []float64{1, 1.1, 1, 1.2, 1, 1}, "faster"},
		{[]float64{1, 1, 1, 1, 1, 1}, []float64{1.5, 1.1, 1.2, 1.2, 1.3, 1.1}, "**slower**"},
		{[]float64{1, 1, 1, 1, 1, 1}, []float64{1, 1.01, 1, 0.99, 1, 1}, "the same"},
		{[]float64{1, 1, 1, 1, 1, 1}, []float64{0.5, 1.5, 1, 1, 2, 1}, "inconclusive"},
		// a machine that slows down does so for both
		{[]float64{1, 2, 4, 8, 16, 32}, []float64{0.5, 1, 2, 4, 8, 16}, "faster"},
	} {
		p := pair{name: "x", before: c.before, after: c.after}
		if row := p.row(); !strings.HasSuffix(row, "| "+c.want+" |\n") {
			t.Errorf("%v after %v: %s, want %s", c.after, c.before, row, c.want)
		}
	}
	if row := (&pair{name: "x", skipped: "no data"}).row(); !strings.Contains(row, "no data") {
		t.Errorf("%s", row)
	}
}
