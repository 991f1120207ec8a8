package gridsearch_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// searchedGauss is the gaussian kernel with γ 0.3 as a function.
func searchedGauss(x, y []float64) float64 {
	sum := 0.0
	for j, v := range x {
		sum += (v - y[j]) * (v - y[j])
	}
	return math.Exp(-0.3 * sum)
}

// Searches over penalties give the same scores with a kernel by name, as a function, and as a Gram matrix,
// of folds in order and shuffled, and without each row; also within a pipeline.
func TestSearchesWithOwnKernels(t *testing.T) {
	if err := kernel.Register("searched_gauss", searchedGauss); err != nil {
		t.Fatal(err)
	}
	const n = 60
	rng := rand.New(rand.NewPCG(1, 2))
	X, K := mat.NewDense(n, 2, nil), mat.NewDense(n, n, nil)
	numbers, codes := make([]float64, n), make([]float64, n)
	for i := range n {
		X.SetRow(i, []float64{rng.NormFloat64(), rng.NormFloat64()})
		numbers[i] = math.Sin(2*X.At(i, 0)) + X.At(i, 1) + 0.3*rng.NormFloat64()
		if numbers[i] > 0 {
			codes[i] = 1
		}
	}
	for i := range n {
		for j := range n {
			K.Set(i, j, searchedGauss(X.RawRowView(i), X.RawRowView(j)))
		}
	}
	search := func(spec estimator.Estimator, path string, splitter datasets.Splitter, data datasets.Set) []float64 {
		t.Helper()
		s := gridsearch.NewSearch(spec, gridsearch.Axis{Path: path, Values: []any{0.01, 0.1, 1.0, 10.0}})
		s.Splitter = splitter
		r, err := s.Run(t.Context(), data)
		if err != nil {
			t.Fatalf("%T: %v", spec, err)
		}
		var out []float64
		for _, c := range r.Candidates {
			out = append(append(out, c.Mean), c.Folds...)
		}
		return append(out, float64(r.BestIndex))
	}
	for name, spec := range map[string]estimator.Estimator{"kernel_ridge": estimator.NewKernelRidge(),
		"kernel_ridge_classifier": estimator.NewKernelRidgeClassifier(), "kernel_svm": estimator.NewKernelSVM(),
		"kernel_svr": estimator.NewKernelSVR()} {
		path, y := "alpha", numbers
		splitters := []datasets.Splitter{datasets.KFold{Folds: 4}, datasets.KFold{Folds: 4, Shuffle: true, Seed: 3}}
		if name == "kernel_svm" || name == "kernel_svr" {
			path = "C"
			changed, err := param.With(spec, param.Setting{Path: "tol", Value: 1e-9})
			if err != nil {
				t.Fatal(err)
			}
			spec = changed.(estimator.Estimator)
		} else {
			splitters = append(splitters, gridsearch.LeaveOneOut{})
		}
		if name == "kernel_svm" || name == "kernel_ridge_classifier" {
			y = codes
		}
		with := func(settings ...param.Setting) estimator.Estimator {
			changed, err := param.With(spec, settings...)
			if err != nil {
				t.Fatal(err)
			}
			return changed.(estimator.Estimator)
		}
		for _, splitter := range splitters {
			want := search(with(param.Setting{Path: "gamma", Value: 0.3}), path, splitter, datasets.Set{X: X, Y: y})
			own := with(param.Setting{Path: "kernel", Value: "searched_gauss"})
			gram := with(param.Setting{Path: "kernel", Value: "precomputed"})
			for form, got := range map[string][]float64{
				"function":                search(own, path, splitter, datasets.Set{X: X, Y: y}),
				"Gram matrix":             search(gram, path, splitter, datasets.Set{X: K, Y: y}),
				"Gram matrix in pipeline": search(pipeline.Steps().Then(gram), name+"."+path, splitter, datasets.Set{X: K, Y: y}),
			} {
				if !slices.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) <= 1e-6 || a != a && b != b }) {
					t.Errorf("%s, %s, %T: scores %v, want %v", name, form, splitter, got, want)
				}
			}
		}
	}
}

// Searches over landmarks and penalties share their maps with a Gram matrix, and give the same scores.
func TestSearchesOfLandmarksWithGramMatrices(t *testing.T) {
	const n = 80
	rng := rand.New(rand.NewPCG(7, 2))
	X, K := mat.NewDense(n, 2, nil), mat.NewDense(n, n, nil)
	y := make([]float64, n)
	for i := range n {
		X.SetRow(i, []float64{rng.NormFloat64(), rng.NormFloat64()})
		y[i] = math.Sin(2*X.At(i, 0)) + X.At(i, 1) + 0.3*rng.NormFloat64()
	}
	for i := range n {
		for j := range n {
			K.Set(i, j, searchedGauss(X.RawRowView(i), X.RawRowView(j)))
		}
	}
	scores := func(name kernel.Name, X mat.Matrix) (out []float64, shared []string) {
		t.Helper()
		step := transformer.NewNystroem()
		step.Kernel, step.Gamma = name, kernel.FixedGamma(0.3)
		s := gridsearch.NewSearch(pipeline.Steps(step).Then(estimator.NewRidge()),
			gridsearch.Axis{Path: "nystroem.landmarks", Values: []any{5, 10, 20}},
			gridsearch.Axis{Path: "ridge.alpha", Values: []any{0.01, 0.1, 1.0}})
		s.Splitter = datasets.KFold{Folds: 4, Shuffle: true, Seed: 3}
		r, err := s.Run(t.Context(), datasets.Set{X: X, Y: y})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, c := range r.Candidates {
			out = append(out, c.Folds...)
		}
		return out, r.Shared
	}
	want, wantShared := scores("gaussian", X)
	got, shared := scores("precomputed", K)
	if !slices.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) <= 1e-9 }) {
		t.Errorf("scores %v, want %v", got, want)
	}
	if !slices.Equal(shared, wantShared) || !slices.Contains(shared, "landmarks") {
		t.Errorf("shared %v, want %v", shared, wantShared)
	}
}

// Faults of own kernels are errors of each candidate of a search, as they are of a single fit.
func TestSearchesCheckOwnKernels(t *testing.T) {
	const n = 300
	rng := rand.New(rand.NewPCG(7, 2))
	X := mat.NewDense(n, 2, nil)
	y := make([]float64, n)
	for i := range n {
		X.SetRow(i, []float64{rng.NormFloat64(), rng.NormFloat64()})
		y[i] = float64(i % 2)
	}
	for name, c := range map[string]struct {
		kernel  kernel.Func
		want    string
		warning bool
	}{
		"searched_infinite":   {func(x, y []float64) float64 { return 1 / (x[0] - y[0]) }, "values that are not finite", false},
		"searched_asymmetric": {func(x, y []float64) float64 { return searchedGauss(x, y) * (1 + x[0]*x[0]) }, "must be symmetric", false},
		"searched_panic":      {func(x, y []float64) float64 { return x[len(x)] }, "panic in kernel.Func.searched_panic", false},
		"searched_negative":   {func(x, y []float64) float64 { return -searchedGauss(x, y) }, "has an eigenvalue below −1e-8", true},
		// of pairs of a training and a test row only: row 0 is in the first test rows
		"searched_test_rows": {func(a, b []float64) float64 {
			if first := X.At(0, 0); (a[0] == first) != (b[0] == first) {
				return math.NaN()
			}
			return searchedGauss(a, b)
		}, "values that are not finite", false},
	} {
		if err := kernel.Register(kernel.Name(name), c.kernel); err != nil {
			t.Fatal(err)
		}
		for at, spec := range map[string]estimator.Estimator{"kernel_svm": estimator.NewKernelSVM(), "kernel_svr": estimator.NewKernelSVR()} {
			for _, cache := range []int{0, 1} { // all kernel values at once, and rows as they are used
				changed, err := param.With(spec, param.Setting{Path: "kernel", Value: name}, param.Setting{Path: "cache", Value: cache})
				if err != nil {
					t.Fatal(err)
				}
				s := gridsearch.NewSearch(changed.(estimator.Estimator), gridsearch.Axis{Path: "C", Values: []any{0.1, 1.0}})
				s.Splitter = datasets.KFold{Folds: 4}
				r, err := s.Run(t.Context(), datasets.Set{X: X, Y: y})
				switch {
				case c.warning && err != nil:
					t.Errorf("%s, %s: %v", at, name, err)
				case c.warning && len(r.Candidates) != 2:
					t.Errorf("%s, %s: %d candidates", at, name, len(r.Candidates))
				case !c.warning && (err == nil || !strings.Contains(err.Error(), c.want) ||
					!strings.Contains(err.Error(), "every candidate failed; the first, C=0.1: fold 0: ")):
					t.Errorf("%s, %s, cache %d: error %v, want %q", at, name, cache, err, c.want)
				}
			}
		}
	}
}
