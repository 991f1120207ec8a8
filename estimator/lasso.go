package estimator

import (
	"context"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/joint"
	"github.com/bochner-ml/bochner/estimator/internal/lasso"
	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/param"
)

// Lasso is linear regression with a penalty on the absolute weights, which sets most weights to 0.
// It is an [ElasticNet] with L1Ratio 1. (Tibshirani, J. R. Stat. Soc. B 58, 1996.)
// Use [NewLasso]: the zero value is invalid.
type Lasso struct {
	Alpha     float64
	Intercept bool
	Tol       float64
	MaxIter   int
}

// NewLasso returns a Lasso with Alpha 1, an intercept and tolerance 1e-4, as scikit-learn's Lasso.
func NewLasso() Lasso { return Lasso{Alpha: 1, Intercept: true, Tol: 1e-4, MaxIter: 1000} }

// ElasticNet is linear regression with a penalty on absolute and squared weights. With row weights
// s it minimizes
//
//	1/(2·Σs)·Σ s_i (y_i − w'x_i − b)² + Alpha·L1Ratio·‖w‖₁ + ½·Alpha·(1 − L1Ratio)·‖w‖²
//
// for a single target; the intercept b is not penalized. The penalty depends on the units of the
// columns: standardize them. Weights that are 0 are exactly 0. From some Alpha on, all are.
//
// Coordinate descent works on the features that the sequential strong rule leaves and those that
// violate the optimality conditions, which are checked for all d features in a pass over the rows. A
// sweep over k of them updates the residuals of n rows with columns in memory, 4nk flops. Once sweeps
// have cost as much as the nk² flops of the products of these features, it updates the gradient, k²
// flops, and a support of at most 256 features is solved for exactly, up to rounding. Few
// features have their products summed at once. So have those of a path with all features if that
// costs less than the checks. Sparse rows stay sparse.
//
// It stops when the duality gap is at most Tol of the objective of w = 0. Reaching MaxIter sweeps
// first adds a warning to the report. A batch (see package batch) computes a path: candidates that
// differ in Alpha only share the products, and each starts from the solution of the next larger
// Alpha. If all products of dense rows cost less than a pass for each candidate
// and fold of a batch, they are summed once for all folds, nd² flops.
//
// Equivalent to scikit-learn's ElasticNet. (Zou & Hastie, J. R. Stat. Soc. B 67, 2005; Friedman,
// Hastie & Tibshirani, J. Stat. Softw. 33, 2010.) Use [NewElasticNet]: the zero value is invalid.
type ElasticNet struct {
	Alpha     float64
	L1Ratio   float64
	Intercept bool
	Tol       float64
	MaxIter   int
}

// NewElasticNet returns an ElasticNet with Alpha 1, L1Ratio 0.5, an intercept and tolerance 1e-4, as
// scikit-learn's ElasticNet.
func NewElasticNet() ElasticNet {
	return ElasticNet{Alpha: 1, L1Ratio: 0.5, Intercept: true, Tol: 1e-4, MaxIter: 1000}
}

// Params declares the hyperparameters.
func (s *Lasso) Params(l *param.List) {
	l.Float(&s.Alpha, "alpha", "penalty on the absolute weights, relative to half the mean squared error",
		param.Positive())
	lassoParams(l, &s.Intercept, &s.Tol, &s.MaxIter)
}

// Params declares the hyperparameters.
func (s *ElasticNet) Params(l *param.List) {
	l.Float(&s.Alpha, "alpha", "penalty on the weights, relative to half the mean squared error", param.Positive())
	l.Float(&s.L1Ratio, "l1_ratio", "share of the penalty on absolute weights; the rest is on half the squared weights",
		param.Range{Low: 0, High: 1, LowOpen: true})
	lassoParams(l, &s.Intercept, &s.Tol, &s.MaxIter)
}

// lassoParams declares the common hyperparameters, after alpha.
func lassoParams(l *param.List, intercept *bool, tol *float64, maxIter *int) {
	l.MorePenalty("alpha")
	l.Bool(intercept, "intercept", "whether to fit an intercept, which is not penalized")
	l.Float(tol, "tol", "tolerance: duality gap, relative to the objective of zero weights", param.Positive())
	l.Int(maxIter, "max_iter", "maximum number of sweeps of coordinate descent", param.AtLeast(1))
}

// Fit fits the model to data in memory; the result is a [*FittedLinear].
func (s Lasso) Fit(ctx context.Context, data datasets.Set) (Predictor, error) {
	return fitSet(ctx, s, data)
}

// Fit fits the model to data in memory; the result is a [*FittedLinear].
func (s ElasticNet) Fit(ctx context.Context, data datasets.Set) (Predictor, error) {
	return fitSet(ctx, s, data)
}

// FitSource fits the model to a stream, which it reads into memory; the result is a [*FittedLinear].
func (s Lasso) FitSource(ctx context.Context, data datasets.Source) (Predictor, error) {
	return fitSource(ctx, s, data)
}

// FitSource fits the model to a stream, which it reads into memory; the result is a [*FittedLinear].
func (s ElasticNet) FitSource(ctx context.Context, data datasets.Source) (Predictor, error) {
	return fitSource(ctx, s, data)
}

// Requirements declares that all inputs must be numeric and have no missing values.
func (Lasso) Requirements() []datasets.Requirement { return numericComplete }

// Requirements declares that all inputs must be numeric and have no missing values.
func (ElasticNet) Requirements() []datasets.Requirement { return numericComplete }

// Cost estimates a fit to rows of a shape.
func (Lasso) Cost(shape datasets.Shape) datasets.Cost { return lasso.Cost(shape) }

// Cost estimates a fit to rows of a shape.
func (ElasticNet) Cost(shape datasets.Shape) datasets.Cost { return lasso.Cost(shape) }

// FitBatch computes a path for each fold: candidates that differ in Alpha only share the products of
// features and start from the solution of the next larger Alpha. A path always starts at its largest
// Alpha, whatever is included. Folds run concurrently. Those of many candidates share the products of
// features: the products of the training rows are the sums of those of the test rows of the other folds.
func (s Lasso) FitBatch(ctx context.Context, b batch.Job) (shared []string, err error) {
	return fitPenalized(ctx, b, s)
}

// FitBatch is [Lasso.FitBatch].
func (s ElasticNet) FitBatch(ctx context.Context, b batch.Job) (shared []string, err error) {
	return fitPenalized(ctx, b, s)
}

// PlanBatch supports batches on unmapped rows.
func (s Lasso) PlanBatch(b batch.Job) (int64, error) {
	return max(joint.PathSumsBytes(b), b.MaxFitBytes()), nil
}

// PlanBatch supports batches on unmapped rows.
func (s ElasticNet) PlanBatch(b batch.Job) (int64, error) {
	return max(joint.PathSumsBytes(b), b.MaxFitBytes()), nil
}

// Shared returns the spec without Alpha.
func (s Lasso) Shared() any { s.Alpha = 0; return s }

// Shared returns the spec without Alpha.
func (s ElasticNet) Shared() any { s.Alpha = 0; return s }

func (Lasso) name() string      { return "lasso" }
func (ElasticNet) name() string { return "elastic_net" }

func (Lasso) fitted(m linear, _ []string) Predictor      { return &FittedLinear{m} }
func (ElasticNet) fitted(m linear, _ []string) Predictor { return &FittedLinear{m} }

func (s Lasso) plain() joint.PenalizedLoss {
	return lassoPath(s.name(), s.Intercept, 1/s.Alpha, param.Check(s), lasso.Options{L1Ratio: 1, Tol: s.Tol,
		MaxIter: s.MaxIter})
}

func (s ElasticNet) plain() joint.PenalizedLoss {
	return lassoPath(s.name(), s.Intercept, 1/s.Alpha, param.Check(s), lasso.Options{L1Ratio: s.L1Ratio, Tol: s.Tol,
		MaxIter: s.MaxIter})
}

// lassoPath returns a candidate of a path, whose loss has the factor c = 1/Alpha.
func lassoPath(name string, intercept bool, c float64, invalid error, o lasso.Options) joint.PenalizedLoss {
	return joint.PenalizedLoss{C: c, Invalid: invalid, Intercept: intercept,
		Labels: func(ctx context.Context, r *design.Rows) (*design.Labels, error) {
			return readNumbers(ctx, r, name)
		},
		Path: func(ctx context.Context, r *design.Rows, l *design.Labels, candidates int) (joint.Next, error) {
			m, err := lasso.New(ctx, r, l, intercept)
			if err != nil {
				return nil, err
			}
			return next(lasso.NewPath(m, o, candidates)), nil
		},
		SumsPath: func(m *lasso.Problem) joint.Next { return next(lasso.NewPath(m, o, 1)) }}
}

// next solves for the penalties of a path, whose losses have the factor c.
func next(path *lasso.Path) joint.Next {
	return func(ctx context.Context, c float64) (solve.Linear, error) { return path.Solve(ctx, 1/c) }
}
