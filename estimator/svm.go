package estimator

import (
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/batch"
	"github.com/bochner-ml/bochner/internal/descent"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/newton"
	"github.com/bochner-ml/bochner/param"
)

// SVM is the linear support vector machine. With row weights s it minimizes
//
//	C·Σ s_i·h(t_i(w'x_i + b)) + ½‖w‖²,  t_i = ±1
//
// for two classes, where Loss hinge is h(m) = max(0, 1−m) and squared_hinge its square; for more,
// once for each class against the rest. The intercept b is not penalized (LIBLINEAR penalizes it).
//
// Solver newton takes truncated Newton steps over blocks of rows, and stops, as [Logistic] does. It
// needs the squared hinge. Solver dual goes by coordinate descent on the dual, with all rows in
// memory: the intercept is penalized about a center that follows it, so that the objective only falls.
// Where rows are of at most 2048 columns and C so large that the descent is slow, interior point
// steps take over. It stops when the duality gap, taken over all rows with the best intercept there is
// for the weights, is at most Tol of the objective, and returns the best of what it has looked at, no
// weights at all among it. Solver auto takes dual for the hinge, and for the squared hinge where rows
// are sparse and of more than 512 columns, as those of random binning are: then there is no cheap
// preconditioner for newton, which it takes otherwise.
// Reaching MaxIter steps or passes first is not an error: the report has Converged false and a
// warning. An objective above that of no weights, or one that is not a number, is [ErrDiverged].
// (Hsieh et al., ICML 2008; proximal steps: Rockafellar, SIAM J. Control 1976; interior point: Ferris &
// Munson, SIAM J. Optimization 2002; Lin, Weng & Keerthi, JMLR 2008.)
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

var (
	_ Estimator              = SVM{}
	_ datasets.CostEstimator = SVM{}
	_ param.Declarer         = (*SVM)(nil)
)

// Params declares the hyperparameters.
func (s *SVM) Params(l *param.List) {
	l.Float(&s.C, "C", "weight of the loss against the penalty", param.Positive)
	l.Complexity("C", param.LessPenalty)
	l.Choice(&s.Loss, "loss", "of a margin m: max(0, 1−m), or its square", "squared_hinge", "hinge")
	l.Bool(&s.Intercept, "intercept", "whether to fit an intercept, which is not penalised")
	l.Value(&s.ClassWeight, "class_weight", "factor on the weights of each class's rows")
	penalizedSolverParams(l, &s.Solver, &s.Tol, &s.MaxIter)
	l.Check("solver", func() error { return smoothEnough(s.Solver, s.Loss) })
}

// Fit learns from data in memory; the result is a [*FittedLinearClassifier].
func (s SVM) Fit(ctx context.Context, data datasets.Set) (Predictor, error) {
	return fitSet(ctx, s, data)
}

// FitSource learns from a stream, which is read once for each pass, or into memory where the way is
// coordinate descent; the result is a [*FittedLinearClassifier].
func (s SVM) FitSource(ctx context.Context, data datasets.Source) (Predictor, error) {
	return fitSource(ctx, s, data)
}

func (s SVM) name() string { return "svm" }

func (s SVM) fitted(m linear, classes []string) Predictor {
	return &FittedLinearClassifier{linear: m, classes: classes}
}

// plain returns the spec for internal/batch.
func (s SVM) plain() batch.PenalizedLoss {
	return batch.PenalizedLoss{Key: fmt.Sprint(s.Loss, s.Intercept, s.Tol, s.MaxIter, s.ClassWeight.Get()), C: s.C,
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

// newton is what Newton's method is to minimize.
func (s SVM) newton(l *design.Labels) newton.Task { return newton.SquaredHinge(l, s.Intercept, s.Tol) }

// descent is the problem for coordinate descent.
func (s SVM) descent(l *design.Labels) descent.Task {
	return descent.Hinge(l, s.C, s.Loss == "squared_hinge", s.Intercept, s.Tol, s.MaxIter)
}

// Cost estimates a fit to rows of a shape.
func (s SVM) Cost(shape datasets.Shape) datasets.Cost { return marginCost(s.Solver, s.Loss, shape) }

// LearnsRounded reports whether newton is the solver.
func (s SVM) LearnsRounded(shape datasets.Shape) bool {
	return byNewton(s.Solver, s.Loss, newton.ShapeExceedsFactorLimit(shape))
}
