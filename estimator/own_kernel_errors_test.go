package estimator_test

import (
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/transformer"
)

// Gram matrices that are not square, symmetric or positive definite are errors, the last a warning of
// support vector machines.
func TestGramMatricesAreChecked(t *testing.T) {
	train, _, codes := kernelData(20)
	K := gramOf(train.X, train.X)
	asymmetric, negative, nonzero := mat.DenseCopyOf(K), mat.DenseCopyOf(K), mat.DenseCopyOf(K)
	asymmetric.Set(3, 7, K.At(3, 7)+1e-6)
	nonzero.Set(3, 7, K.At(3, 7)+1e-10)
	for i := range 20 {
		negative.Set(i, i, K.At(i, i)-0.5)
	}
	for name, spec := range ownSpecs(t, "precomputed") {
		for _, c := range []struct {
			X       mat.Matrix
			want    string
			warning bool
		}{
			{K.Slice(0, 20, 0, 19), "must be square, got 20×19", false},
			{asymmetric, "must be symmetric", false},
			{nonzero, "", false},
			{negative, "has an eigenvalue below −1e-8", strings.Contains(name, "svm") || strings.Contains(name, "svr")},
			{scaled(-1, K), "has an eigenvalue below −1e-8", strings.Contains(name, "svm") || strings.Contains(name, "svr")},
		} {
			data := train
			data.X = c.X
			if isClassifier(name) {
				data.Y = codes
			}
			fitted, err := spec.Fit(t.Context(), data)
			switch {
			case c.warning && err == nil:
				list := fitted.(interface{ Report() estimator.Report }).Report().Warnings
				if !strings.Contains(strings.Join(list, "\n"), c.want) {
					t.Errorf("%s: warnings %q, want one of %q", name, list, c.want)
				}
			case c.want == "" && err != nil:
				t.Errorf("%s: %v", name, err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%s: error %v, want %q", name, err, c.want)
			}
		}
		data := train
		data.X = K
		if isClassifier(name) {
			data.Y = codes
		}
		fitted, err := spec.Fit(t.Context(), data)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fitted.Predict(t.Context(), K.Slice(0, 5, 0, 19)); err == nil ||
			!strings.Contains(err.Error(), "20") || !strings.Contains(err.Error(), "19") {
			t.Errorf("%s: prediction of rows of 19 values: %v", name, err)
		}
	}
}

func scaled(by float64, K *mat.Dense) *mat.Dense {
	out := mat.NewDense(K.RawMatrix().Rows, K.RawMatrix().Cols, nil)
	out.Scale(by, K)
	return out
}

// Panics and other errors of a registered kernel are errors of the fit, and of predictions.
func TestFaultsOfRegisteredKernelsAreErrors(t *testing.T) {
	late := false
	for name, f := range map[kernel.Name]kernel.Func{
		"own_panic":      func(x, y []float64) float64 { return x[len(x)] },
		"own_asymmetric": func(x, y []float64) float64 { return ownGauss(x, y) * (1 + x[0]*x[0]) },
		"own_infinite":   func(x, y []float64) float64 { return 1 / (x[0] - y[0]) },
		"own_late": func(x, y []float64) float64 {
			if late {
				panic("late")
			}
			return ownGauss(x, y)
		},
	} {
		if err := kernel.Register(name, f); err != nil {
			t.Fatal(err)
		}
	}
	train, test, codes := kernelData(20)
	for kernelName, want := range map[kernel.Name]string{"own_panic": "panic in kernel.Func.own_panic: runtime error: index",
		"own_asymmetric": "kernel own_asymmetric must be symmetric", "own_infinite": "values that are not finite"} {
		for name, spec := range ownSpecs(t, kernelName) {
			data := train
			if isClassifier(name) {
				data.Y = codes
			}
			if _, err := spec.Fit(t.Context(), data); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want %q", name, err, want)
			}
		}
	}
	for name, spec := range ownSpecs(t, "own_late") {
		data := train
		if isClassifier(name) {
			data.Y = codes
		}
		late = false
		fitted, err := spec.Fit(t.Context(), data)
		if err != nil {
			t.Fatal(err)
		}
		late = true
		if _, err := fitted.Predict(t.Context(), test); err == nil ||
			!strings.Contains(err.Error(), "panic in kernel.Func.own_late: late") {
			t.Errorf("%s: prediction: %v", name, err)
		}
	}
}

// Names that are not registered, taken, or without a spectral density are errors with a remedy.
func TestNamesOfOwnKernels(t *testing.T) {
	for _, c := range []struct {
		spec       any
		name, want string
	}{
		{estimator.NewKernelRidge(), "unregistered_kernel", "call kernel.Register"},
		{transformer.NewRFF(), "own_gauss", "own_gauss has no spectral density; use it in nystroem"},
		{transformer.NewRFF(), "precomputed", "precomputed has no spectral density"},
	} {
		_, err := param.With(c.spec, param.Setting{Path: "kernel", Value: c.name})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
	for _, name := range []kernel.Name{"own_gauss", "gaussian", "precomputed", "", "a b"} {
		if err := kernel.Register(name, ownGauss); err == nil {
			t.Errorf("kernel.Register accepts %q", name)
		}
	}
	if err := kernel.Register("own_nil", nil); err == nil {
		t.Error("kernel.Register accepts no function")
	}
}
