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

// SVM is the linear support vector machine. With row weights s it minimizes
//
//	C·Σ s_i·h(t_i(w'x_i + b)) + ½‖w‖²,  t_i = ±1
//
// for two classes, where Loss hinge is h(m) = max(0, 1−m) and squared_hinge its square; for more
// classes, one against the rest, and for several labels (see [datasets.Tags]) each on its own. The
// intercept b is not penalized (LIBLINEAR penalizes it).
//
// Solver newton takes truncated Newton steps over blocks of rows, with the stopping rule of
// [Logistic]. It requires the squared hinge. Solver dual is coordinate descent on the dual, with
// all rows in memory: the intercept is penalized about a moving center, so that the objective
// decreases monotonically. With at most 2048 columns, and C so large that the descent is slow, it
// switches to an interior point method. It stops when the duality gap, over all rows and with the
// best intercept for the weights, is at most Tol of the objective, and returns the best iterate,
// which may be zero weights. Solver auto is dual for the hinge, and for the squared hinge on sparse
// rows of more than 512 columns, such as those of random binning, for which newton has no cheap
// preconditioner; otherwise it is newton. Reaching MaxIter steps or passes first is not an error:
// the report has Converged false and a warning. An objective that is NaN, or above that of zero
// weights, is an error. (Hsieh et al., ICML 2008; proximal steps: Rockafellar, SIAM J. Control
// 1976; interior point: Ferris & Munson, SIAM J. Optimization 2002; Lin, Weng & Keerthi, JMLR
// 2008.) Use [NewSVM]: the zero value is invalid.
type SVM struct {
	C           float64
	Loss        string
	Intercept   bool
	ClassWeight ClassWeight
	Solver      string
	Tol         float64
	MaxIter     int
}

// NewSVM returns an SVM with C 1, squared hinge loss, an intercept and tolerance 1e-4.
func NewSVM() SVM {
	return SVM{C: 1, Loss: "squared_hinge", Intercept: true, Solver: "auto", Tol: 1e-4, MaxIter: 1000}
}

// Params declares the hyperparameters.
func (s *SVM) Params(l *param.List) {
	l.Float(&s.C, "C", "weight of the loss relative to the penalty; larger values fit more closely", param.Positive())
	l.LessPenalty("C")
	l.Choice(&s.Loss, "loss", "loss of a margin m: max(0, 1−m), or its square", "squared_hinge", "hinge")
	l.Bool(&s.Intercept, "intercept", "whether to fit an intercept, which is not penalized")
	l.Value(&s.ClassWeight, "class_weight", "weights of the classes; balanced: inverse to their frequency")
	penalizedSolverParams(l, &s.Solver, &s.Tol, &s.MaxIter)
	l.Check("solver", func() error { return smoothEnough(s.Solver, s.Loss) })
}

// Fit fits the model to data in memory; the result is a [*FittedLinearClassifier].
func (s SVM) Fit(ctx context.Context, data datasets.Set) (Predictor, error) {
	return fitSet(ctx, s, data)
}

// FitSource fits the model to a stream, read once per pass, or into memory for coordinate descent;
// the result is a [*FittedLinearClassifier].
func (s SVM) FitSource(ctx context.Context, data datasets.Source) (Predictor, error) {
	return fitSource(ctx, s, data)
}

func (s SVM) name() string { return "svm" }

func (s SVM) fitted(m linear, classes []string) Predictor {
	return &FittedLinearClassifier{linear: m, classes: classes}
}

func (s SVM) fittedLabels(f FittedLinearClassifier) Predictor { return &f }

// plain returns the spec for package joint.
func (s SVM) plain() joint.PenalizedLoss {
	return joint.PenalizedLoss{C: s.C,
		Tol: s.Tol, MaxIter: s.MaxIter,
		Intercept: s.Intercept, Invalid: param.Check(s),
		Labels: func(ctx context.Context, r *design.Rows) (*design.Labels, error) {
			return r.ReadClasses(ctx, s.ClassWeight.factors)
		},
		UsesDescent: func(r *design.Rows, _ *design.Labels) bool {
			return !byNewton(s.Solver, s.Loss, newton.ExceedsFactorLimit(r))
		},
		Descent: s.descent, Newton: s.newton}
}

// newton returns the objective of Newton's method.
func (s SVM) newton(l *design.Labels) newton.Task { return newton.SquaredHinge(l, s.Intercept, s.Tol) }

// descent is the problem for coordinate descent.
func (s SVM) descent(l *design.Labels) descent.Task {
	return descent.Hinge(l, s.C, s.Loss == "squared_hinge", s.Intercept, s.Tol, s.MaxIter)
}

// Cost estimates a fit to rows of a shape.
func (s SVM) Cost(shape datasets.Shape) datasets.Cost { return marginCost(s.Solver, s.Loss, shape) }

// Tags returns that the model is a classifier, also of several labels.
func (s SVM) Tags() datasets.Tags {
	return datasets.Tags{Task: datasets.Classification, MultiLabel: true, SharedMaps: byNewton(s.Solver, s.Loss, false)}
}
