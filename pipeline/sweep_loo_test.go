package pipeline_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// TestSearchByLOO checks that a leave-one-out search has the scores of one fit per row.
func TestSearchByLOO(t *testing.T) {
	const n = 30
	data := numbers(n, 60)
	data.Schema.Targets = nil
	base := pipeline.Steps(fourier(8)).Then(estimator.NewRidge())
	search := gridsearch.NewSearch(base, gridsearch.Axis{Path: "rff.gamma", Values: []any{1e-3, 1e-2}},
		gridsearch.Axis{Path: "ridge.alpha", Values: []any{0.1, 1.0}})
	search.Splitter, search.Score = gridsearch.LeaveOneOut{}, "mean_squared_error"
	result, err := search.Run(ctx, data)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"alpha", "features", "prefix", "rows"}; !slices.Equal(result.Shared, want) || result.Fits != 4 {
		t.Errorf("shared %q in %d fits", result.Shared, result.Fits)
	}
	for _, c := range result.Candidates {
		spec, err := param.With(base, c.Settings...)
		if err != nil {
			t.Fatal(err)
		}
		mse := 0.0
		for i := range n {
			rest := slices.Concat(count(0, i), count(i+1, n))
			p, err := spec.(estimator.Estimator).Fit(ctx, data.Select(rest))
			if err != nil {
				t.Fatal(err)
			}
			y, err := p.Predict(ctx, rowblock.Select(data.X, []int{i}))
			if err != nil {
				t.Fatal(err)
			}
			mse += (y[0] - data.Y[i]) * (y[0] - data.Y[i]) / n
		}
		if math.Abs(mse-c.Mean) > 1e-8*mse {
			t.Errorf("%s: %v, want %v", c, c.Mean, mse)
		}
	}
}

func TestSearchRejectsLOO(t *testing.T) {
	data := numbers(30, 61)
	for _, c := range []struct {
		spec estimator.Estimator
		want string
	}{
		{pipeline.Steps(transformer.NewStandardize(), fourier(8)).Then(estimator.NewRidgeClassifier()),
			`gridsearch: pipeline: step "standardize": it learns from the rows`},
		{pipeline.Steps(fourier(8)).Then(estimator.NewLogistic()),
			`gridsearch: pipeline: step "logistic": leave-one-out is supported by ridge`},
		{estimator.NewLogistic(), "gridsearch: leave-one-out is supported by ridge"},
	} {
		search := gridsearch.NewSearch(c.spec)
		search.Splitter = gridsearch.LeaveOneOut{}
		if _, err := search.Run(ctx, data); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// TestSearchByLOOWithGammaInTheGrid checks that leave-one-out allows a rule of γ if
// every candidate sets a number.
func TestSearchByLOOWithGammaInTheGrid(t *testing.T) {
	wide := fourier(8)
	wide.Gamma = kernel.GammaScale()
	search := gridsearch.NewSearch(pipeline.Steps(wide).Then(estimator.NewRidge()),
		gridsearch.Axis{Path: "rff.gamma", Values: []any{"scale", 0.01, 0.1}})
	search.Splitter = gridsearch.LeaveOneOut{}
	data := amounts(numbers(30, 61))
	found, err := search.Run(ctx, data)
	if err != nil {
		t.Fatal(err)
	}
	for k, failed := range []bool{true, false, false} {
		if c := found.Candidates[k]; math.IsNaN(c.Mean) != failed {
			t.Errorf("%s has the score %v", c, c.Mean)
		}
	}
	search.Grid[0].Values = []any{"scale", "median"}
	if _, err := search.Run(ctx, data); err == nil || !strings.Contains(err.Error(), "it learns from the rows") {
		t.Errorf("no candidate supports leave-one-out, and the error is %v", err)
	}
}

func count(from, to int) (list []int) {
	for i := from; i < to; i++ {
		list = append(list, i)
	}
	return list
}

// A pipeline that is searched in parts, for time is bounded, has the scores of one that is not.
func TestSearchWithinABudget(t *testing.T) {
	data := numbers(80, 62)
	search := gridsearch.NewSearch(pipeline.Steps(fourier(16)).Then(estimator.NewRidgeClassifier()),
		gridsearch.Axis{Path: "rff.gamma", Values: []any{1e-3, 1e-2, 1e-1}},
		gridsearch.Axis{Path: "ridge_classifier.alpha", Values: []any{0.1, 1.0, 10.0}})
	search.Score = "auc"
	whole, err := search.Run(ctx, data)
	if err != nil {
		t.Fatal(err)
	}
	search.Budget = time.Hour
	parts, err := search.Run(ctx, data)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range whole.Candidates {
		if !slices.Equal(c.Folds, parts.Candidates[i].Folds) {
			t.Errorf("%s: %v in parts, %v at once", c, parts.Candidates[i].Folds, c.Folds)
		}
	}
	search.Budget = time.Nanosecond
	if _, err := search.Run(ctx, data); !errors.Is(err, gridsearch.ErrBudget) {
		t.Errorf("in no time: %v", err)
	}
}
