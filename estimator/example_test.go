package estimator_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/param"
)

// Five rows on the line y = 2x + 1; a fraction of the slope goes to the penalty.
var line = datasets.Set{
	X: mat.NewDense(5, 1, []float64{-2, -1, 0, 1, 2}),
	Y: []float64{-3, -1, 1, 3, 5},
}

// Petals: length and width in cm of two kinds of iris.
var petals = datasets.Set{
	X: mat.NewDense(6, 2, []float64{4.7, 1.4, 4.5, 1.5, 4.0, 1.3, 6.0, 2.5, 5.9, 2.1, 5.1, 1.9}),
	Y: []float64{0, 0, 0, 1, 1, 1},
	Schema: datasets.Schema{
		Columns: []datasets.Column{{Name: "length"}, {Name: "width"}},
		Targets: []datasets.Column{{Name: "species", Kind: datasets.Categorical,
			Categories: []string{"versicolor", "virginica"}}},
	},
}

func ExampleRidge() {
	spec := estimator.NewRidge()
	spec.Alpha = 0.5
	fitted, err := spec.Fit(context.Background(), line)
	if err != nil {
		log.Fatal(err)
	}
	model := fitted.(*estimator.FittedLinear)
	fmt.Printf("slope %.3f, intercept %.3f\n", model.Coef().At(0, 0), model.Intercept()[0])
	y, err := model.Predict(context.Background(), mat.NewDense(1, 1, []float64{10}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("at 10: %.2f\n", y[0])
	// Output:
	// slope 1.905, intercept 1.000
	// at 10: 20.05
}

// Choosing the penalty by exact leave-one-out errors costs one pass for each alpha, not one fit for
// each row.
func ExampleRidge_LeaveOneOut() {
	loo, err := estimator.NewRidge().LeaveOneOut(context.Background(), line, []float64{0.01, 1, 100})
	if err != nil {
		log.Fatal(err)
	}
	for k, alpha := range loo.Alphas {
		fmt.Printf("alpha %v: error %.4f, %.2f degrees of freedom\n", alpha, loo.Errors[k], loo.Freedom[k])
	}
	fmt.Println("best:", loo.Alphas[loo.Best])
	// Output:
	// alpha 0.01: error 0.0000, 2.00 degrees of freedom
	// alpha 1: error 0.3041, 1.91 degrees of freedom
	// alpha 100: error 11.1842, 1.09 degrees of freedom
	// best: 0.01
}

// A Gaussian process with the linear kernel is Bayesian ridge regression: its uncertainty grows away from the data.
func ExampleGaussianProcess_linear() {
	spec := estimator.NewGaussianProcess()
	spec.Kernel, spec.Optimize, spec.Noise, spec.Amplitude = "linear", nil, 0.1, 1
	p, err := spec.Fit(context.Background(), line)
	if err != nil {
		log.Fatal(err)
	}
	out, err := estimator.Predict(context.Background(), p, mat.NewDense(2, 1, []float64{0, 10}), estimator.Request{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("at 0: %.2f ± %.2f\nat 10: %.2f ± %.2f\n", out.Values[0], out.Std[0], out.Values[1], out.Std[1])
	// Output:
	// at 0: 1.00 ± 0.35
	// at 10: 20.80 ± 1.05
}

func ExampleLogistic() {
	fitted, err := estimator.NewLogistic().Fit(context.Background(), petals)
	if err != nil {
		log.Fatal(err)
	}
	out, err := estimator.Predict(context.Background(), fitted, mat.NewDense(1, 2, []float64{5.6, 2.2}),
		estimator.Request{Outputs: estimator.OutputProbabilities})
	if err != nil {
		log.Fatal(err)
	}
	for c, name := range estimator.OutputsOf(fitted).Classes {
		fmt.Printf("%s %.2f\n", name, out.Probabilities.At(0, c))
	}
	fmt.Println("converged:", fitted.(estimator.Reporter).Report().Converged)
	// Output:
	// versicolor 0.31
	// virginica 0.69
	// converged: true
}

func ExampleLogistic_labels() {
	X := mat.NewDense(6, 1, []float64{-3, -2, -1, 1, 2, 3})
	Y := mat.NewDense(6, 2, []float64{0, 1, 0, 1, 0, 1, 1, 1, 1, 0, 1, 0})
	labels := datasets.Schema{Targets: []datasets.Column{
		{Name: "warm", Kind: datasets.Categorical, Categories: []string{"0", "1"}},
		{Name: "wet", Kind: datasets.Categorical, Categories: []string{"0", "1"}}}}
	fitted, err := estimator.NewLogistic().Fit(context.Background(), datasets.Set{X: X, Targets: Y, Schema: labels})
	if err != nil {
		log.Fatal(err)
	}
	out, err := estimator.Predict(context.Background(), fitted, mat.NewDense(1, 1, []float64{1}), estimator.Request{})
	if err != nil {
		log.Fatal(err)
	}
	for k, name := range estimator.OutputsOf(fitted).Labels {
		fmt.Printf("%s %v, probability %.2f\n", name, out.Targets.At(0, k), out.Probabilities.At(0, k))
	}
	// Output:
	// warm 1, probability 0.75
	// wet 1, probability 0.60
}

func ExampleSVM() {
	spec := estimator.NewSVM()
	spec.Loss, spec.C = "hinge", 10
	fitted, err := spec.Fit(context.Background(), petals)
	if err != nil {
		log.Fatal(err)
	}
	codes, err := fitted.Predict(context.Background(), mat.NewDense(2, 2, []float64{4.2, 1.3, 6.1, 2.3}))
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range codes {
		fmt.Println(petals.Schema.Classes()[int(c)])
	}
	// Output:
	// versicolor
	// virginica
}

// An absolute loss does not follow an outlier as squares do.
func ExampleSVR() {
	spoilt := line
	spoilt.Y = []float64{-3, -1, 1, 3, 50}
	spec := estimator.NewSVR()
	spec.C = 10
	fitted, err := spec.Fit(context.Background(), spoilt)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("slope %.2f\n", fitted.(*estimator.FittedLinear).Coef().At(0, 0))
	// Output: slope 2.00
}

// Counts over exposures are rates with weights.
func ExamplePoisson() {
	kilometers, accidents := []float64{10, 20, 40}, []float64{1, 4, 16}
	fleet := datasets.Set{X: mat.NewDense(3, 1, []float64{0, 1, 2}), Weights: kilometers}
	for i, n := range accidents {
		fleet.Y = append(fleet.Y, n/kilometers[i])
	}
	spec := estimator.NewPoisson()
	spec.Alpha, spec.Tol = 0, 1e-8
	fitted, err := spec.Fit(context.Background(), fleet)
	if err != nil {
		log.Fatal(err)
	}
	rates, err := fitted.Predict(context.Background(), mat.NewDense(1, 1, []float64{3}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("rate %.2f\n", rates[0])
	// Output: rate 0.80
}

// Outliers do not move the line.
func ExampleHuber() {
	spoilt := line
	spoilt.Y = []float64{-3, -1, 1, 3, 50}
	fitted, err := estimator.NewHuber().Fit(context.Background(), spoilt)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("slope %.2f\n", fitted.(interface{ Coef() *mat.Dense }).Coef().At(0, 0))
	// Output: slope 2.00
}

// The 0.9-quantile of targets that spread with the input.
func ExampleQuantileRegression() {
	spreading := datasets.Set{X: mat.NewDense(210, 1, nil)}
	for i := range 210 {
		x := float64(i / 21)
		spreading.X.(*mat.Dense).Set(i, 0, x)
		spreading.Y = append(spreading.Y, x*float64(i%21)/20)
	}
	spec := estimator.NewQuantileRegression()
	spec.Quantile = 0.9
	fitted, err := spec.Fit(context.Background(), spreading)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("slope %.2f\n", fitted.(*estimator.FittedLinear).Coef().At(0, 0))
	// Output: slope 0.90
}

// A kernel fits nonlinear functions.
func ExampleKernelRidge() {
	wave := datasets.Set{X: mat.NewDense(5, 1, []float64{0, 1, 2, 3, 4}), Y: []float64{0, 1, 0, -1, 0}}
	spec := estimator.NewKernelRidge()
	spec.Gamma, spec.Alpha = kernel.FixedGamma(0.5), 0.01
	fitted, err := spec.Fit(context.Background(), wave)
	if err != nil {
		log.Fatal(err)
	}
	between, err := fitted.Predict(context.Background(), mat.NewDense(2, 1, []float64{0.5, 2.5}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(fitted)
	fmt.Printf("%.2f\n", between)
	// Output:
	// gaussian kernel at 5 rows of 1 inputs, 1 outputs, by cholesky
	// [0.61 -0.75]
}

// One class is in the middle of the other, which no line separates.
func ExampleKernelSVM() {
	ring := datasets.Set{X: mat.NewDense(7, 2, []float64{0, 0, 0.2, 0.1, -0.1, 0.2, 1, 0, 0, 1, -1, 0, 0, -1}),
		Y: []float64{1, 1, 1, 0, 0, 0, 0}}
	spec := estimator.NewKernelSVM()
	spec.C, spec.Gamma = 10, kernel.FixedGamma(2)
	fitted, err := spec.Fit(context.Background(), ring)
	if err != nil {
		log.Fatal(err)
	}
	classes, err := fitted.Predict(context.Background(), mat.NewDense(2, 2, []float64{0.1, 0, 0.7, 0.7}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(fitted)
	fmt.Println(classes)
	// Output:
	// gaussian kernel at 6 support vectors of 2 inputs, 1 outputs
	// [1 0]
}

// Residuals below Epsilon have no loss: rows inside the tube are not support vectors.
func ExampleKernelSVR() {
	wave := datasets.Set{X: mat.NewDense(5, 1, []float64{0, 1, 2, 3, 4}), Y: []float64{0, 1, 0, -1, 0}}
	spec := estimator.NewKernelSVR()
	spec.C, spec.Gamma = 100, kernel.FixedGamma(0.5)
	fitted, err := spec.Fit(context.Background(), wave)
	if err != nil {
		log.Fatal(err)
	}
	between, err := fitted.Predict(context.Background(), mat.NewDense(2, 1, []float64{0.5, 2.5}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(fitted)
	fmt.Printf("%.2f\n", between)
	// Output:
	// gaussian kernel at 4 support vectors of 1 inputs, 1 outputs
	// [0.61 -0.67]
}

// A model supports incremental learning from new rows only: it continues from its weights.
func ExampleSGDClassifier() {
	ctx := context.Background()
	spec := estimator.NewSGDClassifier()
	spec.Epochs, spec.Tol = 1000, 0 // few rows, of inputs far from 0
	today, tomorrow := petals.Slice(0, 4), petals.Slice(4, petals.Rows())
	fitted, err := spec.Fit(ctx, today)
	if err != nil {
		log.Fatal(err)
	}
	fitted, err = spec.PartialFit(ctx, fitted, tomorrow.Source())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("learned from", datasets.TagsOf(fitted).RowsLearned, "rows")
	codes, err := fitted.Predict(ctx, mat.NewDense(2, 2, []float64{4.2, 1.3, 6.1, 2.3}))
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range codes {
		fmt.Println(petals.Schema.Classes()[int(c)])
	}
	// Output:
	// learned from 6 rows
	// versicolor
	// virginica
}

// Huber's loss does not follow an outlier as squares do.
func ExampleSGDRegressor() {
	spoilt := line
	spoilt.Y = []float64{-3, -1, 1, 3, 50}
	spec := estimator.NewSGDRegressor()
	spec.Loss, spec.Epsilon, spec.Epochs, spec.Tol = "huber", 0.1, 2000, 0
	fitted, err := spec.Fit(context.Background(), spoilt)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("slope %.1f\n", fitted.(interface{ Coef() *mat.Dense }).Coef().At(0, 0))
	// Output: slope 2.0
}

// Features are drawn, and follow a wave by training.
func ExampleRFFNetwork() {
	X, y := mat.NewDense(400, 1, nil), make([]float64, 400)
	for i := range y {
		X.Set(i, 0, float64(i)/100)
		y[i] = math.Sin(3 * X.At(i, 0))
	}
	spec := estimator.NewRFFNetwork()
	spec.Features, spec.Alpha = 50, 0.01
	fitted, err := spec.Fit(context.Background(), datasets.Set{X: X, Y: y})
	if err != nil {
		log.Fatal(err)
	}
	values, err := fitted.Predict(context.Background(), mat.NewDense(2, 1, []float64{math.Pi / 6, math.Pi / 2}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.1f\n", values)
	// Output: [1.0 -1.0]
}

// A class weight is a parameter like any other.
func ExampleGaussianProcess() {
	ctx := context.Background()
	// A wave, seen between −2 and 2 only.
	x, y := mat.NewDense(41, 1, nil), make([]float64, 41)
	for i := range y {
		x.Set(i, 0, -2+0.1*float64(i))
		y[i] = math.Sin(2*x.At(i, 0)) + 0.1*math.Cos(30*x.At(i, 0))
	}
	s := estimator.NewGaussianProcess()
	s.Features, s.Seed = 200, 1
	model, err := s.Fit(ctx, datasets.Set{X: x, Y: y})
	if err != nil {
		log.Fatal(err)
	}
	probe := mat.NewDense(3, 1, []float64{0.3, 0.8, 4})
	p, err := estimator.Predict(ctx, model, probe, estimator.Request{})
	if err != nil {
		log.Fatal(err)
	}
	for i, v := range p.Values {
		fmt.Printf("at %.1f: %.1f ± %.1f\n", probe.At(i, 0), v, p.Std[i])
	}

	// Three functions that the rows leave possible.
	functions, err := model.(*estimator.FittedGaussianProcess).Sample(ctx, probe, 3, 7)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.1f\n", mat.Formatted(functions))
	// Output:
	// at 0.3: 0.6 ± 0.1
	// at 0.8: 1.0 ± 0.1
	// at 4.0: 2.3 ± 2.8
	// ⎡0.6  0.5  0.5⎤
	// ⎢1.0  1.0  1.0⎥
	// ⎣3.1  0.5  3.8⎦
}

func ExampleClassWeight() {
	spec, err := param.With(estimator.NewRidgeClassifier(), param.Setting{Path: "class_weight",
		Value: map[string]any{"virginica": 2}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(spec.(estimator.RidgeClassifier).ClassWeight.Weights)
	_, err = param.With(estimator.NewRidgeClassifier(), param.Setting{Path: "class_weight", Value: "ballanced"})
	fmt.Println(err)
	// Output:
	// map[virginica:2]
	// class_weight: must be none, balanced, or a map of class name to a weight ≥ 0, got "ballanced" (did you mean balanced?)
}
