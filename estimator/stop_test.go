package estimator

import (
	"context"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/testing/canceltest"
	"github.com/bochner-ml/bochner/matrices"
)

// stopRows returns n rows of d inputs; if singular, column 1 equals column 0.
func stopRows(n, d int, singular bool) datasets.Set {
	rng := rand.New(rand.NewPCG(5, 1))
	X, y := mat.NewDense(n, d, nil), make([]float64, n)
	for i := range n {
		for j := range d {
			X.Set(i, j, rng.NormFloat64())
		}
		if singular {
			X.Set(i, 1, X.At(i, 0))
		}
		y[i] = X.At(i, 0) + rng.NormFloat64()
	}
	return datasets.Set{X: X, Y: y}
}

// TestLongWorkStops checks that other calls, and fits whose factorizations have several blocks, can
// be canceled at any time.
func TestLongWorkStops(t *testing.T) {
	long, wide := stopRows(150, 70, false), stopRows(70, 150, false)
	scattered := wide
	scattered.X = matrices.CSRFromDense(wide.X)
	fit := func(e Estimator, data datasets.Set) func(ctx context.Context) (bool, error) {
		return func(ctx context.Context) (bool, error) {
			p, err := e.Fit(ctx, data)
			return p != nil, err
		}
	}
	leave := func(data datasets.Set) func(ctx context.Context) (bool, error) {
		return func(ctx context.Context) (bool, error) {
			out, err := NewRidge().LeaveOneOut(ctx, data, []float64{1, 10})
			return out != nil, err
		}
	}
	process := NewGaussianProcess()
	process.Kernel, process.Optimize = "linear", nil
	posterior, err := process.Fit(context.Background(), long)
	if err != nil {
		t.Fatal(err)
	}
	for name, run := range map[string]func(ctx context.Context) (bool, error){
		"cholesky":       fit(Ridge{Alpha: 1, Intercept: true, Solver: "cholesky", Tol: 1, MaxIter: 1}, long),
		"dual":           fit(Ridge{Alpha: 1, Intercept: true, Solver: "dual", Tol: 1, MaxIter: 1}, wide),
		"dual, sparse":   fit(Ridge{Alpha: 1, Intercept: true, Solver: "dual", Tol: 1, MaxIter: 1}, scattered),
		"singular":       fit(Ridge{Intercept: true, Solver: "cholesky", Tol: 1, MaxIter: 1}, stopRows(150, 70, true)),
		"singular, dual": fit(Ridge{Intercept: true, Solver: "dual", Tol: 1, MaxIter: 1}, stopRows(150, 70, true)),
		"refined": fit(Ridge{Alpha: 1e-9, Intercept: true, Solver: "cholesky", Tol: 1, MaxIter: 1},
			nearlySingular(long)),
		"leave-one-out":    leave(long),
		"of wide rows":     leave(wide),
		"gaussian process": fit(process, long),
		"PredictFull": func(ctx context.Context) (bool, error) {
			out, err := posterior.(FullPredictor).PredictFull(ctx, long.X, Request{})
			return out.Values != nil || out.Std != nil, err
		},
	} {
		if err := canceltest.Check(run); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// nearlySingular makes a column of another, but for its seventh digit.
func nearlySingular(data datasets.Set) datasets.Set {
	X := mat.DenseCopyOf(data.X)
	n, _ := X.Dims()
	for i := range n {
		X.Set(i, 1, X.At(i, 0)+1e-5*X.At(i, 1))
	}
	data.X = X
	return data
}

// TestBatchesStop checks that a canceled batch yields no outcome affected by the cancellation, and
// returns it.
func TestBatchesStop(t *testing.T) {
	data := stopRows(90, 40, false)
	classes := stopRows(90, 40, false)
	for i, y := range classes.Y {
		classes.Y[i] = 0
		if y > 0 {
			classes.Y[i] = 1
		}
	}
	folds := make([]datasets.Fold, 3)
	for i := range 90 {
		for f := range folds {
			if i%3 == f {
				folds[f].Test = append(folds[f].Test, i)
			} else {
				folds[f].Train = append(folds[f].Train, i)
			}
		}
	}
	ridge, svm, logistic := NewRidge(), NewSVM(), NewLogistic()
	svm.Solver = "dual"
	for name, c := range map[string]struct {
		data   datasets.Set
		fitter batch.Fitter
		specs  []Estimator
	}{
		"ridge": {data, ridge, []Estimator{Ridge{Alpha: 1, Intercept: true, Solver: "cholesky"},
			Ridge{Alpha: 2, Intercept: true, Solver: "cholesky"}}},
		"svm":      {classes, svm, []Estimator{svm}},
		"logistic": {classes, logistic, []Estimator{logistic}},
	} {
		for i := range c.specs {
			if r, ok := c.specs[i].(Ridge); ok {
				r.Tol, r.MaxIter = 1e-8, 100
				c.specs[i] = r
			}
		}
		err := canceltest.Check(func(ctx context.Context) (bool, error) {
			_, err := c.fitter.FitBatch(ctx, batch.Job{Data: c.data, Folds: folds, Candidates: batch.Candidates(c.specs...),
				Yield: func(candidate, fold int, one batch.Outcome) error {
					if one.Err != nil {
						t.Errorf("%s: candidate %d on fold %d was handed over with the error %v", name, candidate, fold, one.Err)
					}
					return nil
				}})
			return err == nil, err
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
