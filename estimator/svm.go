package estimator

import (
	"context"
	"fmt"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/solve"
	"github.com/bochner-ml/bochner/param"
)

// SVM is the linear support vector machine. With row weights s it minimises
//
//	C·Σ s_i·h(t_i(w'x_i + b)) + ½‖w‖²,  t_i = ±1
//
// for two classes, where Loss hinge is h(m) = max(0, 1−m) and squared_hinge its square; for more,
// once for each class against the rest. The intercept b is not penalised (LIBLINEAR penalises it).
//
// Solver newton takes truncated Newton steps over blocks of rows, and stops, as [Logistic] does. It
// needs the squared hinge. Solver dual goes by coordinate descent on the dual, with all rows in
// memory: the intercept is penalised about a centre that follows it, so that the objective only falls.
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
	_ BlockEstimator  = SVM{}
	_ Estimator       = SVM{}
	_ datasets.Coster = SVM{}
	_ param.Declarer  = (*SVM)(nil)
)

// Params declares the hyper-parameters.
func (s *SVM) Params(l *param.List) {
	l.Float(&s.C, "C", "weight of the loss against the penalty", param.Positive)
	l.Choice(&s.Loss, "loss", "of a margin m: max(0, 1−m), or its square", "squared_hinge", "hinge")
	l.Bool(&s.Intercept, "intercept", "whether to fit an intercept, which is not penalised")
	l.Value(&s.ClassWeight, "class_weight", "factor on the weights of each class's rows")
	l.Choice(&s.Solver, "solver", "how to solve", "auto", "newton", "dual")
	l.Also("solver", func() error { return smoothEnough(s.Solver, s.Loss) })
	l.Float(&s.Tol, "tol", "gradient or duality gap, relative, at which to stop", param.Positive)
	l.Int(&s.MaxIter, "max_iter", "most Newton steps, or passes of coordinate descent", param.AtLeast(1))
}

// Fit learns from data in memory; the result is a [*FittedLinearClassifier].
func (s SVM) Fit(ctx context.Context, data datasets.Set) (Predictor, error) {
	r, err := design.OfSet(data)
	if err != nil {
		return nil, fmt.Errorf("estimator: svm: %w", err)
	}
	return s.fit(ctx, r)
}

// FitSource learns from a stream, which is read once for each pass, or into memory where the way is
// coordinate descent; the result is a [*FittedLinearClassifier].
func (s SVM) FitSource(ctx context.Context, data datasets.Source) (Predictor, error) {
	r, err := design.OfSource(ctx, data)
	if err != nil {
		return nil, fmt.Errorf("estimator: svm: %w", err)
	}
	return s.fit(ctx, r)
}

// byNewton reports whether a solver is, or auto chooses, newton. Wide sparse rows have no cheap
// preconditioner there, and their coordinates depend little on each other, as the dual likes it.
func byNewton(solver, loss string, wide bool) bool {
	return solver == "newton" || solver == "auto" && strings.HasPrefix(loss, "squared_") && !wide
}

// smoothEnough says why newton cannot minimise a loss.
func smoothEnough(solver, loss string) error {
	if solver == "newton" && !strings.HasPrefix(loss, "squared_") {
		return fmt.Errorf("auto or dual, for newton needs a squared loss")
	}
	return nil
}

func (s SVM) fit(ctx context.Context, r *design.Rows) (Predictor, error) {
	if err := param.CheckFit(s); err != nil {
		return nil, fmt.Errorf("estimator: svm: %w", err)
	}
	model, classes, err := s.solve(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("estimator: svm: %w", err)
	}
	return &FittedLinearClassifier{linear: newLinear(model), classes: classes}, nil
}

func (s SVM) solve(ctx context.Context, r *design.Rows) (solve.Linear, []string, error) {
	l, err := r.ReadClasses(ctx, s.ClassWeight.factors)
	if err == nil {
		err = room(s, r.Shape(len(l.Y), l.Outputs()))
	}
	if err != nil {
		return solve.Linear{}, nil, err
	}
	if !byNewton(s.Solver, s.Loss, wide(r)) {
		model, err := s.dualTask(l).fit(ctx, r, len(l.Y))
		return model, l.Classes, err
	}
	kern.Scale(s.C, l.Weights)
	t := s.task(l)
	w, b, report, err := newObjective(ctx, r, t.loss, t.outputs, t.groups, s.Intercept, t.y, l.Weights).minimise(s.Tol, s.MaxIter)
	if err == nil {
		err = report.Better(t.bar)
	}
	if err != nil {
		return solve.Linear{}, nil, err
	}
	model, err := t.finish(w, b, report)
	return model, l.Classes, err
}

// task is what Newton's method is to minimise.
func (s SVM) task(l *design.Labels) newtonTask {
	k := l.Outputs()
	return newtonTask{loss: hingeLoss{k}, outputs: k, groups: k, y: l.Y, bar: hingeBar(l, s.Intercept, s.Tol), finish: solve.NewLinear}
}

// dualTask is what coordinate descent is to solve.
func (s SVM) dualTask(l *design.Labels) dualTask {
	t := dualTask{outputs: l.Outputs(), tol: s.Tol, maxIter: s.MaxIter, problem: func(j int) solve.Dual {
		p := margins(l, j, s.C, s.Loss == "squared_hinge")
		p.Intercept = s.Intercept
		return p
	}}
	if t.outputs > 1 {
		t.absent = l.Absent
	}
	return t
}

// Cost estimates a fit to rows of a shape.
func (s SVM) Cost(shape datasets.Shape) datasets.Cost {
	if !byNewton(s.Solver, s.Loss, wideShape(shape)) {
		return descentCost(shape)
	}
	return newtonCost(shape)
}
