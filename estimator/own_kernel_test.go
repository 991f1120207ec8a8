package estimator_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// ownGauss is the gaussian kernel as a function of a program, with γ 0.3.
func ownGauss(x, y []float64) float64 {
	sum := 0.0
	for j, v := range x {
		sum += (v - y[j]) * (v - y[j])
	}
	return math.Exp(-0.3 * sum)
}

func TestMain(m *testing.M) {
	if err := kernel.Register("own_gauss", ownGauss); err != nil {
		panic(err)
	}
	m.Run()
}

// kernelData returns rows with targets, codes of two classes, and new rows.
func kernelData(n int) (train datasets.Set, test *mat.Dense, codes []float64) {
	rng := rand.New(rand.NewPCG(4, 5))
	draw := func(n int) *mat.Dense {
		X := mat.NewDense(n, 3, nil)
		for i := range n {
			for j := range 3 {
				X.Set(i, j, rng.NormFloat64())
			}
		}
		return X
	}
	X := draw(n)
	train = datasets.Set{X: X, Y: make([]float64, n)}
	codes = make([]float64, n)
	for i := range n {
		train.Y[i] = math.Sin(2*X.At(i, 0)) + X.At(i, 1)*X.At(i, 2) + 0.1*rng.NormFloat64()
		if train.Y[i] > 0 {
			codes[i] = 1
		}
	}
	return train, draw(11), codes
}

// gramOf returns the values of ownGauss.
func gramOf(X, Y mat.Matrix) *mat.Dense {
	n, d := X.Dims()
	m, _ := Y.Dims()
	out := mat.NewDense(n, m, nil)
	row := func(X mat.Matrix, i int) []float64 { return mat.Row(make([]float64, d), i, X) }
	for i := range n {
		for j := range m {
			out.Set(i, j, ownGauss(row(X, i), row(Y, j)))
		}
	}
	return out
}

// ownSpecs are models of the gaussian kernel by name, to be set.
func ownSpecs(t *testing.T, name kernel.Name) map[string]estimator.Estimator {
	t.Helper()
	out := map[string]estimator.Estimator{}
	for at, spec := range map[string]estimator.Estimator{"kernel_ridge": estimator.NewKernelRidge(),
		"kernel_ridge_classifier": estimator.NewKernelRidgeClassifier(), "kernel_svm": estimator.NewKernelSVM(),
		"kernel_svr": estimator.NewKernelSVR()} {
		set := []param.Setting{{Path: "kernel", Value: string(name)}}
		if name == "gaussian" {
			set = append(set, param.Setting{Path: "gamma", Value: 0.3})
		}
		if strings.Contains(at, "svm") || strings.Contains(at, "svr") {
			set = append(set, param.Setting{Path: "tol", Value: 1e-8})
		}
		changed, err := param.With(spec, set...)
		if err != nil {
			t.Fatal(err)
		}
		out[at] = changed.(estimator.Estimator)
	}
	return out
}

func isClassifier(name string) bool { return name == "kernel_svm" || name == "kernel_ridge_classifier" }

// A precomputed gaussian kernel, and one that is a function, give the models of kernel: gaussian: on all rows, on
// rows of positive weight, on a selection of the rows, and after they were saved.
func TestOwnKernelsMakeTheModelsOfNamedOnes(t *testing.T) {
	train, test, codes := kernelData(90)
	K, Kt := gramOf(train.X, train.X), gramOf(test, train.X)
	weights := slices.Repeat([]float64{1}, 90)
	for i := range 30 {
		weights[3*i] = 0
	}
	var some []int
	for i := range 45 {
		some = append(some, (i*7+3)%90)
	}
	forms := map[string]func(datasets.Set) datasets.Set{
		"all rows":  func(s datasets.Set) datasets.Set { return s },
		"weights":   func(s datasets.Set) datasets.Set { s.Weights = weights; return s },
		"selection": func(s datasets.Set) datasets.Set { return s.Select(some) },
	}
	for name := range ownSpecs(t, "gaussian") {
		data := train
		if isClassifier(name) {
			data.Y = codes
			data.Schema = datasets.Schema{Targets: []datasets.Column{{Name: "y", Kind: datasets.Categorical,
				Categories: []string{"a", "b"}}}}
		}
		for form, of := range forms {
			want := predictions(t, ownSpecs(t, "gaussian")[name], of(data), test)
			got := predictions(t, ownSpecs(t, "own_gauss")[name], of(data), test)
			sameScores(t, name+", function, "+form, got, want)
			gram := data
			gram.X = K
			for rows, X := range map[string]mat.Matrix{"dense": Kt, "sparse": matrices.CSRFromDense(Kt)} {
				sameScores(t, name+", precomputed, "+form+", "+rows, predictions(t, ownSpecs(t, "precomputed")[name], of(gram), X), want)
			}
		}
	}
}

func sameScores(t *testing.T, what string, got, want *mat.Dense) {
	t.Helper()
	if !mat.EqualApprox(got, want, 1e-6) {
		t.Errorf("%s: the first predictions are %v, want %v", what, got.RawRowView(0), want.RawRowView(0))
	}
}

// predictions fits, saves, loads, and returns scores or values of the loaded model.
func predictions(t *testing.T, spec estimator.Estimator, data datasets.Set, X mat.Matrix) *mat.Dense {
	t.Helper()
	fitted, err := spec.Fit(t.Context(), data)
	if err != nil {
		t.Fatalf("%T: %v", spec, err)
	}
	archive, err := model.Record(fitted.(model.Stateful))
	if err != nil {
		t.Fatal(err)
	}
	loaded := reflect.New(reflect.TypeOf(fitted).Elem()).Interface().(model.Stateful)
	if err := model.Restore(archive, loaded); err != nil {
		t.Fatal(err)
	}
	p, err := estimator.Predict(t.Context(), loaded.(estimator.Predictor), X, estimator.Request{})
	if err != nil {
		t.Fatal(err)
	}
	if p.Scores != nil {
		return p.Scores
	}
	return mat.NewDense(len(p.Values), 1, p.Values)
}
