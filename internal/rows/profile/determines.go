package profile

import (
	"cmp"
	"math"
	"slices"
)

// Variable contains the values of a column: numbers, or codes of categories. NaN is missing.
type Variable struct {
	Values     []float64
	Categories bool
}

const (
	minDetermined = 30     // rows with both values from which a coincidence is unlikely
	minMinority   = 5      // rows outside the most frequent class, or value, of the target
	minRepeats    = 5      // rows per category
	determinedR2  = 0.9999 // share of the variance that is explained
)

// Determines reports whether an input alone gives the target: all of its categories have one value of the
// target; ranges of the input separate the classes; or numbers are linear in the input, or monotone. Inputs
// with almost as many categories as rows, such as row numbers as text, do not.
func Determines(input, target Variable) bool {
	var x, y []float64
	for i, v := range input.Values {
		if t := target.Values[i]; v == v && t == t {
			x, y = append(x, v), append(y, t)
		}
	}
	counts, most := map[float64]int{}, 0
	for _, t := range y {
		counts[t]++
		most = max(most, counts[t])
	}
	if len(x) < minDetermined || len(x)-most < minMinority {
		return false
	}
	if byCategory(x, y) {
		return true
	}
	switch {
	case input.Categories:
		return false
	case target.Categories:
		return separates(x, y, len(counts))
	}
	return squaredCorrelation(x, y) >= determinedR2 || squaredCorrelation(ranks(x), ranks(y)) >= determinedR2
}

// byCategory reports whether equal inputs have equal targets, for inputs that repeat.
func byCategory(x, y []float64) bool {
	of := map[float64]float64{}
	for i, v := range x {
		if t, ok := of[v]; ok && t != y[i] {
			return false
		}
		of[v] = y[i]
	}
	return len(of)*minRepeats <= len(x)
}

// separates reports whether each class has a range of the inputs of its own.
func separates(x, y []float64, classes int) bool {
	order := sortedRows(x)
	runs := 1
	for k := 1; k < len(order); k++ {
		i, j := order[k-1], order[k]
		if y[i] == y[j] {
			continue
		}
		if runs++; x[i] == x[j] {
			return false
		}
	}
	return runs == classes
}

// sortedRows returns the rows in ascending order of their values.
func sortedRows(x []float64) []int {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	return order
}

// ranks returns the ranks of the values, equal ones with their mean rank.
func ranks(x []float64) []float64 {
	order, out := sortedRows(x), make([]float64, len(x))
	for lo := 0; lo < len(order); {
		hi := lo + 1
		for hi < len(order) && x[order[hi]] == x[order[lo]] {
			hi++
		}
		for _, i := range order[lo:hi] {
			out[i] = float64(lo+hi-1) / 2
		}
		lo = hi
	}
	return out
}

// squaredCorrelation returns the squared correlation, 0 for constants.
func squaredCorrelation(x, y []float64) float64 {
	n := float64(len(x))
	meanX, meanY := 0.0, 0.0
	for i := range x {
		meanX, meanY = meanX+x[i]/n, meanY+y[i]/n
	}
	xx, yy, xy := 0.0, 0.0, 0.0
	for i := range x {
		dx, dy := x[i]-meanX, y[i]-meanY
		xx, yy, xy = xx+dx*dx, yy+dy*dy, xy+dx*dy
	}
	if !(xx > 0 && yy > 0) || math.IsInf(xx*yy, 0) {
		return 0
	}
	return xy * xy / (xx * yy)
}
