package anomaly

import (
	"context"
	"errors"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// OneClass is the linear one-class SVM.
type OneClass struct {
	Nu      float64
	Tol     float64
	MaxIter int
}

// NewOneClass returns a OneClass with nu 0.1.
func NewOneClass() OneClass { return OneClass{Nu: 0.1, Tol: 1e-4, MaxIter: 1000} }

// Params declares the hyper-parameters.
func (s *OneClass) Params(l *param.List) {
	l.Float(&s.Nu, "nu", "share of the training rows that may lie outside", param.Range{Low: 0, High: 1, LowOpen: true})
	l.Float(&s.Tol, "tol", "duality gap, relative to the objective, at which to stop", param.Positive)
	l.Int(&s.MaxIter, "max_iter", "most readings of the rows", param.AtLeast(1))
}

// Task returns datasets.Anomaly.
func (OneClass) Task() datasets.Task { return datasets.Anomaly }

// Fit learns the plane; the result is a [*FittedOneClass].
func (s OneClass) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	return nil, errors.New("anomaly: one_class: to come")
}

// FittedOneClass is what [OneClass] returns.
type FittedOneClass struct{ weights []float64 }

// Predict returns 1 for each row of X that is unlike the others, else 0.
func (f *FittedOneClass) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	return nil, errors.New("anomaly: one_class: to come")
}

// AnomalyScores returns how unlike the others each row of X is.
func (f *FittedOneClass) AnomalyScores(ctx context.Context, X mat.Matrix) ([]float64, error) {
	return nil, errors.New("anomaly: one_class: to come")
}

// State is the model's state for a model file.
func (f *FittedOneClass) State(s *model.State) { s.Floats("weights", &f.weights) }
