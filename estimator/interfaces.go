package estimator

import (
	"context"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
)

// Estimator is the spec of a model.
type Estimator interface {
	// Fit fits the model to data, which it does not modify.
	Fit(ctx context.Context, data datasets.Set) (Predictor, error)
}

// BlockEstimator is an Estimator that can be fitted to a stream of blocks of rows.
type BlockEstimator interface {
	FitSource(ctx context.Context, data datasets.Source) (Predictor, error)
}

// Predictor is a fitted model.
type Predictor interface {
	// Predict returns a value for each row of X: the target, or the code of the class.
	Predict(ctx context.Context, X mat.Matrix) ([]float64, error)
}

// PassEstimator is an Estimator that is fitted by passes over blocks of rows. Its [datasets.Pass]
// adds blocks, merges the passes of other workers, and is serialized to resume a fit. A pipeline of
// such steps and such a model is a PassEstimator.
type PassEstimator interface {
	Estimator
	// Start returns the first pass over rows of these columns. It has no rows yet.
	Start(ctx context.Context, schema datasets.Schema, cols int) (datasets.Pass, error)
	// Finish returns the model of the last pass, which it does not modify.
	Finish(ctx context.Context, last datasets.Pass) (Predictor, error)
}

// IncrementalEstimator is the spec of a model that supports incremental learning. Training
// continues from the state of a fitted model, as if the new rows followed the training rows. Rows
// in both count twice.
type IncrementalEstimator interface {
	// PartialFit makes one pass over new rows and returns a new model; previous is not modified.
	// The rows must have the same columns and classes as the training rows.
	PartialFit(ctx context.Context, previous Predictor, data datasets.Source) (Predictor, error)
}

// LinearSmoother is a regression whose predictions are linear in the training targets, so that the
// predictions of all leave-one-out models follow from one fit.
type LinearSmoother interface {
	// SmootherWeights returns the weights of the training targets in the predictions.
	SmootherWeights(ctx context.Context, data datasets.Set) (*Smoother, error)
	// SmootherCost returns the cost of SmootherWeights.
	SmootherCost(shape datasets.Shape) datasets.Cost
}

// FullPredictor is a [Predictor] with more outputs than values: scores of classes, probabilities, standard
// deviations. A model that wraps another one implements it by calling [Predict] and [OutputsOf] of the inner model.
type FullPredictor interface {
	Predictor
	// Outputs returns the outputs that the model has. That of a zero value has the outputs of every model of the type.
	Outputs() Outputs
	// PredictFull returns the requested outputs for the rows of X. It may return others too, which [Predict] removes;
	// outputs that the model does not have are nil.
	PredictFull(ctx context.Context, X mat.Matrix, want Request) (Prediction, error)
}

// Reporter is a Predictor that reports on its fit.
type Reporter interface {
	Report() Report
}

// Wrapper is a [Predictor] that wraps an inner model: a fitted pipeline, the result of a search, a
// calibrated model. [As] finds the inner model. If it has outputs in addition to values, the
// wrapper is a [FullPredictor] itself.
type Wrapper interface {
	Predictor
	// Unwrap returns the inner model, and whether it takes the same rows as the wrapper.
	Unwrap() (inner Predictor, sameRows bool)
}

// Refitter is a fitted model of which some parts stay as they are when it is fitted to other rows: what it learned
// from held-out rows, such as a threshold, or what is expensive to learn. See [Refit].
type Refitter interface {
	Predictor
	// Refit returns the fit of the spec of the model to data. The receiver stays as it is.
	Refit(ctx context.Context, spec Estimator, data datasets.Set) (Predictor, error)
}
