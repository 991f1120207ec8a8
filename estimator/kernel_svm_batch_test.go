package estimator_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/kernel"
)

// machines are candidates of a path along C for each γ, and an invalid one, with rows of three classes or two targets.
func machines() (classes, numbers []estimator.Estimator, y []float64, data datasets.Set) {
	for _, gamma := range []float64{0.1, 0.5} {
		for _, C := range []float64{10, 0.1, 1} {
			s, r := estimator.NewKernelSVM(), estimator.NewKernelSVR()
			s.C, s.Gamma, s.Tol, s.ClassWeight.Balanced = C, kernel.FixedGamma(gamma), 1e-10, gamma > 0.2
			r.C, r.Gamma, r.Tol = C, kernel.FixedGamma(gamma), 1e-10
			classes, numbers = append(classes, s), append(numbers, r)
		}
	}
	s, r := estimator.NewKernelSVM(), estimator.NewKernelSVR()
	s.C, r.Epsilon = -1, -1
	data = smooth(120, 3)
	data.Y, data.Targets = mat.Col(nil, 0, data.Targets), nil
	for i := range 120 {
		y = append(y, float64((i+i/7)%3))
	}
	return append(classes, s), append(numbers, r), y, data
}

func TestKernelSVMBatchIsTheSameAsSeparateFits(t *testing.T) {
	classes, numbers, y, data := machines()
	folds := foldsOf(120, 3)
	got, shared := fitBatch(t, data, folds, numbers)
	if !slices.Equal(shared, []string{"path"}) {
		t.Errorf("shares %q", shared)
	}
	equalsNaive(t, data, folds, numbers, got)
	data.Y = y
	got, _ = fitBatch(t, data, folds, classes)
	equalsNaive(t, data, folds, classes, got)
}

// TestKernelSVMBatchKernels covers kernels with and without shared distances, γ given by a rule or as a
// list, a cache that is too small, rows used by no fold, twice or by some folds, and weights of 0.
func TestKernelSVMBatchKernels(t *testing.T) {
	var list []estimator.Estimator
	for _, name := range []kernel.Name{"gaussian", "laplacian", "cauchy", "matern", "rational_quadratic"} {
		for _, gamma := range []kernel.Gamma{kernel.GammaScale(), kernel.FixedGamma(0.2),
			kernel.FixedGamma(0.1, 2, 0.3)} {
			for _, C := range []float64{1, 30} {
				s := estimator.NewKernelSVR()
				s.Kernel, s.Gamma, s.C, s.Tol = name, gamma, C, 1e-10
				list = append(list, s)
			}
		}
	}
	data := smooth(300, 3)
	data.Y, data.Targets = mat.Col(nil, 0, data.Targets), nil
	data.Weights = slices.Repeat([]float64{1, 0, 0.5}, 100)
	for i := range 300 {
		data.X.(*mat.Dense).Set(i, 0, 1000+50*data.X.At(i, 0)) // far from 0, of another scale
	}
	folds := foldsOf(300, 3)
	folds[0].Train = append(folds[0].Train[20:], folds[0].Train[100:120]...)
	folds[1] = datasets.Fold{Train: folds[1].Train[:50], Test: folds[1].Test[:9]}
	got, _ := fitBatch(t, data, folds, list)
	equalsNaive(t, data, folds, list, got)
	for i, e := range list {
		s := e.(estimator.KernelSVR)
		s.Cache = 1
		list[i] = s
	}
	got, _ = fitBatch(t, data, folds, list[:6])
	equalsNaive(t, data, folds, list[:6], got)
	// A row that is not finite is an error of its folds only.
	bad := slices.Max(folds[0].Test)
	data.X.(*mat.Dense).Set(bad, 1, math.NaN())
	folds[2] = datasets.Fold{Train: folds[1].Train[10:], Test: folds[1].Train[:10]}
	folds[1].Test = append(folds[1].Test, bad)
	got, _ = fitBatch(t, data, folds, list[:2])
	for at, out := range got {
		if failed := out.Err != nil; failed != (at[1] < 2) {
			t.Errorf("candidate and fold %v: error %v", at, out.Err)
		}
	}
}

// TestKernelSVMBatchDoesNotDependOnCores checks that the bits do not depend on the number of cores, and
// that the scores equal those of separate fits within the tolerance.
func TestKernelSVMBatchDoesNotDependOnCores(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	data := smooth(400, 3)
	data.Y, data.Targets = mat.Col(nil, 0, data.Targets), nil
	for i, v := range data.Y {
		data.Y[i] = map[bool]float64{true: 1}[v+0.3*math.Sin(float64(i*i)) > 4]
	}
	var list []estimator.Estimator
	for _, gamma := range []float64{0.01, 1} {
		for _, C := range []float64{0.1, 10, 300} {
			s := estimator.NewKernelSVM()
			s.Gamma, s.C = kernel.FixedGamma(gamma), C
			list = append(list, s)
		}
	}
	folds := foldsOf(400, 5)
	want, _ := fitBatch(t, data, folds, list)
	for _, cores := range []int{1, 5} {
		runtime.GOMAXPROCS(cores)
		got, _ := fitBatch(t, data, folds, list)
		for at, out := range got {
			if !reflect.DeepEqual(out.Prediction, want[at].Prediction) {
				t.Errorf("candidate and fold %v: another prediction on %d cores", at, cores)
			}
		}
	}
	for at, out := range want {
		p := fit(t, list[at[0]], data.Select(folds[at[1]].Train))
		one, err := estimator.Predict(t.Context(), p, rowblock.Select(data.X, folds[at[1]].Test), estimator.Request{})
		if err != nil {
			t.Fatal(err)
		}
		near(t, fmt.Sprint("candidate and fold ", at), out.Scores.RawMatrix().Data, one.Scores.RawMatrix().Data, 0.05)
	}
}

// TestKernelSVMBatchDoesNotDependOnWhatIsIncluded checks that excluding candidates does not change
// the bits of the others.
func TestKernelSVMBatchDoesNotDependOnWhatIsIncluded(t *testing.T) {
	classes, _, y, data := machines()
	data.Y = y
	folds := foldsOf(120, 3)
	all, _ := fitBatch(t, data, folds, classes)
	b := jobOf(data, folds, classes, func(candidate, fold int, out batch.Outcome) error {
		if candidate != 2 || fold != 1 {
			t.Errorf("candidate %d on fold %d is not included", candidate, fold)
		}
		if want := all[[2]int{2, 1}]; !reflect.DeepEqual(out.Prediction, want.Prediction) {
			t.Error("another prediction")
		}
		return nil
	})
	b.Include = func(candidate, fold int) bool { return candidate == 2 && fold == 1 }
	if _, err := classes[0].(batch.Fitter).FitBatch(context.Background(), b); err != nil {
		t.Fatal(err)
	}
}

func TestKernelSVMBatchErrors(t *testing.T) {
	classes, _, y, data := machines()
	data.Y = y
	enough, calls := errors.New("enough"), 0
	b := jobOf(data, foldsOf(120, 3), classes, func(int, int, batch.Outcome) error { calls++; return enough })
	if _, err := estimator.NewKernelSVM().FitBatch(context.Background(), b); err != enough || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := estimator.NewKernelSVM().FitBatch(ctx, b); !errors.Is(err, context.Canceled) || calls != 1 {
		t.Errorf("canceled: %v", err)
	}
	b.LeaveOneOut = true
	if _, err := estimator.FitBatch(context.Background(), b); !errors.Is(err, batch.ErrNoLeaveOneOut) {
		t.Errorf("leave-one-out: %v", err)
	}
	if _, err := estimator.PlanBatch(b); !errors.Is(err, batch.ErrNoLeaveOneOut) {
		t.Errorf("plan of leave-one-out: %v", err)
	}
	// A fold without a class has an error for each candidate.
	one := datasets.Set{X: data.X, Y: slices.Repeat([]float64{1}, 120)}
	got, _ := fitBatch(t, one, foldsOf(120, 2), classes)
	for at, out := range got {
		if out.Err == nil {
			t.Errorf("candidate and fold %v: no error", at)
		}
	}
}
