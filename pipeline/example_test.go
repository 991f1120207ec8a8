package pipeline_test

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
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

// A kernel machine: scaled inputs, random Fourier features, and a linear model on them.
func Example() {
	ctx := context.Background()
	data := rings()
	rff := transformer.NewRFF()
	rff.Features, rff.Gamma = 100, kernel.FixedGamma(0.5)
	p := pipeline.Steps(transformer.NewStandardize(), rff).Then(estimator.NewLogistic())
	fmt.Println(p)

	fitted, err := p.Fit(ctx, data)
	if err != nil {
		fmt.Println(err)
		return
	}
	codes, err := fitted.Predict(ctx, mat.NewDense(2, 2, []float64{0, 1, -2, 0}))
	if err != nil {
		fmt.Println(err)
		return
	}
	classes := estimator.OutputsOf(fitted).Classes
	fmt.Println(classes[int(codes[0])], classes[int(codes[1])])
	// Output:
	// standardize → rff → logistic
	// inner outer
}

// Parameters of every part are found, read and replaced by path.
func ExamplePipeline_With() {
	p := pipeline.Steps(transformer.NewStandardize(), transformer.NewRFF()).Then(estimator.NewRidge())
	wider, err := p.With(
		param.Setting{Path: "rff.features", Value: 2000},
		param.Setting{Path: "ridge.alpha", Value: 0.1})
	if err != nil {
		fmt.Println(err)
		return
	}
	features, _ := param.Get(wider, "rff.features")
	alpha, _ := param.Get(wider, "ridge.alpha")
	fmt.Println(features, alpha)
	_, err = p.With(param.Setting{Path: "rff.featurs", Value: 1}, param.Setting{Path: "ridge.alpha", Value: -1})
	fmt.Println(err)
	// Output:
	// 2000 0.1
	// rff.featurs: no such parameter (did you mean rff.features?)
	// ridge.alpha: must be a number ≥ 0, got -1
}

// Select groups of columns by kind, name or pattern, each with its own steps.
func ExampleColumns() {
	data := datasets.Set{
		X: mat.NewDense(3, 3, []float64{20, 0, 1, 40, 1, math.NaN(), 60, 1, 3}),
		Schema: datasets.Schema{Columns: []datasets.Column{
			{Name: "age"}, {Name: "colour", Kind: datasets.Categorical, Categories: []string{"blue", "red"}}, {Name: "rooms"}}},
	}
	spec := pipeline.NewColumns(
		pipeline.Group{Select: []string{"numeric"}, Steps: pipeline.Steps(transformer.NewImpute())},
		pipeline.Group{Select: []string{"col*"}, Steps: pipeline.Steps(transformer.NewOneHot())},
	)
	fitted, err := spec.Fit(context.Background(), data)
	if err != nil {
		fmt.Println(err)
		return
	}
	Z, err := fitted.Transform(context.Background(), data.X)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range fitted.(transformer.Describer).OutputSchema(data.Schema).Columns {
		fmt.Println(c.Name)
	}
	fmt.Println(mat.Formatted(Z))
	// Output:
	// age
	// rooms
	// colour=blue
	// colour=red
	// ⎡20   1   1   0⎤
	// ⎢40   2   0   1⎥
	// ⎣60   3   0   1⎦
}

// Concatenated features of two kernels approximate the weighted sum of the kernels.
func ExampleUnion() {
	smooth, sharp := transformer.NewRFF(), transformer.NewRFF()
	smooth.Kernel, smooth.Gamma, smooth.Features = "gaussian", kernel.FixedGamma(0.5), 20000
	sharp.Kernel, sharp.Gamma, sharp.Features, sharp.Seed = "laplacian", kernel.FixedGamma(1), 20000, 1
	u := pipeline.Union{
		Parts:   []pipeline.Step{{Name: "smooth", Fitter: smooth}, {Name: "sharp", Fitter: sharp}},
		Weights: []float64{0.75, 0.25},
	}
	X := mat.NewDense(2, 1, []float64{0, 1})
	fitted, err := u.Fit(context.Background(), datasets.Set{X: X})
	if err != nil {
		fmt.Println(err)
		return
	}
	Z, err := fitted.Transform(context.Background(), X)
	if err != nil {
		fmt.Println(err)
		return
	}
	var K mat.Dense
	K.Mul(Z, Z.T())
	want := 0.75*math.Exp(-0.5) + 0.25*math.Exp(-1)
	fmt.Printf("%.2f is near: %t\n", want, math.Abs(K.At(0, 1)-want) < 0.02)
	// Output: 0.55 is near: true
}

// Ridge regression with the kernel exp(x'y), which knows both the direction of a row and its length.
func Example_softmaxFeatures() {
	const n = 400
	X, y := mat.NewDense(n, 2, nil), make([]float64, n)
	for i := range n {
		angle, length := float64(i)*2.4, 2*math.Mod(float64(i)*0.37, 1)
		a, b := length*math.Cos(angle), length*math.Sin(angle)
		X.SetRow(i, []float64{a, b})
		y[i] = math.Exp(a) + math.Exp(b-a/2)
	}
	data := datasets.Set{X: X, Y: y}
	features := transformer.NewSoftmaxFeatures()
	features.Features, features.Gamma = 200, kernel.FixedGamma(1)
	ridge := estimator.NewRidge()
	ridge.Alpha = 1e-3
	for _, p := range []pipeline.Pipeline{pipeline.Steps().Then(ridge), pipeline.Steps(features).Then(ridge)} {
		fitted, err := p.Fit(context.Background(), data.Slice(0, 300))
		if err != nil {
			fmt.Println(err)
			return
		}
		predicted, err := fitted.Predict(context.Background(), data.Slice(300, n).X)
		if err != nil {
			fmt.Println(err)
			return
		}
		square := 0.0
		for i, v := range predicted {
			square += (v - y[300+i]) * (v - y[300+i]) / float64(len(predicted))
		}
		fmt.Printf("%d steps before ridge: error %.2f\n", len(p.Steps), math.Sqrt(square))
	}
	// Output:
	// 0 steps before ridge: error 0.99
	// 1 steps before ridge: error 0.03
}
