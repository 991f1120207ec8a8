package estimator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/matrices"
)

// smooth are rows with two targets that are a smooth function of them, and weights.
func smooth(n, d int) datasets.Set {
	rng := rand.New(rand.NewPCG(7, uint64(n)))
	X, Y, weights := mat.NewDense(n, d, nil), mat.NewDense(n, 2, nil), make([]float64, n)
	for i := range n {
		for j := range d {
			X.Set(i, j, rng.NormFloat64())
		}
		Y.Set(i, 0, 4+math.Sin(X.At(i, 0)+X.At(i, 1))+0.1*rng.NormFloat64())
		Y.Set(i, 1, X.At(i, 0)*X.At(i, 1)+0.1*rng.NormFloat64())
		weights[i] = 0.5 + rng.Float64()
	}
	return datasets.Set{X: X, Targets: Y, Weights: weights}
}

// densely predicts by the solution of the dense bordered system.
func densely(t *testing.T, s estimator.KernelRidge, data datasets.Set, query mat.Matrix) *mat.Dense {
	t.Helper()
	k, _ := spectral.FourierKernel(string(s.Kernel), spectral.Shape{Nu: s.Nu, Alpha: s.Shape})
	n, d := data.X.Dims()
	factor := k.Factors(slices.Repeat(s.Gamma.Fixed(), d)[:d])
	K, err := k.Matrix(context.Background(), factor, data.X, data.X)
	if err != nil {
		t.Fatal(err)
	}
	cross, _ := k.Matrix(context.Background(), factor, query, data.X)
	_, outputs := data.Targets.Dims()
	A, b := mat.NewDense(n+1, n+1, nil), mat.NewDense(n+1, outputs, nil)
	A.Set(n, n, 1)
	for i := range n {
		for j := range n {
			A.Set(i, j, K.At(i, j))
		}
		A.Set(i, i, 1+s.Alpha/data.Weights[i])
		if s.Intercept {
			A.Set(i, n, 1)
			A.Set(n, i, 1)
			A.Set(n, n, 0)
		}
		for j := range outputs {
			b.Set(i, j, data.Targets.At(i, j))
		}
	}
	var a, out mat.Dense
	if err := a.Solve(A, b); err != nil {
		t.Fatal(err)
	}
	out.Mul(cross, a.Slice(0, n, 0, outputs))
	out.Apply(func(_, j int, v float64) float64 { return v + a.At(n, j) }, &out)
	return &out
}

func nearly(t *testing.T, what string, got, want mat.Matrix, tolerance float64) {
	t.Helper()
	var diff mat.Dense
	diff.Sub(got, want)
	if largest := mat.Max(absolute(&diff)); !(largest <= tolerance*mat.Max(absolute(want))) {
		t.Errorf("%s: %.2g away, want %.2g", what, largest/mat.Max(absolute(want)), tolerance)
	}
}

func absolute(m mat.Matrix) *mat.Dense {
	var out mat.Dense
	out.Apply(func(_, _ int, v float64) float64 { return math.Abs(v) }, m)
	return &out
}

func predictTargets(t *testing.T, spec estimator.Estimator, data datasets.Set, query mat.Matrix) (*mat.Dense,
	estimator.Report) {
	t.Helper()
	fitted, err := spec.Fit(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	out, err := estimator.Predict(context.Background(), fitted, query, estimator.Request{Outputs: estimator.OutputTargets})
	if err != nil {
		t.Fatal(err)
	}
	return out.Targets, fitted.(estimator.Reporter).Report()
}

func TestKernelRidgeIsTheDenseSolution(t *testing.T) {
	data := smooth(150, 3)
	query := smooth(20, 3).X
	for _, name := range spectral.FourierKernels {
		for _, intercept := range []bool{true, false} {
			s := estimator.NewKernelRidge()
			s.Kernel, s.Nu, s.Shape, s.Gamma, s.Alpha, s.Intercept = kernel.Name(name), 1.5, 2, kernel.FixedGamma(0.3), 0.05, intercept
			if name == "gaussian" {
				s.Gamma = kernel.FixedGamma(0.3, 0.1, 0.5)
			}
			want := densely(t, s, data, query)
			s.Solver = "cholesky"
			got, r := predictTargets(t, s, data, query)
			nearly(t, name+" by cholesky", got, want, 1e-10)
			if !r.Converged || r.Gradient > 1e-10 {
				t.Errorf("%s: %+v", name, r)
			}
			s.Solver, s.Tol, s.Rank = "cg", 1e-11, 50
			got, r = predictTargets(t, s, data, query)
			nearly(t, name+" by cg", got, want, 1e-8)
			steps := r.Iterations
			s.Preconditioner = "none"
			got, r = predictTargets(t, s, data, query)
			nearly(t, name+" without preconditioner", got, want, 1e-8)
			if steps >= r.Iterations {
				t.Errorf("%s: %d steps with a preconditioner, %d without", name, steps, r.Iterations)
			}
		}
	}
}

// TestKernelRidgeMatchesScikitLearn compares with KernelRidge(kernel="precomputed") of
// scikit-learn 1.9.1, with its own kernels.
func TestKernelRidgeMatchesScikitLearn(t *testing.T) {
	var file struct {
		X, Y, Query [][]float64
		Weights     []float64
		Cases       []struct {
			Kernel                  string
			Gamma, Nu, Shape, Alpha float64
			Weighted                bool
			Predictions             [][]float64
		}
	}
	text, err := os.ReadFile("testdata/kernel_ridge.json")
	if err == nil {
		err = json.Unmarshal(text, &file)
	}
	if err != nil || len(file.Cases) == 0 {
		t.Fatal(err)
	}
	for _, c := range file.Cases {
		s := estimator.NewKernelRidge()
		s.Kernel, s.Nu, s.Shape, s.Gamma, s.Alpha, s.Intercept = kernel.Name(c.Kernel), c.Nu, c.Shape, kernel.FixedGamma(c.Gamma), c.Alpha,
			false
		data := datasets.Set{X: matrixOf(file.X), Targets: matrixOf(file.Y)}
		if c.Weighted {
			data.Weights = file.Weights
		}
		got, _ := predictTargets(t, s, data, matrixOf(file.Query))
		nearly(t, fmt.Sprintf("%s, nu %v, alpha %v, weighted %v", c.Kernel, c.Nu, c.Alpha, c.Weighted), got,
			matrixOf(c.Predictions), 1e-10)
	}
}

func matrixOf(rows [][]float64) *mat.Dense {
	out := mat.NewDense(len(rows), len(rows[0]), nil)
	for i, row := range rows {
		out.SetRow(i, row)
	}
	return out
}

// The columns of a factor of the kernel matrix are features whose ridge regression it is, intercept
// and weights included.
func TestKernelRidgeIsRidgeOnTheKernelsFeatures(t *testing.T) {
	data := smooth(80, 3)
	k, _ := spectral.FourierKernel("exponential", spectral.Shape{})
	K, err := k.Matrix(context.Background(), k.Factors([]float64{0.5, 0.5, 0.5}), data.X, data.X)
	if err != nil {
		t.Fatal(err)
	}
	sym := mat.NewSymDense(80, nil)
	for i := range 80 {
		for j := range i + 1 {
			sym.SetSym(i, j, K.At(i, j))
		}
	}
	var chol mat.Cholesky
	var l mat.TriDense
	if !chol.Factorize(sym) {
		t.Fatal("no factor")
	}
	chol.LTo(&l)
	features := data
	features.X = mat.DenseCopyOf(&l)
	ridge, s := estimator.NewRidge(), estimator.NewKernelRidge()
	ridge.Alpha, s.Alpha, s.Kernel, s.Gamma = 0.3, 0.3, "exponential", kernel.FixedGamma(0.5)
	want, report := predictTargets(t, ridge, features, features.X)
	got, own := predictTargets(t, s, data, data.X)
	nearly(t, "predictions", got, want, 1e-9)
	if math.Abs(own.Objective-report.Objective) > 1e-9*report.Objective {
		t.Errorf("objective %v, ridge has %v", own.Objective, report.Objective)
	}
}

// TestKernelRidgeOfRowsOfOtherKinds checks that float32 and sparse rows give the same fit and
// predictions as dense rows, and that a rule for gamma includes the zeros that are not stored.
func TestKernelRidgeOfRowsOfOtherKinds(t *testing.T) {
	data := smooth(120, 4)
	X := data.X.(*mat.Dense)
	for i := range 120 {
		for j := range 4 {
			if v := X.At(i, j); v < 0 {
				X.Set(i, j, 0)
			} else {
				X.Set(i, j, float64(float32(v)))
			}
		}
	}
	for _, rule := range []kernel.Gamma{kernel.GammaScale(), kernel.GammaMedian(), kernel.FixedGamma(1)} {
		for _, solver := range []string{"cholesky", "cg"} {
			s := estimator.NewKernelRidge()
			s.Gamma, s.Solver, s.Alpha, s.Tol = rule, solver, 0.1, 1e-10
			want, _ := predictTargets(t, s, data, X)
			for _, other := range []mat.Matrix{matrices.CSRFromDense(X), matrices.CopyDense32(X)} {
				of := data
				of.X = other
				got, _ := predictTargets(t, s, of, other)
				nearly(t, fmt.Sprintf("%T by %s", other, solver), got, want, 1e-7)
			}
		}
	}
}

// TestKernelRidgeBatches checks that a batch over penalties, kernels and widths agrees with
// separate fits, for both solvers.
func TestKernelRidgeBatches(t *testing.T) {
	data := smooth(150, 3)
	folds, err := datasets.KFold{Folds: 3}.Split(data)
	if err != nil {
		t.Fatal(err)
	}
	for solver, name := range map[string]string{"cholesky": "alpha", "cg": "alpha"} {
		var specs []estimator.Estimator
		for _, alpha := range []float64{0.1, 1, 0.01} {
			for _, k := range []string{"gaussian", "exponential"} {
				s := estimator.NewKernelRidge()
				s.Kernel, s.Alpha, s.Solver, s.Tol, s.Rank = kernel.Name(k), alpha, solver, 1e-10, 30
				specs = append(specs, s)
			}
		}
		outcomes := map[[2]int]batch.Outcome{}
		b := batch.Job{Data: data, Folds: folds, Candidates: batch.Candidates(specs...),
			Yield: func(c, f int, out batch.Outcome) error { outcomes[[2]int{c, f}] = out; return out.Err }}
		shared, err := specs[0].(batch.Fitter).FitBatch(context.Background(), b)
		if err != nil || !slices.Contains(shared, name) || len(outcomes) != len(specs)*len(folds) {
			t.Fatal(solver, len(outcomes), shared, err)
		}
		for at, out := range outcomes {
			fold := folds[at[1]]
			want, _ := predictTargets(t, specs[at[0]], data.Select(fold.Train), rowblock.Select(data.X, fold.Test))
			nearly(t, fmt.Sprint(solver, at), out.Targets, want, 1e-7)
		}
	}
}

// TestKernelRidgeGCV checks that the score of generalized cross-validation matches its definition.
func TestKernelRidgeGCV(t *testing.T) {
	data := smooth(60, 2)
	data.Weights = nil
	s := estimator.NewKernelRidge()
	s.Alpha, s.Gamma, s.Intercept = 0.2, kernel.FixedGamma(0.5), false
	var out batch.Outcome
	all := make([]int, 60)
	for i := range all {
		all[i] = i
	}
	_, err := s.FitBatch(context.Background(), batch.Job{Data: data, Folds: []datasets.Fold{{Train: all, Test: all}},
		LeaveOneOut: true, GCV: true,
		Candidates: batch.Candidates(s), Yield: func(_, _ int, o batch.Outcome) error { out = o; return o.Err }})
	if err != nil {
		t.Fatal(err)
	}
	k, _ := spectral.FourierKernel("gaussian", spectral.Shape{})
	K, _ := k.Matrix(context.Background(), k.Factors([]float64{0.5, 0.5}), data.X, data.X)
	var lifted, inverse, hat, fit mat.Dense
	lifted.CloneFrom(K)
	for i := range 60 {
		lifted.Set(i, i, 1.2)
	}
	if err := inverse.Inverse(&lifted); err != nil {
		t.Fatal(err)
	}
	hat.Mul(K, &inverse)
	left := 1 - mat.Trace(&hat)/60
	fit.Mul(&hat, data.Targets)
	for j := range 2 {
		want, got := 0.0, 0.0
		for i := range 60 {
			e := (data.Targets.At(i, j) - fit.At(i, j)) / left
			want += e * e
			e = data.Targets.At(i, j) - out.Targets.At(i, j)
			got += e * e
		}
		if math.Abs(got-want) > 1e-9*want {
			t.Errorf("target %d: %v, want %v", j, got/60, want/60)
		}
	}
}

func TestKernelRidgeRefuses(t *testing.T) {
	ctx := context.Background()
	data := smooth(30, 3)
	s := estimator.NewKernelRidge()
	pred := func(what string, err error, want ...string) {
		t.Helper()
		for _, w := range append(want, "kernel_ridge") {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v, want %s", what, err, w)
			}
		}
	}
	s.Gamma = kernel.FixedGamma(1, 2)
	_, err := s.Fit(ctx, data)
	pred("two numbers of gamma", err, "gamma must have 1 or 3 values, got 2")
	s = estimator.NewKernelRidge()
	s.Alpha, s.Kernel = 0, "gauss"
	_, err = s.Fit(ctx, data)
	pred("bad parameters", err, "alpha", "kernel", "must be gaussian")
	s = estimator.NewKernelRidge()
	huge := data
	huge.X = mat.DenseCopyOf(data.X)
	huge.X.(*mat.Dense).Set(3, 1, 1e300)
	s.Gamma = kernel.FixedGamma(1)
	_, err = s.Fit(ctx, huge)
	pred("huge inputs", err, "overflow", "standardize")
	classes := data
	classes.Targets, classes.Y = nil, make([]float64, 30)
	classes.Schema.Targets = []datasets.Column{{Name: "kind", Kind: datasets.Categorical, Categories: []string{"a", "b"}}}
	_, err = s.Fit(ctx, classes)
	pred("classes", err, "kernel_ridge_classifier (estimator.NewKernelRidgeClassifier)")
	s.Gamma = kernel.GammaScale()
	_, err = estimator.PlanBatch(batch.Job{LeaveOneOut: true, Candidates: batch.Candidates(s)})
	if err == nil || !strings.Contains(err.Error(), "requires a fixed gamma") {
		t.Error(err)
	}

	const many = 4_000_000 // a factor of 10¹⁴ bytes
	large := datasets.Set{X: mat.NewDense(many, 1, nil), Y: make([]float64, many)}
	s.Solver = "cholesky"
	if _, err = s.Fit(ctx, large); !errors.Is(err, memory.ErrTooLarge) {
		t.Error(err)
	}
	large.Y[0] = 1
	c := estimator.NewKernelRidgeClassifier()
	c.Solver = "cholesky"
	if _, err = c.Fit(ctx, large); !errors.Is(err, memory.ErrTooLarge) {
		t.Error(err)
	}
}

// Not to converge is a warning and a report, not an error.
func TestKernelRidgeWarns(t *testing.T) {
	s := estimator.NewKernelRidge()
	s.Solver, s.Preconditioner, s.MaxIter, s.Alpha = "cg", "none", 2, 1e-4
	_, r := predictTargets(t, s, smooth(200, 3), smooth(2, 3).X)
	if r.Converged || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "residual") || r.Iterations != 2 {
		t.Errorf("%+v", r)
	}
}
