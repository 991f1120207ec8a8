package estimator

import (
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/joint"
	"github.com/bochner-ml/bochner/estimator/internal/newton"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/param"
)

// Tweedie is a generalized linear model of targets y ≥ 0 with the mean μ = exp(w'x + b) and a
// variance proportional to μ^p, p = Power: 1 is [Poisson], 2 [GammaRegression]. For 1 < p < 2 the
// distribution has a point mass at 0 and is skewed otherwise, like insurance claims and rainfall.
// With row weights s it minimizes
//
//	1/Σs · Σ s_i·(y_i^(2−p)/((1−p)(2−p)) − y_i·μ_i^(1−p)/(1−p) + μ_i^(2−p)/(2−p)) + Alpha/2·‖w‖²
//
// that is, half the mean Tweedie deviance and a penalty; the intercept b is not penalized. For
// totals over exposures e_i, use targets per unit of exposure and the weights e_i. Predictions are
// the means μ. Cost, memory, passes and stopping rule are those of [Poisson].
//
// Errors: a negative target, or 0 with Power 2; targets that are all 0, with an intercept;
// divergence.
//
// Equivalent to scikit-learn's TweedieRegressor with link "log" and 1 ≤ power ≤ 2, with defaults
// Alpha 1 and Power 0. For other powers the objective is not convex with this link, or needs
// another link. (Jørgensen, JRSS B 1987.) Use [NewTweedie]: the zero value is invalid.
type Tweedie struct {
	Power     float64
	Alpha     float64
	Intercept bool
	Tol       float64
	MaxIter   int
}

// NewTweedie returns a Tweedie with Power 1.5, Alpha 1e-3, an intercept and tolerance 1e-4.
func NewTweedie() Tweedie {
	return Tweedie{Power: 1.5, Alpha: 1e-3, Intercept: true, Tol: 1e-4, MaxIter: 1000}
}

// Params declares the hyperparameters.
func (s *Tweedie) Params(l *param.List) {
	l.Float(&s.Power, "power", "exponent p of the variance function, μ^p: 1 is Poisson, 2 is gamma",
		param.Between(1, 2))
	glmParams(l, &s.Alpha, &s.Intercept, &s.Tol, &s.MaxIter)
}

// Fit fits the model to data in memory; the result has the methods Coef and Intercept of
// [FittedLinear].
func (s Tweedie) Fit(ctx context.Context, data datasets.Set) (Predictor, error) {
	return fitSet(ctx, s, data)
}

// FitSource fits the model to a stream; the result has the methods Coef and Intercept of
// [FittedLinear].
func (s Tweedie) FitSource(ctx context.Context, data datasets.Source) (Predictor, error) {
	return fitSource(ctx, s, data)
}

// Requirements declares that all inputs must be numeric and have no missing values.
func (Tweedie) Requirements() []datasets.Requirement { return numericComplete }

// Cost estimates a fit to rows of a shape.
func (s Tweedie) Cost(shape datasets.Shape) datasets.Cost { return newton.Cost(shape) }

// FitBatch shares work as [Logistic.FitBatch] does.
func (s Tweedie) FitBatch(ctx context.Context, b batch.Job) (shared []string, err error) {
	return fitPenalized(ctx, b, s)
}

// PlanBatch is [SVM.PlanBatch].
func (s Tweedie) PlanBatch(b batch.Job) (int64, error) { return pathBytes(b) }

// Start starts the passes of Newton's method, as [Logistic.Start] does.
func (s Tweedie) Start(ctx context.Context, schema datasets.Schema, cols int) (datasets.Pass, error) {
	return startPasses(ctx, s, nil, schema, cols)
}

// StartFrom is Start with a warm start from a fitted model, as [Logistic.StartFrom] is.
func (s Tweedie) StartFrom(ctx context.Context, from Predictor, schema datasets.Schema, cols int) (datasets.Pass,
	error) {
	return startPasses(ctx, s, from, schema, cols)
}

// Finish returns the model of the last pass.
func (s Tweedie) Finish(ctx context.Context, last datasets.Pass) (Predictor, error) {
	return finishPasses(ctx, s, last)
}

// Tags returns the metrics of the deviance and the domain of the targets.
func (s Tweedie) Tags() datasets.Tags {
	return s.glm().tags(fmt.Sprintf("mean_tweedie_deviance_%v", s.Power), fmt.Sprintf("d2_tweedie_%v", s.Power))
}

func (s Tweedie) name() string { return "tweedie" }

func (s Tweedie) fitted(m linear, _ []string) Predictor { return &fittedGLM{m} }

func (s Tweedie) plain() joint.PenalizedLoss { return s.glm().plain(param.Check(s)) }

func (s Tweedie) glm() glm { return glm{"tweedie", s.Power, s.Alpha, s.Intercept, s.Tol, s.MaxIter} }

func (s Tweedie) solver() (solver, loss string, by ClassWeight, numbers bool) { return glmSolver() }

func (s Tweedie) task(l *design.Labels) newton.Task { return s.glm().task(l) }
