// Package threshold finds optimal thresholds of binary scores.
//
// A row is classified as positive if its score exceeds the threshold. [Cuts] has a threshold for
// each partition of the scores, with the confusion counts; every criterion depends on these four
// numbers, so all thresholds are evaluated after one sort.
package threshold

import (
	"math"
	"slices"
)

// Cut is a threshold, and the weights of the rows of either class on both sides of it.
type Cut struct {
	At                                                       float64
	TrueNegative, FalsePositive, FalseNegative, TruePositive float64
}

// Cuts returns the distinct ways to divide n scores by a threshold, ascending: the midpoints of
// adjacent scores, and one threshold beyond either end. The usual threshold represents all that
// divide equally, so it is always one of the cuts. If scores are bounded by low and high, the end
// thresholds are half way to the bound, and omitted if a score is at it; otherwise they are half
// the range of the scores away. Scores must be finite; rows of weight 0 are ignored. Cost: O(n log
// n).
func Cuts(scores []float64, positive []bool, weights []float64, low, high, usual float64) []Cut {
	var order []int
	for i, w := range weights {
		if w > 0 {
			order = append(order, i)
		}
	}
	if len(order) == 0 {
		return nil
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case scores[a] < scores[b]:
			return -1
		case scores[a] > scores[b]:
			return 1
		}
		return 0
	})
	var levels []float64 // distinct scores
	var at [][2]float64  // weight of negative and positive rows at each
	for _, i := range order {
		if k := len(levels); k == 0 || scores[i] != levels[k-1] {
			levels, at = append(levels, scores[i]), append(at, [2]float64{})
		}
		if positive[i] {
			at[len(at)-1][1] += weights[i]
		} else {
			at[len(at)-1][0] += weights[i]
		}
	}
	cuts := make([]Cut, len(levels)+1) // cut k is below level k
	for k := range levels {            // sums from either side, for a difference of sums could be below 0
		cuts[k+1].TrueNegative = cuts[k].TrueNegative + at[k][0]
		cuts[k+1].FalseNegative = cuts[k].FalseNegative + at[k][1]
	}
	for k := len(levels) - 1; k >= 0; k-- {
		cuts[k].FalsePositive = cuts[k+1].FalsePositive + at[k][0]
		cuts[k].TruePositive = cuts[k+1].TruePositive + at[k][1]
	}
	return placed(cuts, levels, low, high, usual)
}

// placed gives each cut its threshold, and leaves out the ends that have none.
func placed(cuts []Cut, levels []float64, low, high, usual float64) []Cut {
	first, last := levels[0], levels[len(levels)-1]
	reach := (last - first) / 2
	if reach == 0 {
		reach = 1
	}
	below, above := first-reach, last+reach
	if !math.IsInf(low, 0) {
		below = middle(low, first)
	}
	if !math.IsInf(high, 0) {
		above = middle(last, high)
	}
	for k := range cuts {
		from, to := math.Inf(-1), math.Inf(1) // thresholds in [from, to) divide equally
		switch {
		case k == 0:
			to, cuts[k].At = first, below
		case k == len(levels):
			from, cuts[k].At = last, above
		default:
			from, to = levels[k-1], levels[k]
			cuts[k].At = middle(from, to)
		}
		if from <= usual && usual < to {
			cuts[k].At = usual
		}
	}
	if cuts[0].At >= first {
		cuts = cuts[1:]
	}
	if k := len(cuts) - 1; cuts[k].At == high && high != usual {
		cuts = cuts[:k]
	}
	return cuts
}

// middle returns a number between a and b, less than b if possible.
func middle(a, b float64) float64 {
	if m := a + (b-a)/2; m < b {
		return m
	}
	return a
}

// Best returns the index of the cut with the best value. Ties go to the cut nearest to the usual
// threshold, then to the first. NaN values are ignored; the result is −1 if there is no other.
func Best(cuts []Cut, values []float64, greater bool, usual float64) int {
	best := -1
	for k, v := range values {
		switch {
		case math.IsNaN(v):
		case best < 0, greater && v > values[best], !greater && v < values[best],
			v == values[best] && math.Abs(cuts[k].At-usual) < math.Abs(cuts[best].At-usual):
			best = k
		}
	}
	return best
}

// Usual returns the number of the cut that divides as the usual threshold does.
func Usual(cuts []Cut, usual float64) int {
	return slices.IndexFunc(cuts, func(c Cut) bool { return c.At == usual })
}

// Thinned returns at most most ≥ 2 ascending numbers below n, evenly spaced, with the first, the
// last and those in keep.
func Thinned(n, most int, keep ...int) []int {
	var out []int
	if n <= most {
		for k := range n {
			out = append(out, k)
		}
		return out
	}
	even := most - len(keep)
	for j := range even {
		out = append(out, j*(n-1)/max(even-1, 1))
	}
	out = append(out, keep...)
	slices.Sort(out)
	return slices.Compact(out)
}
