package estimator

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/descent"
	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
)

// unbalanced returns rows of two overlapping classes, a third of them in the second class, and
// targets.
func unbalanced(rows, cols int) datasets.Set {
	rng := rand.New(rand.NewPCG(4, 20))
	x, y := mat.NewDense(rows, cols, nil), make([]float64, rows)
	for i := range rows {
		sum := 0.0
		for j := range cols {
			v := rng.NormFloat64()
			x.Set(i, j, v)
			sum += v
		}
		if sum+2*rng.NormFloat64() > math.Sqrt(float64(cols)) {
			y[i] = 1
		}
	}
	return datasets.Set{X: x, Y: y}
}

// With a C so small that every dual variable is at its bound, no fit is worse than no weights.
func TestSmallCBeatsZeroWeights(t *testing.T) {
	data := unbalanced(3000, 10)
	second := 0.0
	for _, y := range data.Y {
		second += y
	}
	for _, C := range []float64{1e-5, 1e-4, 1e-3, 1e-2} {
		hinge, tube := NewSVM(), NewSVR()
		hinge.Loss, hinge.C, tube.C = "hinge", C, C
		for name, s := range map[string]Estimator{"svm": hinge, "svr": tube} {
			p, err := s.Fit(context.Background(), data)
			if err != nil {
				t.Fatal(err)
			}
			trivial := C * second // of the median 0
			if name == "svm" {
				trivial *= 2
			}
			if r := p.(Reporter).Report(); !r.Converged || r.Objective > trivial*(1+1e-12) || r.Iterations > 50 {
				t.Errorf("%s, C %v: %+v, without weights %v", name, C, r, trivial)
			}
		}
	}
}

// Where the passes are at their end, the best model met is returned, with a warning.
func TestTooFewPassesReturnTheBest(t *testing.T) {
	data := unbalanced(300, 10)
	last := math.Inf(1)
	for _, passes := range []int{10, 15, 22, 33} { // at which all rows are looked at
		s := NewSVM()
		s.Loss, s.C, s.Tol, s.MaxIter = "hinge", 1, 1e-12, passes
		p, err := s.Fit(context.Background(), data)
		if err != nil {
			t.Fatal(err)
		}
		r := p.(Reporter).Report()
		if r.Converged || len(r.Warnings) == 0 || r.Iterations != passes || r.Objective > last {
			t.Errorf("%d passes: %+v, fewer reach %v", passes, r, last)
		}
		last = r.Objective
	}
}

func TestNonFiniteFitIsError(t *testing.T) {
	data := unbalanced(40, 3)
	hinge := NewSVM()
	hinge.Loss = "hinge"
	huge, tube := hinge, NewSVR()
	huge.C, tube.C = 1e308, 1e308
	for _, s := range []Estimator{huge, tube} {
		if _, err := s.Fit(context.Background(), data); !errors.Is(err, solve.ErrDiverged) {
			t.Errorf("%T: %v", s, err)
		}
	}
	folds := []datasets.Fold{{Train: []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19},
		Test: []int{20}}}
	_, err := hinge.FitBatch(context.Background(), batch.Job{Data: data, Folds: folds,
		Candidates: batch.Candidates(huge, hinge), Yield: func(candidate, _ int, one batch.Outcome) error {
			if failed := errors.Is(one.Err, solve.ErrDiverged); failed != (candidate == 0) || candidate == 1 && one.Err != nil {
				t.Errorf("candidate %d: %v", candidate, one.Err)
			}
			return nil
		}})
	if err != nil {
		t.Error(err)
	}
}

// The bar is the trivial model's objective, to the tolerance.
func TestBar(t *testing.T) {
	l := &design.Labels{Y: []float64{0, 1, 1, 1, 0, 1}, Weights: []float64{1, 2, 0, 0.5, 3, 1},
		Classes: []string{"a", "b"}}
	l.Absent = make([]bool, 2)
	for _, intercept := range []bool{true, false} {
		svm, logistic, tube := NewSVM(), NewLogistic(), NewSVR()
		svm.Intercept, logistic.Intercept, tube.Intercept = intercept, intercept, intercept
		tube.Loss, tube.Epsilon = "squared_epsilon_insensitive", 0.1
		const tol = 1e-6
		svm.Tol, logistic.Tol, tube.Tol = tol, tol, tol
		for name, c := range map[string]struct {
			task descent.Task
			bar  float64
		}{"svm": {svm.descent(l), svm.newton(l).ObjectiveBound}, "logistic": {logistic.descent(l),
			logistic.newton(l).ObjectiveBound}, "svr": {tube.descent(l), tube.tubeBar(l)}} {
			if want := c.task.Trivial(0); c.bar < want || c.bar > want+2e-5 {
				t.Errorf("%s, intercept %v: %v, want %v", name, intercept, c.bar, want)
			}
		}
	}
	for _, objective := range []float64{1.001, math.NaN(), math.Inf(1)} {
		if err := solve.CheckObjective(Report{Objective: objective}, 1); !errors.Is(err, solve.ErrDiverged) {
			t.Errorf("objective %v: %v", objective, err)
		}
	}
	if err := solve.CheckObjective(Report{Objective: 1}, 1); err != nil {
		t.Error(err)
	}
}
