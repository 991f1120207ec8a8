package estimator_test

import (
	"testing"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/estimatortest"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// fourier is a pipeline on random features.
func fourier(gamma float64, model estimator.Estimator) pipeline.Pipeline {
	rff := transformer.NewRFF()
	rff.Gamma, rff.Features, rff.Seed = transformer.FixedGamma(gamma), 24, 5
	return pipeline.Steps(rff).Then(model)
}

func weakRidge(alpha float64) estimator.Ridge {
	s := estimator.NewRidge()
	s.Alpha = alpha
	return s
}

func TestEnsembleObeysTheLaws(t *testing.T) {
	logistic, classifier := estimator.NewLogistic(), estimator.NewRidgeClassifier()
	logistic.Tol = 1e-11
	weighted := estimator.NewEnsemble(estimator.Member{Name: "weak", Estimator: weakRidge(0.1)}, estimator.Member{Name: "strong", Estimator: weakRidge(300)})
	byFolds, free, equal := weighted, weighted, weighted
	byFolds.Folds, free.SumToOne, equal.Weights = 4, false, "equal"
	probable := estimator.NewEnsemble(estimator.Member{Name: "a", Estimator: logistic}, estimator.Member{Name: "b", Estimator: calibrated("sigmoid", 3, classifier)})
	scored := estimator.NewEnsemble(estimator.Member{Name: "a", Estimator: logistic}, estimator.Member{Name: "b", Estimator: classifier})
	for name, c := range map[string]struct {
		spec    estimator.Estimator
		options estimatortest.Options
	}{
		"leave one out":       {weighted, estimatortest.Options{Folds: true}},
		"folds":               {byFolds, estimatortest.Options{Folds: true}},
		"any sum":             {free, estimatortest.Options{Folds: true, Origin: true}},
		"equal":               {equal, estimatortest.Options{}},
		"two probabilities":   {probable, estimatortest.Options{Folds: true, Classes: 2}},
		"three probabilities": {probable, estimatortest.Options{Folds: true, Classes: 3}},
		"two scores":          {scored, estimatortest.Options{Folds: true, Classes: 2}},
		"three scores":        {scored, estimatortest.Options{Folds: true, Classes: 3}},
		"seeds":               {estimator.NewSeedEnsemble(fourier(0.1, estimator.NewRidge()), 3), estimatortest.Options{Origin: true, Tolerance: 1e-5}},
		"pipelines": {estimator.NewEnsemble(estimator.Member{Name: "fourier", Estimator: fourier(0.1, estimator.NewRidge())},
			estimator.Member{Name: "linear", Estimator: estimator.NewRidge()}), estimatortest.Options{Folds: true, Origin: true, Tolerance: 1e-5}},
	} {
		t.Run(name, func(t *testing.T) { estimatortest.Run(t, c.spec, c.options) })
	}
}
