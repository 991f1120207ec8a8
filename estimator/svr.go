package estimator

import (
	"context"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/descent"
	"github.com/bochner-ml/bochner/estimator/internal/joint"
	"github.com/bochner-ml/bochner/estimator/internal/newton"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/param"
)

// SVR is linear support vector regression. With row weights s it minimizes
//
//	C·Σ s_i·h(y_i − w'x_i − b) + ½‖w‖²
//
// where Loss epsilon_insensitive is h(r) = max(0, |r|−Epsilon) and squared_epsilon_insensitive its
// square. The intercept b is not penalized.
//
// Solver is as for [SVM]: newton for the squared loss, dual, or auto; so are the end and its errors.
// (Ho & Lin, JMLR 2012, for the descent.) Use [NewSVR]: the zero value is invalid.
type SVR struct {
	C         float64
	Epsilon   float64
	Loss      string
	Intercept bool
	Solver    string
	Tol       float64
	MaxIter   int
}

// NewSVR returns an SVR with C 1, a tube of half-width 0, the epsilon-insensitive loss, an
// intercept and tolerance 1e-4.
func NewSVR() SVR {
	return SVR{C: 1, Loss: "epsilon_insensitive", Intercept: true, Solver: "auto", Tol: 1e-4, MaxIter: 1000}
}

// Params declares the hyperparameters.
func (s *SVR) Params(l *param.List) {
	l.Float(&s.C, "C", "weight of the loss relative to the penalty; larger values fit more closely", param.Positive())
	l.LessPenalty("C")
	l.Float(&s.Epsilon, "epsilon", "residuals up to this size have no loss", param.AtLeast(0))
	l.MorePenalty("epsilon")
	l.Choice(&s.Loss, "loss", "loss of a residual r: max(0, |r|−epsilon), or its square", "epsilon_insensitive",
		"squared_epsilon_insensitive")
	l.Bool(&s.Intercept, "intercept", "whether to fit an intercept, which is not penalized")
	penalizedSolverParams(l, &s.Solver, &s.Tol, &s.MaxIter)
	l.Check("solver", func() error { return smoothEnough(s.Solver, s.Loss) })
}

// Fit fits the model to data in memory; the result is a [*FittedLinear].
func (s SVR) Fit(ctx context.Context, data datasets.Set) (Predictor, error) {
	return fitSet(ctx, s, data)
}

// FitSource fits the model to a stream, read once per pass, or into memory for coordinate descent;
// the result is a [*FittedLinear].
func (s SVR) FitSource(ctx context.Context, data datasets.Source) (Predictor, error) {
	return fitSource(ctx, s, data)
}

func (s SVR) name() string { return "svr" }

func (s SVR) fitted(m linear, _ []string) Predictor { return &FittedLinear{m} }

// plain returns the spec for package joint.
func (s SVR) plain() joint.PenalizedLoss {
	return joint.PenalizedLoss{C: s.C, Tol: s.Tol,
		MaxIter:   s.MaxIter,
		Intercept: s.Intercept, Invalid: param.Check(s),
		Labels: func(ctx context.Context, r *design.Rows) (*design.Labels, error) { return readNumbers(ctx, r, "svr") },
		UsesDescent: func(r *design.Rows, _ *design.Labels) bool {
			return !byNewton(s.Solver, s.Loss, newton.ExceedsFactorLimit(r))
		},
		Descent: s.descent, Newton: s.newton}
}

// newton returns the objective of Newton's method, for the squared loss.
func (s SVR) newton(l *design.Labels) newton.Task {
	return newton.SquaredEpsilonInsensitive(l, s.Epsilon, s.Intercept, s.tubeBar(l))
}

// descent is the problem for coordinate descent.
func (s SVR) descent(l *design.Labels) descent.Task {
	return descent.EpsilonInsensitive(l, s.C, s.Epsilon, s.Loss == "squared_epsilon_insensitive", s.Intercept, s.Tol,
		s.MaxIter)
}

// Cost estimates a fit to rows of a shape.
func (s SVR) Cost(shape datasets.Shape) datasets.Cost { return marginCost(s.Solver, s.Loss, shape) }

// tubeBar is the bar of the squared epsilon-insensitive loss, C being 1.
func (s SVR) tubeBar(l *design.Labels) float64 {
	s.C = 1
	trivial := s.descent(l).Trivial(0)
	s.Intercept = false
	return newton.ObjectiveBound(trivial, s.descent(l).Trivial(0), s.Tol)
}
