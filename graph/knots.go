package graph

import (
	"fmt"
	"math"
	"math/bits"

	"gonum.org/v1/gonum/mat"
)

// SearchSorted returns for each entry of v how many knots of its column are less than it, found by
// halving. There is a list of rising numbers for each column, or one for all. Of NaN it is 0.
func (g *Graph) SearchSorted(v Value, knots [][]float64) Value {
	if !g.lists("below", v, knots) {
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
			padded[j] = append(padded[j], math.MaxFloat64) // which nothing is above
		}
	}
	middle := make([]float64, len(knots))
	for j, list := range padded {
		middle[j] = list[half-1]
	}
	count := g.Mul(g.Less(g.Row(middle), v), g.Scalar(float64(half)))
	table, first := g.flat(padded)
	for step := half / 2; step >= 1; step /= 2 {
		at := make([]float64, len(first))
		for j := range at {
			at[j] = first[j] + float64(step-1)
		}
		knot := g.Lookup(table, g.Add(count, g.Row(at)))
		count = g.Add(count, g.Mul(g.Less(knot, v), g.Scalar(float64(step))))
	}
	return count
}

// TakeAlong returns for each entry of index, an integer from 0 on, the number at that place of the list of its column,
// or of the one list of all.
func (g *Graph) TakeAlong(index Value, lists [][]float64) Value {
	if !g.lists("pick", index, lists) {
		return Value{}
	}
	table, first := g.flat(lists)
	if len(lists) > 1 {
		index = g.Add(index, g.Row(first))
	}
	return g.Lookup(table, index)
}

// PiecewiseLinear returns for each entry of v the value on straight lines between the knots of its
// column, which rise, and beyond them that of the first or the last. There are lists of knots and
// values for each column, or one for all.
func (g *Graph) PiecewiseLinear(v Value, knots, values [][]float64) Value {
	if !g.lists("lines", v, knots) {
		return Value{}
	}
	d := len(knots)
	least, most := make([]float64, d), make([]float64, d)
	start, from := make([][]float64, d), make([][]float64, d)
	gap, rise := make([][]float64, d), make([][]float64, d)
	for j, list := range knots {
		if len(values) != d || len(values[j]) != len(list) {
			return g.fail(fmt.Errorf("lines: column %d has not as many values as knots", j))
		}
		least[j], most[j] = list[0], list[len(list)-1]
		start[j], from[j], gap[j], rise[j] = list[:1:1], values[j][:1:1], []float64{1}, []float64{0}
		for k := 1; k < len(list); k++ {
			start[j], gap[j] = append(start[j], list[k-1]), append(gap[j], list[k]-list[k-1])
			from[j], rise[j] = append(from[j], values[j][k-1]), append(rise[j], values[j][k]-values[j][k-1])
		}
	}
	v = g.Min(g.Max(v, g.Row(least)), g.Row(most))
	k := g.SearchSorted(v, knots)
	part := g.Div(g.Sub(v, g.TakeAlong(k, start)), g.TakeAlong(k, gap))
	return g.Add(g.TakeAlong(k, from), g.Mul(g.TakeAlong(k, rise), part))
}

// KthSmallest returns the k-th smallest entry of each row, from 1: the range that it is in is
// halved until nothing else is. Entries that differ by less than 1e-18 of the range of their row
// may be taken for each other.
func (g *Graph) KthSmallest(v Value, k int) Value {
	if g.err == nil && (k < 1 || k > g.Width(v)) {
		return g.fail(fmt.Errorf("smallest: number %d of %d columns", k, g.Width(v)))
	}
	const halvings = 60
	least, half := g.Neg(g.RowMax(g.Neg(v))), g.Scalar(0.5)
	lo, hi := least, g.RowMax(v)
	for range halvings {
		middle := g.Add(g.Mul(lo, half), g.Mul(hi, half))
		enough := g.LessEqual(g.Scalar(float64(k)), g.RowSum(g.LessEqual(v, middle)))
		lo, hi = g.Where(enough, lo, middle), g.Where(enough, middle, hi)
	}
	return g.RowMax(g.Where(g.LessEqual(v, hi), v, least))
}

// lists reports whether there is a list of some numbers for each column of v, or one for all, and
// fails where there is not.
func (g *Graph) lists(what string, v Value, lists [][]float64) bool {
	if g.err != nil {
		return false
	}
	if err := g.checkRows(v); err != nil {
		g.fail(fmt.Errorf("%s: %w", what, err))
		return false
	}
	if len(lists) != g.Width(v) && len(lists) != 1 {
		g.fail(fmt.Errorf("%s: %d lists for %d columns", what, len(lists), g.Width(v)))
		return false
	}
	for j, list := range lists {
		if len(list) == 0 {
			g.fail(fmt.Errorf("%s: the list of column %d is empty", what, j))
			return false
		}
	}
	return true
}

// flat returns lists as a table of one column, one behind the other, and where each begins.
func (g *Graph) flat(lists [][]float64) (table Value, first []float64) {
	var all []float64
	for _, list := range lists {
		first = append(first, float64(len(all)))
		all = append(all, list...)
	}
	return g.Matrix(mat.NewDense(len(all), 1, all)), first
}
