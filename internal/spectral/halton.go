package spectral

import "math"

// Halton is a randomized Halton sequence: points that fill the cube (0, 1)^n more evenly than random ones do.
// Place k of point i is i written backwards behind the point, in digits of base p, the k-th prime; digit r becomes
// (a_r·digit + b_r) mod p, with random a_r ≠ 0 and b_r of its own for each base and each r.
//
// Each place of each point alone is uniform, so that means over points are unbiased. A point depends on the seed and
// its number alone. The scrambling breaks up the lines on which the points of neighboring large primes lie.
// Cost of a place: log_p i steps.
//
// Sources: Halton, "On the efficiency of certain quasi-random sequences of points", 1960; Matoušek, "On the
// L2-discrepancy for anchored boxes", 1998, for the scrambling. The sequence of gonum's package samplemv ends at
// 1000 places.
type Halton struct{ places []place }

// place is a base with its scrambling.
type place struct {
	prime      uint64
	multiplier []uint64
	shift      []uint64
	tail       []float64 // what shifts from digit r on add up to, behind the point
}

// NewHalton returns the sequence of n places.
func NewHalton(seed uint64, n int) *Halton {
	h, rng := &Halton{places: make([]place, n)}, NewStream()
	for k, p := range primes(n) {
		at := place{prime: p}
		rng.At(seed, Scrambling, k)
		for scale := 1.0; scale > 0x1p-53; scale /= float64(p) {
			at.multiplier = append(at.multiplier, 1+rng.Uint64N(p-1))
			at.shift = append(at.shift, rng.Uint64N(p))
		}
		at.tail = make([]float64, len(at.shift)+1)
		for r := len(at.shift) - 1; r >= 0; r-- {
			at.tail[r] = at.tail[r+1] + float64(at.shift[r])*math.Pow(float64(p), -float64(r+1))
		}
		h.places[k] = at
	}
	return h
}

// Point fills u, as long as there are places, with point i.
func (h *Halton) Point(i int, u []float64) {
	for k := range u {
		u[k] = h.places[k].at(uint64(i))
	}
}

func (p *place) at(rest uint64) float64 {
	sum, scale, r := 0.0, 1.0, 0
	for ; rest > 0 && r < len(p.shift); r++ {
		scale /= float64(p.prime)
		sum += scale * float64((p.multiplier[r]*(rest%p.prime)+p.shift[r])%p.prime)
		rest /= p.prime
	}
	return min(max(sum+p.tail[r], 0x1p-53), 1-0x1p-53)
}

// primes returns the first n primes, by the sieve of Eratosthenes.
func primes(n int) []uint64 {
	limit := 16.0
	if n > 5 { // Rosser and Schoenfeld, 1962
		limit = float64(n) * (math.Log(float64(n)) + math.Log(math.Log(float64(n))))
	}
	composite, out := make([]bool, int(limit)+1), make([]uint64, 0, n)
	for i := 2; len(out) < n; i++ {
		if composite[i] {
			continue
		}
		out = append(out, uint64(i))
		for k := i * i; k < len(composite); k += i {
			composite[k] = true
		}
	}
	return out
}
