package kern

import "math"

// PairStep adds a step along a pair of rows of a matrix to a gradient and finds the next row:
//
//	for k:  grad[k] += step·(a[k] − b[k])
//
// It returns the minimum of grad[k] + up[k] and its first index k; 0 and +Inf if there is none. A
// step of 0 does not change the gradient.
func PairStep(grad, up []float64, a, b []float32, step float64) (at int, least float64) {
	n := len(grad)
	if len(up) != n || len(a) != n || len(b) != n {
		panic("kern: PairStep of different lengths")
	}
	least = math.Inf(1)
	first := 0
	if first = pairLength(n); first > 0 {
		at, least = pairStepAsm(grad[:first], up, a, b, step)
	}
	for k := first; k < n; k++ {
		grad[k] += step * float64(a[k]-b[k])
		if u := grad[k] + up[k]; u < least {
			at, least = k, u
		}
	}
	return at, least
}

// PairGain selects the second row of a pair. With d[k] = grad[k] + down[k] − least, it returns the
// maximum of d[k], and the first k that maximizes
//
//	d[k]²/max(c[k] − 2·a[k], floor·c[k]),  c[k] = own + diagonal[k],  d[k] > 0
//
// computed in float32; at is −1 if there is none. A diagonal of nil is 1 everywhere, and so is own.
func PairGain(grad, down []float64, a, diagonal []float32, own float32, least float64, floor float32) (at int,
	most float64) {
	n := len(grad)
	if len(down) != n || len(a) != n || diagonal != nil && len(diagonal) != n {
		panic("kern: PairGain of different lengths")
	}
	first, best := pairLength(n), float32(0)
	at = -1
	if first > 0 {
		at, best, most = pairGainAsm(grad[:first], down, a, diagonal, own, least, floor)
	}
	for k := first; k < n; k++ {
		d := grad[k] + down[k] - least
		if !(d > 0) {
			continue
		}
		most = max(most, d)
		c := float32(2)
		if diagonal != nil {
			c = own + diagonal[k]
		}
		if gain := float32(d) * float32(d) / max(c-2*a[k], floor*c); gain > best {
			at, best = k, gain
		}
	}
	return at, most
}

// pairLength returns the number of elements that the assembly processes.
func pairLength(n int) int {
	if !isa.complete() {
		return 0
	}
	return n &^ (lanesOf[float64]() - 1)
}
