package estimator

import (
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/leastsquares"
	"github.com/bochner-ml/bochner/internal/solve"
	"github.com/bochner-ml/bochner/internal/specs"
	"github.com/bochner-ml/bochner/param"
)

// Ridge is linear regression with a penalty on the squared weights. With row weights s it minimizes
//
//	Σ s_i (y_i − w'x_i − b)² + Alpha·‖w‖²
//
// independently for each target; the intercept b is not penalized. n×d inputs and n×t targets give t×d
// coefficients.
//
// Solver selects the algorithm:
//   - cholesky adds up the d×d matrix X'SX block by block, in one pass over the data, and
//     factorizes it: nd² + d³/3 flops, d² numbers in memory, however many rows there are; an
//     ill-conditioned solution is refined by a few passes more;
//   - dual factorizes the n×n matrix XX' instead: n²d + n³/3 flops, all rows in memory;
//   - cg goes by conjugate gradients, one pass over the data for each step, and neither forms a
//     matrix nor makes sparse rows dense; where Alpha > 0 it stops when the predictions are right to
//     100·Tol of the spread of the targets, and warns where MaxIter steps do not get there;
//   - auto takes cg where sparse rows have more than 1024 columns or dense ones more than 16384, and on 1024 dense
//     columns or more where that is less work by the numbers of rows and columns and Alpha, but goes back to
//     cholesky up to 8192 columns where the rows turn out to want more steps than it is worth; dual where
//     there are fewer rows than columns, else cholesky.
//
// For dense data with at least 1,024 rows and columns and Alpha > 0, cg is preconditioned by a
// Nyström approximation of X'SX from at most 1,024 of its columns. Its steps use float32 features,
// recomputed in each pass or cached if memory suffices; iterative refinement with float64 residuals
// follows, until the predictions are accurate to Tol of the standard deviation of the targets. The
// Gradient of the report bounds the error of the predictions.
//
// Where Alpha is 0 and columns depend on each other the solution of least norm is taken, and the
// report warns. The targets are Y or Targets of the data. (Hoerl & Kennard, Technometrics 1970.)
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

var (
	_ BlockEstimator         = Ridge{}
	_ Estimator              = Ridge{}
	_ datasets.CostEstimator = Ridge{}
	_ param.Declarer         = (*Ridge)(nil)
)

// Params declares the hyperparameters.
func (s *Ridge) Params(l *param.List) {
	l.Float(&s.Alpha, "alpha", "penalty on the squared weights", param.AtLeast(0))
	l.Complexity("alpha", param.MorePenalty)
	l.Bool(&s.Intercept, "intercept", "whether to fit an intercept, which is not penalised")
	l.Choice(&s.Solver, "solver", "how to solve", "auto", "cholesky", "dual", "cg")
	l.Float(&s.Tol, "tol", "residual, relative to the start, at which cg stops, the predictions being right to 100 "+
		"times that", param.Positive)
	l.Int(&s.MaxIter, "max_iter", "most steps of cg", param.AtLeast(1))
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

// LearnsRounded reports whether the solver iterates on float32 rows; the solution is that of the float64 rows.
func (s Ridge) LearnsRounded(shape datasets.Shape) bool {
	return leastsquares.Ridge(s).UsesFloat32(shape)
}
