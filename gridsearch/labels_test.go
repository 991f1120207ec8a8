package gridsearch_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// Searches score several labels by f1_micro, with and without a schema, and agree with single fits.
func TestSearchLabels(t *testing.T) {
	const n = 120
	X, Y := mat.NewDense(n, 2, nil), mat.NewDense(n, 2, nil)
	for i := range n {
		a, b := math.Sin(float64(7*i)), math.Cos(float64(5*i))
		X.SetRow(i, []float64{a, b})
		if a+0.3*math.Sin(float64(31*i)) > 0 {
			Y.Set(i, 0, 1)
		}
		if a*b > 0 {
			Y.Set(i, 1, 1)
		}
	}
	label := func(name string) datasets.Column {
		return datasets.Column{Name: name, Kind: datasets.Categorical, Categories: []string{"no", "yes"}}
	}
	named := datasets.Schema{Targets: []datasets.Column{label("a"), label("b")}}
	rff := transformer.NewRFF()
	rff.Features = 20
	for name, spec := range map[string]estimator.Estimator{"ridge_classifier.alpha": estimator.NewRidgeClassifier(),
		"logistic.C": estimator.NewLogistic(), "svm.C": estimator.NewSVM()} {
		for _, schema := range []datasets.Schema{{}, named} {
			s := gridsearch.NewSearch(pipeline.Steps(rff).Then(spec), gridsearch.Axis{Path: name, Values: []any{0.1, 10.0}})
			s.Scores = []string{"hamming_loss", "label_ranking_average_precision"}
			r, err := s.Run(context.Background(), datasets.Set{X: X, Targets: Y, Schema: schema})
			if err != nil {
				t.Fatal(name, err)
			}
			if r.Score != "f1_micro" || r.Best().Mean < 0.6 {
				t.Errorf("%s: %s %v", name, r.Score, r.Best().Mean)
			}
			data := datasets.Set{X: X, Targets: Y, Schema: schema}
			folds, err := datasets.KFold{Folds: 5}.Split(data)
			if err != nil {
				t.Fatal(err)
			}
			best, err := pipeline.Steps(rff).Then(spec).With(r.Best().Settings...)
			if err != nil {
				t.Fatal(err)
			}
			for k, got := range r.Best().Folds {
				if want := labelScore(t, best, data, folds[k], "f1_micro"); math.Abs(got-want) > 1e-9 {
					t.Errorf("%s: fold %d scores %v, a separate fit %v", name, k, got, want)
				}
			}
			s.Score = "roc_auc"
			s.Scores = nil
			if _, err := s.Run(context.Background(), datasets.Set{X: X, Targets: Y, Schema: schema}); err == nil ||
				!strings.Contains(err.Error(), "several labels per row") {
				t.Errorf("%s: roc_auc of labels: %v", name, err)
			}
		}
	}
}

// Leave-one-out predictions of labels are those of fits without each row.
func TestLeaveOneOutLabels(t *testing.T) {
	const n = 30
	data := datasets.Set{X: mat.NewDense(n, 2, nil), Targets: mat.NewDense(n, 2, nil)}
	for i := range n {
		a, b := math.Sin(float64(7*i)), math.Cos(float64(5*i))
		data.X.(*mat.Dense).SetRow(i, []float64{a, b})
		data.Targets.SetRow(i, []float64{math.Round(a * a), math.Round((1 + math.Sin(3*b+a)) / 2)})
	}
	s := gridsearch.NewSearch(estimator.NewRidgeClassifier(), gridsearch.Axis{Path: "alpha", Values: []any{1.0}})
	s.Score, s.Splitter = "hamming_loss", gridsearch.LeaveOneOut{}
	r, err := s.Run(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	want := 0.0
	for i := range n {
		fold := datasets.Fold{Test: []int{i}}
		for j := range n {
			if j != i {
				fold.Train = append(fold.Train, j)
			}
		}
		want += labelScore(t, estimator.NewRidgeClassifier(), data, fold, "hamming_loss") / n
	}
	if got := r.Best().Mean; math.Abs(got-want) > 1e-12 || want == 0 {
		t.Errorf("leave-one-out %v, by separate fits %v", got, want)
	}
}

// labelScore fits a spec to the training rows of a fold and scores its test rows.
func labelScore(t *testing.T, spec estimator.Estimator, data datasets.Set, fold datasets.Fold, metric string) float64 {
	t.Helper()
	fitted, err := spec.Fit(context.Background(), data.Select(fold.Train))
	if err != nil {
		t.Fatal(err)
	}
	test := data.Select(fold.Test)
	p, err := estimator.Predict(context.Background(), fitted, test.X, estimator.Request{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := metrics.ByName(metric)
	if err != nil {
		t.Fatal(err)
	}
	score, err := m.Score(metrics.Input{YTrueTargets: test.Targets, YPredTargets: p.Targets})
	if err != nil {
		t.Fatal(err)
	}
	return score
}
