package meta_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// Wrappers of classifiers refuse several labels per row.
func TestWrappersRefuseLabels(t *testing.T) {
	const n = 60
	data := datasets.Set{X: mat.NewDense(n, 1, nil), Targets: mat.NewDense(n, 2, nil)}
	for i := range n {
		data.X.(*mat.Dense).Set(i, 0, float64(i%7))
		data.Targets.SetRow(i, []float64{float64(i % 2), float64(i / 2 % 2)})
	}
	for _, name := range []string{"a", "b"} {
		data.Schema.Targets = append(data.Schema.Targets, datasets.Column{Name: name, Kind: datasets.Categorical,
			Categories: []string{"0", "1"}})
	}
	logistic := estimator.NewLogistic()
	intervals := meta.NewIntervals(logistic)
	intervals.Method = "split"
	for _, spec := range []estimator.Estimator{meta.NewCalibrated(logistic), intervals,
		meta.NewEnsemble(meta.Member{Name: "a", Estimator: logistic},
			meta.Member{Name: "b", Estimator: estimator.NewRidgeClassifier()}), meta.NewTarget(logistic)} {
		if _, err := spec.Fit(context.Background(), data); err == nil || !strings.Contains(err.Error(), "target") {
			t.Errorf("%T: %v", spec, err)
		}
	}
}

// labeled returns rows with a label that a fifth of the rows have, one that half have, and one that all have.
func labeled(n int) datasets.Set {
	rng := rand.New(rand.NewPCG(1, 7))
	data := datasets.Set{X: mat.NewDense(n, 3, nil), Targets: mat.NewDense(n, 3, nil)}
	for i := range n {
		row := []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
		data.X.(*mat.Dense).SetRow(i, row)
		label := func(score float64) float64 {
			if score+rng.NormFloat64() > 0 {
				return 1
			}
			return 0
		}
		data.Targets.SetRow(i, []float64{label(row[0] - 1.5), label(row[1] + row[2]), 1})
	}
	for _, name := range []string{"rare", "even", "all"} {
		data.Schema.Targets = append(data.Schema.Targets, datasets.Column{Name: name, Kind: datasets.Categorical,
			Categories: []string{"0", "1"}})
	}
	return data
}

// Each label has the threshold of a fit to that label alone: leave-one-out scores depend on no folds.
func TestThresholdsOfLabels(t *testing.T) {
	ctx, data := context.Background(), labeled(300)
	several, err := meta.NewThreshold(estimator.NewRidgeClassifier()).Fit(ctx, data)
	if err != nil {
		t.Fatal(err)
	}
	all, err := estimator.Predict(ctx, several, data.X, estimator.Request{})
	if err != nil {
		t.Fatal(err)
	}
	cutoffs := several.(*meta.FittedThreshold).Cutoffs()
	for j, name := range []string{"rare", "even"} {
		one := datasets.Set{X: data.X, Y: mat.Col(nil, j, data.Targets),
			Schema: datasets.Schema{Targets: data.Schema.Targets[j : j+1]}}
		spec := meta.NewThreshold(estimator.NewRidgeClassifier())
		spec.Score = "f1"
		single, err := spec.Fit(ctx, one)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := single.(*meta.FittedThreshold).Cutoff()
		if got := cutoffs[j]; math.Abs(got.Value-want.Value) > 1e-9 || got.Score != "f1" || got.Best < got.AtUsual {
			t.Errorf("%s: %+v, want %v", name, got, want.Value)
		}
		values, err := single.Predict(ctx, data.X)
		if err != nil || !slices.Equal(values, mat.Col(nil, j, all.Targets)) {
			t.Errorf("%s: other predictions: %v", name, err)
		}
	}
	if cutoffs[0].Value >= 0 || cutoffs[2].Value != 0 || mat.Sum(all.Targets.ColView(2)) != 300 {
		t.Errorf("thresholds %+v", cutoffs)
	}
	spec := meta.NewThreshold(estimator.NewLogistic())
	spec.Costs = meta.Costs{FalsePositive: 1, FalseNegative: 2}
	if _, err := spec.Fit(ctx, data); err == nil || !strings.Contains(err.Error(), "cost is for classes") {
		t.Error(err)
	}
}

// Thresholds of labels are read from a state as they were written, also of probabilities.
func TestThresholdsOfLabelsAreKept(t *testing.T) {
	ctx, data := context.Background(), labeled(120)
	fitted, err := pipeline.Steps(transformer.NewStandardize()).Then(meta.NewThreshold(estimator.NewLogistic())).Fit(ctx, data)
	if err != nil {
		t.Fatal(err)
	}
	again := reloaded(t, fitted)
	want, err := estimator.Predict(ctx, fitted, data.X, estimator.Request{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := estimator.Predict(ctx, again, data.X, estimator.Request{})
	if err != nil || !mat.Equal(got.Scores, want.Scores) || !mat.Equal(got.Targets, want.Targets) ||
		!mat.Equal(got.Probabilities, want.Probabilities) {
		t.Error("other predictions", err)
	}
	var before, after *meta.FittedThreshold
	if !estimator.As(fitted, &before) || !estimator.As(again, &after) ||
		before.Cutoffs()[0].Value != after.Cutoffs()[0].Value || after.Cutoffs()[0].Best != before.Cutoffs()[0].Best {
		t.Error("other thresholds")
	}
}
