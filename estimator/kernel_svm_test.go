package estimator_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/testing/golden"
	"github.com/bochner-ml/bochner/kernel"
)

// vectorMachine is a fitted kernel machine.
type vectorMachine interface {
	estimator.FullPredictor
	SupportVectors() mat.Matrix
	Dual() *mat.Dense
	Intercept() []float64
	Rows() int
	String() string
}

// dualObjective is y'β − ε‖β‖₁ − ½β'Kβ of the dual weights of support vectors with targets y.
func dualObjective(t *testing.T, name string, gamma, epsilon float64, X mat.Matrix, dual, y []float64) float64 {
	t.Helper()
	k, _ := spectral.FourierKernel(name, spectral.Shape{Nu: 1.5, Alpha: 1})
	_, d := X.Dims()
	K, err := k.Matrix(context.Background(), k.Factors(slices.Repeat([]float64{gamma}, d)), X, X)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for i, b := range dual {
		sum += b*y[i] - epsilon*math.Abs(b)
		for j, c := range dual {
			sum -= b * c * K.At(i, j) / 2
		}
	}
	return sum
}

// targetsOf are the targets of rows of X that are in all.
func targetsOf(X mat.Matrix, all *mat.Dense, y []float64) (out []float64) {
	n, _ := X.Dims()
	for i := range n {
		for j := range y {
			if slices.Equal(mat.Row(nil, i, X), all.RawRowView(j)) {
				out = append(out, y[j])
				break
			}
		}
	}
	return out
}

func TestKernelSVMEqualsReference(t *testing.T) {
	for _, name := range []string{"gaussian_0.5", "gaussian_50", "laplacian_0.5", "laplacian_50"} {
		var in struct {
			X, X_test [][]float64
			Y         []float64
			C, Gamma  float64
			Kernel    string
		}
		var want struct {
			Dual_objective, Intercept float64
			Support                   int
			Decision                  []float64
		}
		golden.Load(t, "kernel_svm_"+name, &in, &want)
		s := estimator.NewKernelSVM()
		s.C, s.Kernel, s.Gamma, s.Tol = in.C, kernel.Name(in.Kernel), kernel.FixedGamma(in.Gamma), 1e-9
		X := matrix(in.X)
		f := fit(t, s, datasets.Set{X: X, Y: in.Y}).(vectorMachine)
		signs := targetsOf(f.SupportVectors(), X, in.Y)
		for i := range signs {
			signs[i] = 2*signs[i] - 1
		}
		dual := f.Dual().RawMatrix().Data
		near(t, name+" objective", []float64{dualObjective(t, in.Kernel, in.Gamma, 0, f.SupportVectors(), dual, signs)},
			[]float64{want.Dual_objective}, 1e-8)
		near(t, name+" intercept", f.Intercept(), []float64{want.Intercept}, 1e-5)
		got, err := f.PredictFull(context.Background(), matrix(in.X_test), estimator.Request{})
		if err != nil {
			t.Fatal(err)
		}
		near(t, name+" decision", got.Scores.RawMatrix().Data, want.Decision, 1e-5)
		if f.Rows() != want.Support || !strings.Contains(f.String(), fmt.Sprint(want.Support, " support vectors")) {
			t.Errorf("%s: %v, want %d support vectors", name, f, want.Support)
		}
	}
}

func TestKernelSVREqualsReference(t *testing.T) {
	for _, name := range []string{"gaussian", "laplacian"} {
		var in struct {
			X, X_test         [][]float64
			Y                 []float64
			C, Gamma, Epsilon float64
			Kernel            string
		}
		var want struct {
			Dual_objective, Intercept float64
			Predict                   []float64
		}
		golden.Load(t, "kernel_svr_"+name, &in, &want)
		s := estimator.NewKernelSVR()
		s.C, s.Epsilon, s.Kernel, s.Gamma, s.Tol = in.C, in.Epsilon, kernel.Name(in.Kernel), kernel.FixedGamma(in.Gamma), 1e-9
		X := matrix(in.X)
		f := fit(t, s, datasets.Set{X: X, Y: in.Y}).(vectorMachine)
		y, dual := targetsOf(f.SupportVectors(), X, in.Y), f.Dual().RawMatrix().Data
		near(t, name+" objective", []float64{dualObjective(t, in.Kernel, in.Gamma, in.Epsilon, f.SupportVectors(), dual, y)},
			[]float64{want.Dual_objective}, 1e-8)
		near(t, name+" intercept", f.Intercept(), []float64{want.Intercept}, 1e-5)
		got, err := f.Predict(context.Background(), matrix(in.X_test))
		if err != nil {
			t.Fatal(err)
		}
		near(t, name+" predict", got, want.Predict, 1e-5)
	}
}

// TestKernelSVMOfSeveralClasses checks that the machine of each class is the binary one against the
// rest.
func TestKernelSVMOfSeveralClasses(t *testing.T) {
	data := smooth(200, 3)
	y := make([]float64, 200)
	for i := range y {
		y[i] = float64((i + i/7) % 3)
	}
	s := estimator.NewKernelSVM()
	s.Tol = 1e-8
	ctx := context.Background()
	all := fit(t, s, datasets.Set{X: data.X, Y: y, Weights: data.Weights})
	got, err := estimator.Predict(ctx, all, data.X, estimator.Request{})
	if err != nil {
		t.Fatal(err)
	}
	for c := range 3 {
		rest := make([]float64, len(y))
		for i := range rest {
			if y[i] == float64(c) {
				rest[i] = 1
			}
		}
		one, err := estimator.Predict(ctx, fit(t, s, datasets.Set{X: data.X, Y: rest, Weights: data.Weights}), data.X,
			estimator.Request{})
		if err != nil {
			t.Fatal(err)
		}
		near(t, fmt.Sprint("scores of class ", c), mat.Col(nil, c, got.Scores), mat.Col(nil, 0, one.Scores), 1e-7)
	}
}

// A row of weight 2 is two rows, one of weight 0 none, and class weights multiply.
func TestKernelSVMWeights(t *testing.T) {
	data := smooth(80, 3)
	y, weights, list := make([]float64, 80), make([]float64, 80), []int{}
	for i := range y {
		if y[i] = float64(i % 2); data.Targets.At(i, 0) > 4 {
			y[i] = 1
		}
		weights[i] = float64(i % 3)
		for range int(weights[i] + y[i]*weights[i]) {
			list = append(list, i)
		}
	}
	repeated := mat.NewDense(len(list), 3, nil)
	var labels []float64
	for k, i := range list {
		repeated.SetRow(k, mat.Row(nil, i, data.X))
		labels = append(labels, y[i])
	}
	s := estimator.NewKernelSVM()
	s.Tol, s.Gamma, s.C = 1e-9, kernel.FixedGamma(0.4), 3
	want, err := estimator.Predict(context.Background(), fit(t, s, datasets.Set{X: repeated, Y: labels}), data.X,
		estimator.Request{})
	if err != nil {
		t.Fatal(err)
	}
	s.ClassWeight.Weights = map[string]float64{"1": 2}
	got, err := estimator.Predict(context.Background(), fit(t, s, datasets.Set{X: data.X, Y: y, Weights: weights}), data.X,
		estimator.Request{})
	if err != nil {
		t.Fatal(err)
	}
	nearly(t, "scores", got.Scores, want.Scores, 1e-7)
}

func TestKernelSVREdges(t *testing.T) {
	ctx := context.Background()
	data := smooth(30, 2)
	constant := datasets.Set{X: data.X, Y: slices.Repeat([]float64{7}, 30)}
	f := fit(t, estimator.NewKernelSVR(), constant).(vectorMachine)
	if got, err := f.Predict(ctx, data.X); err != nil || slices.Max(got) != 7 || slices.Min(got) != 7 {
		t.Errorf("a constant target: %v, %v", got, err)
	}
	s := estimator.NewKernelSVR()
	s.MaxIter = 1
	many := datasets.Set{X: data.X, Y: mat.Col(nil, 1, data.Targets)}
	p, err := s.Fit(ctx, many)
	if err != nil {
		t.Fatal(err)
	}
	if r := p.(estimator.Reporter).Report(); r.Converged || len(r.Warnings) != 1 {
		t.Errorf("after a step: %+v", r)
	}
	far := datasets.Set{X: data.X, Y: slices.Clone(many.Y)}
	for i := range far.Y {
		far.Y[i] *= 1e200
	}
	if _, err := s.Fit(ctx, far); err == nil || !strings.Contains(err.Error(), "overflows") {
		t.Errorf("targets of 1e200: %v", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := estimator.NewKernelSVR().Fit(ctx, many); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}
