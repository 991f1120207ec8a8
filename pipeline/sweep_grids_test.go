package pipeline_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// TestGridsShareAsTheNaiveSearch checks that grids drawn once for the largest P give the
// predictions of separate fits, for all grids over γ, P and the penalty, kernels, counts, folds and
// memory limits.
func TestGridsShareAsTheNaiveSearch(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 62))
	numeric := numbers(150, 60)
	svm := estimator.NewSVM()
	svm.Tol, svm.Loss = 1e-10, "squared_hinge"
	classes := people(150, 61)
	ridge := estimator.NewRidge()
	ridge.Tol = 1e-12
	for range 12 {
		binning := transformer.NewBinning()
		binning.Kernel = []kernel.Name{"laplacian", "smooth", "hyperbolic"}[rng.IntN(3)]
		binning.MinCount = 1 + rng.IntN(2)
		binning.Seed = rng.Uint64()
		base, data := pipeline.Steps(transformer.NewMinMax(), binning).Then(ridge), numeric
		last := param.Setting{Path: "ridge.alpha", Value: []any{0.1, 1.0}[:1+rng.IntN(2)]}
		if rng.IntN(2) == 0 {
			base, data = pipeline.Steps(encoder(), binning).Then(svm), classes
			last = param.Setting{Path: "svm.C", Value: []any{0.1, 1.0}[:1+rng.IntN(2)]}
		}
		gammas := []any{0.3, 0.8, "scale"}[rng.IntN(2):]
		grids := []any{2, 12, 5, 30}[rng.IntN(2):]
		settings := grid(t, base, param.Setting{Path: "binning.gamma", Value: gammas},
			param.Setting{Path: "binning.grids", Value: grids}, last)
		rng.Shuffle(len(settings), func(i, j int) { settings[i], settings[j] = settings[j], settings[i] })
		if rng.IntN(3) == 0 {
			base.Memory = 30_000
		}
		folds := randomFolds(t, rng, data)
		got, shared := sweep(t, base, data, folds, settings)
		if base.Memory == 0 && !slices.Contains(shared, "grids") {
			t.Errorf("shared %v, want grids among them", shared)
		}
		naive(t, data, folds, settings, got, 1e-5)
	}
}

// A narrow map without populated bins fails as in a separate fit, and others succeed.
func TestSharedGridsYieldErrors(t *testing.T) {
	data := numbers(90, 62)
	binning := transformer.NewBinning()
	binning.Gamma, binning.MinCount = kernel.FixedGamma(3), 9
	base := pipeline.Steps(transformer.NewMinMax(), binning).Then(estimator.NewRidge())
	settings := grid(t, base, param.Setting{Path: "binning.grids", Value: []any{1, 2, 4, 64}})
	folds := thirds(90)
	got, _ := sweep(t, base, data, folds, settings)
	failed := 0
	for i, s := range settings {
		for f, fold := range folds {
			_, err := s.Fit(ctx, data.Select(fold.Train))
			switch outcome := got[key{i, f}]; {
			case err == nil && outcome.Err != nil:
				t.Errorf("setting %d on fold %d: %v", i, f, outcome.Err)
			case err != nil:
				failed++
				if outcome.Err == nil || outcome.Err.Error() != err.Error() {
					t.Errorf("setting %d on fold %d: %v, want %v", i, f, outcome.Err, err)
				}
			}
		}
	}
	if failed == 0 || failed == len(got) {
		t.Errorf("%d of %d fail: the test shows nothing", failed, len(got))
	}
}

// TestSharedGridsResume checks that a resumed search equals a complete one, bit for bit.
func TestSharedGridsResume(t *testing.T) {
	data := numbers(120, 63)
	ridge := estimator.NewRidge()
	base := pipeline.Steps(transformer.NewMinMax(), transformer.NewBinning()).Then(ridge)
	settings := grid(t, base, param.Setting{Path: "binning.grids", Value: []any{4, 16}},
		param.Setting{Path: "ridge.alpha", Value: []any{0.1, 1.0}})
	folds := thirds(120)
	want, _ := sweep(t, base, data, folds, settings)
	expected := func(setting, fold int) bool { return (setting+fold)%3 == 0 }
	count := 0
	_, err := fitWanted(ctx, base, data, folds, settings, expected, func(i, f int, outcome batch.Outcome) error {
		if !expected(i, f) {
			t.Errorf("setting %d on fold %d is not requested", i, f)
		}
		count++
		if !slices.Equal(outcome.Values, want[key{i, f}].Values) {
			t.Errorf("setting %d on fold %d: another prediction", i, f)
		}
		return outcome.Err
	})
	if err != nil || count != 4 {
		t.Errorf("%d results, %v", count, err)
	}
}

// A sweep over numbers of grids makes the largest map once.
func TestGridsAreShared(t *testing.T) {
	data := numbers(120, 64)
	base := pipeline.Steps(transformer.NewMinMax(), transformer.NewBinning()).Then(estimator.NewRidge())
	settings := grid(t, base, param.Setting{Path: "binning.grids", Value: []any{50, 100, 400}},
		param.Setting{Path: "ridge.alpha", Value: []any{0.1, 1.0}})
	_, shared := sweep(t, base, data, thirds(120), settings)
	for _, name := range []string{"features", "grids", "prefix"} {
		if !slices.Contains(shared, name) {
			t.Errorf("shared %v, want %s too", shared, name)
		}
	}
}
