package estimator_test

import (
	"testing"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/estimatortest"
)

func TestSGDClassifierConformance(t *testing.T) {
	for loss, classes := range map[string]int{"hinge": 3, "squared_hinge": 2, "log_loss": 3, "modified_huber": 2,
		"perceptron": 2} {
		s := estimator.NewSGDClassifier()
		s.Loss, s.ClassWeight.Balanced, s.EarlyStopping = loss, loss == "log_loss", loss == "modified_huber"
		s.Seed = 3
		t.Run(loss, func(t *testing.T) {
			estimatortest.Run(t, s, estimatortest.Options{Classes: classes, Minibatches: true})
		})
	}
}

func TestSGDRegressorConformance(t *testing.T) {
	for _, loss := range []string{"squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive"} {
		s := estimator.NewSGDRegressor()
		s.Loss, s.EarlyStopping = loss, loss == "huber"
		if loss == "epsilon_insensitive" {
			s.Penalty, s.Batch, s.Average, s.AverageFrom = "elasticnet", 7, true, 4
		}
		t.Run(loss, func(t *testing.T) {
			estimatortest.Run(t, s, estimatortest.Options{Minibatches: true})
		})
	}
}
