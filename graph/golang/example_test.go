package golang_test

import (
	"bytes"
	"fmt"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/graph/golang"
)

// The source has a struct with a field for each column.
func ExampleOptions_Write() {
	g := graph.New([]graph.Input{{Name: "area"}})
	g.Output("rent", g.Affine(g.Input(), g.Matrix(mat.NewDense(1, 1, []float64{12.5})), g.Row([]float64{100})))
	var source bytes.Buffer
	if _, err := (golang.Options{Package: "rent"}).Write(&source, g); err != nil {
		fmt.Println(err)
		return
	}
	for line := range strings.Lines(source.String()) {
		if strings.HasPrefix(line, "package") || strings.HasPrefix(line, "func") {
			fmt.Print(line)
		}
	}
	// Output:
	// package rent
	// func NewRow() Row {
	// func Predict(row Row) Prediction {
}
