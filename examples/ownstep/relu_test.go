package main

import (
	"context"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
	"github.com/bochner-ml/bochner/transformer/transformertest"
)

func relu(features int) ReLU { return ReLU{Features: features, Seed: 3} }

func TestReLU(t *testing.T) {
	transformertest.Run(t, relu(12), transformertest.Options{
		Related: []transformer.Fitter{relu(5), relu(30)},
	})
}

// The inner product of features is near the arc-cosine kernel.
func TestReLUKernel(t *testing.T) {
	x, y := []float64{1, 0, 2}, []float64{0.5, 1, 1}
	f, err := relu(200000).Fit(context.Background(), datasets.Set{X: mat.NewDense(1, 3, x)})
	if err != nil {
		t.Fatal(err)
	}
	Z, err := f.Transform(context.Background(), mat.NewDense(2, 3, append(slices.Clone(x), y...)))
	if err != nil {
		t.Fatal(err)
	}
	got := mat.Dot(mat.NewVecDense(200000, mat.Row(nil, 0, Z)), mat.NewVecDense(200000, mat.Row(nil, 1, Z)))
	lengths := math.Sqrt(5) * 1.5
	theta := math.Acos(2.5 / lengths)
	if want := lengths * (math.Sin(theta) + (math.Pi-theta)*math.Cos(theta)) / math.Pi; math.Abs(got-want) > 0.05 {
		t.Errorf("%v, the kernel is %v", got, want)
	}
}

// A search over the width of a custom map shares the projection, and has the scores of separate fits.
func TestReLUSharesInASearch(t *testing.T) {
	ctx := context.Background()
	X, y := mat.NewDense(90, 3, nil), make([]float64, 90)
	for i := range y {
		X.SetRow(i, []float64{math.Sin(float64(i)), math.Cos(2 * float64(i)), float64(i%7) / 7})
		y[i] = X.At(i, 0)*X.At(i, 1) + X.At(i, 2)
	}
	data := datasets.New(X).WithTarget("y", y)
	base := pipeline.Steps(transformer.NewStandardize(), relu(10)).Then(estimator.NewRidge())
	search := gridsearch.NewSearch(base, gridsearch.Axis{Path: "relu.features", Values: []any{10, 40, 25}},
		gridsearch.Axis{Path: "ridge.alpha", Values: []any{0.1, 1.0}})
	search.Splitter = datasets.KFold{Folds: 3}
	result, err := search.Run(ctx, data)
	if err != nil || !slices.Contains(result.Shared, "projection") {
		t.Fatalf("shared %v, %v", result.Shared, err)
	}
	folds, err := datasets.KFold{Folds: 3}.Split(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, candidate := range result.Candidates {
		spec, err := param.With(base, candidate.Settings...)
		if err != nil {
			t.Fatal(err)
		}
		for k, fold := range folds {
			fitted, err := spec.(estimator.Estimator).Fit(ctx, data.Select(fold.Train))
			if err != nil {
				t.Fatal(err)
			}
			test := data.Select(fold.Test)
			predicted, err := fitted.Predict(ctx, test.X)
			if err != nil {
				t.Fatal(err)
			}
			if r2, err := metrics.Score("r2", test.Y, predicted); err != nil || math.Abs(r2-candidate.Folds[k]) > 1e-8 {
				t.Errorf("%v, fold %d: %v in the search, %v separately (%v)", candidate, k, candidate.Folds[k], r2, err)
			}
		}
	}
}
