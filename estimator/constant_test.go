package estimator

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/matrices"
)

// TestRidgeGivesConstantSparseColumnsNoWeight checks that a column that is constant in the training
// rows gets weight 0, even though rounding gives it a nonzero variance: sparse rows are not
// centered. A nonzero weight would show for rows with another value.
func TestRidgeGivesConstantSparseColumnsNoWeight(t *testing.T) {
	for _, constant := range []float64{0.1, 0.3, 0.7, 1e3 / 3} {
		for _, alpha := range []float64{0, 1e-15, 1e-12, 1e-9} {
			data := gaussians(3, 300, 3)
			x := data.X.(*mat.Dense)
			for i := range 300 {
				x.Set(i, 1, constant)
			}
			data.X = matrices.CSRFromDense(x)
			s := NewRidge()
			s.Alpha, s.Solver = alpha, "cholesky"
			fitted, err := s.Fit(context.Background(), data)
			if err != nil {
				t.Fatal(err)
			}
			if w := fitted.(*FittedLinear).Coef().At(0, 1); math.Abs(w*constant) > 1e-6 {
				t.Errorf("constant %v, alpha %v: weight %v", constant, alpha, w)
			}
		}
	}
}

// The same in a family, whose rows are measured from a point that the first part of them chose, where
// the column is not constant in that part but in the rows that a fold trains on.
func TestRidgeFamilyGivesConstantColumnsNoWeight(t *testing.T) {
	data := gaussians(4, 300, 3)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 300 {
		v := 0.1
		if i < 100 {
			v = 5 + rng.NormFloat64()/100
		}
		data.X.(*mat.Dense).Set(i, 1, v)
	}
	folds := []datasets.Fold{{Train: numbered(0, 200), Test: numbered(200, 300)},
		{Train: numbered(100, 300), Test: numbered(0, 100)}}
	f := batch.Job{Data: data, Folds: folds, Maps: columnsAsTheyAre(3), Memory: 1 << 30}
	for _, alpha := range []float64{1e-15, 1e-12, 1e-9} {
		s := NewRidge()
		s.Alpha, s.Solver = alpha, "cholesky"
		f.Candidates = append(f.Candidates, batch.Candidate{Estimator: s, Width: 3, Scale: 1})
	}
	own := func(k, fold int) batch.Outcome {
		fitted, err := f.Candidates[k].Estimator.(Estimator).Fit(context.Background(), data.Select(folds[fold].Train))
		if err != nil {
			t.Fatal(err)
		}
		one := batch.Outcome{}
		predicted, err := Predict(context.Background(), fitted, rowblock.Select(data.X, folds[fold].Test), Request{})
		one.Prediction, one.Err = predicted, err
		return one
	}
	f.FitOne = func(_ context.Context, k, fold int) batch.Outcome { return own(k, fold) }
	f.Yield = func(k, fold int, one batch.Outcome) error {
		if off := worst(one.Prediction.Values, own(k, fold).Prediction.Values); off > 1e-6 {
			return fmt.Errorf("alpha %v, fold %d: off by %.2g", f.Candidates[k].Estimator.(Ridge).Alpha, fold, off)
		}
		return one.Err
	}
	if _, err := NewRidge().FitBatch(context.Background(), f); err != nil {
		t.Fatal(err)
	}
}

func numbered(from, to int) (list []int) {
	for i := from; i < to; i++ {
		list = append(list, i)
	}
	return list
}
