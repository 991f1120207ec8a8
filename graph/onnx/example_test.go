package onnx_test

import (
	"bytes"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/graph/onnx"
)

// A model for ONNX Runtime, whose input is the matrix X.
func ExampleOptions_Write() {
	g := graph.New([]graph.Input{{Name: "area"}, {Name: "rooms"}})
	g.Output("variable", g.Affine(g.Input(), g.Matrix(mat.NewDense(2, 1, []float64{12, 50})), g.Row([]float64{100})))
	var file bytes.Buffer
	written, err := onnx.Options{Precision: "float64"}.Write(&file, g)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(written.Inputs)
	fmt.Println(written.Outputs)
	// Output:
	// [X double [N, 2]]
	// [variable double [N, 1]]
}
