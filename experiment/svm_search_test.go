package experiment_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/builtin"
	"github.com/bochner-ml/bochner/datasets/synthetic"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// sizesOfC ranges from values with all dual variables at their bounds to values with hardly any.
var sizesOfC = []any{1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1000.0}

// remainingRows returns the first rows of a built-in data set, with its numeric columns.
func remainingRows(t *testing.T, name string, rows int) datasets.Set {
	t.Helper()
	set, _, err := builtin.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	var columns []int
	_, d := set.X.Dims()
	for j := range d {
		if set.Schema.Column(j).Kind == datasets.Numeric {
			columns = append(columns, j)
		}
	}
	rows = min(rows, set.Rows())
	x := mat.NewDense(rows, len(columns), nil)
	for i := range rows {
		for k, j := range columns {
			x.Set(i, k, set.X.At(i, j))
		}
	}
	return datasets.Set{X: x, Y: set.Y[:rows], Schema: datasets.Schema{Targets: set.Schema.Targets}}
}

// A search computes a regularization path along C; every score equals that of a separate fit, and
// none is significantly worse than a constant.
func TestSearchOfSVMsMatchesSeparateFits(t *testing.T) {
	hinge, tube := estimator.NewSVM(), estimator.NewSVR()
	hinge.Loss, hinge.Tol, hinge.MaxIter = "hinge", 1e-9, 20_000
	tube.Epsilon, tube.Tol, tube.MaxIter = 0.3, 1e-9, 20_000
	friedman, err := synthetic.Friedman1(150, 6, 1, 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, path, score string
		data              datasets.Set
		model             estimator.Estimator
	}{
		{"iris", "svm.C", "accuracy", remainingRows(t, "iris", 150), hinge},
		{"wine", "svm.C", "accuracy", remainingRows(t, "wine", 200), hinge},
		{"optdigits", "svm.C", "accuracy", remainingRows(t, "optdigits", 150), hinge},
		{"adult", "svm.C", "accuracy", remainingRows(t, "adult", 300), hinge},
		{"friedman", "svr.C", "r2", friedman, tube},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := pipeline.Steps(transformer.NewStandardize()).Then(c.model)
			search := gridsearch.NewSearch(spec, gridsearch.Axis{Path: c.path, Values: sizesOfC})
			search.Splitter, search.Score, search.Refit = datasets.KFold{Folds: 3, Shuffle: true, Seed: 5}, c.score,
				gridsearch.RefitNone
			result, err := search.Run(context.Background(), c.data)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(result.Shared, "path") {
				t.Fatalf("shared %v", result.Shared)
			}
			for k, C := range sizesOfC {
				want := loneScores(t, withC(c.model, C.(float64)), c.score, c.data, search.Splitter)
				got := result.Candidates[k]
				for f := range want {
					// A score that is close to 0 may fall to either side.
					if got.Failed != "" || math.Abs(got.Folds[f]-want[f]) > 0.021 {
						t.Errorf("C %v, fold %d: %v in the search, %v alone %s", C, f, got.Folds[f], want[f], got.Failed)
					}
				}
			}
		})
	}
}

func withC(model estimator.Estimator, C float64) estimator.Estimator {
	switch m := model.(type) {
	case estimator.SVM:
		m.C = C
		return m
	case estimator.SVR:
		m.C = C
		return m
	}
	panic(fmt.Sprintf("%T", model))
}

// loneScores fits a pipeline to every fold separately.
func loneScores(t *testing.T, model estimator.Estimator, score string, data datasets.Set,
	splitter datasets.Splitter) []float64 {
	t.Helper()
	ctx := context.Background()
	folds, err := splitter.Split(data)
	if err != nil {
		t.Fatal(err)
	}
	metric, err := metrics.ByName(score)
	if err != nil {
		t.Fatal(err)
	}
	var scores []float64
	for _, fold := range folds {
		fitted, err := pipeline.Steps(transformer.NewStandardize()).Then(model).Fit(ctx, data.Select(fold.Train))
		if err != nil {
			t.Fatal(err)
		}
		test := data.Select(fold.Test)
		prediction, err := estimator.Predict(ctx, fitted, test.X, estimator.Request{})
		if err != nil {
			t.Fatal(err)
		}
		score, err := metric.Score(metrics.Input{YTrue: test.Y, YPred: prediction.Values})
		if err != nil {
			t.Fatal(err)
		}
		scores = append(scores, score)
	}
	return scores
}

// TestSearchOfHingesBeginsAtASmallC checks that starting at a small C does not affect models of
// larger C, and that scores increase to the best of them.
func TestSearchOfHingesBeginsAtASmallC(t *testing.T) {
	hinge := estimator.NewSVM()
	hinge.Loss = "hinge"
	data := remainingRows(t, "iris", 150)
	search := gridsearch.NewSearch(pipeline.Steps(transformer.NewStandardize()).Then(hinge),
		gridsearch.Axis{Path: "svm.C", Values: []any{1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0}})
	search.Splitter, search.Refit = datasets.KFold{Folds: 5, Shuffle: true, Seed: 1}, gridsearch.RefitNone
	result, err := search.Run(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	if best := result.Best(); best.Mean < 0.9 || fmt.Sprint(best.Settings[0].Value) == "0.0001" {
		t.Errorf("the best is %v with %v", best, best.Mean)
	}
	for _, c := range result.Candidates {
		if c.Failed != "" || c.Mean < 0.6 {
			t.Errorf("%v: %v %s", c, c.Mean, c.Failed)
		}
	}
}
