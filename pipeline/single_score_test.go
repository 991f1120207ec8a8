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
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// waves returns rows of three inputs and a smooth target of them with some noise.
func waves(n int) datasets.Set {
	rng := rand.New(rand.NewPCG(4, 5))
	x, y := mat.NewDense(n, 3, nil), make([]float64, n)
	for i := range n {
		row := x.RawRowView(i)
		for j := range row {
			row[j] = rng.NormFloat64()
		}
		y[i] = math.Sin(row[0]) + row[1]*row[2]/2 + math.Abs(row[1]) + 0.2*rng.NormFloat64()
	}
	return datasets.Set{X: x, Y: y}
}

// TestSearchScoresFloat32Fits checks that a float32 search scores the models it would fit: each
// candidate, over numbers of features, kernels and penalties down to the rounding limit, predicts
// like its own fit. Sharing float32 features within a family would change the predictions at the
// smallest penalties.
func TestSearchScoresFloat32Fits(t *testing.T) {
	data := waves(900)
	classes := data
	classes.Y = make([]float64, data.Rows())
	for i, y := range data.Y {
		if y > 0.7 {
			classes.Y[i] = 1
		}
	}
	classes.Schema = datasets.Schema{Columns: make([]datasets.Column, 3),
		Targets: []datasets.Column{{Kind: datasets.Categorical, Categories: []string{"low", "high"}}}}
	rff := transformer.NewRFF()
	rff.Gamma = kernel.FixedGamma(0.3)
	for path, c := range map[string]struct {
		model estimator.Estimator
		data  datasets.Set
	}{"ridge": {estimator.NewRidge(), data}, "ridge_classifier": {estimator.NewRidgeClassifier(), classes}} {
		settings := grid(t, inSingle(c.model, rff),
			param.Setting{Path: "rff.kernel", Value: []any{"gaussian", "matern"}},
			param.Setting{Path: "rff.features", Value: []any{40, 200}},
			param.Setting{Path: path + ".alpha", Value: []any{1e-12, 1e-10, 1e-8, 1e-7, 1e-5, 1e-2, 1.0}})
		warned, seen := 0, 0
		folds := []datasets.Fold{{Train: count(0, 600), Test: count(600, 900)}}
		names, err := fitAll(ctx, settings[0].(pipeline.Pipeline), c.data, folds, settings,
			func(k, _ int, outcome batch.Outcome) error {
				if outcome.Err != nil {
					return outcome.Err
				}
				fitted, err := settings[k].Fit(ctx, c.data.Select(folds[0].Train))
				if err != nil {
					return err
				}
				want, err := estimator.Predict(ctx, fitted, rowblock.Select(c.data.X, folds[0].Test), estimator.Request{})
				if err != nil {
					return err
				}
				got, own := outcome.Values, want.Values
				if want.Scores != nil {
					got, own = outcome.Scores.RawMatrix().Data, want.Scores.RawMatrix().Data
				}
				if off := 1 - rSquared(got, own); off > 1e-6 {
					t.Errorf("%s, setting %d: the search's predictions are off those of the fit by %.2g of their spread", path, k,
						math.Sqrt(off))
				}
				report := reportOf(fitted)
				if len(report.Warnings) > 0 {
					warned++
				}
				if !slices.Equal(outcome.Report.Warnings, report.Warnings) {
					t.Errorf("%s, setting %d: the search reports %v, the fit %v", path, k, outcome.Report.Warnings, report.Warnings)
				}
				seen++
				return nil
			})
		if err != nil || seen != len(settings) || warned == 0 || warned > len(settings)/4 ||
			!slices.Contains(names, "alpha") {
			t.Errorf("%s: %d settings seen, %d with warnings, shared %v, %v", path, seen, warned, names, err)
		}
	}
}

// TestSearchInSinglePrecisionIsOfTheSameFeatures checks that a float32 search shares sums and
// features between all alphas that permit float32, however many, and that its predictions equal
// those of the fits up to float32 rounding.
func TestSearchInSinglePrecisionIsOfTheSameFeatures(t *testing.T) {
	data := waves(3000)
	rff := transformer.NewRFF()
	rff.Gamma = kernel.FixedGamma(0.5)
	for _, alphas := range [][]any{{0.1, 10.0}, {1e-2, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0}} {
		settings := grid(t, inSingle(estimator.NewRidge(), rff), param.Setting{Path: "rff.gamma", Value: []any{0.1, 0.5}},
			param.Setting{Path: "rff.features", Value: []any{60, 140}}, param.Setting{Path: "ridge.alpha", Value: alphas})
		got, names := sweep(t, settings[0].(pipeline.Pipeline), data, thirds(3000), settings)
		if !slices.Contains(names, "alpha") || !slices.Contains(names, "folds") {
			t.Errorf("shared is only %v", names)
		}
		for k, setting := range settings {
			for f, fold := range thirds(3000) {
				fitted, err := setting.Fit(ctx, data.Select(fold.Train))
				if err != nil {
					t.Fatal(err)
				}
				want, err := estimator.Predict(ctx, fitted, rowblock.Select(data.X, fold.Test), estimator.Request{})
				if err != nil {
					t.Fatal(err)
				}
				if off := 1 - rSquared(got[key{k, f}].Values, want.Values); !(off <= 1e-8) {
					t.Errorf("setting %d on fold %d: predictions are off those of the fit by %.2g of their spread", k, f,
						math.Sqrt(off))
				}
			}
		}
	}
}

func rSquared(got, y []float64) float64 {
	mean, wrong, spread := 0.0, 0.0, 0.0
	for _, v := range y {
		mean += v / float64(len(y))
	}
	for i, v := range y {
		wrong += (got[i] - v) * (got[i] - v)
		spread += (v - mean) * (v - mean)
	}
	return 1 - wrong/spread
}
