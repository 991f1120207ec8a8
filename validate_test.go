package bochner_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/builtin"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/metrics"
)

// The last point of a learning curve has all training rows, and so the score of the cross-validation, which is the
// mean over folds of the score of a fit by hand.
func TestValidation(t *testing.T) {
	iris, _, err := builtin.Load("iris")
	if err != nil {
		t.Fatal(err)
	}
	v := bochner.Validation{Score: "balanced_accuracy", Folds: 4, Seed: 7}
	machine := bochner.KernelMachine(iris)
	scores, err := bochner.CrossValidate(ctx, machine, iris, v)
	if err != nil {
		t.Fatal(err)
	}
	folds, err := datasets.StratifiedKFold{Folds: 4, Shuffle: true, Seed: 7}.Split(iris)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for k, fold := range folds {
		model, err := bochner.Fit(ctx, machine, iris.Select(fold.Train))
		if err != nil {
			t.Fatal(err)
		}
		test := iris.Select(fold.Test)
		predicted, err := model.Predict(ctx, test)
		if err != nil {
			t.Fatal(err)
		}
		score, err := metrics.Score("balanced_accuracy", test.Y, predicted)
		if err != nil || math.Abs(score-scores.Folds[k]) > 1e-12 {
			t.Errorf("fold %d: %v, %v, want %v", k, scores.Folds[k], err, score)
		}
		sum += score
	}
	if math.Abs(sum/4-scores.Mean) > 1e-12 || scores.Name != "balanced_accuracy" {
		t.Errorf("%v, want %v", scores, sum/4)
	}
	fits := 0
	v.Scores, v.Progress = []string{"accuracy", "log_loss"}, func(gridsearch.Progress) { fits++ }
	more, err := bochner.CrossValidate(ctx, machine, iris, v)
	if err != nil {
		t.Fatal(err)
	}
	if fits != 5 || more.Mean != scores.Mean || len(more.OtherScores) != 2 || more.OtherScores[1].Name != "log_loss" ||
		!strings.Contains(more.String(), ", accuracy 0.9") {
		t.Errorf("%d calls, %v", fits, more)
	}
	curve, err := bochner.LearningCurve(ctx, machine, iris, v)
	if err != nil {
		t.Fatal(err)
	}
	if last := curve[len(curve)-1]; math.Abs(last.Test-scores.Mean) > 1e-12 || last.Rows < 111 || last.Train < last.Test {
		t.Errorf("%+v, want the test score %v", last, scores.Mean)
	}
	if first := curve[0]; first.Rows != 7 || first.Test >= curve[len(curve)-1].Test {
		t.Errorf("%+v", first)
	}
}

// The estimator decides that codes are classes; ridge on classes and codes without a class 0 are errors.
func TestTargetsWithoutSchema(t *testing.T) {
	X, codes := mat.NewDense(60, 1, nil), make([]float64, 60)
	for i := range codes {
		codes[i] = float64(i % 3)
		X.Set(i, 0, codes[i]+0.1*math.Sin(float64(i)))
	}
	data := datasets.Set{X: X, Y: codes}
	scores, err := bochner.CrossValidate(ctx, estimator.NewLogistic(), data, bochner.Validation{})
	if err != nil || scores.Name != "accuracy" || scores.Mean < 0.9 {
		t.Errorf("%v, %v", scores, err)
	}
	if scores, err = bochner.CrossValidate(ctx, estimator.NewRidge(), data, bochner.Validation{}); err != nil ||
		scores.Name != "r2" {
		t.Errorf("%v, %v", scores, err)
	}
	shifted := datasets.Set{X: X, Y: make([]float64, 60)}
	for i := range codes {
		shifted.Y[i] = codes[i] + 1
	}
	const want = "class codes must start at 0"
	for _, e := range []estimator.Estimator{estimator.NewLogistic(), estimator.NewSVM(), estimator.NewRidgeClassifier()} {
		if _, err := e.Fit(ctx, shifted); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%T: %v, want %s", e, err, want)
		}
		if _, err := gridsearch.NewSearch(e).Run(ctx, shifted); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("search of %T: %v, want %s", e, err, want)
		}
	}
}

func TestValidationErrors(t *testing.T) {
	iris, _, err := builtin.Load("iris")
	if err != nil {
		t.Fatal(err)
	}
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	machine := bochner.KernelMachine(iris)
	for want, run := range map[string]func() error{
		"acuracy": func() error {
			_, err := bochner.CrossValidate(ctx, machine, iris, bochner.Validation{Score: "acuracy"})
			return err
		},
		`metrics: unknown metric "acuracy"`: func() error {
			_, err := bochner.LearningCurve(ctx, machine, iris, bochner.Validation{Score: "acuracy"})
			return err
		},
		"requires a score of classification or regression": func() error {
			_, err := bochner.LearningCurve(ctx, machine, iris, bochner.Validation{Score: "silhouette"})
			return err
		},
		"fold": func() error {
			_, err := bochner.LearningCurve(ctx, machine, iris, bochner.Validation{Folds: 1})
			return err
		},
		"canceled": func() error {
			_, err := bochner.LearningCurve(canceled, machine, iris, bochner.Validation{})
			return err
		},
	} {
		err := run()
		for part := range strings.SplitSeq(want, "|") {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%v, want %s", err, part)
			}
		}
	}
}
