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

// Poisson is Poisson regression, a generalized linear model of counts and rates y ≥ 0 with the mean
// μ = exp(w'x + b). With row weights s it minimizes
//
//	1/Σs · Σ s_i·(y_i·log(y_i/μ_i) − y_i + μ_i) + Alpha/2·‖w‖²
//
// that is, half the mean deviance and a penalty; the intercept b is not penalized. Predictions are
// the means μ.
//
// Exposure: for counts c_i observed over exposures e_i (years, kilometers), use the targets y_i =
// c_i/e_i and the weights s_i = e_i. The optimum is that of counts with the offset log e_i, and
// predictions are rates per unit of exposure.
//
// Truncated Newton steps with a line search minimize the objective, as [Logistic] describes: some
// tens of passes over blocks of dense or sparse rows, with O(n) numbers in memory and a
// preconditioner of d² numbers. It stops when the gradient is at most Tol times that of the trivial
// model, and the objective is within Tol of its minimum as estimated by the preconditioner.
// Reaching MaxIter steps first adds a warning to the report.
//
// Errors: a negative target; targets that are all 0, with an intercept; divergence.
//
// Equivalent to scikit-learn's PoissonRegressor, whose default Alpha is 1. (McCullagh & Nelder,
// Generalized Linear Models, 1989.) Use [NewPoisson]: the zero value is invalid.
type Poisson struct {
	Alpha     float64
	Intercept bool
	Tol       float64
	MaxIter   int
}

// NewPoisson returns a Poisson with Alpha 1e-3, an intercept and tolerance 1e-4.
func NewPoisson() Poisson { return Poisson{Alpha: 1e-3, Intercept: true, Tol: 1e-4, MaxIter: 1000} }

// Params declares the hyperparameters.
func (s *Poisson) Params(l *param.List) {
	glmParams(l, &s.Alpha, &s.Intercept, &s.Tol, &s.MaxIter)
}

// Fit fits the model to data in memory; the result has the methods Coef and Intercept of
// [FittedLinear].
func (s Poisson) Fit(ctx context.Context, data datasets.Set) (Predictor, error) {
	return fitSet(ctx, s, data)
}

// FitSource fits the model to a stream; the result has the methods Coef and Intercept of
// [FittedLinear].
func (s Poisson) FitSource(ctx context.Context, data datasets.Source) (Predictor, error) {
	return fitSource(ctx, s, data)
}

// Requirements declares that all inputs must be numeric and have no missing values.
func (Poisson) Requirements() []datasets.Requirement { return numericComplete }

// Cost estimates a fit to rows of a shape.
func (s Poisson) Cost(shape datasets.Shape) datasets.Cost { return newton.Cost(shape) }

// FitBatch shares work as [Logistic.FitBatch] does.
func (s Poisson) FitBatch(ctx context.Context, b batch.Job) (shared []string, err error) {
	return fitPenalized(ctx, b, s)
}

// PlanBatch is [SVM.PlanBatch].
func (s Poisson) PlanBatch(b batch.Job) (int64, error) { return pathBytes(b) }

// Start starts the passes of Newton's method, as [Logistic.Start] does.
func (s Poisson) Start(ctx context.Context, schema datasets.Schema, cols int) (datasets.Pass, error) {
	return startPasses(ctx, s, nil, schema, cols)
}

// StartFrom is Start with a warm start from a fitted model, as [Logistic.StartFrom] is.
func (s Poisson) StartFrom(ctx context.Context, from Predictor, schema datasets.Schema, cols int) (datasets.Pass,
	error) {
	return startPasses(ctx, s, from, schema, cols)
}

// Finish returns the model of the last pass.
func (s Poisson) Finish(ctx context.Context, last datasets.Pass) (Predictor, error) {
	return finishPasses(ctx, s, last)
}

// Tags returns the metrics of the deviance and the domain of the targets.
func (s Poisson) Tags() datasets.Tags {
	return s.glm().tags("mean_poisson_deviance", "d2_poisson")
}

func (s Poisson) name() string { return "poisson" }

func (s Poisson) fitted(m linear, _ []string) Predictor { return &fittedGLM{m} }

func (s Poisson) plain() joint.PenalizedLoss { return s.glm().plain(param.Check(s)) }

func (s Poisson) glm() glm { return glm{"poisson", 1, s.Alpha, s.Intercept, s.Tol, s.MaxIter} }

func (s Poisson) solver() (solver, loss string, by ClassWeight, numbers bool) { return glmSolver() }

func (s Poisson) task(l *design.Labels) newton.Task { return s.glm().task(l) }
