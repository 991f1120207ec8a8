package transformer

import (
	"math"

	"gonum.org/v1/gonum/mathext"

	"github.com/bochner-ml/bochner/graph"
)

var _ graph.StepExporter = (*FittedQuantile)(nil)

// Export adds to g the ranks of the rows: a look for the quantiles around each value, and the line between them. The
// normal law is made of polynomials, which are right to about 1e-14.
func (f *FittedQuantile) Export(g *graph.Graph, rows graph.Value) (graph.Value, error) {
	share := f.exportShares(g, rows)
	if !f.normal {
		return share, nil
	}
	share = g.Min(g.Max(share, g.Number(leastShare)), g.Number(1-leastShare))
	upper := g.Less(g.Number(0.5), share)
	tail := g.Where(upper, g.Sub(g.Number(1), share), share) // from leastShare to ½
	// Φ⁻¹ of a tail is analytic in r = sqrt(−log(tail)).
	quantile := func(r float64) float64 { return mathext.NormalQuantile(math.Exp(-r * r)) }
	const pieces = 24
	y := g.Smooth(g.Sqrt(g.Neg(g.Log(tail))), math.Sqrt(math.Ln2), math.Sqrt(-math.Log(leastShare/2)), pieces, quantile)
	return g.Where(upper, g.Neg(y), y), nil
}

// exportShares returns F of every column: it counts the quantiles below a value, and has for each count the line that
// the value is on.
func (f *FittedQuantile) exportShares(g *graph.Graph, rows graph.Value) graph.Value {
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
	k := g.Below(rows, values)
	scaled := rows
	if scale != 1 {
		scaled = g.Mul(rows, g.Number(scale))
	}
	part := g.Div(g.Sub(scaled, g.Pick(k, all.start)), g.Pick(k, all.gap))
	line := g.Add(g.Pick(k, all.from), g.Mul(g.Pick(k, all.rise), part))
	return g.Where(g.Equal(rows, g.Pick(k, all.values)), g.Pick(k, all.at), line)
}

// rankingLines are, of each column and for each number of values below, the next value and F there, and the line
// towards it: F is from + rise·(scale·x − start)/gap.
type rankingLines struct{ values, at, start, gap, from, rise [][]float64 }

// add adds those of a column.
func (l *rankingLines) add(r ranking, scale float64) {
	last := len(r.values) - 1
	values, at, start, gap, from, rise := []float64{r.values[0]}, []float64{0}, []float64{0}, []float64{1}, []float64{0}, []float64{0}
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
