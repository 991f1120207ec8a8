package spectral

import (
	"math"
	"slices"
	"testing"
)

// TestHaltonPlacesAreUniform checks that each coordinate of a point is uniform over seeds, for all
// points and bases.
func TestHaltonPlacesAreUniform(t *testing.T) {
	const seeds, places = 4000, 40
	u, bins := make([]float64, places), map[[2]int]*[8]float64{}
	for seed := range uint64(seeds) {
		h := NewHalton(seed, places)
		for _, i := range []int{0, 1, 7, 1000} {
			h.Point(i, u)
			for _, k := range []int{0, 1, 5, 39} {
				key := [2]int{i, k}
				if bins[key] == nil {
					bins[key] = new([8]float64)
				}
				bins[key][int(u[k]*8)]++
			}
		}
	}
	for key, counts := range bins {
		for _, n := range counts {
			if z := (n - seeds/8) / math.Sqrt(seeds/8.0*7/8); math.Abs(z) > 4.5 {
				t.Errorf("point %d, place %d: %v, %v standard errors off", key[0], key[1], counts, z)
			}
		}
	}
}

// TestHaltonFillsIntervals checks that of p^r consecutive points, each interval of length p^−r
// contains exactly one.
func TestHaltonFillsIntervals(t *testing.T) {
	for k, n := range []int{64, 81, 125, 49, 121} {
		h, u := NewHalton(3, k+1), make([]float64, k+1)
		seen := make([]int, n)
		for i := range n {
			h.Point(i+2*n, u)
			seen[int(u[k]*float64(n))]++
		}
		if slices.Max(seen) != 1 {
			t.Errorf("place %d: %d points share an interval of 1/%d", k, slices.Max(seen), n)
		}
	}
}

// Points of large bases are not on few lines, as unscrambled ones are: neighboring places are uncorrelated over seeds.
func TestHaltonPlacesAreUncorrelated(t *testing.T) {
	const places, n, seeds = 200, 60, 300
	sum, square := 0.0, 0.0
	for seed := range uint64(seeds) {
		h, u, c := NewHalton(seed, places), make([]float64, places), 0.0
		for i := range n {
			h.Point(i, u)
			c += 12 * (u[198] - 0.5) * (u[199] - 0.5) / n
		}
		sum, square = sum+c, square+c*c
	}
	if z := sum / math.Sqrt(square); math.Abs(z) > 4 {
		t.Errorf("the correlation of two large bases is %v standard errors from 0", z)
	}
	if rms := math.Sqrt(square / seeds); rms > 2/math.Sqrt(n) {
		t.Errorf("the correlation of two large bases is %v in the root mean square, of random numbers %v", rms,
			1/math.Sqrt(n))
	}
}

func TestPrimes(t *testing.T) {
	if got := primes(8); !slices.Equal(got, []uint64{2, 3, 5, 7, 11, 13, 17, 19}) {
		t.Errorf("the first primes are %v", got)
	}
	if got := primes(1000)[999]; got != 7919 {
		t.Errorf("prime 1000 is %d", got)
	}
}
