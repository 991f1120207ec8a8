package cluster

import "github.com/bochner-ml/bochner/graph"

// ExportModel adds to g the number of the nearest center.
func (f *FittedKMeans) ExportModel(g *graph.Graph, rows graph.Value) (graph.Prediction, error) {
	return graph.Prediction{Values: f.m.Export(g, rows)}, nil
}

// ExportModel adds to g the number of the cluster.
func (f *fittedSpectral) ExportModel(g *graph.Graph, rows graph.Value) (graph.Prediction, error) {
	if f.own != nil {
		return graph.Prediction{}, f.own.Kernel.CheckExport(f.kernel)
	}
	embedded := g.MatMul(rows, g.Matrix(f.project))
	size := g.Sqrt(g.RowSum(g.Square(embedded)))
	embedded = g.Where(g.Less(g.Scalar(0), size), g.Div(embedded, size), embedded)
	return graph.Prediction{Values: f.m.Export(g, embedded)}, nil
}
