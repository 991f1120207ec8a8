package transformer

import (
	"math"

	"gonum.org/v1/gonum/mathext"

	"github.com/bochner-ml/bochner/graph"
)

// Export adds the mapped rows to g: a binary search in the quantiles and linear interpolation. The
// normal quantile function is approximated by Chebyshev polynomials to about 1e-10. Values above
// the median use 1 − F, which keeps precision in float32.
func (f *fittedQuantile) Export(g *graph.Graph, rows graph.Value) (graph.Value, error) {
	share, above := f.exportShares(g, rows)
	if !f.normal {
		return share, nil
	}
	maxShare := float64(1 - minShare)
	minAbove := 1 - maxShare // rounded, unlike minShare
	upper := g.Less(g.Scalar(0.5), share)
	tail := g.Where(upper, g.Max(above, g.Scalar(minAbove)), g.Max(share, g.Scalar(minShare)))
	// Φ⁻¹ of a tail is analytic in r = sqrt(−log(tail)).
	quantile := func(r float64) float64 { return mathext.NormalQuantile(math.Exp(-r * r)) }
	const pieces = 24
	y := g.ChebyshevApprox(g.Sqrt(g.Neg(g.Log(tail))), math.Sqrt(math.Ln2), math.Sqrt(-math.Log(minShare/2)), pieces,
		quantile)
	return g.Where(upper, g.Neg(y), y), nil
}

// exportShares returns F of every column, and 1 − F for normal output. It counts the quantiles
// below a value and interpolates on the segment of that count.
func (f *fittedQuantile) exportShares(g *graph.Graph, rows graph.Value) (share, above graph.Value) {
	scale := 1.0 // ½ if the difference of two values overflows
	for _, r := range f.columns {
		if math.IsInf(r.values[len(r.values)-1]-r.values[0], 0) {
			scale = 0.5
		}
	}
	var all rankingLines
	var values [][]float64
	for _, r := range f.columns {
		values = append(values, r.values)
		all.add(r, scale)
	}
	k, scaled := g.SearchSorted(rows, values), rows
	if scale != 1 {
		scaled = g.Mul(rows, g.Scalar(scale))
	}
	same := g.Equal(rows, g.TakeAlong(k, all.values))
	part := g.Div(g.Sub(scaled, g.TakeAlong(k, all.start)), g.TakeAlong(k, all.gap))
	side := func(at, from, rise [][]float64) graph.Value {
		return g.Where(same, g.TakeAlong(k, at), g.Add(g.TakeAlong(k, from), g.Mul(g.TakeAlong(k, rise), part)))
	}
	share = side(all.at, all.from, all.rise)
	if !f.normal {
		return share, above
	}
	return share, side(complement(1, all.at), complement(1, all.from), complement(0, all.rise))
}

// complement returns c − v for each number v of the lists.
func complement(c float64, lists [][]float64) [][]float64 {
	out := make([][]float64, len(lists))
	for j, list := range lists {
		for _, v := range list {
			out[j] = append(out[j], c-v)
		}
	}
	return out
}

// rankingLines contains, for each column and each number of quantiles below a value, the next
// quantile, F there (at), and the segment that ends there: F = from + rise·(scale·x − start)/gap.
type rankingLines struct{ values, at, start, gap, from, rise [][]float64 }

// add appends the segments of a column.
func (l *rankingLines) add(r ranking, scale float64) {
	last := len(r.values) - 1
	values, at, start, gap, from, rise := []float64{r.values[0]}, []float64{0}, []float64{0}, []float64{1}, []float64{0},
		[]float64{0}
	for k := 1; k <= last; k++ {
		a, b := scale*r.values[k-1], scale*r.values[k]
		values, at = append(values, r.values[k]), append(at, (r.below[k]+r.above[k])/2)
		start, gap = append(start, a), append(gap, b-a)
		from, rise = append(from, r.above[k-1]), append(rise, r.below[k]-r.above[k-1])
	}
	if last > 0 {
		at[last] = 1
	}
	l.values, l.at = append(l.values, append(values, r.values[last])), append(l.at, append(at, 1))
	l.start, l.gap = append(l.start, append(start, 0)), append(l.gap, append(gap, 1))
	l.from, l.rise = append(l.from, append(from, 1)), append(l.rise, append(rise, 0))
}
