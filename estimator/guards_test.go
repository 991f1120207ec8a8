package estimator

import (
	"context"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/sparse"
)

// signed returns rows of two classes.
func signed(n, d int) datasets.Set {
	data := stopRows(n, d, false)
	for i, y := range data.Y {
		data.Y[i] = 0
		if y > 0 {
			data.Y[i] = 1
		}
	}
	return data
}

// fails fits and wants an error that has some words.
func fails(t *testing.T, what string, e Estimator, data datasets.Set, words ...string) {
	t.Helper()
	p, err := e.Fit(context.Background(), data)
	for _, w := range words {
		if err == nil || !strings.Contains(err.Error(), w) || p != nil {
			t.Errorf("%s: %v and the error %v, wanted one with %q", what, p, err, w)
		}
	}
}

// Class weights that leave no row are an error that names them, not a model of nothing.
func TestClassWeightsThatLeaveNoRow(t *testing.T) {
	none := ClassWeight{Weights: map[string]float64{"0": 0, "1": 0}}
	logistic, svm, ridge := NewLogistic(), NewSVM(), NewRidgeClassifier()
	logistic.ClassWeight, svm.ClassWeight, ridge.ClassWeight = none, none, none
	for _, e := range []Estimator{logistic, svm, ridge} {
		fails(t, "no class has weight", e, signed(30, 2), "class_weight gives every row weight 0")
	}
}

// Newton's method names an entry that is not finite where no preconditioner adds it up: in sparse rows
// that are too wide for one.
func TestNewtonNamesWhatIsNotFinite(t *testing.T) {
	logistic, svm, svr := NewLogistic(), NewSVM(), NewSVR()
	logistic.Solver, svm.Solver, svr.Solver = "newton", "newton", "newton"
	svr.Loss = "squared_epsilon_insensitive"
	for what, v := range map[string]float64{"infinite value": math.Inf(1), "missing": math.NaN()} {
		data := signed(40, widestSparseFactor+8)
		X := mat.DenseCopyOf(data.X)
		X.Set(17, 5, v)
		data.X = sparse.FromDense(X)
		data.Schema.Columns = make([]datasets.Column, widestSparseFactor+8)
		data.Schema.Columns[5].Name = "weight"
		for _, e := range []Estimator{logistic, svm, svr} {
			fails(t, what, e, data, "row 17", "weight", what)
		}
	}
}
