package estimator_test

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
)

// What a model can do besides predicting is found by As, behind steps, searches and other wrappers too.
func ExampleAs() {
	data := datasets.Set{X: mat.NewDense(4, 1, []float64{-2, -1, 1, 2}), Y: []float64{0, 0, 1, 1}}
	model, err := estimator.NewLogistic().Fit(context.Background(), data)
	if err != nil {
		fmt.Println(err)
		return
	}
	var classifier estimator.Classifier
	var report estimator.Reporter
	fmt.Println(estimator.As(model, &classifier), classifier.Classes())
	fmt.Println(estimator.AsWithin(model, &report), report.Report().Converged)
	fmt.Println(estimator.As(model, new(estimator.StdPredictor)))
	// Output:
	// true [0 1]
	// true true
	// false
}
