package kmeans

import (
	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/graph"
)

// Export adds to g the number of the nearest center of rows: that of the largest 2x'c − ‖c‖², all
// less the middle of the centers.
func (m *Model) Export(g *graph.Graph, rows graph.Value) graph.Value {
	near := newNearest(m.Centers, m.Cols)
	twice := mat.NewDense(near.d, near.k, nil)
	twice.Scale(2, mat.NewDense(near.k, near.d, near.less).T())
	products := g.MatMul(g.Sub(rows, g.Row(near.middle)), g.Matrix(twice))
	return g.ArgMax(g.Sub(products, g.Row(near.norms)))
}
