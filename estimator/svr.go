package estimator

import (
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/solve"
	"github.com/bochner-ml/bochner/param"
)

// SVR is linear support vector regression. With row weights s it minimises
//
//	C·Σ s_i·h(y_i − w'x_i − b) + ½‖w‖²
//
// where Loss epsilon_insensitive is h(r) = max(0, |r|−Epsilon) and squared_epsilon_insensitive its
// square. The intercept b is not penalised.
//
// Solver is as for [SVM]: newton for the squared loss, dual, or auto; so are the end and its errors.
// (Ho & Lin, JMLR 2012, for the descent.)
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

var (
	_ BlockEstimator  = SVR{}
	_ Estimator       = SVR{}
	_ datasets.Coster = SVR{}
	_ param.Declarer  = (*SVR)(nil)
)

// Params declares the hyper-parameters.
func (s *SVR) Params(l *param.List) {
	l.Float(&s.C, "C", "weight of the loss against the penalty", param.Positive)
	l.Float(&s.Epsilon, "epsilon", "residuals of up to this size cost nothing", param.NonNegative)
	l.Choice(&s.Loss, "loss", "of a residual r: max(0, |r|−epsilon), or its square", "epsilon_insensitive", "squared_epsilon_insensitive")
	l.Bool(&s.Intercept, "intercept", "whether to fit an intercept, which is not penalised")
	l.Choice(&s.Solver, "solver", "how to solve", "auto", "newton", "dual")
	l.Also("solver", func() error { return smoothEnough(s.Solver, s.Loss) })
	l.Float(&s.Tol, "tol", "gradient or duality gap, relative, at which to stop", param.Positive)
	l.Int(&s.MaxIter, "max_iter", "most Newton steps, or passes of coordinate descent", param.AtLeast(1))
}

// Fit learns from data in memory; the result is a [*FittedLinear].
func (s SVR) Fit(ctx context.Context, data datasets.Set) (Predictor, error) {
	r, err := design.OfSet(data)
	if err != nil {
		return nil, fmt.Errorf("estimator: svr: %w", err)
	}
	return s.fit(ctx, r)
}

// FitSource learns from a stream, which is read once for each pass, or into memory where the way is
// coordinate descent; the result is a [*FittedLinear].
func (s SVR) FitSource(ctx context.Context, data datasets.Source) (Predictor, error) {
	r, err := design.OfSource(ctx, data)
	if err != nil {
		return nil, fmt.Errorf("estimator: svr: %w", err)
	}
	return s.fit(ctx, r)
}

func (s SVR) fit(ctx context.Context, r *design.Rows) (Predictor, error) {
	if err := param.CheckFit(s); err != nil {
		return nil, fmt.Errorf("estimator: svr: %w", err)
	}
	model, err := s.solve(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("estimator: svr: %w", err)
	}
	return &FittedLinear{newLinear(model)}, nil
}

func (s SVR) solve(ctx context.Context, r *design.Rows) (solve.Linear, error) {
	l, err := readNumbers(ctx, r, "svr")
	if err == nil {
		err = room(s, r.Shape(len(l.Y), 1))
	}
	if err != nil {
		return solve.Linear{}, err
	}
	if !byNewton(s.Solver, s.Loss, wide(r)) {
		return s.dualTask(l).fit(ctx, r, len(l.Y))
	}
	kern.Scale(s.C, l.Weights)
	w, b, report, err := newObjective(ctx, r, tubeLoss{s.Epsilon}, 1, 1, s.Intercept, l.Y, l.Weights).minimise(s.Tol, s.MaxIter)
	if err == nil {
		err = report.Better(s.tubeBar(l))
	}
	if err != nil {
		return solve.Linear{}, err
	}
	return solve.NewLinear(w, b, report)
}

// dualTask is what coordinate descent is to solve.
func (s SVR) dualTask(l *design.Labels) dualTask {
	return dualTask{outputs: 1, tol: s.Tol, maxIter: s.MaxIter, problem: func(int) solve.Dual {
		p := solve.Dual{Target: l.Y, Epsilon: s.Epsilon, Intercept: s.Intercept}
		p.Low, p.High, p.Diagonal = bounds(l.Weights, s.C, s.Loss == "squared_epsilon_insensitive")
		return p
	}}
}

// Cost estimates a fit to rows of a shape.
func (s SVR) Cost(shape datasets.Shape) datasets.Cost {
	if !byNewton(s.Solver, s.Loss, wideShape(shape)) {
		return descentCost(shape)
	}
	return newtonCost(shape)
}
