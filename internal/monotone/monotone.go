// Package monotone has rising functions of one number: transforms of targets with the way back, and straight
// lines between knots. Inputs and outputs are numeric columns.
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

// Interpolate returns the value at v on straight lines between rising knots, that of the first or last knot
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
