package pipeline_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/testing/golden"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// TestGoldenFamilySweep compares the scores of scikit-learn's GridSearchCV over (γ, D, α) for given
// draws with those of a sweep that shares projections, columns, folds and alphas.
func TestGoldenFamilySweep(t *testing.T) {
	var input struct {
		X, Normal [][]float64
		Y         []float64
	}
	var expect struct {
		Candidates []struct {
			Gamma, Alpha float64
			Frequencies  int
			FoldMSE      []float64 `json:"fold_mse"`
		}
	}
	golden.Load(t, "gridsearch_rff_ridge", &input, &expect)
	data := datasets.Set{X: mat.NewDense(len(input.X), len(input.X[0]), slices.Concat(input.X...)), Y: input.Y}
	drawn := 0
	rff := transformer.NewRFF()
	rff.Kernel = "custom"
	rff.Custom = &transformer.CustomKernel{Frequency: func(_ *rand.Rand, omega []float64) {
		copy(omega, input.Normal[drawn%len(input.Normal)])
		drawn++
	}}
	var settings []estimator.Estimator
	for _, c := range expect.Candidates {
		s, err := param.With(pipeline.Steps(rff).Then(estimator.NewRidge()),
			param.Setting{Path: "rff.gamma", Value: math.Sqrt(2 * c.Gamma)},
			param.Setting{Path: "rff.features", Value: 2 * c.Frequencies}, param.Setting{Path: "ridge.alpha", Value: c.Alpha})
		if err != nil {
			t.Fatal(err)
		}
		settings = append(settings, s.(estimator.Estimator))
	}
	folds, err := datasets.KFold{Folds: len(expect.Candidates[0].FoldMSE)}.Split(data)
	if err != nil {
		t.Fatal(err)
	}
	got, shared := sweep(t, settings[0].(batch.Fitter), data, folds, settings)
	if want := []string{"alpha", "columns", "features", "folds", "projection"}; !slices.Equal(shared, want) {
		t.Errorf("shared %q, want %q", shared, want)
	}
	if drawn != len(input.Normal) {
		t.Errorf("%d frequencies drawn, want %d: some settings were fitted alone", drawn, len(input.Normal))
	}
	for i, c := range expect.Candidates {
		for f, want := range c.FoldMSE {
			mse := 0.0
			for k, row := range folds[f].Test {
				e := got[key{i, f}].Values[k] - data.Y[row]
				mse += e * e / float64(len(folds[f].Test))
			}
			if math.Abs(mse-want) > 1e-8*want {
				t.Errorf("%+v on fold %d: %v", c, f, mse)
			}
		}
	}
}
