package golearn

import (
	"context"
	"testing"

	"github.com/sjwhitworth/golearn/base"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/estimatortest"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
	"github.com/bochner-ml/bochner/transformer/transformertest"
)

// through carries a set to golearn and back; weights and groups, which golearn has not, go around.
func through(data datasets.Set) (datasets.Set, error) {
	if err := data.Check(); err != nil {
		return data, err
	}
	bare := data
	bare.Weights, bare.Groups = nil, nil
	grid, err := ToInstances(bare)
	if err != nil {
		return data, err
	}
	back, err := FromGrid(base.NewInstancesViewFromAttrs(grid, grid.AllAttributes()))
	if err != nil {
		return data, err
	}
	back.Weights, back.Groups, back.Schema = data.Weights, data.Groups, data.Schema
	return back, nil
}

// detour is an estimator whose data go through golearn.
type detour struct{ estimator.Estimator }

func (d detour) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	data, err := through(data)
	if err != nil {
		return nil, err
	}
	return d.Estimator.Fit(ctx, data)
}

// TestEstimatorConformance runs the conformance test of estimators on converted rows.
func TestEstimatorConformance(t *testing.T) {
	logistic := estimator.NewLogistic()
	logistic.Tol = 1e-10
	svm := estimator.NewSVM()
	svm.Tol = 1e-10
	rff := transformer.NewRFF()
	rff.Features, rff.Gamma = 20, kernel.FixedGamma(0.1)
	kernel := pipeline.Steps(rff).Then(logistic)
	t.Run("ridge", func(t *testing.T) { estimatortest.Run(t, detour{estimator.NewRidge()}, estimatortest.Options{}) })
	t.Run("logistic", func(t *testing.T) { estimatortest.Run(t, detour{logistic}, estimatortest.Options{Classes: 3}) })
	t.Run("svm", func(t *testing.T) { estimatortest.Run(t, detour{svm}, estimatortest.Options{Classes: 3}) })
	t.Run("pipeline", func(t *testing.T) { estimatortest.Run(t, detour{kernel}, estimatortest.Options{Classes: 3}) })
}

// TestTransformerConformance runs the conformance test of transformers on golearn rows.
func TestTransformerConformance(t *testing.T) {
	_, grid := irises(t)
	data, err := FromGrid(grid)
	if err != nil {
		t.Fatal(err)
	}
	rff := transformer.NewRFF()
	rff.Features = 20
	t.Run("standardize", func(t *testing.T) {
		transformertest.Run(t, transformer.Standardize{Std: true}, transformertest.Options{
			Data: data, Missing: true,
		})
	})
	t.Run("rff", func(t *testing.T) {
		transformertest.Run(t, rff, transformertest.Options{
			Data: data,
		})
	})
}

var _ model.Stateful = new(transformer.FittedRFF)
