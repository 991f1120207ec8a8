package transformer

import (
	"math"

	"gonum.org/v1/gonum/mathext"

	"github.com/bochner-ml/bochner/graph"
)

// Export adds the ranks of the rows to g: a search for the quantiles around each value, and linear
// interpolation. The normal quantile function is a polynomial, evaluated at the upper rank above ½,
// so that float32 has digits there too; it is accurate to about 1e-10.
func (f *FittedQuantile) Export(g *graph.Graph, rows graph.Value) (graph.Value, error) {
	share, above := f.exportShares(g, rows)
	if !f.normal {
		return share, nil
	}
	most := float64(1 - minShare)
	minAbove := 1 - most // which has some digits fewer
	upper := g.Less(g.Scalar(0.5), share)
	tail := g.Where(upper, g.Max(above, g.Scalar(minAbove)), g.Max(share, g.Scalar(minShare)))
	// Φ⁻¹ of a tail is analytic in r = sqrt(−log(tail)).
	quantile := func(r float64) float64 { return mathext.NormalQuantile(math.Exp(-r * r)) }
	const pieces = 24
	y := g.ChebyshevApprox(g.Sqrt(g.Neg(g.Log(tail))), math.Sqrt(math.Ln2), math.Sqrt(-math.Log(minShare/2)), pieces,
		quantile)
	return g.Where(upper, g.Neg(y), y), nil
}

// exportShares returns F of every column, and for the normal law 1 − F: it counts the quantiles
// below a value, and has for each count the line that the value is on.
func (f *FittedQuantile) exportShares(g *graph.Graph, rows graph.Value) (share, above graph.Value) {
	scale := 1.0 // ½ where the distance of two values overflows
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

// complement returns of less each number.
func complement(of float64, lists [][]float64) [][]float64 {
	out := make([][]float64, len(lists))
	for j, list := range lists {
		for _, v := range list {
			out[j] = append(out[j], of-v)
		}
	}
	return out
}

// rankingLines are, of each column and for each number of values below, the next value and F there, and the line
// towards it: F is from + rise·(scale·x − start)/gap.
type rankingLines struct{ values, at, start, gap, from, rise [][]float64 }

// add adds the lines of a column.
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
