package param

import (
	"fmt"
	"math"
	"strconv"
)

// Range is an interval of finite numbers; the zero value contains only 0. Use [Any], [Positive],
// [AtLeast], [Between] or [Within].
type Range struct {
	Low, High         float64 // may be infinite
	LowOpen, HighOpen bool    // whether the endpoint is excluded
}

// Any contains all finite numbers.
func Any() Range { return Range{Low: math.Inf(-1), High: math.Inf(1)} }

// Positive contains all finite numbers > 0.
func Positive() Range { return Range{High: math.Inf(1), LowOpen: true} }

// AtLeast contains all finite numbers ≥ low.
func AtLeast(low float64) Range { return Range{Low: low, High: math.Inf(1)} }

// Between contains all numbers from low to high, inclusive.
func Between(low, high float64) Range { return Range{Low: low, High: high} }

// Within contains all numbers between low and high, exclusive.
func Within(low, high float64) Range {
	return Range{Low: low, High: high, LowOpen: true, HighOpen: true}
}

// Contains reports whether v is finite and in the range.
func (r Range) Contains(v float64) bool {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return false
	case v < r.Low || r.LowOpen && v == r.Low:
		return false
	case v > r.High || r.HighOpen && v == r.High:
		return false
	}
	return true
}

func (r Range) check(v float64) error {
	if !r.Contains(v) {
		return errConstraint
	}
	return nil
}

func (r Range) checkAll(list []float64) error {
	for i, v := range list {
		if !r.Contains(v) {
			return FieldError{Hint: fmt.Sprintf("element %d is %v", i, v)}
		}
	}
	return nil
}

// describe returns the range as a suffix of "a number": " > 0", " ≥ 1", " from 0 to 1".
func (r Range) describe() string {
	format := func(v float64) string {
		if v == math.Trunc(v) && math.Abs(v) < 1e9 {
			return strconv.FormatFloat(v, 'f', -1, 64)
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	low, high := !math.IsInf(r.Low, 0), !math.IsInf(r.High, 0)
	switch {
	case low && high && !r.LowOpen && !r.HighOpen:
		return " from " + format(r.Low) + " to " + format(r.High)
	case low && high:
		return " with " + format(r.Low) + sign(" <", " ≤", r.LowOpen) + " it" + sign(" < ", " ≤ ",
			r.HighOpen) + format(r.High)
	case low:
		return sign(" > ", " ≥ ", r.LowOpen) + format(r.Low)
	case high:
		return sign(" < ", " ≤ ", r.HighOpen) + format(r.High)
	}
	return ""
}

func sign(open, closed string, isOpen bool) string {
	if isOpen {
		return open
	}
	return closed
}
