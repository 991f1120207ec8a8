package modelfile_test

import (
	"bytes"
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
	"github.com/bochner-ml/bochner/transformer"
)

// rings are points on two circles, a class each, which no line divides.
func rings() datasets.Set {
	const n = 200
	X, y := mat.NewDense(n, 2, nil), make([]float64, n)
	for i := range n {
		angle, radius := float64(i)*2.4, 1.0
		if y[i] = float64(i % 2); y[i] == 1 {
			radius = 2
		}
		X.SetRow(i, []float64{radius * math.Cos(angle), radius * math.Sin(angle)})
	}
	return datasets.Set{X: X, Y: y, Schema: datasets.Schema{
		Columns: []datasets.Column{{Name: "east"}, {Name: "north"}},
		Targets: []datasets.Column{{Name: "ring", Kind: datasets.Categorical, Categories: []string{"inner", "outer"}}},
	}}
}

// A model that is written and read back predicts the same, for data in another order of columns too.
func ExampleModel() {
	ctx := context.Background()
	data := rings()
	p := pipeline.Steps(transformer.NewStandardize()).Then(estimator.NewRidgeClassifier())
	fitted, err := p.Fit(ctx, data)
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := modelfile.New(fitted)
	if err != nil {
		fmt.Println(err)
		return
	}
	var file bytes.Buffer // m.Save("rings.bochner") writes a file
	if err := m.Write(&file); err != nil {
		fmt.Println(err)
		return
	}
	back, err := modelfile.Read(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		fmt.Println(err)
		return
	}
	turned := datasets.Set{X: mat.NewDense(1, 2, []float64{0.5, -1}),
		Schema: datasets.Schema{Columns: []datasets.Column{{Name: "north"}, {Name: "east"}}}}
	aligned, err := back.Align(turned)
	fmt.Println(aligned.X.At(0, 0), aligned.Schema.Columns[0].Name, err)

	turned.Schema.Columns[0].Name = "south"
	_, err = back.Align(turned)
	fmt.Println(err)
	// Output:
	// -1 east <nil>
	// pipeline: missing column north; column south the model does not know
}
