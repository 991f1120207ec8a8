package estimator

import (
	"context"
	"fmt"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/descent"
	"github.com/bochner-ml/bochner/estimator/internal/joint"
	"github.com/bochner-ml/bochner/estimator/internal/newton"
	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/param"
)

// penalized is a spec that minimizes C times a loss, and a penalty, such as [Logistic], [SVM] and [Lasso].
type penalized interface {
	Estimator
	datasets.CostEstimator
	name() string
	plain() joint.PenalizedLoss
	fitted(m linear, classes []string) Predictor
}

// penalizedSolverParams declares how a penalized spec is solved.
func penalizedSolverParams(l *param.List, solver *string, tol *float64, maxIter *int) {
	l.Choice(solver, "solver",
		"algorithm that solves for the weights; auto selects it by the shape of the rows", "auto", "newton", "dual")
	l.Float(tol, "tol", "tolerance: relative norm of the gradient, or relative duality gap", param.Positive())
	l.Int(maxIter, "max_iter", "maximum number of Newton steps, or of passes of coordinate descent", param.AtLeast(1))
}

// byNewton reports whether a solver is, or auto chooses, newton. Wide sparse rows have no cheap
// preconditioner there, and their coordinates depend little on each other, as the dual likes it.
func byNewton(solver, loss string, wide bool) bool {
	return solver == "newton" || solver == "auto" && strings.HasPrefix(loss, "squared_") && !wide
}

// smoothEnough returns an error if newton cannot minimize a loss.
func smoothEnough(solver, loss string) error {
	if solver == "newton" && !strings.HasPrefix(loss, "squared_") {
		return fmt.Errorf("auto or dual, for newton needs a squared loss")
	}
	return nil
}

// marginCost is Cost of an [SVM] or an [SVR].
func marginCost(solver, loss string, shape datasets.Shape) datasets.Cost {
	if !byNewton(solver, loss, newton.ShapeExceedsFactorLimit(shape)) {
		return descent.Cost(shape)
	}
	return newton.Cost(shape)
}

// fitSet is Fit of a penalized spec.
func fitSet(ctx context.Context, s penalized, data datasets.Set) (Predictor, error) {
	r, err := design.FromSet(data)
	if err != nil {
		return nil, fmt.Errorf("estimator: %s: %w", s.name(), err)
	}
	return fitRows(ctx, s, r)
}

// fitSource is FitSource of a penalized spec.
func fitSource(ctx context.Context, s penalized, data datasets.Source) (Predictor, error) {
	r, err := design.FromSource(ctx, data)
	if err != nil {
		return nil, fmt.Errorf("estimator: %s: %w", s.name(), err)
	}
	return fitRows(ctx, s, r)
}

func fitRows(ctx context.Context, s penalized, r *design.Rows) (Predictor, error) {
	err := specs.CheckFit(s)
	var model solve.Linear
	var classes []string
	if of, ok := s.(labelSpec); ok && err == nil && r.LabelNames() != nil {
		return fitLabels(ctx, of, r)
	}
	if err == nil {
		model, classes, err = solvePenalized(ctx, s, r)
	}
	if err != nil {
		return nil, fmt.Errorf("estimator: %s: %w", s.name(), err)
	}
	return s.fitted(newLinear(model), classes), nil
}

// solvePenalized uses coordinate descent or Newton's method.
func solvePenalized(ctx context.Context, s penalized, r *design.Rows) (solve.Linear, []string, error) {
	p := s.plain()
	l, err := p.Labels(ctx, r)
	if err == nil {
		err = checkMemory(s, r.Shape(len(l.Y), l.Outputs()))
	}
	if err != nil {
		return solve.Linear{}, nil, err
	}
	if p.Path != nil {
		model, err := solvePath(ctx, p, r, l)
		return model, l.Classes, err
	}
	if p.UsesDescent != nil && p.UsesDescent(r, l) {
		model, err := p.Descent(l).Solve(ctx, r, len(l.Y))
		return model, l.Classes, err
	}
	kern.Scale(p.C, l.Weights)
	model, err := p.Newton(l).Solve(ctx, r, p.Tol, p.MaxIter)
	return model, l.Classes, err
}

// solvePath reads the rows into memory and starts a path at the candidate.
func solvePath(ctx context.Context, p joint.PenalizedLoss, r *design.Rows, l *design.Labels) (solve.Linear, error) {
	r, err := r.WithRowCount(len(l.Y)).InMemory(ctx)
	if err != nil {
		return solve.Linear{}, err
	}
	next, err := p.Path(ctx, r, l, 1)
	if err != nil {
		return solve.Linear{}, err
	}
	return next(ctx, p.C)
}
