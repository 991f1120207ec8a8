package spectral

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestStreams checks that a draw does not depend on earlier draws, and differs for each seed,
// purpose and index.
func TestStreams(t *testing.T) {
	rng, seen := NewStream(), map[uint64]bool{}
	for range 2 {
		for seed := range uint64(3) {
			for p := Frequencies; p <= Spreads; p++ {
				for i := range 5 {
					rng.At(seed, p, i)
					seen[rng.Uint64()] = true
					rng.NormFloat64()
				}
			}
		}
	}
	if want := 3 * int(Spreads) * 5; len(seen) != want {
		t.Errorf("%d different draws, want %d", len(seen), want)
	}
}

// Every row has the same chance to be in a sample, in blocks of any size.
func TestSampleIsFair(t *testing.T) {
	const rows, seeds = 4 * sampleSize, 60
	X := mat.NewDense(rows, 1, nil)
	for i := range rows {
		X.Set(i, 0, float64(i))
	}
	var parts [8]float64 // how often rows of each eighth were taken
	for seed := range uint64(seeds) {
		s := newSample(seed)
		s.add(X.Slice(0, 700, 0, 1))
		s.add(X.Slice(700, rows, 0, 1))
		if len(s.points) != sampleSize {
			t.Fatalf("%d rows", len(s.points))
		}
		for _, p := range s.points {
			parts[int(p.values[0])*len(parts)/rows]++
		}
	}
	want := float64(seeds*sampleSize) / float64(len(parts))
	for k, n := range parts {
		if math.Abs(n-want) > 4.5*math.Sqrt(want) {
			t.Errorf("rows of part %d were taken %v times, want about %v", k, n, want)
		}
	}
}
