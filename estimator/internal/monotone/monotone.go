// Package monotone implements increasing functions of one number: target transforms with their
// inverses, and piecewise linear functions.
package monotone

import "slices"

// Ascends reports whether numbers rise, all of them finite.
func Ascends(list []float64) bool {
	for i, v := range list {
		if v-v != 0 || i > 0 && !(v > list[i-1]) {
			return false
		}
	}
	return true
}

// Interpolate returns the piecewise linear function with ascending knots at v; it is constant
// outside of them.
func Interpolate(knots, values []float64, v float64) float64 {
	k, found := slices.BinarySearch(knots, v)
	switch {
	case found || k == 0:
		return values[k]
	case k == len(knots):
		return values[k-1]
	}
	low, high := values[k-1], values[k]
	return low + (high-low)*((v-knots[k-1])/(knots[k]-knots[k-1]))
}
