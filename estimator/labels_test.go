package estimator_test

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
	"github.com/bochner-ml/bochner/matrices"
)

// labeled returns rows with three labels that depend on the inputs, and one that no row has.
func labeled(n, d int) datasets.Set {
	r := rand.New(rand.NewPCG(1, 2))
	X, Y, s := mat.NewDense(n, d, nil), mat.NewDense(n, 4, nil), datasets.Schema{}
	for i := range n {
		for j := range d {
			X.Set(i, j, r.NormFloat64())
		}
		for k := range 3 {
			if X.At(i, k)-X.At(i, k+1)+0.5*r.NormFloat64() > float64(k)/2 {
				Y.Set(i, k, 1)
			}
		}
	}
	weights := make([]float64, n)
	for i := range weights {
		weights[i] = r.Float64()
	}
	for _, name := range []string{"red", "round", "ripe", "rotten"} {
		s.Targets = append(s.Targets, datasets.Column{Name: name, Kind: datasets.Categorical, Categories: []string{"0", "1"}})
	}
	return datasets.Set{X: X, Targets: Y, Weights: weights, Schema: s}
}

// onlyLabel returns the rows with label k as the classes.
func onlyLabel(data datasets.Set, k int) datasets.Set {
	data.Y, data.Targets = mat.Col(nil, k, data.Targets), nil
	data.Schema.Targets = data.Schema.Targets[k : k+1]
	return data
}

// The model of several labels has the scores and probabilities of a model of two classes for each,
// for rows in memory and streams, dense and sparse. A label that no row has is never predicted.
func TestLabelsEqualBinaryFits(t *testing.T) {
	ctx := context.Background()
	dense := labeled(600, 5)
	thin := dense
	thin.X = matrices.CSRFromDense(dense.X.(*mat.Dense))
	balanced := estimator.ClassWeight{Balanced: true}
	logistic, newton, ridge := estimator.NewLogistic(), estimator.NewSVM(), estimator.NewRidgeClassifier()
	logistic.Tol, newton.Tol, logistic.ClassWeight, logistic.C = 1e-13, 1e-13, balanced, 0.3
	dual, odds := newton, logistic
	dual.Loss, dual.Tol, dual.ClassWeight = "hinge", 1e-4, balanced
	odds.Solver, odds.Tol = "dual", 1e-6
	for name, spec := range map[string]interface {
		estimator.Estimator
		estimator.BlockEstimator
	}{"logistic": logistic, "svm": newton, "svm dual": dual, "logistic dual": odds, "ridge_classifier": ridge} {
		for form, data := range map[string]datasets.Set{"dense": dense, "sparse": thin} {
			for _, stream := range []bool{false, true} {
				fit := func(data datasets.Set) estimator.Prediction {
					t.Helper()
					fitted, err := spec.Fit(ctx, data)
					if stream {
						fitted, err = spec.FitSource(ctx, data.Source())
					}
					if err != nil {
						t.Fatal(name, form, err)
					}
					p, err := estimator.Predict(ctx, fitted, data.X, estimator.Request{})
					if err != nil {
						t.Fatal(err)
					}
					return p
				}
				all := fit(data)
				for k := range 3 {
					one := fit(onlyLabel(data, k))
					for i, z := range one.Scores.RawMatrix().Data {
						if math.Abs(all.Scores.At(i, k)-z) > 1e-9 || all.Targets.At(i, k) != one.Values[i] {
							t.Fatalf("%s %s stream %v: label %d row %d: score %v, alone %v", name, form, stream, k, i,
								all.Scores.At(i, k), z)
						}
						if one.Probabilities != nil && math.Abs(all.Probabilities.At(i, k)-one.Probabilities.At(i, 1)) > 1e-9 {
							t.Fatalf("%s %s: label %d row %d: another probability", name, form, k, i)
						}
					}
				}
				if slices.Max(mat.Col(nil, 3, all.Scores)) >= 0 || !slices.Equal(all.Values, mat.Col(nil, 0, all.Targets)) {
					t.Errorf("%s %s: a label that no row has is predicted, or other values", name, form)
				}
			}
		}
	}
}

// Codes other than 0 and 1, class weights of a shared Gram matrix, and models without labels are
// errors that name the place.
func TestLabelErrors(t *testing.T) {
	ctx := context.Background()
	good := labeled(60, 4)
	two := good
	two.Targets = mat.DenseCopyOf(good.Targets)
	two.Targets.Set(7, 1, 2)
	weighted := estimator.NewRidgeClassifier()
	weighted.ClassWeight.Balanced = true
	for _, c := range []struct {
		spec estimator.Estimator
		data datasets.Set
		want string
	}{
		{estimator.NewLogistic(), two, "label round: row 7"},
		{estimator.NewRidgeClassifier(), two, "row 7"},
		{weighted, good, "class_weight must be none for several labels"},
		{estimator.NewKernelSVM(), good, "must have one target, got 4"},
		{estimator.NewSGDClassifier(), good, "must have one target, got 4"},
		{estimator.NewKernelRidgeClassifier(), good, "must have one target, got 4"},
		{estimator.NewRFFNetwork(), good, "one target"},
		{estimator.NewRidge(), good, "has classes"},
		{estimator.NewSVR(), good, "has classes"},
	} {
		if _, err := c.spec.Fit(ctx, c.data); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%T: error %v, must contain %q", c.spec, err, c.want)
		}
	}
	for _, spec := range []interface {
		Start(context.Context, datasets.Schema, int) (datasets.Pass, error)
	}{estimator.NewLogistic(), estimator.NewRidgeClassifier()} {
		if _, err := spec.Start(ctx, good.Schema, 4); err == nil || !strings.Contains(err.Error(), "several labels") {
			t.Errorf("%T: passes over several labels: %v", spec, err)
		}
	}
}
