package pipeline_test

import (
	"fmt"
	"math"
	"math/rand/v2"
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
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// naive fits every setting on every fold and compares the results of a sweep, relative to the
// spread of the predictions.
func naive(t *testing.T, data datasets.Set, folds []datasets.Fold, settings []estimator.Estimator,
	got map[key]batch.Outcome, tolerance float64) {
	t.Helper()
	if len(got) != len(folds)*len(settings) {
		t.Fatalf("%d results for %d settings and %d folds", len(got), len(settings), len(folds))
	}
	for i, s := range settings {
		for f, fold := range folds {
			outcome := got[key{i, f}]
			p, err := s.Fit(ctx, data.Select(fold.Train))
			if err != nil {
				if outcome.Err == nil || outcome.Err.Error() != err.Error() {
					t.Errorf("setting %d on fold %d: %v, want %v", i, f, outcome.Err, err)
				}
				continue
			}
			if outcome.Err != nil {
				t.Fatalf("setting %d on fold %d: %v", i, f, outcome.Err)
			}
			want, err := estimator.Predict(ctx, p, rowblock.Select(data.X, fold.Test), estimator.Request{})
			if err != nil {
				t.Fatal(err)
			}
			equal := func(what string, a, b []float64) {
				if len(a) != len(b) {
					t.Fatalf("setting %d on fold %d: %d %s, want %d", i, f, len(a), what, len(b))
				}
				size := 1e-3
				for _, v := range b {
					size = max(size, math.Abs(v))
				}
				for k := range a {
					if !(math.Abs(a[k]-b[k]) <= tolerance*size) {
						t.Fatalf("setting %d (%v) on fold %d: %s %d is %v, want %v", i, param.All(s), f, what, k, a[k], b[k])
					}
				}
			}
			if want.Scores != nil {
				equal("scores", outcome.Scores.RawMatrix().Data, want.Scores.RawMatrix().Data)
			}
			if want.Targets != nil {
				equal("targets", outcome.Targets.RawMatrix().Data, want.Targets.RawMatrix().Data)
			}
			equal("values", outcome.Values, want.Values)
			before := reportOf(p)
			if outcome.Report.Solver != before.Solver ||
				math.Abs(outcome.Report.Objective-before.Objective) > 1e-6*(1e-3+before.Objective) {
				t.Errorf("setting %d on fold %d: %+v, want %+v", i, f, outcome.Report, before)
			}
		}
	}
}

// randomFolds returns folds of one of the usual kinds.
func randomFolds(t *testing.T, rng *rand.Rand, data datasets.Set) []datasets.Fold {
	t.Helper()
	splitters := []datasets.Splitter{
		datasets.KFold{Folds: 2 + rng.IntN(4), Shuffle: rng.IntN(2) == 0, Seed: rng.Uint64()},
		datasets.TimeSeriesSplit{Folds: 3},
		datasets.TrainTest{Test: 0.3},
	}
	folds, err := splitters[rng.IntN(len(splitters))].Split(data)
	if err != nil {
		t.Fatal(err)
	}
	return folds
}

// TestFamilySweepIsTheNaiveSearch checks that a family with shared draws gives the predictions of
// separate fits, for all grids over γ, D and alpha, maps, targets, weights, folds and preceding
// steps.
func TestFamilySweepIsTheNaiveSearch(t *testing.T) {
	rng := rand.New(rand.NewPCG(40, 4))
	for trial := range 24 {
		const n = 160
		data := numbers(n, uint64(trial))
		var base estimator.Estimator = estimator.NewRidge()
		name := "ridge"
		switch rng.IntN(4) {
		case 0:
			targets := mat.NewDense(n, 3, nil)
			for i := range n {
				for j := range 3 {
					targets.Set(i, j, float64(j+1)*data.Y[i]+rng.NormFloat64())
				}
			}
			data.Y, data.Targets = nil, targets
		case 1:
			classes := 2 + rng.IntN(2)
			levels := []string{"a", "b", "c"}[:classes]
			data.Schema.Targets = []datasets.Column{{Name: "class", Kind: datasets.Categorical, Categories: levels}}
			for i := range data.Y {
				data.Y[i] = float64((i*7 + int(math.Abs(data.X.At(i, 0)))) % classes)
			}
			base, name = estimator.NewRidgeClassifier(), "ridge_classifier"
		}
		if rng.IntN(2) == 0 {
			data.Weights = make([]float64, n)
			for i := range data.Weights {
				data.Weights[i] = float64(rng.IntN(4))
			}
		}
		rff := transformer.NewRFF()
		rff.Kernel = []kernel.Name{"gaussian", "laplacian", "cauchy", "matern"}[rng.IntN(4)]
		rff.Map = []string{"paired", "phase"}[rng.IntN(2)]
		rff.Seed = rng.Uint64N(1 << 40)
		steps := []transformer.Fitter{rff}
		if rng.IntN(2) == 0 {
			steps = []transformer.Fitter{transformer.NewStandardize(), rff}
		}
		gammas := []any{0.05, 0.3, "scale", []any{0.1, 0.2, 0.1, 0.5}}
		settings := grid(t, pipeline.Steps(steps...).Then(base),
			param.Setting{Path: "rff.gamma", Value: gammas[rng.IntN(2) : 2+rng.IntN(3)]},
			param.Setting{Path: "rff.features", Value: []any{8, 20, 32}[rng.IntN(3):]},
			param.Setting{Path: name + ".intercept", Value: []any{true, false}[rng.IntN(2):]},
			param.Setting{Path: name + ".alpha", Value: []any{1e-3, 0.1, 10.0}})
		folds := randomFolds(t, rng, data)
		sweeper := settings[0].(batch.Fitter)
		got, shared := sweep(t, sweeper, data, folds, settings)
		naive(t, data, folds, settings, got, 1e-8)
		if !slices.Contains(shared, "alpha") || len(steps) == 1 && len(folds) > 1 && !slices.Contains(shared, "folds") {
			// A rule for γ is evaluated on each fold, so folds share no features.
			if !slices.ContainsFunc(settings, func(s estimator.Estimator) bool {
				return !datasets.TagsOf(s.(pipeline.Pipeline).Steps[len(steps)-1].Fitter).DataIndependent
			}) {
				t.Errorf("trial %d shares %q only", trial, shared)
			}
		}
	}
}

// TestFamilySweepOfDegenerateFolds checks that cases for which sums are inaccurate are fitted
// separately: a fold with almost all of the weight, duplicate rows, constant columns, no penalty,
// more features than rows.
func TestFamilySweepOfDegenerateFolds(t *testing.T) {
	const n = 90
	data := numbers(n, 50)
	X := data.X.(*mat.Dense)
	data.Weights = slices.Repeat([]float64{1}, n)
	for i := range n {
		X.Set(i, 1, 3)
		if i%2 == 1 {
			X.SetRow(i, X.RawRowView(i-1))
		}
		if i%3 == 0 {
			data.Weights[i] = 1e7
		}
	}
	base := pipeline.Steps(fourier(64)).Then(estimator.NewRidge())
	settings := grid(t, base, param.Setting{Path: "rff.gamma", Value: []any{1e-9, 0.1, 1.0}},
		param.Setting{Path: "rff.features", Value: []any{16, 64, 200}},
		param.Setting{Path: "ridge.alpha", Value: []any{0.0, 1e-12, 1e-3, 1e3}})
	got, _ := sweep(t, base, data, thirds(n), settings)
	naive(t, data, thirds(n), settings, got, 1e-8)
}

// A fold that trains on rows twice counts them twice, in a family as elsewhere.
func TestFamilySweepOfRowsTwice(t *testing.T) {
	data := numbers(90, 53)
	folds := thirds(90)
	folds[1].Train = append(slices.Clone(folds[1].Train), folds[1].Train[:25]...)
	for path, model := range map[string]estimator.Estimator{
		"ridge_classifier.alpha": estimator.NewRidgeClassifier(), "logistic.C": estimator.NewLogistic(),
	} {
		settings := grid(t, pipeline.Steps(fourier(16)).Then(model), param.Setting{Path: "rff.gamma", Value: []any{0.1, 1.0}},
			param.Setting{Path: path, Value: []any{0.1, 1.0}})
		got, _ := sweep(t, settings[0].(batch.Fitter), data, folds, settings)
		naive(t, data, folds, settings, got, 1e-6)
	}
}

// TestFamilySweepYieldsErrors checks that a member that cannot be fitted does not affect the
// others, and has the error of a separate fit.
func TestFamilySweepYieldsErrors(t *testing.T) {
	data := numbers(60, 51)
	base := pipeline.Steps(fourier(8)).Then(estimator.NewRidge())
	settings := grid(t, base, param.Setting{Path: "rff.gamma", Value: []any{0.1, []any{0.1, 0.2}}},
		param.Setting{Path: "ridge.alpha", Value: []any{1.0, 2.0}})
	got, _ := sweep(t, base, data, thirds(60), settings)
	naive(t, data, thirds(60), settings, got, 1e-8)
	if got[key{2, 1}].Err == nil {
		t.Error("two numbers for γ of four columns")
	}
}

// The bits do not depend on how few settings and folds are included, or on the memory for sums.
func TestResumeGivesTheSameBits(t *testing.T) {
	data := numbers(150, 52)
	folds := thirds(150)
	for _, c := range []struct {
		model estimator.Estimator
		path  string
		steps []transformer.Fitter
	}{
		{estimator.NewRidge(), "ridge.alpha", []transformer.Fitter{fourier(16)}},
		{estimator.NewRidge(), "ridge.alpha", []transformer.Fitter{transformer.NewStandardize(), fourier(16)}},
		{estimator.NewLogistic(), "logistic.C", []transformer.Fitter{fourier(16)}},
		{estimator.NewSVM(), "svm.C", []transformer.Fitter{transformer.NewStandardize(), fourier(16)}},
	} {
		base := pipeline.Steps(c.steps...).Then(c.model)
		settings := grid(t, base, param.Setting{Path: "rff.gamma", Value: []any{0.1, 0.2, 0.4}},
			param.Setting{Path: "rff.features", Value: []any{8, 16}}, param.Setting{Path: c.path, Value: []any{0.1, 1.0}})
		whole, _ := sweep(t, base, data, folds, settings)
		rng := rand.New(rand.NewPCG(5, 5))
		for range 6 {
			want := map[key]bool{}
			for range 1 + rng.IntN(20) {
				want[key{rng.IntN(len(settings)), rng.IntN(3)}] = true
			}
			got := map[key]batch.Outcome{}
			_, err := fitWanted(ctx, base, data, folds, settings, func(i, f int) bool { return want[key{i, f}] },
				func(i, f int, outcome batch.Outcome) error { got[key{i, f}] = outcome; return nil })
			if err != nil || len(got) != len(want) {
				t.Fatalf("%d outcomes, want %d: %v", len(got), len(want), err)
			}
			for k := range want {
				if !reflect.DeepEqual(got[k].Prediction, whole[k].Prediction) {
					t.Fatalf("%v: the prediction is another", k)
				}
			}
		}
		for _, memory := range []int64{20_000, 40_000} {
			small := base
			small.Memory = memory
			if c.path != "ridge.alpha" {
				break // from other sums the solver takes other steps
			}
			got, _ := sweep(t, small, data, folds, settings)
			for k := range whole {
				agree(t, fmt.Sprint(k, " in ", memory), got[k].Prediction,
					whole[k].Prediction, true)
			}
		}
	}
}

// Newton's method along a path of C and D has the same solutions as from zero, cached or
// recomputed, on every fold.
func TestNewtonFamilySweepIsTheNaiveSearch(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 4))
	for trial := range 10 {
		const n = 150
		data := numbers(n, uint64(60+trial))
		classes := 2 + trial%2
		data.Schema.Targets = []datasets.Column{{Name: "class", Kind: datasets.Categorical,
			Categories: []string{"a", "b", "c"}[:classes]}}
		for i := range data.Y {
			data.Y[i] = float64(int(math.Abs(data.X.At(i, 0)/7+data.X.At(i, 3))) % classes)
		}
		if trial%3 == 0 {
			data.Weights = make([]float64, n)
			for i := range data.Weights {
				data.Weights[i] = float64(rng.IntN(3))
			}
		}
		var model estimator.Estimator = exactLogistic()
		name := "logistic"
		if trial%4 > 1 {
			model, name = exactSVM(), "svm"
		}
		steps := []transformer.Fitter{transformer.NewStandardize(), fourier(24)}
		if trial%2 == 0 {
			scale := fourier(24)
			scale.Map = "phase"
			steps = []transformer.Fitter{scale}
		}
		base := pipeline.Steps(steps...).Then(model)
		if trial > 6 {
			base.Memory = 10_000
		}
		settings := grid(t, base, param.Setting{Path: "rff.gamma", Value: []any{0.01, 0.2}},
			param.Setting{Path: "rff.features", Value: []any{24, 8}},
			param.Setting{Path: name + ".class_weight", Value: []any{"none", "balanced"}[:1+trial%2]},
			param.Setting{Path: name + ".C", Value: []any{1.0, 0.1, 10.0}})
		folds := randomFolds(t, rng, data)
		got, shared := sweep(t, base, data, folds, settings)
		if !slices.Contains(shared, "features") {
			t.Errorf("trial %d shares %q only", trial, shared)
		}
		naive(t, data, folds, settings, got, 1e-6)
	}
}

// Settings in single precision are swept in it, and agree to it.
func TestFamilySweepOfSinglePrecision(t *testing.T) {
	data := numbers(160, 53)
	base := pipeline.Steps(transformer.NewStandardize(), fourier(16)).Then(estimator.NewRidge())
	base.Precision = pipeline.Float32
	settings := grid(t, base, param.Setting{Path: "rff.gamma", Value: []any{0.1, 0.2}},
		param.Setting{Path: "ridge.alpha", Value: []any{0.1, 1.0}})
	got, _ := sweep(t, base, data, thirds(160), settings)
	naive(t, data, thirds(160), settings, got, 1e-4)
}

// Settings whose maps are of several widths, the narrow one first, are swept as each is fitted.
func TestFamilySweepOfMapsOfSeveralWidths(t *testing.T) {
	data := numbers(160, 54)
	base := pipeline.Steps(transformer.NewStandardize(), fourier(16)).Then(estimator.NewRidge())
	var settings []estimator.Estimator
	for _, s := range []struct {
		gamma    float64
		features int
	}{{0.1, 8}, {0.2, 24}, {0.3, 12}} {
		settings = append(settings, grid(t, base, param.Setting{Path: "rff.gamma", Value: []any{s.gamma}},
			param.Setting{Path: "rff.features", Value: []any{s.features}},
			param.Setting{Path: "ridge.alpha", Value: []any{0.1, 1.0}})...)
	}
	got, _ := sweep(t, base, data, thirds(160), settings)
	naive(t, data, thirds(160), settings, got, 1e-8)
}

// Ridge fits that share sums, bands and refinements have the same bits on any number of cores, in
// both precisions; in float64 they equal separate fits, also for small penalties of an
// ill-conditioned map.
func TestFamilySweepOfManyPenalties(t *testing.T) {
	const n, width = 1300, 400 // for a band of these penalties
	data, folds := numbers(n, 55), thirds(n)
	base := pipeline.Steps(fourier(width)).Then(estimator.NewRidge())
	var alphas []any
	for k := range 14 {
		alphas = append(alphas, math.Pow(10, float64(k)/2-5))
	}
	for _, precision := range []string{pipeline.Float64, pipeline.Float32} {
		base.Precision = precision
		settings := grid(t, base, param.Setting{Path: "rff.gamma", Value: []any{1e-3, 0.3}},
			param.Setting{Path: "ridge.alpha", Value: alphas})
		many, shared := sweep(t, base, data, folds, settings)
		if !slices.Contains(shared, "alpha") || !slices.Contains(shared, "folds") {
			t.Errorf("%s: shared %q only", precision, shared)
		}
		cores := runtime.GOMAXPROCS(1)
		one, _ := sweep(t, base, data, folds, settings)
		runtime.GOMAXPROCS(cores)
		for k := range many {
			if !reflect.DeepEqual(many[k].Prediction, one[k].Prediction) {
				t.Errorf("%s: setting %d on fold %d has other bits on one core", precision, k.setting, k.fold)
			}
		}
		if precision == pipeline.Float32 {
			continue
		}
		some := map[key]batch.Outcome{}
		var few []estimator.Estimator
		for at, i := range []int{0, 5, 13, 14, 20, 27} {
			few = append(few, settings[i])
			for f := range folds {
				some[key{at, f}] = many[key{i, f}]
			}
		}
		naive(t, data, folds, few, some, 1e-8)
	}
}
