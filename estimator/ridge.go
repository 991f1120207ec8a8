package estimator

import (
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/leastsquares"
	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/param"
)

// Ridge is linear regression with a penalty on the squared weights. With row weights s it minimizes
//
//	Σ s_i (y_i − w'x_i − b)² + Alpha·‖w‖²
//
// independently for each target; the intercept b is not penalized. n×d inputs and n×t targets give
// t×d coefficients.
//
// Solver selects the algorithm:
//   - cholesky sums the d×d matrix X'SX by block, in one pass over the data, and factorizes it:
//     nd² + d³/3 flops, d² numbers in memory, independent of the number of rows; an ill-conditioned
//     solution is refined by a few more passes;
//   - dual factorizes the n×n matrix XX' instead: n²d + n³/3 flops, all rows in memory;
//   - cg is the conjugate gradient method, with one pass over the data for each step; it forms no
//     matrix, and sparse rows stay sparse; with Alpha > 0 it stops when the predictions are accurate
//     to 100·Tol of the spread of the targets, and warns after MaxIter steps;
//   - auto is cg for sparse rows of more than 1024 columns and for dense rows of more than 16384, and
//     from 1024 dense columns on if its estimated cost, by n, d and Alpha, is lower; up to 8192
//     columns it falls back to cholesky if the steps become too many. Otherwise it is dual if there
//     are fewer rows than columns, else cholesky.
//
// For dense data with at least 1,024 rows and columns and Alpha > 0, cg is preconditioned by a
// Nyström approximation of X'SX from at most 1,024 of its columns. Its steps use float32 features,
// recomputed in each pass or cached if memory suffices; iterative refinement with float64 residuals
// follows, until the predictions are accurate to Tol of the standard deviation of the targets. The
// Gradient of the report bounds the error of the predictions.
//
// If Alpha is 0 and columns are linearly dependent, the result is the minimum-norm solution, with a
// warning in the report. The targets are Y or Targets of the data. (Hoerl & Kennard, Technometrics
// 1970.) Use [NewRidge]: the zero value is invalid.
type Ridge struct {
	Alpha     float64
	Intercept bool
	Solver    string
	Tol       float64
	MaxIter   int
}

// NewRidge returns a Ridge with Alpha 1, an intercept, and the solver chosen by the data's shape.
func NewRidge() Ridge {
	return Ridge{Alpha: 1, Intercept: true, Solver: "auto", Tol: 1e-8, MaxIter: 1000}
}

// Params declares the hyperparameters.
func (s *Ridge) Params(l *param.List) {
	l.Float(&s.Alpha, "alpha", "penalty on the squared weights", param.AtLeast(0))
	l.MorePenalty("alpha")
	l.Bool(&s.Intercept, "intercept", "whether to fit an intercept, which is not penalized")
	l.Choice(&s.Solver, "solver",
		"algorithm that solves for the weights; auto selects it by the shape of the rows", "auto", "cholesky", "dual", "cg")
	l.Float(&s.Tol, "tol", "tolerance of cg: residual, relative to the initial one; predictions are accurate to "+
		"about 100 times that", param.Positive())
	l.Int(&s.MaxIter, "max_iter", "maximum number of iterations of cg", param.AtLeast(1))
}

// Fit fits the model to data in memory; the result is a [*FittedLinear].
func (s Ridge) Fit(ctx context.Context, data datasets.Set) (Predictor, error) {
	r, err := design.FromSet(data)
	if err != nil {
		return nil, fmt.Errorf("estimator: ridge: %w", err)
	}
	return s.fit(ctx, r)
}

// FitSource fits the model to a stream; the result is a [*FittedLinear].
func (s Ridge) FitSource(ctx context.Context, data datasets.Source) (Predictor, error) {
	r, err := design.FromSource(ctx, data)
	if err != nil {
		return nil, fmt.Errorf("estimator: ridge: %w", err)
	}
	return s.fit(ctx, r)
}

func (s Ridge) fit(ctx context.Context, r *design.Rows) (Predictor, error) {
	return s.fitBy(r, func(p *leastsquares.Problem) (solve.Linear, error) { return p.Solve(ctx) })
}

// fitBy checks rows and has the problem on them solved.
func (s Ridge) fitBy(r *design.Rows, solution func(*leastsquares.Problem) (solve.Linear, error)) (Predictor, error) {
	if err := specs.CheckFit(s); err != nil {
		return nil, fmt.Errorf("estimator: ridge: %w", err)
	}
	if err := rejectClassTarget(r.Schema, "ridge"); err != nil {
		return nil, fmt.Errorf("estimator: ridge: %w", err)
	}
	if err := checkMemory(s, r.Shape(r.N, r.TargetCount())); err != nil {
		return nil, fmt.Errorf("estimator: ridge: %w", err)
	}
	model, err := solution(leastsquares.NewProblem(leastsquares.Ridge(s), r, design.BlockTargetsAndWeights))
	if err != nil {
		return nil, fmt.Errorf("estimator: ridge: %w", err)
	}
	return &FittedLinear{newLinear(model)}, nil
}

// Cost estimates a fit to rows of the given shape. If the number of rows is −1 (unknown), only the
// number of passes is estimated.
func (s Ridge) Cost(shape datasets.Shape) datasets.Cost { return leastsquares.Ridge(s).Cost(shape, 0) }

// Tags returns that predictions are linear in the targets, which share the sums of a single pass.
func (s Ridge) Tags() datasets.Tags {
	return datasets.Tags{LinearInTargets: true, SinglePass: true, LeaveOneOut: true,
		SharedMaps: s.Solver == "auto" || s.Solver == "cholesky"}
}
