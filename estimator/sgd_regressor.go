package estimator

import (
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/sgd"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// SGDRegressor is linear regression by stochastic gradient descent. With n rows of weights s it
// minimizes approximately
//
//	1/n·Σ s_i·loss(w'x_i + b, y_i) + Alpha·((1−ρ)·½‖w‖² + ρ·‖w‖₁)
//
// where Loss is squared_error, ½r² of a residual r; huber, continued by its tangent beyond Epsilon;
// epsilon_insensitive, max(0, |r|−Epsilon); or squared_epsilon_insensitive, its square. ρ is 0 for
// Penalty l2, 1 for l1 and L1Ratio for elasticnet; the intercept b is not penalized.
//
// Each step uses the gradient of Batch rows. A fit costs O(n·d) per pass over the rows, with at
// most Epochs passes; streams are not stored. The parameters have the meaning of those in
// scikit-learn with the same names; with Batch 1 and without Shuffle the steps are equal.
// LearningRate auto, the default, needs no eta0: it starts at the mean of the targets (the median
// for absolute losses), centers by the mean of the first rows, selects the first step by the
// largest curvature of their mean loss, and reduces it for much larger rows. Steps are effective
// only for inputs of similar scale, so standardize first.
//
// Rows in memory are shuffled before each epoch, those of a stream within windows of some
// thousands. The steps depend on the order of rows, so a weight of 2 doubles a step and differs
// from a repeated row, and models of parts of the rows cannot be merged: it is no [PassEstimator].
// Instead a fitted model supports incremental learning ([IncrementalEstimator]): it stores its last
// and its averaged weights and the number of its steps.
//
// Fit returns an error if scores are not finite, or if the final objective exceeds twice that
// of zero weights; the report shows whether it has converged. (Polyak & Juditsky, SIAM J. Control
// 1992; Bottou, COMPSTAT 2010; Xu, arXiv:1107.2490, for the rate; Tsuruoka, Tsujii & Ananiadou, ACL
// 2009, for l1.) Use [NewSGDRegressor]: the zero value is invalid.
type SGDRegressor struct {
	Loss               string
	Epsilon            float64
	Penalty            string
	Alpha              float64
	L1Ratio            float64
	Intercept          bool
	LearningRate       string
	Eta0               float64
	PowerT             float64
	Average            bool
	AverageFrom        int
	Epochs             int
	Tol                float64
	NoChange           int // n_iter_no_change
	Batch              int
	Shuffle            bool
	EarlyStopping      bool
	ValidationFraction float64
	Seed               uint64
}

// NewSGDRegressor returns an SGDRegressor with squared error, l2 penalty with alpha 1e-4, batches
// of 32 rows, averaged weights, and at most 100 epochs.
func NewSGDRegressor() SGDRegressor {
	return SGDRegressor{Loss: "squared_error", Epsilon: 0.1, Penalty: "l2", Alpha: 1e-4, L1Ratio: 0.15, Intercept: true,
		LearningRate: "auto", PowerT: 0.25,
		Average: true, Epochs: 100, Tol: 1e-3, NoChange: 5, Batch: 32, Shuffle: true, ValidationFraction: 0.1}
}

// Params declares the hyperparameters.
func (s *SGDRegressor) Params(l *param.List) {
	l.Choice(&s.Loss, "loss", "loss of a residual r. squared_error: r²/2; huber: the same, linear beyond epsilon; "+
		"epsilon_insensitive: max(0, |r|−epsilon); squared_epsilon_insensitive: its square",
		"squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive")
	l.Float(&s.Epsilon, "epsilon", "residual above which huber is linear, and up to which the insensitive losses "+
		"are 0",
		param.AtLeast(0))
	stepParams(l, &s.Penalty, &s.Alpha, &s.L1Ratio, &s.Intercept)
	rateParams(l, &s.LearningRate, &s.Eta0, &s.PowerT, &s.Average, &s.AverageFrom)
	epochParams(l, &s.Epochs, &s.Batch, &s.Tol, &s.Shuffle, &s.EarlyStopping, &s.ValidationFraction, &s.NoChange, &s.Seed)
	alphaOf(l, &s.LearningRate, &s.Alpha)
}

// steps is the spec as both have it.
func (s SGDRegressor) steps() sgdSpec {
	loss := sgd.SquaredError()
	switch s.Loss {
	case "huber":
		loss = sgd.Huber(s.Epsilon)
	case "epsilon_insensitive":
		loss = sgd.EpsilonInsensitive(s.Epsilon)
	case "squared_epsilon_insensitive":
		loss = sgd.SquaredEpsilonInsensitive(s.Epsilon)
	}
	return sgdSpec{name: "sgd_regressor", spec: s, loss: loss, penalty: s.Penalty, alpha: s.Alpha, l1Ratio: s.L1Ratio,
		intercept: s.Intercept,
		rate:      s.LearningRate, eta0: s.Eta0, powerT: s.PowerT, average: s.Average, averageFrom: s.AverageFrom,
		epochs: s.Epochs, batch: s.Batch, tol: s.Tol,
		shuffle: s.Shuffle, stop: s.EarlyStopping, validation: s.ValidationFraction, patience: s.NoChange, seed: s.Seed}
}

// Fit fits the model to data in memory; the result is a *fittedSGDRegressor.
func (s SGDRegressor) Fit(ctx context.Context, data datasets.Set) (Predictor, error) {
	return regressorOf(s.steps().fitSet(ctx, data))
}

// FitSource fits the model to a stream, read once per epoch; the result is a *fittedSGDRegressor.
func (s SGDRegressor) FitSource(ctx context.Context, data datasets.Source) (Predictor, error) {
	return regressorOf(s.steps().fitSource(ctx, data))
}

// PartialFit makes one pass over new rows, starting from a *fittedSGDRegressor.
func (s SGDRegressor) PartialFit(ctx context.Context, previous Predictor, data datasets.Source) (Predictor, error) {
	var from *fittedSGDRegressor
	if !As(previous, &from) {
		return nil, fmt.Errorf("estimator: sgd_regressor: cannot continue from a %T", previous)
	}
	m := &sgdModel{linear: from.linear, incrementalState: from.incrementalState}
	return regressorOf(s.steps().continued(ctx, m, nil, data))
}

// Cost estimates a fit to rows of a shape.
func (s SGDRegressor) Cost(shape datasets.Shape) datasets.Cost { return s.steps().cost(shape) }

// Requirements declares that all inputs must be numeric and have no missing values.
func (SGDRegressor) Requirements() []datasets.Requirement { return numericComplete }

// fittedSGDRegressor is a fitted linear regression that can learn incrementally.
type fittedSGDRegressor struct {
	FittedLinear
	incrementalState
}

// Tags returns the number of input columns, the coefficients and the number of rows learned so far.
func (f *fittedSGDRegressor) Tags() datasets.Tags { return f.tags(f.linear.Tags()) }

func regressorOf(d *sgdModel, err error) (Predictor, error) {
	if err != nil {
		return nil, err
	}
	return &fittedSGDRegressor{FittedLinear{d.linear}, d.incrementalState}, nil
}

// State serializes the model and its optimizer state.
func (f *fittedSGDRegressor) State(s *model.State) {
	f.FittedLinear.State(s)
	f.incrementalState.state(s, &f.linear)
}
