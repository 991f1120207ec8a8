package estimator_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
)

// without returns the numbers below n but for i.
func without(n, i int) (list []int) {
	for k := range n {
		if k != i {
			list = append(list, k)
		}
	}
	return list
}

// Leave-one-out by one batch is fitting as often as there are rows, for ridge and its classifier,
// with more rows than columns and with fewer.
func TestBatchLOOEqualsRefits(t *testing.T) {
	ctx := context.Background()
	for _, d := range []int{3, 40} {
		const n = 24
		x, _, y, weights := noisy(71, n, d)
		classes := make([]float64, n)
		for i := range classes {
			classes[i] = float64(i % 3)
		}
		schema := datasets.Schema{Targets: []datasets.Column{{Kind: datasets.Categorical,
			Categories: []string{"a", "b", "c"}}}}
		a, b := estimator.NewRidge(), estimator.NewRidge()
		b.Alpha = 0.2
		c := estimator.NewRidgeClassifier()
		c.ClassWeight.Weights = map[string]float64{"b": 3}
		for what, job := range map[string]struct {
			data  datasets.Set
			specs []estimator.Estimator
		}{
			"ridge":            {datasets.Set{X: x, Y: y, Weights: weights}, []estimator.Estimator{a, b}},
			"ridge_classifier": {datasets.Set{X: x, Y: classes, Schema: schema}, []estimator.Estimator{c}},
		} {
			got := map[int]batch.Outcome{}
			fitter := job.specs[0].(batch.Fitter)
			_, err := fitter.FitBatch(ctx, loo(job.data, job.specs, false,
				func(k int, one batch.Outcome) error { got[k] = one; return nil }))
			if err != nil || len(got) != len(job.specs) {
				t.Fatalf("%s: %d results, %v", what, len(got), err)
			}
			for k, s := range job.specs {
				if got[k].Err != nil {
					t.Fatalf("%s: %v", what, got[k].Err)
				}
				for i := range n {
					p, err := s.Fit(ctx, job.data.Select(without(n, i)))
					if err != nil {
						t.Fatal(err)
					}
					want, err := estimator.Predict(ctx, p, rowblock.Select(job.data.X, []int{i}), estimator.Request{})
					if err != nil {
						t.Fatal(err)
					}
					at := fmt.Sprintf("%s with %d columns, row %d", what, d, i)
					near(t, at, got[k].Values[i:i+1], want.Values, 1e-8)
					if want.Scores != nil {
						near(t, at, got[k].Scores.RawRowView(i), want.Scores.RawRowView(0), 1e-8)
					}
				}
			}
		}
	}
}

// The mean squared error of the predictions of generalized cross-validation is its score.
func TestBatchGCV(t *testing.T) {
	ctx := context.Background()
	const n = 40
	x, _, y, _ := noisy(72, n, 4)
	s := estimator.NewRidge()
	s.Alpha = 0.7
	path, err := s.LeaveOneOut(ctx, datasets.Set{X: x, Y: y}, []float64{0.7})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.FitBatch(ctx, loo(datasets.Set{X: x, Y: y}, []estimator.Estimator{s}, true,
		func(_ int, one batch.Outcome) error {
			mse := 0.0
			for i, v := range one.Values {
				mse += (v - y[i]) * (v - y[i]) / n
			}
			if math.Abs(mse-path.GCV[0]) > 1e-10*mse {
				t.Errorf("mean squared error %v, GCV %v", mse, path.GCV[0])
			}
			return nil
		}))
	if err != nil {
		t.Fatal(err)
	}
}

// A candidate that leaves a row undetermined fails for itself.
func TestBatchLOOYieldsErrors(t *testing.T) {
	x := mat.NewDense(6, 2, []float64{1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 1}) // only the last row has a nonzero second column
	y := []float64{1, 2, 3, 3, 2, 1}
	specs := ridges(0, 1)
	failed := 0
	_, err := estimator.NewRidge().FitBatch(context.Background(),
		loo(datasets.Set{X: x, Y: y}, specs, false, func(k int, one batch.Outcome) error {
			if (one.Err != nil) != (k < 2) {
				t.Errorf("candidate %d: %v", k, one.Err)
			}
			if one.Err != nil {
				failed++
			}
			return nil
		}))
	if err != nil || failed != 2 {
		t.Errorf("%d failed, %v", failed, err)
	}
}

// loo is a batch that computes leave-one-out predictions.
func loo(data datasets.Set, specs []estimator.Estimator, gcv bool,
	yield func(candidate int, out batch.Outcome) error) batch.Job {
	all := make([]int, data.Rows())
	for i := range all {
		all[i] = i
	}
	return batch.Job{Data: data, Folds: []datasets.Fold{{Train: all, Test: all}}, Candidates: batch.Candidates(specs...),
		LeaveOneOut: true, GCV: gcv,
		Yield: func(k, _ int, out batch.Outcome) error { return yield(k, out) }}
}
