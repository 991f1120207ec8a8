// Package coverage has the levels and the methods of prediction intervals.
package coverage

import "math"

// DefaultLevel is the default probability level of intervals and sets.
const DefaultLevel = 0.9

// TestLevel is the confidence level of the intervals of package compare.
const TestLevel = 0.95

// Methods are the names of the methods of prediction intervals.
var Methods = []string{"auto", "jackknife_plus", "jackknife", "split", "cqr", "normal"}

// Splits reports whether a method calibrates on rows that the model is not fitted to.
func Splits(method string) bool { return method == "split" || method == "cqr" }

// Deviations returns how many standard deviations on both sides of its mean a normal number is within with the
// probability level.
func Deviations(level float64) float64 { return math.Sqrt2 * math.Erfinv(level) }
