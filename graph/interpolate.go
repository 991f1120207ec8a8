package graph

import (
	"fmt"
	"math"
	"math/bits"

	"gonum.org/v1/gonum/mat"
)

// SearchSorted returns for each entry of v the number of knots of its column that are less than the
// entry, by binary search; 0 for NaN. knots contains one ascending list for each column, or one for
// all.
func (g *Graph) SearchSorted(v Value, knots [][]float64) Value {
	if !g.checkLists("searchsorted", v, knots) {
		return Value{}
	}
	longest := 0
	for _, list := range knots {
		longest = max(longest, len(list))
	}
	half := 1 << bits.Len(uint(longest)) / 2
	padded := make([][]float64, len(knots))
	for j, list := range knots {
		padded[j] = append(padded[j], list...)
		for len(padded[j]) < 2*half-1 {
			padded[j] = append(padded[j], math.MaxFloat64) // no finite entry exceeds it
		}
	}
	middle := make([]float64, len(knots))
	for j, list := range padded {
		middle[j] = list[half-1]
	}
	count := g.Mul(g.Less(g.Row(middle), v), g.Scalar(float64(half)))
	table, first := g.concatLists(padded)
	for step := half / 2; step >= 1; step /= 2 {
		offset := make([]float64, len(first))
		for j := range offset {
			offset[j] = first[j] + float64(step-1)
		}
		knot := g.Lookup(table, g.Add(count, g.Row(offset)))
		count = g.Add(count, g.Mul(g.Less(knot, v), g.Scalar(float64(step))))
	}
	return count
}

// TakeAlong returns for each entry of index, a 0-based integer, the number at that index of the
// list of its column. lists contains one list for each column, or one for all.
func (g *Graph) TakeAlong(index Value, lists [][]float64) Value {
	if !g.checkLists("takealong", index, lists) {
		return Value{}
	}
	table, first := g.concatLists(lists)
	if len(lists) > 1 {
		index = g.Add(index, g.Row(first))
	}
	return g.Lookup(table, index)
}

// PiecewiseLinear interpolates values linearly between knots, for each entry of v, and is constant
// outside them. knots, in ascending order, and values contain one list for each column, or one for
// all.
func (g *Graph) PiecewiseLinear(v Value, knots, values [][]float64) Value {
	if !g.checkLists("piecewiselinear", v, knots) {
		return Value{}
	}
	d := len(knots)
	lo, hi := make([]float64, d), make([]float64, d)
	start, from := make([][]float64, d), make([][]float64, d)
	gap, rise := make([][]float64, d), make([][]float64, d)
	for j, list := range knots {
		if len(values) != d || len(values[j]) != len(list) {
			return g.fail(fmt.Errorf("piecewiselinear: values of column %d must have the length of its knots, %d", j, len(list)))
		}
		lo[j], hi[j] = list[0], list[len(list)-1]
		start[j], from[j], gap[j], rise[j] = list[:1:1], values[j][:1:1], []float64{1}, []float64{0}
		for k := 1; k < len(list); k++ {
			start[j], gap[j] = append(start[j], list[k-1]), append(gap[j], list[k]-list[k-1])
			from[j], rise[j] = append(from[j], values[j][k-1]), append(rise[j], values[j][k]-values[j][k-1])
		}
	}
	v = g.Min(g.Max(v, g.Row(lo)), g.Row(hi))
	k := g.SearchSorted(v, knots)
	fraction := g.Div(g.Sub(v, g.TakeAlong(k, start)), g.TakeAlong(k, gap))
	return g.Add(g.TakeAlong(k, from), g.Mul(g.TakeAlong(k, rise), fraction))
}

// KthSmallest returns the k-th smallest entry of each row, where k = 1 is the minimum, by bisection
// of the range of the row. Entries that differ by less than 1e-18 of that range may be confused.
func (g *Graph) KthSmallest(v Value, k int) Value {
	if g.err == nil && (k < 1 || k > g.Width(v)) {
		return g.fail(fmt.Errorf("kthsmallest: k must be from 1 to %d, got %d", g.Width(v), k))
	}
	const halvings = 60
	rowMin, half := g.Neg(g.RowMax(g.Neg(v))), g.Scalar(0.5)
	lo, hi := rowMin, g.RowMax(v)
	for range halvings {
		middle := g.Add(g.Mul(lo, half), g.Mul(hi, half))
		inLower := g.LessEqual(g.Scalar(float64(k)), g.RowSum(g.LessEqual(v, middle)))
		lo, hi = g.Where(inLower, lo, middle), g.Where(inLower, middle, hi)
	}
	return g.RowMax(g.Where(g.LessEqual(v, hi), v, rowMin))
}

// checkLists reports whether lists contains a non-empty list for each column of v, or one for all.
// Otherwise it records an error of the operation op.
func (g *Graph) checkLists(op string, v Value, lists [][]float64) bool {
	if g.err != nil {
		return false
	}
	if err := g.checkRows(v); err != nil {
		g.fail(fmt.Errorf("%s: %w", op, err))
		return false
	}
	if len(lists) != g.Width(v) && len(lists) != 1 {
		g.fail(fmt.Errorf("%s: must have 1 list or one for each of %d columns, got %d", op, g.Width(v), len(lists)))
		return false
	}
	for j, list := range lists {
		if len(list) == 0 {
			g.fail(fmt.Errorf("%s: list of column %d must not be empty", op, j))
			return false
		}
	}
	return true
}

// concatLists concatenates lists to a table of one column and returns it with the offset of each
// list.
func (g *Graph) concatLists(lists [][]float64) (table Value, first []float64) {
	var all []float64
	for _, list := range lists {
		first = append(first, float64(len(all)))
		all = append(all, list...)
	}
	return g.Matrix(mat.NewDense(len(all), 1, all)), first
}
