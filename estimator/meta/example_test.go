package meta_test

import (
	"context"
	"fmt"
	"log"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/meta"
)

// Prices and their errors grow by a factor with each room, so their logarithm is linear.
func ExampleTarget() {
	rooms := mat.NewDense(5, 1, []float64{1, 2, 3, 4, 5})
	prices := datasets.Set{X: rooms, Y: []float64{100, 200, 400, 800, 1600}}
	of := estimator.NewRidge()
	of.Alpha = 1e-9
	model, err := meta.NewTarget(of).Fit(context.Background(), prices)
	if err != nil {
		log.Fatal(err)
	}
	y, err := model.Predict(context.Background(), mat.NewDense(1, 1, []float64{6}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("six rooms: %.0f\n", y[0])
	// Output: six rooms: 3200
}

// A support vector machine has scores; calibration on two folds converts them to probabilities.
func ExampleCalibrated() {
	petals := datasets.Set{ // length and width in cm
		X: mat.NewDense(6, 2, []float64{4.7, 1.4, 4.5, 1.5, 4.0, 1.3, 6.0, 2.5, 5.9, 2.1, 5.1, 1.9}),
		Y: []float64{0, 0, 0, 1, 1, 1},
		Schema: datasets.Schema{
			Columns: []datasets.Column{{Name: "length"}, {Name: "width"}},
			Targets: []datasets.Column{{Name: "species", Kind: datasets.Categorical,
				Categories: []string{"versicolor", "virginica"}}},
		},
	}
	spec := meta.NewCalibrated(estimator.NewSVM())
	spec.Folds = 2
	model, err := spec.Fit(context.Background(), petals)
	if err != nil {
		log.Fatal(err)
	}
	all, err := estimator.Predict(context.Background(), model, mat.NewDense(1, 2, []float64{5.5, 2.2}),
		estimator.Request{Outputs: estimator.OutputProbabilities})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("versicolor %.2f, virginica %.2f\n", all.Probabilities.At(0, 0), all.Probabilities.At(0, 1))
	// Output: versicolor 0.35, virginica 0.65
}

// A line through the points and a constant: the constant is of no use, and gets no weight.
func ExampleEnsemble() {
	line := datasets.Set{X: mat.NewDense(5, 1, []float64{-2, -1, 0, 1, 2}), Y: []float64{-3, -1, 1, 3, 5}}
	constant := estimator.NewRidge()
	constant.Alpha = 1e12
	spec := meta.NewEnsemble(
		meta.Member{Name: "line", Estimator: estimator.Ridge{Alpha: 1e-6, Intercept: true, Solver: "auto", Tol: 1e-6,
			MaxIter: 100}},
		meta.Member{Name: "constant", Estimator: constant})
	fitted, err := spec.Fit(context.Background(), line)
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range fitted.(*meta.FittedEnsemble).Combined() {
		fmt.Printf("%s %.2f\n", m.Name, m.Weight)
	}
	// Output:
	// line 1.00
	// constant 0.00
}

// Half of the new observations are expected in these intervals, whatever the distribution of the
// errors.
func ExampleIntervals() {
	weeks := mat.NewDense(9, 1, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9})
	heights := datasets.Set{X: weeks, Y: []float64{3.1, 5.9, 9.2, 11.8, 15.3, 17.9, 21.2, 23.7, 27.1}}
	spec := meta.NewIntervals(estimator.NewRidge())
	spec.Level = 0.5
	model, err := spec.Fit(context.Background(), heights)
	if err != nil {
		log.Fatal(err)
	}
	all, err := estimator.Predict(context.Background(), model, mat.NewDense(1, 1, []float64{10}), estimator.Request{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("week 10: %.1f, between %.1f and %.1f\n", all.Values[0], all.Lower[0], all.Upper[0])
	wider, err := estimator.Predict(context.Background(), model, mat.NewDense(1, 1, []float64{10}),
		estimator.Request{Outputs: estimator.OutputIntervals, Level: 0.9})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("nine of ten between %.1f and %.1f\n", wider.Lower[0], wider.Upper[0])
	// Output:
	// week 10: 29.7, between 29.4 and 30.0
	// nine of ten between 29.0 and 30.1
}

// Few parcels are lost, and a lost one costs ten times as much as an inspection: the threshold for
// "lost" is far below ½.
func ExampleThreshold() {
	days, lost := mat.NewDense(40, 1, nil), make([]float64, 40)
	for i := range lost {
		days.Set(i, 0, float64(i%10))
		if i%10 > 7 || i == 5 || i == 16 || i == 27 {
			lost[i] = 1
		}
	}
	spec := meta.NewThreshold(estimator.NewLogistic())
	spec.Costs = meta.Costs{FalsePositive: 1, FalseNegative: 10}
	model, err := spec.Fit(context.Background(), datasets.Set{X: days, Y: lost})
	if err != nil {
		log.Fatal(err)
	}
	var d *meta.FittedThreshold
	if !estimator.As(model, &d) {
		log.Fatal("no threshold")
	}
	c, _ := d.Cutoff()
	fmt.Printf("threshold %.2f: a parcel costs %.2f, and %.2f at %v\n", c.Value, c.Best, c.AtUsual, c.Usual)
	// Output: threshold 0.06: a parcel costs 0.25, and 0.57 at 0.5
}
