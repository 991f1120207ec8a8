package graph_test

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/graph"
)

// A graph that standardizes two columns and computes a linear function of them.
func ExampleGraph() {
	g := graph.New([]graph.Input{{Name: "area"}, {Name: "rooms"}})
	z := g.Div(g.Sub(g.Input(), g.Row([]float64{60, 3})), g.Row([]float64{20, 1}))
	g.Output("rent", g.Affine(z, g.Matrix(mat.NewDense(2, 1, []float64{200, 50})), g.Row([]float64{900})))
	out, err := g.Run(mat.NewDense(2, 2, []float64{60, 3, 80, 4}))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(mat.Formatted(out["rent"]))
	// Output:
	// ⎡ 900⎤
	// ⎣1150⎦
}
