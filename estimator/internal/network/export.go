package network

import "github.com/bochner-ml/bochner/graph"

// Export adds to g the outputs of rows.
func (m *Model) Export(g *graph.Graph, rows graph.Value) graph.Value {
	for l := range m.maps {
		rows = m.maps[l].Export(g, rows)
	}
	return g.Affine(rows, g.Matrix(m.Head.T()), g.Row(m.Intercept))
}
