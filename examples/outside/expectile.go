package outside

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/pass"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// Expectile is linear regression of an expectile: it minimizes
//
//	Σ s_i·ω_i·(y_i − w'x_i − b)² + Alpha·‖w‖²,  ω_i = 2·Tau if y_i exceeds the prediction, else 2·(1 − Tau),
//
// for rows of weight s_i. Tau ½ is ridge regression; a larger Tau predicts values that fewer rows
// exceed.
//
// It uses Newton's method, that is least squares with the ω of the previous model, in one pass per
// step until the model does not change. Cost per pass: n·d² flops and a factor of (d+1)² numbers.
// Source: Newey and Powell, "Asymmetric least squares estimation and testing", Econometrica 1987.
type Expectile struct {
	Tau, Alpha float64
	Tol        float64 // change of a coefficient, relative to the largest, at which it is done
	MaxIter    int     // passes
}

// NewExpectile returns the spec of the mean, with Alpha 1.
func NewExpectile() Expectile { return Expectile{Tau: 0.5, Alpha: 1, Tol: 1e-9, MaxIter: 50} }

// Params declares tau, alpha, tol and max_iter.
func (s *Expectile) Params(l *param.List) {
	l.Float(&s.Tau, "tau", "which expectile, ½ for the mean", param.Within(0, 1))
	l.Float(&s.Alpha, "alpha", "penalty on the squared weights", param.Positive())
	l.MorePenalty("alpha")
	l.Float(&s.Tol, "tol", "change of a coefficient at which it is done", param.Positive())
	l.Int(&s.MaxIter, "max_iter", "passes over the rows at most", param.AtLeast(1))
}

// Cost returns the work of a fit of a few passes.
func (s Expectile) Cost(shape datasets.Shape) datasets.Cost {
	d := float64(shape.Cols + 1)
	cost := datasets.Cost{Flops: 5 * float64(shape.Rows) * d * d, Bytes: int64(16 * d * d)}
	if s.Tau == 0.5 {
		cost.Flops, cost.Passes = cost.Flops/5, 1
	}
	return cost
}

// Requirements declares that all inputs must be numeric and have no missing values.
func (Expectile) Requirements() []datasets.Requirement {
	return []datasets.Requirement{{Numeric: true}, {NoMissing: true}}
}

// Fit fits the model to data in memory; the result is a [*FittedExpectile].
func (s Expectile) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	if err := data.Check(); err != nil {
		return nil, fmt.Errorf("expectile: %w", err)
	}
	return s.FitSource(ctx, data.Source())
}

// FitSource is Fit over a stream, which is read once for each pass.
func (s Expectile) FitSource(ctx context.Context, data datasets.Source) (estimator.Predictor, error) {
	return estimator.Learn(ctx, s, data)
}

// Start starts the first pass.
func (s Expectile) Start(ctx context.Context, schema datasets.Schema, cols int) (datasets.Pass, error) {
	err := errors.Join(param.Check(s), ctx.Err())
	switch {
	case err != nil:
	case len(schema.Columns) != 0 && len(schema.Columns) != cols:
		err = fmt.Errorf("the schema names %d columns, the rows have %d", len(schema.Columns), cols)
	case len(schema.Classes()) > 0 || len(schema.Targets) > 1:
		err = errors.New("must be one numeric target")
	}
	if err != nil {
		return nil, fmt.Errorf("expectile: %w", err)
	}
	begun := pass.Config{Name: "expectile", Spec: s, Schema: schema, Cols: cols}
	return pass.Begin(begun, newSquares(s, schema, cols)), nil
}

// Finish returns the [*FittedExpectile] of the last pass.
func (s Expectile) Finish(ctx context.Context, last datasets.Pass) (estimator.Predictor, error) {
	sums, _, err := pass.Last(ctx, "expectile", s, last)
	if err != nil {
		return nil, err
	}
	f, err := sums.(*squares).finish(ctx)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// squares are the weighted sums of products of the inputs, a constant 1 for the intercept, and the
// target: least squares with the ω of the previous model.
type squares struct {
	spec    Expectile
	schema  datasets.Schema
	d       int
	before  []float64 // the model before, weights and intercept; none in the first pass
	turn    int       // number of the pass, from 1
	gram    []float64 // (d+1)×(d+1), from the diagonal on
	moment  []float64 // d+1
	targets float64   // Σ s·ω·y²
}

func newSquares(s Expectile, schema datasets.Schema, d int) *squares {
	return &squares{spec: s, schema: schema, d: d, turn: 1, gram: make([]float64, (d+1)*(d+1)),
		moment: make([]float64, d+1)}
}

// Add adds the rows of a block.
func (q *squares) Add(ctx context.Context, first int, block datasets.Set) error {
	if block.Cols() != q.d {
		return fmt.Errorf("expectile: row %[1]d: number of columns must be %[3]d, got %[2]d", first, block.Cols(), q.d)
	}
	if block.Schema = q.schema; block.Y == nil {
		return errors.New("expectile: the rows have no targets")
	}
	if err := errors.Join(block.CheckBlock(first), datasets.FromRow(block.CheckFinite(), first)); err != nil {
		return fmt.Errorf("expectile: %w", err)
	}
	x := make([]float64, q.d+1)
	for i, y := range block.Y {
		if err := ctx.Err(); err != nil {
			return err
		}
		mat.Row(x[:q.d], i, block.X)
		if x[q.d] = 1; block.Weights == nil {
			q.add(x, y, 1)
		} else if w := block.Weights[i]; w > 0 {
			q.add(x, y, w)
		}
	}
	return ctx.Err()
}

func (q *squares) add(x []float64, y, weight float64) {
	if q.before != nil {
		if weight *= 2 * (1 - q.spec.Tau); y > floats.Dot(q.before, x) {
			weight *= q.spec.Tau / (1 - q.spec.Tau)
		}
	}
	for j, v := range x {
		if v != 0 {
			floats.AddScaled(q.gram[j*(q.d+1)+j:(j+1)*(q.d+1)], weight*v, x[j:])
		}
	}
	floats.AddScaled(q.moment, weight*y, x)
	q.targets += weight * y * y
}

// Merge adds the sums of other rows.
func (q *squares) Merge(ctx context.Context, other pass.Sums) error {
	o := other.(*squares)
	if q.turn != o.turn || !slices.Equal(q.before, o.before) {
		return errors.New("expectile: the passes continue different models")
	}
	floats.Add(q.gram, o.gram)
	floats.Add(q.moment, o.moment)
	q.targets += o.targets
	return ctx.Err()
}

// solve returns the weights and the intercept of least squares.
func (q *squares) solve() ([]float64, error) {
	m := q.d + 1
	if !(q.gram[m*m-1] > 0) {
		return nil, errors.New("expectile: weights must not all be 0")
	}
	a := mat.NewSymDense(m, slices.Clone(q.gram))
	for j := range q.d {
		a.SetSym(j, j, a.At(j, j)+q.spec.Alpha)
	}
	var factor mat.Cholesky
	if !factor.Factorize(a) {
		return nil, errors.New("expectile: the columns depend on each other to rounding; use a larger alpha")
	}
	out := mat.NewVecDense(m, nil)
	if err := factor.SolveVecTo(out, mat.NewVecDense(m, q.moment)); err != nil {
		var near mat.Condition
		if !errors.As(err, &near) {
			return nil, fmt.Errorf("expectile: %w", err)
		}
	}
	for _, v := range out.RawVector().Data {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, errors.New("expectile: the numbers are too large")
		}
	}
	return out.RawVector().Data, nil
}

// change is the largest change of a coefficient relative to the largest coefficient.
func (q *squares) change(now []float64) float64 {
	switch {
	case q.spec.Tau == 0.5:
		return 0
	case q.before == nil:
		return math.Inf(1)
	}
	return floats.Distance(now, q.before, math.Inf(1)) / max(floats.Norm(now, math.Inf(1)), 1e-300)
}

// Next starts a pass with the ω of the current model, or returns nil after the last.
func (q *squares) Next(ctx context.Context) (pass.Sums, error) {
	next, err := q.next()
	if err != nil || next == nil {
		return nil, errors.Join(err, ctx.Err())
	}
	return next, ctx.Err()
}

func (q *squares) next() (*squares, error) {
	now, err := q.solve()
	if err != nil || q.turn >= q.spec.MaxIter || q.change(now) <= q.spec.Tol {
		return nil, err
	}
	next := newSquares(q.spec, q.schema, q.d)
	next.before, next.turn = now, q.turn+1
	return next, nil
}

// finish makes the model.
func (q *squares) finish(ctx context.Context) (*FittedExpectile, error) {
	now, err := q.solve()
	if err != nil {
		return nil, err
	}
	m, quadratic := len(now), 0.0
	for j, v := range now {
		row := q.gram[j*m+j : (j+1)*m]
		quadratic += v * (2*floats.Dot(row, now[j:]) - row[0]*v)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	left := max(q.targets-2*floats.Dot(now, q.moment)+quadratic, 0)
	return &FittedExpectile{weights: now[:q.d], intercept: now[q.d], spread: math.Sqrt(left / q.gram[m*m-1]),
		passes: q.turn, converged: q.change(now) <= q.spec.Tol}, nil
}

// State serializes the sums.
func (q *squares) State(s *model.State) {
	s.Int("turn", &q.turn)
	s.Require(q.turn >= 1 && q.turn <= q.spec.MaxIter, "too many passes")
	m := q.d + 1
	if s.Err() == nil && q.turn > 1 {
		if q.before == nil {
			q.before = make([]float64, m)
		}
		pass.Floats(s, "before", &q.before, m, pass.Finite)
	}
	pass.Floats(s, "gram", &q.gram, m*m, pass.Finite)
	pass.Floats(s, "moment", &q.moment, m, pass.Finite)
	s.Float("targets", &q.targets)
	s.Require(pass.NonNegative(q.targets), "a sum of squares is no number from 0")
}

// FittedExpectile is a fitted [Expectile].
type FittedExpectile struct {
	weights   []float64
	intercept float64
	spread    float64 // root of the weighted mean of the squared residuals
	passes    int
	converged bool
}

// Tags returns the number of input columns.
func (f *FittedExpectile) Tags() datasets.Tags { return datasets.Tags{InputWidth: len(f.weights)} }

// Predict returns the expectile at each row of X.
func (f *FittedExpectile) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	if X == nil {
		return nil, errors.New("expectile: no matrix")
	}
	n, d := X.Dims()
	if n == 0 {
		return []float64{}, nil
	}
	if err := datasets.CheckInput(ctx, X, len(f.weights)); err != nil {
		return nil, fmt.Errorf("expectile: %w", err)
	}
	out, x := make([]float64, n), make([]float64, d)
	for i := range out {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out[i] = floats.Dot(f.weights, mat.Row(x, i, X)) + f.intercept
	}
	return out, nil
}

// Outputs returns values and standard deviations.
func (f *FittedExpectile) Outputs() estimator.Outputs {
	return estimator.Outputs{Has: estimator.OutputValues | estimator.OutputStd}
}

// PredictFull returns the expectile at each row of X, and the root mean square of the training residuals as the
// standard deviation of each.
func (f *FittedExpectile) PredictFull(ctx context.Context, X mat.Matrix, _ estimator.Request) (out estimator.Prediction,
	err error) {
	if out.Values, err = f.Predict(ctx, X); err != nil {
		return out, err
	}
	out.Std = make([]float64, len(out.Values))
	for i := range out.Std {
		out.Std[i] = f.spread
	}
	return out, nil
}

// ExportModel adds the model to g: the expectile, and a constant standard deviation.
func (f *FittedExpectile) ExportModel(g *graph.Graph, rows graph.Value) (graph.Prediction, error) {
	value := g.Affine(rows, g.Matrix(mat.NewVecDense(len(f.weights), f.weights)), g.Scalar(f.intercept))
	return graph.Prediction{Values: value, Std: g.Add(g.Mul(value, g.Scalar(0)), g.Scalar(f.spread))}, nil
}

// Report returns the number of passes.
func (f *FittedExpectile) Report() estimator.Report {
	r := estimator.Report{Solver: "irls", Iterations: f.passes, Converged: f.converged}
	if !f.converged {
		r.Warnings = []string{fmt.Sprintf("expectile: not converged after %d passes; raise max_iter or alpha", f.passes)}
	}
	return r
}

// State serializes the fitted parameters.
func (f *FittedExpectile) State(s *model.State) {
	s.Floats("weights", &f.weights)
	s.Float("intercept", &f.intercept)
	s.Float("spread", &f.spread)
	s.Int("passes", &f.passes)
	s.Bool("converged", &f.converged)
	s.Require(len(f.weights) > 0, "there are no weights")
	bad := func(v float64) bool { return !pass.Finite(v) }
	s.Require(!slices.ContainsFunc(append(slices.Clone(f.weights), f.intercept), bad) && pass.NonNegative(f.spread),
		"a number is not finite")
}

var (
	_ estimator.PassEstimator  = Expectile{}
	_ estimator.BlockEstimator = Expectile{}
	_ datasets.CostEstimator   = Expectile{}
	_ datasets.Requirer        = Expectile{}
	_ estimator.FullPredictor  = (*FittedExpectile)(nil)
	_ estimator.Reporter       = (*FittedExpectile)(nil)
	_ graph.ModelExporter      = (*FittedExpectile)(nil)
	_ model.Stateful           = (*FittedExpectile)(nil)
)
