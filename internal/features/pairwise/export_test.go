package pairwise

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/graph"
)

// TestExportOfHugeRows checks that exported kernel values of rows far from all points are the
// limit, never NaN, where squares overflow.
func TestExportOfHugeRows(t *testing.T) {
	points := sample(6, 3, 1)
	rows := mat.NewDense(4, 3, []float64{1e30, 0, 1, 0, -1e200, 2, 1e200, 1e200, 1e200, 1, 2, 3})
	for _, s := range shapes {
		k, _ := NewKernel(s.name, shapeOf(s.nu, s.alpha))
		g := graph.New([]graph.Input{{Name: "a"}, {Name: "b"}, {Name: "c"}})
		g.Output("values", k.Export(g, g.Input(), Frame{Factor: factors(3)}, points))
		out, err := g.Run(rows)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range out["values"].RawMatrix().Data {
			if v != v || v < 0 || i < 18 && v > 1e-8 || i >= 18 && (v == 0 || math.IsInf(v, 0)) {
				t.Errorf("%+v: row %d: %v", s, i/6, v)
			}
		}
	}
}
