package pipeline_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// A search over kernels whose maps are rescalings of the same draws projects the rows once and
// predicts as the naive search; a kernel with separate draws is fitted next to it.
func TestKernelsAreACheapAxis(t *testing.T) {
	rng := rand.New(rand.NewPCG(50, 5))
	for trial := range 6 {
		data := numbers(140, uint64(70+trial))
		rff := transformer.NewRFF()
		rff.Map = []string{"paired", "phase"}[trial%2]
		rff.Seed = rng.Uint64N(1 << 40)
		steps := []transformer.Fitter{rff}
		if trial%3 == 0 {
			steps = []transformer.Fitter{transformer.NewStandardize(), rff}
		}
		settings := grid(t, pipeline.Steps(steps...).Then(estimator.NewRidge()),
			param.Setting{Path: "rff.kernel", Value: []any{"gaussian", "matern", "rational_quadratic", "exponential",
				"laplacian"}[rng.IntN(2):]},
			param.Setting{Path: "rff.nu", Value: []any{0.5, 2.5}},
			param.Setting{Path: "rff.gamma", Value: []any{0.05, "scale"}[:1+rng.IntN(2)]},
			param.Setting{Path: "rff.features", Value: []any{8, 24}},
			param.Setting{Path: "ridge.alpha", Value: []any{0.1, 10.0}})
		rng.Shuffle(len(settings), func(i, j int) { settings[i], settings[j] = settings[j], settings[i] })
		folds := randomFolds(t, rng, data)
		got, shared := sweep(t, settings[0].(batch.Fitter), data, folds, settings)
		naive(t, data, folds, settings, got, 1e-8)
		if !slices.Contains(shared, "projection") {
			t.Errorf("trial %d shares %q only", trial, shared)
		}
	}
}
