package landmarks

import (
	"context"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/internal/kern"
)

// Export adds to g the features of rows: kernel values times the inverse of L, transposed.
func (f *Map) Export(g *graph.Graph, rows graph.Value) (graph.Value, error) {
	m := f.Width()
	inverse := kern.Dense(m, m, m, make([]float64, m*m))
	for i := range m {
		inverse.Set(i, i, 1)
	}
	if err := kern.SolveLower(context.Background(), f.float64.factor, inverse); err != nil {
		return graph.Value{}, err
	}
	values := f.kernel.Export(g, rows, f.frame, f.Landmarks)
	return g.MatMul(values, g.Matrix(mat.NewDense(m, m, inverse.Data).T())), nil
}
