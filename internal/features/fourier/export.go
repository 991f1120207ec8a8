package fourier

import "github.com/bochner-ml/bochner/graph"

// Export adds to g the features of rows.
func (f *Map) Export(g *graph.Graph, rows graph.Value) graph.Value {
	angles, norm := g.MatMul(rows, g.Matrix(f.Frequencies())), g.Scalar(f.Float64.norm())
	if !f.Paired {
		return g.Mul(g.Cos(g.Add(angles, g.Row(f.Phase))), norm)
	}
	m := f.Len()
	order := make([]int, 0, 2*m) // cosine and sine of a frequency
	for j := range m {
		order = append(order, j, m+j)
	}
	return g.Mul(g.Columns(g.Concat(g.Cos(angles), g.Sin(angles)), order), norm)
}
