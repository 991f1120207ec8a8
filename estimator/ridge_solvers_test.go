package estimator

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/matrices"
)

// scattered returns rows with a third of the entries.
func scattered(seed uint64, n, d int) datasets.Set {
	data := gaussians(seed, n, d)
	rng := rand.New(rand.NewPCG(seed, 2))
	x := data.X.(*mat.Dense)
	for i := range n {
		for j := range d {
			if rng.IntN(3) > 0 {
				x.Set(i, j, 0)
			}
		}
	}
	return data
}

// TestRidgeSolversEqualExtendedPrecision checks that every solver agrees with ridge regression in
// extended precision on training and new rows, for any shape, condition number and penalty, or
// returns a warning.
func TestRidgeSolversEqualExtendedPrecision(t *testing.T) {
	for name, c := range map[string]struct {
		data datasets.Set
		fit  int     // rows to fit; the others are new
		pred float64 // up to this alpha solvers may warn
	}{
		"tall":         {data: gaussians(1, 80, 8), fit: 60},
		"wide":         {data: gaussians(2, 20, 40), fit: 12},
		"square":       {data: gaussians(3, 30, 20), fit: 20},
		"powers":       {data: powers(80, 12), fit: 60, pred: 1e-12},
		"wide powers":  {data: powers(20, 20), fit: 14, pred: 1e-9},
		"sparse, tall": {data: scattered(4, 80, 12), fit: 60},
		"sparse, wide": {data: scattered(5, 20, 50), fit: 14},
		"rows alike":   {data: withAlike(gaussians(1, 20, 20)), fit: 14, pred: 1e-6},
	} {
		rng := rand.New(rand.NewPCG(9, 9))
		weights := make([]float64, c.data.Rows())
		for i := range weights {
			weights[i] = 0.1 + 3*rng.Float64()
		}
		for _, intercept := range []bool{true, false} {
			data := c.data
			if intercept {
				data.Weights = weights
			}
			for _, alpha := range []float64{1e-12, 1e-9, 1e-6, 1e-3, 1, 1e3} {
				s := NewRidge()
				s.Alpha, s.Intercept = alpha, intercept
				at := fmt.Sprintf("%s, intercept %v, alpha %v", name, intercept, alpha)
				equalsExtendedPrecision(t, at, s, data, c.fit, alpha <= c.pred)
			}
		}
	}
}

func equalsExtendedPrecision(t *testing.T, at string, s Ridge, data datasets.Set, fit int, mayWarn bool) {
	t.Helper()
	train := data.Slice(0, fit)
	exact := newExactRidge(t, train, s.Alpha, s.Intercept)
	want := make([]float64, data.Rows())
	for i := range want {
		want[i] = exact.predict(data, i)
	}
	for _, s.Solver = range []string{"cholesky", "dual", "cg"} {
		for kind, X := range map[string]mat.Matrix{"dense": data.X, "sparse": matrices.CSRFromDense(data.X)} {
			train.X = rowblock.Slice(X, 0, fit)
			fitted, err := s.Fit(context.Background(), train)
			if err != nil {
				t.Errorf("%s, %s, %s: %v", at, s.Solver, kind, err)
				continue
			}
			got, err := fitted.Predict(context.Background(), X)
			if err != nil {
				t.Fatal(err)
			}
			off := worst(got, want) / (spreadOf(data.Y) + spreadOf(want))
			report := fitted.(Reporter).Report()
			switch {
			case len(report.Warnings) > 0 && !mayWarn:
				t.Errorf("%s, %s, %s: %v", at, s.Solver, kind, report.Warnings)
			case len(report.Warnings) == 0 && off > 1e-6:
				t.Errorf("%s, %s, %s: off by %.1g of the spread, without a warning", at, s.Solver, kind, off)
			case off > 1e-2:
				t.Errorf("%s, %s, %s: off by %.1g of the spread", at, s.Solver, kind, off)
			}
		}
	}
}
