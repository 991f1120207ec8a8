package estimator

import (
	"context"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/joint"
	"github.com/bochner-ml/bochner/estimator/internal/newton"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/param"
)

// GammaRegression is a generalized linear model of positive, right-skewed targets whose standard
// deviation grows with their mean μ = exp(w'x + b), such as amounts and durations. With row weights
// s it minimizes
//
//	1/Σs · Σ s_i·(log(μ_i/y_i) + y_i/μ_i − 1) + Alpha/2·‖w‖²
//
// that is, half the mean gamma deviance and a penalty; the intercept b is not penalized.
// Predictions are the means μ. Cost, memory, passes and stopping rule are those of [Poisson].
//
// Errors: a target that is not positive; divergence.
//
// Equivalent to scikit-learn's GammaRegressor, whose default Alpha is 1. (McCullagh & Nelder,
// Generalized Linear Models, 1989.) Use [NewGammaRegression]: the zero value is invalid.
type GammaRegression struct {
	Alpha     float64
	Intercept bool
	Tol       float64
	MaxIter   int
}

// NewGammaRegression returns a GammaRegression with Alpha 1e-3, an intercept and tolerance 1e-4.
func NewGammaRegression() GammaRegression {
	return GammaRegression{Alpha: 1e-3, Intercept: true, Tol: 1e-4, MaxIter: 1000}
}

// Params declares the hyperparameters.
func (s *GammaRegression) Params(l *param.List) {
	glmParams(l, &s.Alpha, &s.Intercept, &s.Tol, &s.MaxIter)
}

// Fit fits the model to data in memory; the result has the methods Coef and Intercept of
// [FittedLinear].
func (s GammaRegression) Fit(ctx context.Context, data datasets.Set) (Predictor, error) {
	return fitSet(ctx, s, data)
}

// FitSource fits the model to a stream; the result has the methods Coef and Intercept of
// [FittedLinear].
func (s GammaRegression) FitSource(ctx context.Context, data datasets.Source) (Predictor, error) {
	return fitSource(ctx, s, data)
}

// Requirements declares that all inputs must be numeric and have no missing values.
func (GammaRegression) Requirements() []datasets.Requirement { return numericComplete }

// Cost estimates a fit to rows of a shape.
func (s GammaRegression) Cost(shape datasets.Shape) datasets.Cost { return newton.Cost(shape) }

// FitBatch shares work as [Logistic.FitBatch] does.
func (s GammaRegression) FitBatch(ctx context.Context, b batch.Job) (shared []string, err error) {
	return fitPenalized(ctx, b, s)
}

// PlanBatch is [SVM.PlanBatch].
func (s GammaRegression) PlanBatch(b batch.Job) (int64, error) { return pathBytes(b) }

// Start starts the passes of Newton's method, as [Logistic.Start] does.
func (s GammaRegression) Start(ctx context.Context, schema datasets.Schema, cols int) (datasets.Pass, error) {
	return startPasses(ctx, s, nil, schema, cols)
}

// StartFrom is Start with a warm start from a fitted model, as [Logistic.StartFrom] is.
func (s GammaRegression) StartFrom(ctx context.Context, from Predictor, schema datasets.Schema,
	cols int) (datasets.Pass, error) {
	return startPasses(ctx, s, from, schema, cols)
}

// Finish returns the model of the last pass.
func (s GammaRegression) Finish(ctx context.Context, last datasets.Pass) (Predictor, error) {
	return finishPasses(ctx, s, last)
}

// Tags returns the metrics of the deviance and the domain of the targets.
func (s GammaRegression) Tags() datasets.Tags {
	return s.glm().tags("mean_gamma_deviance", "d2_gamma")
}

func (s GammaRegression) name() string { return "gamma_regression" }

func (s GammaRegression) fitted(m linear, _ []string) Predictor { return &fittedGLM{m} }

func (s GammaRegression) plain() joint.PenalizedLoss { return s.glm().plain(param.Check(s)) }

func (s GammaRegression) glm() glm {
	return glm{"gamma_regression", 2, s.Alpha, s.Intercept, s.Tol, s.MaxIter}
}

func (s GammaRegression) solver() (solver, loss string, by ClassWeight, numbers bool) {
	return glmSolver()
}

func (s GammaRegression) task(l *design.Labels) newton.Task { return s.glm().task(l) }
