package bochner_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner"
	"github.com/bochner-ml/bochner/auto"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/transformer"

	"github.com/bochner-ml/bochner/pipeline"
)

// Slices of a program become a classifier with class names.
func Example_slices() {
	sizes := []float64{1.4, 0.2, 1.3, 0.2, 4.7, 1.4, 4.5, 1.5, 1.5, 0.3, 4.4, 1.3, 1.6, 0.2, 4.9, 1.5}
	species := []string{"setosa", "setosa", "versicolor", "versicolor", "setosa", "versicolor", "setosa", "versicolor"}

	flowers := datasets.New(mat.NewDense(8, 2, sizes), "length", "width").WithClasses("species", species)
	model, err := bochner.Fit(ctx, bochner.KernelMachine(flowers), flowers)
	check(err)
	answers, err := model.PredictRows(ctx, []map[string]any{{"length": 1.5, "width": 0.2}})
	check(err)
	fmt.Println(answers[0].Class, model.Classes())
	// Output:
	// setosa [setosa versicolor]
}

// Trip is a row of a program. Pointers may be missing values, times become their parts.
type Trip struct {
	Line     string
	Start    time.Time
	Distance float64
	Rain     *bool
	Minutes  float64
}

func trips() []Trip {
	wet, dry := true, false
	out := make([]Trip, 200)
	for i := range out {
		km := float64(i%20) + 1
		out[i] = Trip{Line: []string{"U1", "U2", "S3"}[i%3], Start: time.Date(2026, 3, 1+i%28, i%24, 0, 0, 0, time.UTC),
			Distance: km, Rain: &dry, Minutes: 2*km + float64(i%3)}
		switch {
		case i%10 == 0:
			out[i].Rain = nil
		case i%2 == 0:
			out[i].Rain, out[i].Minutes = &wet, out[i].Minutes+3
		}
	}
	return out
}

// Structs are rows, to fit and to predict.
func Example_structs() {
	data, err := datasets.FromStructs(trips(), "Minutes")
	check(err)
	model, err := bochner.Fit(ctx, bochner.KernelMachine(data), data)
	check(err)

	planned := []Trip{{Line: "S3", Start: time.Date(2026, 3, 6, 8, 0, 0, 0, time.UTC), Distance: 5}}
	check(model.PredictInto(ctx, planned))
	fmt.Printf("%.0f minutes\n", planned[0].Minutes)
	// Output:
	// 11 minutes
}

// A second file has its own category codes: models align them by the names of columns and categories.
func Example_files() {
	file := filepath.Join(os.TempDir(), "rents.bochner")
	defer os.Remove(file)

	flats, err := bochner.Load(ctx, "examples/flats.csv", "rent")
	check(err)
	train, test, err := datasets.TrainTest{Test: 0.25, Shuffle: true}.Sets(flats)
	check(err)
	model, result, err := bochner.Search(ctx, bochner.KernelMachine(train), train, bochner.Validation{Folds: 3},
		gridsearch.Axis{Path: "rff.gamma", Values: gridsearch.Log(0.001, 0.1, 3)},
		gridsearch.Axis{Path: "ridge.alpha", Values: gridsearch.Log(1e-4, 1, 5)})
	check(err)
	fmt.Println(result.Best(), result.Best().Summary)
	check(model.Save(file))

	opened, err := bochner.Open(file)
	check(err)
	scores, err := opened.Score(ctx, test, "r2", "mean_absolute_error")
	check(err)
	fmt.Printf("r2 %.2f, error %.0f\n", scores["r2"], scores["mean_absolute_error"])
	// Output:
	// rff.gamma=0.01 ridge.alpha=0.001 r2 0.9774 ± 0.0032
	// r2 0.98, error 29
}

// Cross-validation, learning curve and metrics of plain slices.
func Example_validation() {
	flats, err := bochner.Load(ctx, "examples/flats.csv", "rent")
	check(err)
	machine := bochner.KernelMachine(flats)

	scores, err := bochner.CrossValidate(ctx, machine, flats, bochner.Validation{Score: "r2"})
	check(err)
	curve, err := bochner.LearningCurve(ctx, machine, flats, bochner.Validation{Score: "r2"})
	check(err)
	accuracy, err := metrics.Score("accuracy", []string{"yes", "no", "no"}, []string{"yes", "no", "yes"})
	check(err)
	fmt.Printf("%v\n%v%.2f\n", scores, curve, accuracy)
	// Output:
	// r2 0.9253 ± 0.018
	// rows  train   test
	// 8     0.7753  0.2330
	// 16    0.8220  0.4077
	// 32    0.8894  0.6783
	// 64    0.9289  0.8520
	// 128   0.9559  0.9253
	// 0.67
}

// A metric of the program scores cross-validations, searches and package auto.
func Example_metric() {
	flats, err := bochner.Load(ctx, "examples/flats.csv", "rent")
	check(err)
	check(metrics.Register(metrics.Metric{Name: "within_tenth", Task: datasets.Regression, GreaterIsBetter: true,
		Doc: "share of predictions within 10 % of the true value",
		Func: func(in metrics.Input) (float64, error) {
			within := 0.0
			for i, y := range in.YTrue {
				if math.Abs(in.YPred[i]-y) <= 0.1*math.Abs(y) {
					within++
				}
			}
			return within / float64(len(in.YTrue)), nil // in.Weights are nil here
		}}))

	v := bochner.Validation{Score: "within_tenth", Scores: []string{"r2"}}
	scores, err := bochner.CrossValidate(ctx, bochner.KernelMachine(flats), flats, v)
	check(err)
	options := auto.NewOptions()
	options.Candidates, options.Score = 16, "within_tenth"
	found, err := auto.Fit(ctx, flats, options)
	check(err)
	fmt.Printf("%v\nauto: %s, better: %t\n", scores, found.Score, found.Chosen.Score > scores.Mean)
	// Output:
	// within_tenth 0.775 ± 0.054, r2 0.9253 ± 0.018
	// auto: within_tenth, better: true
}

// Coefficients have the names of the features.
func Example_coefficients() {
	flats, err := bochner.Load(ctx, "examples/flats.csv", "rent")
	check(err)
	columns := pipeline.NewColumns(
		pipeline.Group{Select: []string{"numeric"}, Steps: pipeline.Steps(transformer.NewImpute(), transformer.NewStandardize())},
		pipeline.Group{Select: []string{"categorical"}, Steps: pipeline.Steps(transformer.NewOneHot())})
	model, err := bochner.Fit(ctx, pipeline.Steps(columns).Then(estimator.NewRidge()), flats)
	check(err)
	for j, name := range model.FeatureNames() {
		fmt.Printf("%s %.0f\n", name, model.Coef().At(0, j))
	}
	// Output:
	// size 248
	// rooms -8
	// built -14
	// district=centre 180
	// district=harbour -39
	// district=hill 21
	// district=north -162
	// furnished=no -40
	// furnished=yes 40
}

// The confusion matrix and the scores of each class print as tables.
func Example_confusion() {
	m, err := metrics.Confusion([]string{"ham", "spam", "ham", "spam"}, []string{"ham", "spam", "spam", "spam"})
	check(err)
	fmt.Printf("%v%v", m, m.Report())
	// Output:
	// true \ predicted   ham  spam
	// ham                  1     1
	// spam                 0     2
	// class  precision  recall  f1      support
	// ham    1.0000     0.5000  0.6667  2
	// spam   0.6667     1.0000  0.8000  2
}
