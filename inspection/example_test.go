package inspection_test

import (
	"context"
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/builtin"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/inspection"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// The inputs by which a kernel machine distinguishes species of iris.
func ExamplePermutation() {
	ctx := context.Background()
	iris, _, err := builtin.Read(ctx, "iris", datasets.Roles{})
	if err != nil {
		fmt.Println(err)
		return
	}
	model, err := pipeline.Steps(transformer.NewStandardize(),
		transformer.NewRFF()).Then(estimator.NewLogistic()).Fit(ctx, iris)
	if err != nil {
		fmt.Println(err)
		return
	}
	found, err := inspection.Permutation(ctx, model, iris, inspection.Options{Repeats: 10})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, in := range found.Inputs[:2] {
		fmt.Printf("%s: %s falls by %.1f\n", in.Name, found.Metric, in.Mean)
	}
	effects, err := inspection.PartialDependence(ctx, model, iris, found.Inputs[0].Column, inspection.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range effects {
		fmt.Printf("%s: from %.1f to %.1f\n", e.Class, e.Mean[0], e.Mean[len(e.Mean)-1])
	}
	// Output:
	// petal_width: accuracy falls by 0.3
	// petal_length: accuracy falls by 0.2
	// Iris-setosa: from 0.5 to 0.1
	// Iris-versicolor: from 0.5 to 0.2
	// Iris-virginica: from 0.1 to 0.7
}

// Only four of 32 inputs are relevant.
func ExamplePermutation_irrelevant() {
	ctx := context.Background()
	X, y := mat.NewDense(1500, 32, nil), make([]float64, 1500)
	state := uint64(1)
	for i := range y {
		for j := range 32 {
			state = state*6364136223846793005 + 1442695040888963407
			X.Set(i, j, float64(state>>40)/(1<<23)-1)
		}
		y[i] = math.Sin(3*X.At(i, 5)) + X.At(i, 11)*X.At(i, 20) + X.At(i, 30)*X.At(i, 30)
	}
	data := datasets.Set{X: X, Y: y}
	train, test := data.Slice(0, 1000), data.Slice(1000, 1500)
	ard := transformer.NewARD()
	model, err := pipeline.Steps(transformer.NewStandardize(), ard,
		transformer.NewRFF()).Then(estimator.NewRidge()).Fit(ctx, train)
	if err != nil {
		fmt.Println(err)
		return
	}
	found, err := inspection.Permutation(ctx, model, test, inspection.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for k, in := range found.Inputs[:5] {
		fmt.Printf("%d. %s matters: %v\n", k+1, in.Name, in.Mean > 5*in.Std && in.Mean > 0.01)
	}
	// Output:
	// 1. x5 matters: true
	// 2. x11 matters: true
	// 3. x20 matters: true
	// 4. x30 matters: true
	// 5. x13 matters: false
}

// The petals make this flower a setosa; the values are exact and sum to its score.
func ExampleShapley() {
	ctx := context.Background()
	iris, _, err := builtin.Read(ctx, "iris", datasets.Roles{})
	if err != nil {
		fmt.Println(err)
		return
	}
	model, err := pipeline.Steps(transformer.NewStandardize(),
		transformer.NewRFF()).Then(estimator.NewLogistic()).Fit(ctx, iris)
	if err != nil {
		fmt.Println(err)
		return
	}
	found, err := inspection.Shapley(ctx, model, iris, iris.Slice(0, 1), inspection.ShapleyOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	setosa := found.Outputs[0]
	fmt.Printf("%s, %s: %.1f on average\n", found.Method, setosa.Name, setosa.Base)
	sum := setosa.Base
	for j, name := range found.Inputs {
		fmt.Printf("%s %+.1f\n", name, setosa.Values[0][j])
		sum += setosa.Values[0][j]
	}
	fmt.Printf("prediction %.1f, sum %.1f\n", setosa.Predictions[0], sum)
	// Output:
	// exact, Iris-setosa: -0.2 on average
	// sepal_length +0.4
	// sepal_width +0.6
	// petal_length +0.9
	// petal_width +0.9
	// prediction 2.6, sum 2.6
}

// Five rows represent the background. The plots can be written to files; notebooks display them.
func ExampleKMeansBackground() {
	ctx := context.Background()
	iris, _, err := builtin.Read(ctx, "iris", datasets.Roles{})
	if err != nil {
		fmt.Println(err)
		return
	}
	model, err := pipeline.Steps(transformer.NewStandardize(),
		transformer.NewRFF()).Then(estimator.NewLogistic()).Fit(ctx, iris)
	if err != nil {
		fmt.Println(err)
		return
	}
	background, err := inspection.KMeansBackground(ctx, iris, 5, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	found, err := inspection.Shapley(ctx, model, background, iris, inspection.ShapleyOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	const virginica = 2
	fmt.Println(background.Rows(), "rows")
	fmt.Println(found.Inputs[found.Outputs[virginica].Top()[0]])
	fmt.Println(strings.HasPrefix(found.Waterfall(149, virginica).SVG(), "<svg"))
	// Output:
	// 5 rows
	// petal_width
	// true
}
