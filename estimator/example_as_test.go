package estimator_test

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
)

// As finds the type of a model inside pipelines, searches and other wrappers; OutputsOf lists its
// outputs.
func ExampleAs() {
	data := datasets.Set{X: mat.NewDense(4, 1, []float64{-2, -1, 1, 2}), Y: []float64{0, 0, 1, 1}}
	model, err := estimator.NewLogistic().Fit(context.Background(), data)
	if err != nil {
		fmt.Println(err)
		return
	}
	var linear interface{ Coef() *mat.Dense }
	var report estimator.Reporter
	fmt.Println(estimator.As(model, &linear), linear.Coef().At(0, 0) > 0)
	fmt.Println(estimator.As(model, &report), report.Report().Converged)
	fmt.Println(estimator.OutputsOf(model).Has.Has(estimator.OutputStd))
	// Output:
	// true true
	// true true
	// false
}
