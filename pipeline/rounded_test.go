package pipeline_test

import (
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/testing/exhaustive"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// coefficients returns the weights and intercepts of a fitted linear model in one list.
func coefficients(t *testing.T, fitted estimator.Predictor) []float64 {
	t.Helper()
	_, model := pipeline.Find(fitted).Model()
	linear := model.(interface {
		Coef() *mat.Dense
		Intercept() []float64
	})
	return append(append([]float64(nil), linear.Coef().RawMatrix().Data...), linear.Intercept()...)
}

// allocating fits a pipeline on one core and returns the allocated bytes. The garbage collector is
// off: it would empty the pools, and buffers would be counted twice.
func allocating(t *testing.T, p pipeline.Pipeline, data datasets.Set) (estimator.Predictor, int64) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fitted, err := p.Fit(ctx, data)
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	return fitted, int64(after.TotalAlloc - before.TotalAlloc)
}

// Many features are cached in float32 for a model that supports it, in half the memory, with the
// same result, with and without sufficient memory, on any number of cores.
func TestFeaturesAreRoundedOnTheWay(t *testing.T) {
	if !exhaustive.Tests() {
		t.Skip("the features are many")
	}
	const n, width = 32_000, 384
	data := numbers(n, 3)
	for i, y := range data.Y {
		data.Y[i] = 0
		if y > 0 {
			data.Y[i] = 1
		}
	}
	chain := pipeline.Steps(transformer.NewStandardize(), fourier(width))
	logistic, svr := estimator.NewLogistic(), estimator.NewSVR()
	svr.Loss = "squared_epsilon_insensitive"
	logistic.Tol, svr.Tol = 1e-9, 1e-9
	for _, model := range []estimator.Estimator{logistic, svr} {
		p := chain.Then(model)
		fitted, took := allocating(t, p, data)
		planned := p.Cost(data.Shape()).Bytes
		if most := int64(8 * n * width); !underRace && (took > most || planned > most || planned < most/2) {
			t.Errorf("%T: allocated %d bytes, planned %d, the features have %d in double precision", model, took, planned, most)
		}
		got := coefficients(t, fitted)
		features := data
		var err error
		if features.X, err = pipeline.Find(fitted).Chain().Transform(ctx, data.X); err != nil {
			t.Fatal(err)
		}
		features.Schema = datasets.Schema{}
		alone, err := pipeline.Pipeline{Estimator: model}.Fit(ctx, features)
		if err != nil {
			t.Fatal(err)
		}
		for j, w := range coefficients(t, alone) {
			if math.Abs(got[j]-w) > 1e-5*(1+math.Abs(w)) {
				t.Fatalf("%T: coefficient %d is %v, on the features themselves %v", model, j, got[j], w)
			}
		}
		for what, memory := range map[string]int64{"the same": 0, "no cache": 1 << 20} {
			p.Memory = memory
			again, err := p.Fit(ctx, data)
			if err != nil {
				t.Fatal(err)
			}
			for j, w := range coefficients(t, again) {
				if w != got[j] {
					t.Fatalf("%T, %s: coefficient %d is %v, was %v", model, what, j, w, got[j])
				}
			}
		}
	}
}

// TestTransformedTargetsKeepRoundedFeatures checks that a model on transformed targets uses float32
// features if the inner model does.
func TestTransformedTargetsKeepRoundedFeatures(t *testing.T) {
	if !exhaustive.Tests() {
		t.Skip("the features are many")
	}
	const n, width = 32_000, 384
	data := numbers(n, 3)
	svr := estimator.NewSVR()
	svr.Loss, svr.Tol = "squared_epsilon_insensitive", 1e-9
	model := meta.NewTarget(svr)
	model.Transform = "standardize"
	fitted, took := allocating(t, pipeline.Steps(transformer.NewStandardize(), fourier(width)).Then(model), data)
	if !underRace && took > 8*n*width {
		t.Errorf("allocated %d bytes, the features have %d", took, 8*n*width)
	}
	features := data
	var err error
	if features.X, err = pipeline.Find(fitted).Chain().Transform(ctx, data.X); err != nil {
		t.Fatal(err)
	}
	features.Schema = datasets.Schema{}
	alone, err := model.Fit(ctx, features)
	if err != nil {
		t.Fatal(err)
	}
	got, err := fitted.Predict(ctx, data.X)
	if err != nil {
		t.Fatal(err)
	}
	want, err := alone.Predict(ctx, features.X)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-6 {
			t.Fatalf("row %d is %v, on the features themselves %v", i, got[i], want[i])
		}
	}
}

// A search also rounds many features, for joint problems and paths, and has the scores of separate
// fits.
func TestSearchesRoundOnTheWay(t *testing.T) {
	if !exhaustive.Tests() {
		t.Skip("the features are many")
	}
	const n, width = 12_600, 512
	folds := thirds(n)[:1]
	for _, classes := range []int{2, 3} {
		data := numbers(n, 5)
		sorted := slices.Sorted(slices.Values(data.Y))
		for i, y := range data.Y {
			at, _ := slices.BinarySearch(sorted, y)
			data.Y[i] = float64(at * classes / n)
		}
		logistic := estimator.NewLogistic()
		logistic.Tol = 1e-9
		base := pipeline.Steps(transformer.NewStandardize(), fourier(width)).Then(logistic)
		settings := grid(t, base, param.Setting{Path: "rff.features", Value: []any{32, width}},
			param.Setting{Path: "logistic.C", Value: []any{0.1, 1.0}})
		got, _ := sweep(t, base, data, folds, settings)
		for i, s := range settings {
			alone, err := s.Fit(ctx, data.Select(folds[0].Train))
			if err != nil {
				t.Fatal(err)
			}
			want, err := estimator.Predict(ctx, alone, rowblock.Select(data.X, folds[0].Test), estimator.Request{})
			if err != nil {
				t.Fatal(err)
			}
			agree(t, fmt.Sprintf("%d classes, setting %d", classes, i), got[key{i, 0}].Prediction, want,
				true)
		}
	}
}
