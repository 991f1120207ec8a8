package estimator_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/share"
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

// What is not included changes no bit of the rest.
func TestKernelSVMBatchDoesNotDependOnWhatIsIncluded(t *testing.T) {
	classes, _, y, data := machines()
	data.Y = y
	folds := foldsOf(120, 3)
	all, _ := fitBatch(t, data, folds, classes)
	b := batch(data, folds, classes, func(candidate, fold int, out share.Outcome) error {
		if candidate != 2 || fold != 1 {
			t.Errorf("candidate %d on fold %d is not included", candidate, fold)
		}
		if want := all[[2]int{2, 1}]; !reflect.DeepEqual(out.Prediction, want.Prediction) {
			t.Error("another prediction")
		}
		return nil
	})
	b.Include = func(candidate, fold int) bool { return candidate == 2 && fold == 1 }
	if _, err := classes[0].(share.BatchFitter).FitBatch(context.Background(), b); err != nil {
		t.Fatal(err)
	}
}

func TestKernelSVMBatchErrors(t *testing.T) {
	classes, _, y, data := machines()
	data.Y = y
	enough, calls := errors.New("enough"), 0
	b := batch(data, foldsOf(120, 3), classes, func(int, int, share.Outcome) error { calls++; return enough })
	if _, err := estimator.NewKernelSVM().FitBatch(context.Background(), b); err != enough || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := estimator.NewKernelSVM().FitBatch(ctx, b); !errors.Is(err, context.Canceled) || calls != 1 {
		t.Errorf("canceled: %v", err)
	}
	b.LeaveOneOut = true
	if _, err := estimator.NewKernelSVM().FitBatch(context.Background(), b); !errors.Is(err, share.ErrNoLeaveOneOut) {
		t.Errorf("leave-one-out: %v", err)
	}
	if _, err := estimator.NewKernelSVM().PlanBatch(b); !errors.Is(err, share.ErrNoLeaveOneOut) {
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
