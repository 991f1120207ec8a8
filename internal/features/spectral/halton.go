package spectral

import "math"

// Halton is a randomized Halton sequence: points that fill the cube (0, 1)^n more evenly than
// random ones. Coordinate k of point i is the radical inverse of i in base p, the k-th prime, with
// scrambled digits: digit r becomes (a_r·digit + b_r) mod p, with random a_r ≠ 0 and b_r for each
// base and each r.
//
// Each coordinate of each point is uniform, so means over points are unbiased. A point depends only
// on the seed and its index. Scrambling removes the correlation between coordinates with large
// primes. Cost per coordinate: log_p i steps.
//
// Sources: Halton, "On the efficiency of certain quasi-random sequences of points", 1960; Matoušek,
// "On the L2-discrepancy for anchored boxes", 1998, for the scrambling. gonum's package samplemv
// supports at most 1000 coordinates.
type Halton struct{ places []place }

// place is the base of a coordinate with its scrambling.
type place struct {
	prime      uint64
	multiplier []uint64
	shift      []uint64
	tail       []float64 // contribution of the shifts of digits r, r+1, …
}

// NewHalton returns the sequence in n dimensions.
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

// Point fills u with the coordinates of point i.
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
