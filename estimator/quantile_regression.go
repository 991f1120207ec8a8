package estimator

import (
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/joint"
	"github.com/bochner-ml/bochner/estimator/internal/newton"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/param"
)

// QuantileRegression is a linear model of a quantile q of the target, 0 < q < 1, such as the
// median. With row weights s it minimizes the mean pinball loss and a penalty,
//
//	1/Σs · Σ s_i·max(q·r_i, (q−1)·r_i) + Alpha·‖w‖₁,  r_i = y_i − w'x_i − b
//
// The intercept b is not penalized.
//
// A primal-dual interior point method solves this linear program. Each of about twenty steps makes
// three passes over blocks of dense or sparse rows and takes nd² + d³/3 flops; n rows and d columns
// need 8n + 3d² numbers in memory. It stops when the relative duality gap, see the report, is at
// most Tol; the gap includes an estimate of the effect of dual infeasibility. Reaching MaxIter steps
// first, or columns that rounding cannot distinguish from dependent ones, add a warning. Scales of
// columns matter for the penalty only.
//
// Errors: more than 8192 columns; divergence.
//
// Equivalent to scikit-learn's QuantileRegressor, whose default Alpha is 1. (Koenker & Bassett,
// Econometrica 1978; Portnoy & Koenker, Statistical Science 1997, for the solver.)
// Use [NewQuantileRegression]: the zero value is invalid.
type QuantileRegression struct {
	Quantile  float64
	Alpha     float64
	Intercept bool
	Tol       float64
	MaxIter   int
}

// NewQuantileRegression returns a QuantileRegression of the median with Alpha 1e-4, an intercept and
// tolerance 1e-6.
func NewQuantileRegression() QuantileRegression {
	return QuantileRegression{Quantile: 0.5, Alpha: 1e-4, Intercept: true, Tol: 1e-6, MaxIter: 100}
}

// Params declares the hyperparameters.
func (s *QuantileRegression) Params(l *param.List) {
	l.Float(&s.Quantile, "quantile", "quantile to predict", param.Within(0, 1))
	l.Float(&s.Alpha, "alpha", "penalty on the absolute weights, relative to the mean loss", param.AtLeast(0))
	l.MorePenalty("alpha")
	l.Bool(&s.Intercept, "intercept", "whether to fit an intercept, which is not penalized")
	l.Float(&s.Tol, "tol", "tolerance: duality gap, relative to the objective", param.Positive())
	l.Int(&s.MaxIter, "max_iter", "maximum number of interior point steps", param.AtLeast(1))
}

// Fit fits the model to data in memory; the result is a [*FittedLinear].
func (s QuantileRegression) Fit(ctx context.Context, data datasets.Set) (Predictor, error) {
	return fitSet(ctx, s, data)
}

// FitSource fits the model to a stream, read once per pass; the result is a [*FittedLinear].
func (s QuantileRegression) FitSource(ctx context.Context, data datasets.Source) (Predictor, error) {
	return fitSource(ctx, s, data)
}

// Requirements declares that all inputs must be numeric and have no missing values.
func (QuantileRegression) Requirements() []datasets.Requirement { return numericComplete }

// Cost estimates a fit to rows of a shape.
func (s QuantileRegression) Cost(shape datasets.Shape) datasets.Cost {
	return newton.QuantileCost(shape)
}

// Tags returns the quantile and the metrics of the pinball loss.
func (s QuantileRegression) Tags() datasets.Tags {
	return datasets.Tags{Quantile: "quantile",
		LossMetrics: []string{fmt.Sprintf("pinball_%v", s.Quantile), fmt.Sprintf("d2_pinball_%v", s.Quantile)}}
}

func (s QuantileRegression) name() string { return "quantile_regression" }

func (s QuantileRegression) fitted(m linear, _ []string) Predictor { return &FittedLinear{m} }

func (s QuantileRegression) plain() joint.PenalizedLoss {
	return joint.PenalizedLoss{C: 1, Tol: s.Tol, MaxIter: s.MaxIter, Intercept: s.Intercept,
		Invalid: param.Check(s),
		Labels: func(ctx context.Context, r *design.Rows) (*design.Labels, error) {
			return readNumbers(ctx, r, s.name())
		},
		Newton: func(l *design.Labels) newton.Task {
			return newton.Quantile(l, s.Quantile, s.Alpha, s.Intercept, s.Tol)
		}}
}
