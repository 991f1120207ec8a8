package estimator_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/internal/descent"
	"github.com/bochner-ml/bochner/estimator/internal/newton"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
	"github.com/bochner-ml/bochner/matrices"
)

// wideTarget are a few rows of many columns and a class each, of which the schema lists more.
func wideTarget(t *testing.T, columns, classes int) datasets.Set {
	t.Helper()
	const n = 20
	indptr, indices, values := []int{0}, []uint32{}, []float64{}
	y := make([]float64, n)
	for i := range n {
		indptr, indices, values = append(indptr, i+1), append(indices, uint32(i)), append(values, float64(i))
		y[i] = float64(i)
	}
	X, err := matrices.NewCSR(n, columns, indptr, indices, values)
	if err != nil {
		t.Fatal(err)
	}
	levels := make([]string, classes)
	for i := range levels {
		levels[i] = fmt.Sprint(i)
	}
	return datasets.Set{X: X, Y: y, Schema: datasets.Schema{Targets: []datasets.Column{{Name: "class",
		Kind: datasets.Categorical, Categories: levels}}}}
}

// TestFitChecksMemory checks that a model whose weights exceed memory is rejected
// before allocation, with every solver.
func TestFitChecksMemory(t *testing.T) {
	data := wideTarget(t, 1<<24, 1_000_000) // 10¹⁴ bytes of weights
	hinge := estimator.NewSVM()
	hinge.Loss = "hinge"
	for _, spec := range []estimator.Estimator{estimator.NewLogistic(), estimator.NewSVM(), hinge,
		estimator.NewRidgeClassifier()} {
		_, err := spec.Fit(context.Background(), data)
		if !errors.Is(err, memory.ErrTooLarge) {
			t.Errorf("%T: %v", spec, err)
		}
		if _, err := spec.(estimator.BlockEstimator).FitSource(context.Background(), data.Source()); !errors.Is(err,
			memory.ErrTooLarge) {
			t.Errorf("%T of a source: %v", spec, err)
		}
	}
	ridge := estimator.NewRidge()
	ridge.Solver = "cholesky"
	data.Y, data.Targets, data.Schema = nil, mat.NewDense(20, 2, nil), datasets.Schema{}
	if _, err := ridge.Fit(context.Background(), data); !errors.Is(err, memory.ErrTooLarge) {
		t.Errorf("the Gram matrix of ridge: %v", err)
	}
}

// The declared cost of a fit covers the weights, their vectors and the numbers of each row.
func TestCostKnowsOutputs(t *testing.T) {
	shape := datasets.Shape{Rows: 100_000, Cols: 1000, Outputs: 20_000}
	for _, spec := range []datasets.CostEstimator{estimator.NewLogistic(), estimator.NewSVM(),
		estimator.NewRidgeClassifier(), estimator.NewRidge()} {
		if cost := spec.Cost(shape); cost.Bytes < 8*1000*20_000 || cost.OutputWidth != 20_000 {
			t.Errorf("%T: %+v", spec, cost)
		}
		vast := datasets.Shape{Rows: 1 << 40, Cols: 1 << 26, Outputs: 1 << 30}
		if cost := spec.Cost(vast); cost.Bytes < 1<<60 {
			t.Errorf("%T: %+v", spec, cost)
		}
	}
	if cost := estimator.NewLogistic().Cost(shape); cost.Bytes < 16_000_000_000 {
		t.Errorf("logistic regression of 20,000 classes is to take %d bytes", cost.Bytes)
	}
}

// TestCostOfLogisticSolvers checks that the cost of logistic regression is that of its
// solver: coordinate descent if requested, for two classes.
func TestCostOfLogisticSolvers(t *testing.T) {
	dual := estimator.NewLogistic()
	dual.Solver = "dual"
	for _, c := range []struct {
		shape   datasets.Shape
		descent bool
	}{{datasets.Shape{Rows: 500, Cols: 20, Outputs: 1}, true}, {datasets.Shape{Rows: 500, Cols: 20, Outputs: 3}, false},
		{datasets.Shape{Rows: 500, Cols: 20, NonZeros: 3, Outputs: 1}, true}} {
		cost, want := dual.Cost(c.shape), newton.LogisticCost(c.shape)
		if c.descent {
			want = descent.LogisticCost(c.shape)
		}
		if cost != want {
			t.Errorf("%+v: %+v, want %+v", c.shape, cost, want)
		}
	}
	wide := datasets.Shape{Rows: 500, Cols: 1 << 22, NonZeros: 3, Outputs: 1}
	if cost := estimator.NewLogistic().Cost(wide); cost != descent.LogisticCost(wide) {
		t.Errorf("wide sparse rows: %+v", cost)
	}
}

// TestCostOfWidthOptimization checks that learning a single width with the exact kernel
// converges quickly from each of three starts, however many steps are allowed.
func TestCostOfWidthOptimization(t *testing.T) {
	data := drawnProcess(9, 200, []float64{3, 0.3}, 0.05, 1, 5)
	s := estimator.NewGaussianProcess()
	s.Features, s.Optimize = 100, []string{"gamma", "noise"}
	s.Steps = 200
	if n := fitProcess(t, s, data).Report().Iterations; n > 3*16 {
		t.Errorf("%d steps", n)
	}
	many := s.Cost(data.Shape())
	s.Steps = 16
	if some := s.Cost(data.Shape()); some != many {
		t.Errorf("%+v for 16 steps, %+v for 200", some, many)
	}
	if s.Steps = 8; !(s.Cost(data.Shape()).Flops < many.Flops) {
		t.Error("8 steps cost as much")
	}
}
