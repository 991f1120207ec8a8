package estimator

import (
	"context"
	"math"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/joint"
	"github.com/bochner-ml/bochner/estimator/internal/newton"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// Huber is linear regression that is robust to outliers of the target. With row weights s it
// minimizes, over the weights, the intercept and the scale σ > 0 of the residuals,
//
//	Σ s_i·(σ + σ·H((y_i − w'x_i − b)/σ)) + Alpha·‖w‖²,  H(q) = q² if |q| < Epsilon, else 2·Epsilon·|q| − Epsilon²
//
// Residuals of up to Epsilon·σ count by their squares, larger ones by their absolute values. σ has
// the unit of the target, and Epsilon none. The intercept b is not penalized.
//
// Truncated Newton steps in all variables minimize the objective, as [Logistic] describes: some
// tens of passes over blocks of dense or sparse rows, from the median of the targets, with O(n)
// numbers in memory and a preconditioner of d² numbers. It stops when the gradient is at most Tol
// times that at the start, and the objective is within Tol of its minimum as estimated by the
// preconditioner. Reaching MaxIter steps first adds a warning to the report.
//
// If the model fits more than 1 − 1/Epsilon² of the rows exactly, the optimal σ is 0. It is then
// 1e-6 times the scale of the targets, with a warning. Errors: divergence.
//
// Equivalent to scikit-learn's HuberRegressor. (Owen, A robust hybrid of lasso and ridge
// regression, 2007.) Use [NewHuber]: the zero value is invalid.
type Huber struct {
	Epsilon   float64
	Alpha     float64
	Intercept bool
	Tol       float64
	MaxIter   int
}

// NewHuber returns a Huber with Epsilon 1.35, which is 95 % efficient for normal residuals, Alpha
// 1e-4, an intercept and tolerance 1e-4.
func NewHuber() Huber {
	return Huber{Epsilon: 1.35, Alpha: 1e-4, Intercept: true, Tol: 1e-4, MaxIter: 1000}
}

// Params declares the hyperparameters.
func (s *Huber) Params(l *param.List) {
	l.Float(&s.Epsilon, "epsilon", "residuals above this multiple of the estimated scale have a linear instead of a "+
		"squared loss",
		param.Range{Low: 1, High: math.Inf(1), LowOpen: true})
	l.Float(&s.Alpha, "alpha", "penalty on the squared weights", param.AtLeast(0))
	l.MorePenalty("alpha")
	l.Bool(&s.Intercept, "intercept", "whether to fit an intercept, which is not penalized")
	l.Float(&s.Tol, "tol", "tolerance: norm of the gradient, relative to that of the median", param.Positive())
	l.Int(&s.MaxIter, "max_iter", "maximum number of Newton steps", param.AtLeast(1))
}

// Fit fits the model to data in memory; the result is a *fittedHuber.
func (s Huber) Fit(ctx context.Context, data datasets.Set) (Predictor, error) {
	return fitSet(ctx, s, data)
}

// FitSource fits the model to a stream, read once per pass; the result is a *fittedHuber.
func (s Huber) FitSource(ctx context.Context, data datasets.Source) (Predictor, error) {
	return fitSource(ctx, s, data)
}

// Requirements declares that all inputs must be numeric and have no missing values.
func (Huber) Requirements() []datasets.Requirement { return numericComplete }

// Cost estimates a fit to rows of a shape.
func (s Huber) Cost(shape datasets.Shape) datasets.Cost { return newton.Cost(shape) }

// Tags returns that batches take related maps.
func (Huber) Tags() datasets.Tags { return datasets.Tags{SharedMaps: true} }

// FitBatch shares the mapped rows between candidates and folds, as [Logistic.FitBatch] does; each problem is solved by
// its own steps.
func (s Huber) FitBatch(ctx context.Context, b batch.Job) (shared []string, err error) {
	return fitPenalized(ctx, b, s)
}

// PlanBatch is [SVM.PlanBatch].
func (s Huber) PlanBatch(b batch.Job) (int64, error) { return pathBytes(b) }

func (s Huber) name() string { return "huber" }

func (s Huber) fitted(m linear, _ []string) Predictor { return &fittedHuber{FittedLinear{m}} }

// plain returns the spec for package joint.
func (s Huber) plain() joint.PenalizedLoss {
	c := 1.0
	if s.Alpha > 0 {
		c = 1 / (2 * s.Alpha)
	}
	return joint.PenalizedLoss{C: c, Tol: s.Tol,
		MaxIter: s.MaxIter, Intercept: s.Intercept, Invalid: param.Check(s),
		Labels: func(ctx context.Context, r *design.Rows) (*design.Labels, error) {
			return readNumbers(ctx, r, s.name())
		},
		Newton: func(l *design.Labels) newton.Task {
			return newton.Huber(l, s.Epsilon, s.Alpha, s.Intercept, s.Tol)
		}}
}

// fittedHuber is a fitted [Huber]: a linear regression with the scale of its residuals.
type fittedHuber struct{ FittedLinear }

// Scale returns σ, the scale of the residuals; 0 if the targets are constant.
func (f *fittedHuber) Scale() float64 { return f.scale }

// State serializes the model.
func (f *fittedHuber) State(s *model.State) {
	f.FittedLinear.State(s)
	s.Float("scale", &f.scale)
	s.Require(f.scale >= 0 && !math.IsInf(f.scale, 1), "the scale must be finite and ≥ 0")
}
