package softmax

import "github.com/bochner-ml/bochner/graph"

// Export adds to g the features of rows.
func (f *Map) Export(g *graph.Graph, rows graph.Value) graph.Value {
	u := g.Mul(rows, g.Row(f.Factor))
	const bound = 1e15 // of which the square is finite in float32
	u = g.Max(g.Min(u, g.Scalar(bound)), g.Scalar(-bound))
	shift := g.Add(g.Mul(g.RowSum(g.Square(u)), g.Scalar(0.5)), g.Scalar(f.Float64.log()))
	return g.Exp(g.Sub(g.MatMul(u, g.Matrix(f.Normal)), shift))
}
