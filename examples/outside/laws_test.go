package outside

import (
	"os"
	"testing"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/estimatortest"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
	"github.com/bochner-ml/bochner/transformer/transformertest"
)

func TestMain(m *testing.M) {
	if err := Register(); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func polynomial(features, degree int, scale float64) Polynomial {
	return Polynomial{Features: features, Degree: degree, Scale: scale, Seed: 3}
}

func TestPolynomialConformance(t *testing.T) {
	transformertest.Run(t, polynomial(12, 2, 0.5), transformertest.Options{
		Related: []transformer.Fitter{polynomial(5, 2, 0.5), polynomial(30, 2, 2), polynomial(7, 2, 2)},
	})
}

// scaled returns a blend of one part that learns from rows in two passes and a random one.
func scaled() Blend {
	pca := transformer.NewPCA()
	pca.Components = 4
	b := NewBlend(pca)
	b.Parts = append(b.Parts, pipeline.Step{Name: "random", Fitter: pipeline.NewChain(transformer.Dense{},
		transformer.NewStandardize(), polynomial(4, 2, 1))})
	b.Weights = []float64{0.5, 2}
	return b
}

func TestBlendConformance(t *testing.T) {
	transformertest.Run(t, scaled(), transformertest.Options{Uncentered: true,
		Tolerance: 1e-7,
	})
}

func TestExpectileConformance(t *testing.T) {
	for name, tau := range map[string]float64{"mean": 0.5, "high": 0.8} {
		t.Run(name, func(t *testing.T) {
			spec := NewExpectile()
			spec.Tau = tau
			estimatortest.Run(t, spec, estimatortest.Options{})
		})
	}
}

func TestNeighborsConformance(t *testing.T) {
	estimatortest.Run(t, Neighbors{K: 4}, estimatortest.Options{})
}

// A wrapper of a custom model, of a built-in model, and of a pipeline.
func TestTrimmedConformance(t *testing.T) {
	logistic := estimator.NewLogistic()
	logistic.Tol = 1e-10
	for name, c := range map[string]struct {
		model   estimator.Estimator
		options estimatortest.Options
	}{
		"expectile": {NewExpectile(), estimatortest.Options{}},
		"logistic":  {logistic, estimatortest.Options{Classes: 2}},
		"pipeline":  {pipeline.Steps(polynomial(20, 2, 0.5)).Then(NewExpectile()), estimatortest.Options{Origin: true}},
		"classes":   {estimator.NewRidgeClassifier(), estimatortest.Options{Classes: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			spec := NewTrimmed()
			spec.Model = c.model
			estimatortest.Run(t, spec, c.options)
		})
	}
}
