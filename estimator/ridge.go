package estimator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/param"
)

// Ridge is linear regression with a penalty on the squared weights. With row weights s it minimises
//
//	Σ s_i (y_i − w'x_i − b)² + Alpha·‖w‖²
//
// for each target by itself; the intercept b is not penalised. n×d inputs and n×t targets give t×d
// coefficients.
//
// Solver says how:
//   - cholesky adds up the d×d matrix X'SX block by block, in one pass over the data, and
//     factorises it: nd² + d³/3 flops, d² numbers held, however many rows there are; an
//     ill-conditioned solution is refined by a few passes more;
//   - dual factorises the n×n matrix XX' instead: n²d + n³/3 flops, all rows held;
//   - cg goes by conjugate gradients, one pass over the data for each step, and neither forms a
//     matrix nor makes sparse rows dense; where Alpha > 0 it stops when the predictions are right to
//     100·Tol of the spread of the targets, and warns where MaxIter steps do not get there;
//   - auto takes cg where sparse rows have more than 1024 columns or dense ones more than 16384,
//     dual where there are fewer rows than columns, else cholesky.
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
	_ BlockEstimator  = Ridge{}
	_ Estimator       = Ridge{}
	_ datasets.Coster = Ridge{}
	_ param.Declarer  = (*Ridge)(nil)
)

// Params declares the hyper-parameters.
func (s *Ridge) Params(l *param.List) {
	l.Float(&s.Alpha, "alpha", "penalty on the squared weights", param.NonNegative)
	l.Bool(&s.Intercept, "intercept", "whether to fit an intercept, which is not penalised")
	l.Choice(&s.Solver, "solver", "how to solve", "auto", "cholesky", "dual", "cg")
	l.Float(&s.Tol, "tol", "residual, relative to the start, at which cg stops, the predictions being right to 100 times that", param.Positive)
	l.Int(&s.MaxIter, "max_iter", "most steps of cg", param.AtLeast(1))
}

// Fit learns from data in memory; the result is a [*FittedLinear].
func (s Ridge) Fit(ctx context.Context, data datasets.Set) (Predictor, error) {
	r, err := setRows(data)
	if err != nil {
		return nil, fmt.Errorf("estimator: ridge: %w", err)
	}
	return s.fit(ctx, r)
}

// FitSource learns from a stream; the result is a [*FittedLinear].
func (s Ridge) FitSource(ctx context.Context, data datasets.Source) (Predictor, error) {
	r, err := sourceRows(ctx, data)
	if err != nil {
		return nil, fmt.Errorf("estimator: ridge: %w", err)
	}
	return s.fit(ctx, r)
}

func (s Ridge) fit(ctx context.Context, r *rows) (Predictor, error) {
	if err := param.CheckFit(s); err != nil {
		return nil, fmt.Errorf("estimator: ridge: %w", err)
	}
	if err := forNumbers(r.schema, "ridge"); err != nil {
		return nil, fmt.Errorf("estimator: ridge: %w", err)
	}
	if err := room(s, r.shape(r.n, r.targets())); err != nil {
		return nil, fmt.Errorf("estimator: ridge: %w", err)
	}
	model, err := s.problem(r, blockTargets, blockWeights).solve(ctx)
	if err != nil {
		return nil, fmt.Errorf("estimator: ridge: %w", err)
	}
	return &FittedLinear{model}, nil
}

// Widths up to which a Gram matrix is formed.
const (
	widestGram       = 16384
	widestSparseGram = 1024
)

// way returns the solver for a shape.
func (s Ridge) way(n, d int, isSparse bool) string {
	switch {
	case s.Solver != "auto":
		return s.Solver
	case isSparse && d > widestSparseGram, d > widestGram && (n < 0 || n > widestGram):
		return "cg"
	case n >= 0 && n < d:
		return "dual"
	}
	return "cholesky"
}

// ridgeProblem is a ridge regression on targets and weights that functions make of each block.
type ridgeProblem struct {
	Ridge
	rows    *rows
	targets targetsOf
	weights weightsOf
}

// targetsOf returns the targets of a block that begins at row first, rows × count.
type targetsOf func(first int, block datasets.Set) (y []float64, count int, err error)

// weightsOf returns the weights of a block that begins at row first, nil for ones.
type weightsOf func(first int, block datasets.Set) ([]float64, error)

func (s Ridge) problem(r *rows, targets targetsOf, weights weightsOf) *ridgeProblem {
	return &ridgeProblem{Ridge: s, rows: r, targets: targets, weights: weights}
}

// block returns the targets and the weights of a block.
func (p *ridgeProblem) block(first int, block datasets.Set) (y []float64, count int, weights []float64, err error) {
	if y, count, err = p.targets(first, block); err != nil {
		return nil, 0, nil, err
	}
	weights, err = p.weights(first, block)
	return y, count, weights, err
}

// ReadsOnce reports whether a fit to rows×cols dense inputs reads a stream once, but for its first
// block and for refining an ill-conditioned solution; rows is −1 where that is unknown.
func (s Ridge) ReadsOnce(rows, cols int) bool { return s.way(rows, cols, false) == "cholesky" }

func (p *ridgeProblem) solve(ctx context.Context) (linear, error) {
	model, err := p.bySolver(ctx)
	if err = cmp.Or(ctx.Err(), err); err != nil { // whatever else there is comes of stopping
		return linear{}, err
	}
	return model, nil
}

func (p *ridgeProblem) bySolver(ctx context.Context) (linear, error) {
	switch way := p.way(p.rows.n, p.rows.cols, p.rows.sparse); way {
	case "dual":
		return p.dual(ctx)
	case "cg":
		return p.cg(ctx)
	}
	return p.byPasses(ctx)
}

// moments adds up all blocks.
func (p *ridgeProblem) moments(ctx context.Context) (*moments, error) {
	var m *moments
	err := p.rows.each(ctx, func(first int, block datasets.Set) error {
		y, count, weights, err := p.block(first, block)
		if err != nil {
			return err
		}
		if m == nil {
			m = newMoments(p.rows.cols, count, p.Intercept)
		}
		if count != m.targets {
			return fmt.Errorf("rows from %d: %d targets, wanted %d", first, count, m.targets)
		}
		if m.add(ctx, block.X, y, weights) != nil {
			return nameFault(first, block)
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case m == nil:
		return nil, fmt.Errorf("%w: no rows", datasets.ErrEmpty)
	case m.weight == 0:
		return nil, errors.New("every weight is 0")
	}
	return m, nil
}

// ridge solves for the sums of the rows.
func (p *ridgeProblem) ridge(ctx context.Context, m *moments) (linear, error) {
	w, _, report, err := p.solution(ctx, m)
	if err != nil {
		return linear{}, err
	}
	if m.single {
		report.warnOfBlur(p.Alpha, blur(w, m.meanSquares(m.cols), m.spreads(), m.weight))
	}
	report.Objective = max(0, m.spread()-kern.Dot(w, m.rightSide()))
	return newLinear(w, intercepts(w, m.mean(), m.targetMean()), report)
}

func singularWarning(alpha float64, rank, of int) string {
	return fmt.Sprintf("with alpha %v the system is singular (rank %d of %d): the solution of least norm was taken", alpha, rank, of)
}

// intercepts returns ȳ − w'x̄ for each target.
func intercepts(w, mean, targetMean []float64) []float64 {
	t := len(targetMean)
	out := slices.Clone(targetMean)
	for i, v := range mean {
		kern.Axpy(-v, w[i*t:(i+1)*t], out)
	}
	return out
}

// dual solves by the matrix K = S^½(X−x̄)(X−x̄)'S^½: w = (X−x̄)'S^½(K + alpha·I)⁻¹S^½(y−ȳ).
func (p *ridgeProblem) dual(ctx context.Context) (linear, error) {
	d, err := p.centred(ctx)
	if err != nil {
		return linear{}, err
	}
	w, report, err := p.dualSolution(ctx, d)
	if err != nil {
		return linear{}, err
	}
	if p.rows.single {
		report.warnOfBlur(p.Alpha, blur(w, d.meanSquares(), d.spreads(), d.total))
	}
	rest := d.residuals(w)
	report.Objective = kern.Dot(rest, rest) + p.Alpha*kern.Dot(w, w)
	return newLinear(w, intercepts(w, d.mean, d.targetMean), report)
}

func addDiagonal(a []float64, n int, v float64) {
	for i := range n {
		a[i*n+i] += v
	}
}
