package bochner_test

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner"
	"github.com/bochner-ml/bochner/datasets/builtin"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/yaml"
	"github.com/bochner-ml/bochner/transformer"
)

// A fitted map consists of its frequencies or grids, so that a model file needs no function of a custom kernel. Only
// a new fit of the loaded spec, or of a document, needs it.
func TestModelsOfCustomKernelsAreSaved(t *testing.T) {
	ctx := t.Context()
	rff := transformer.NewRFF()
	rff.Kernel, rff.Features = "custom", 40
	rff.Custom = &transformer.CustomKernel{Frequency: func(rng *rand.Rand, omega []float64) {
		for j := range omega {
			omega[j] = rng.NormFloat64()
		}
	}}
	binning := transformer.NewBinning()
	binning.Kernel, binning.Grids = "custom", 20
	binning.Custom = &transformer.CustomKernel{Pitch: func(rng *rand.Rand) float64 {
		return -math.Log(rng.Float64()) - math.Log(rng.Float64())
	}}
	data, _, err := builtin.Load("wine")
	if err != nil {
		t.Fatal(err)
	}
	for name, step := range map[string]transformer.Fitter{"rff": rff, "binning": binning} {
		m, err := bochner.Fit(ctx, pipeline.Steps(step).Then(estimator.NewLogistic()), data)
		if err != nil {
			t.Fatal(name, err)
		}
		path := filepath.Join(t.TempDir(), "m.bochner")
		if err := m.Save(path); err != nil {
			t.Fatal(name, err)
		}
		loaded, err := bochner.Open(path)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want, err := m.Predictor.Predict(ctx, data.X)
		if err != nil {
			t.Fatal(name, err)
		}
		got, err := loaded.Predictor.Predict(ctx, data.X)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: the loaded model predicts other values: %v", name, err)
		}
		if err := loaded.Save(path); err != nil {
			t.Errorf("%s: the loaded model cannot be saved: %v", name, err)
		}
		const onlyGo = "which only Go programs can set"
		if _, err := loaded.Spec().Fit(ctx, data); err == nil || !strings.Contains(err.Error(), onlyGo) {
			t.Errorf("%s: a fit without the function returns %v", name, err)
		}
		document := "[" + name + ": {kernel: custom}, ridge]"
		if _, err := yaml.Unmarshal([]byte(document), yaml.Origin{}); err == nil || !strings.Contains(err.Error(), onlyGo) {
			t.Errorf("%s: a document with a custom kernel returns %v", name, err)
		}
	}
}
