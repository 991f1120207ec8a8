package kernelridge

import (
	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/graph"
)

// Export adds the predictions of the model for rows to g. It returns an error for the kernel of a caller.
func (m *Model) Export(g *graph.Graph, rows graph.Value) (out graph.Value, err error) {
	if err := m.points.kernel.CheckExport(m.Kernel); err != nil {
		return out, err
	}
	n, _ := m.X.Dims()
	values := m.points.kernel.Export(g, rows, m.points.frame, m.X)
	return g.Affine(values, g.Matrix(mat.NewDense(n, len(m.Intercept), m.Dual)), g.Row(m.Intercept)), nil
}
