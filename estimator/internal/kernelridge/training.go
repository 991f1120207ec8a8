package kernelridge

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/landmarks"
	"github.com/bochner-ml/bochner/internal/features/pairwise"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
	"github.com/bochner-ml/bochner/kernel"
)

// Training is a set of training rows under one kernel. It caches what penalties and solvers share:
// tiles, the full matrix, and the low-rank factor.
type Training struct {
	spec     Spec
	name     kernel.Name // of the kernel of the rows
	gamma    []float64
	rows     mat.Matrix // of positive weight
	rowIndex []int      // row numbers in the data
	y        []float64  // rows × targets, centered with an intercept
	targets  int
	mean     []float64
	weights  []float64 // nil for ones
	data     Data
	points   *Points
	inverse  []float64 // reciprocal weights
	reuse    bool      // whether several penalties follow

	full    kern.View[float64]
	lowRank *solve.LowRankFactor
	system  *System
}

// Data is training data.
type Data struct {
	Rows    *design.Rows // in memory
	Y       []float64    // rows × targets
	Targets int
	Weights []float64 // nil for ones
	Classes []string  // nil for regression
}

// TargetReader reads the targets of rows in memory.
type TargetReader func(ctx context.Context, r *design.Rows) (Data, error)

// NumericTargets is the TargetReader of regression.
func NumericTargets(_ context.Context, r *design.Rows) (Data, error) {
	y, t, err := design.BlockTargets(0, *r.Set)
	if err != nil {
		return Data{}, err
	}
	weights, err := design.BlockWeights(0, *r.Set)
	return Data{Rows: r, Y: y, Targets: t, Weights: weights}, err
}

// Fit fits to rows in memory.
func (s Spec) Fit(ctx context.Context, r *design.Rows, labels TargetReader) (*Model, error) {
	data, err := labels(ctx, r)
	if err != nil {
		return nil, err
	}
	t, err := NewTraining(ctx, s, data, false)
	if err != nil {
		return nil, err
	}
	return t.Solve(ctx, s)
}

// NewTraining prepares rows for the kernel of a spec. again reports that several penalties follow,
// of which the spec has the smallest.
func NewTraining(ctx context.Context, s Spec, data Data, reuse bool) (*Training, error) {
	t := &Training{spec: s, data: data, targets: data.Targets, reuse: reuse, mean: make([]float64, data.Targets)}
	rows, err := s.Resolve(ctx, *data.Rows.Set)
	if err != nil {
		return nil, err
	}
	t.name, t.gamma = rows.Name, rows.Gamma
	if err := t.selectRows(rows.X, data); err != nil {
		return nil, err
	}
	t.inverse = DiagonalPenalty(len(t.rowIndex), 1, t.weights)
	f, err := rows.Frame(t.rows)
	if err != nil {
		return nil, err
	}
	if err := rows.CheckOwn(ctx, t.rows); err != nil {
		return nil, pairwise.RefuseNegative(rows.Kernel, err)
	}
	t.points = NewPoints(rows.Kernel, f, t.rows)
	return t, ctxerr.Check(ctx)
}

// selectRows stores the rows of positive weight and centers their targets.
func (t *Training) selectRows(X mat.Matrix, data Data) error {
	n, _ := X.Dims()
	total := 0.0
	for i := range n {
		s := 1.0
		if data.Weights != nil {
			s = data.Weights[i]
		}
		if s == 0 {
			continue
		}
		total += s
		t.rowIndex = append(t.rowIndex, i)
		if data.Weights != nil {
			t.weights = append(t.weights, s)
		}
		row := data.Y[i*t.targets : (i+1)*t.targets]
		t.y = append(t.y, row...)
		kern.Axpy(s, row, t.mean)
	}
	if len(t.rowIndex) == 0 {
		return errors.New("every weight is 0")
	}
	if t.rows = X; len(t.rowIndex) < n {
		t.rows = rowblock.Select(X, t.rowIndex)
	}
	kern.Scale(1/total, t.mean)
	if !t.spec.Intercept {
		clear(t.mean)
	}
	for i := 0; i < len(t.y); i += t.targets {
		kern.Axpy(-1, t.mean, t.y[i:i+t.targets])
	}
	return nil
}

// Rows returns the number of rows of positive weight.
func (t *Training) Rows() int { return len(t.rowIndex) }

// Scores returns the predictions of several models for the rows of X, rows × targets each, in one
// pass over the kernel values. A nil model has nil predictions. Predictions do not depend on the
// other models.
func (t *Training) Scores(ctx context.Context, X mat.Matrix, models []*Model) ([]*mat.Dense, error) {
	n, _ := X.Dims()
	k := t.targets
	columns := max(2, k*len(models)) // a single column would be summed in a different order
	dual, intercept, all := make([]float64, t.Rows()*columns), make([]float64, columns), make([]float64, n*columns)
	for j, m := range models {
		if m == nil {
			continue
		}
		copy(intercept[j*k:], m.Intercept)
		for i := range t.Rows() {
			copy(dual[i*columns+j*k:], m.Dual[i*k:(i+1)*k])
		}
	}
	if err := t.points.scores(ctx, all, X, dual, intercept); err != nil {
		return nil, err
	}
	out := make([]*mat.Dense, len(models))
	for j, m := range models {
		if m != nil {
			out[j] = mat.DenseCopyOf(mat.NewDense(n, columns, all).Slice(0, n, j*k, (j+1)*k))
		}
	}
	return out, nil
}

// Solve solves with the penalty and solver of a spec with the same kernel.
func (t *Training) Solve(ctx context.Context, s Spec) (*Model, error) {
	if s.SolverFor(len(t.rowIndex)) == "cholesky" {
		return t.solveDirect(ctx, s)
	}
	alphas := []float64{s.Alpha}
	p, err := t.preconditioner(ctx, s, alphas)
	if err != nil {
		return nil, err
	}
	a := make([]float64, len(t.y))
	steps, factors := s.MaxIter, s.Solver == "auto" && t.factorFitsMemory()
	if factors {
		steps = min(steps, fallbackSteps(len(t.rowIndex)))
	}
	result, err := t.cgSystem(ctx, s).WithAlphas(alphas).Solve(ctx, p, a, t.y, t.targets, s.Tol, steps)
	if err != nil {
		return nil, err
	}
	if factors && !(result.Residual <= s.Tol) && !ctxerr.SoftDeadlinePassed(ctx) {
		return t.solveDirect(ctx, s)
	}
	return t.newModel(s, "cg", a, result)
}

// solveDirect solves by a Cholesky factor.
func (t *Training) solveDirect(ctx context.Context, s Spec) (*Model, error) {
	ridge := DiagonalPenalty(len(t.rowIndex), s.Alpha, t.weights)
	f, err := t.factor(ctx, ridge)
	if err != nil {
		return nil, err
	}
	return t.solveByFactor(ctx, s, f, ridge)
}

// factorFitsMemory reports whether the matrix and its factor fit into memory.
func (t *Training) factorFitsMemory() bool {
	n := float64(len(t.rowIndex))
	return memory.Check(design.Float64Bytes(2*n*n)) == nil
}

// fallbackSteps is the number of CG steps after which auto switches to a factor, whose cost is
// about equal.
func fallbackSteps(rows int) int { return max(50, rows/64) }

// cgSystem returns the system on tiles, cached for other penalties.
func (t *Training) cgSystem(ctx context.Context, s Spec) *System {
	if t.system == nil {
		t.system = NewSystem(t.points, t.inverse, s.Intercept, cacheBytes(ctx, len(t.rowIndex)))
	}
	return t.system
}

func (t *Training) solveByFactor(ctx context.Context, s Spec, f *Factor, ridge []float64) (*Model, error) {
	a := make([]float64, len(t.y))
	system := NewSystem(f, ridge, s.Intercept, 0)
	result, err := system.Solve(ctx, f, a, t.y, t.targets, min(s.Tol, factorTol), s.MaxIter)
	if err != nil {
		return nil, err
	}
	return t.newModel(s, "cholesky", a, result)
}

// newModel returns the model of a solution.
func (t *Training) newModel(s Spec, way string, a []float64, result Result) (*Model, error) {
	report := solve.Report{Solver: way, Iterations: result.Iterations, Converged: result.Residual <= s.Tol,
		Gradient: result.Residual}
	if !report.Converged {
		hint := ""
		if way == "cg" && s.Solver == "cg" && t.factorFitsMemory() {
			hint = ", or use solver: cholesky"
		}
		report.Warnings = append(report.Warnings,
			fmt.Sprintf("%s did not converge: relative residual %.2g, tolerance %.2g, after %d iterations; increase alpha, "+
				"the iterations or the rank of the preconditioner%s",
				way, result.Residual, s.Tol, result.Iterations, hint))
	}
	report.Objective = t.objective(a, result.Intercept, s.Alpha)
	kern.Axpy(1, t.mean, result.Intercept)
	return t.model(a, result.Intercept, report)
}

// factorTol is the residual below which a direct solution is not refined.
const factorTol = 1e-12

// preconditioner returns the CG preconditioner for a list of penalties.
func (t *Training) preconditioner(ctx context.Context, s Spec, alphas []float64) (solve.Preconditioner, error) {
	limit, stop := t.spec.rank(len(t.rowIndex))
	if limit == 0 {
		return solve.Diagonal(t.inverse, alphas), nil
	}
	if t.lowRank == nil {
		var err error
		if solve.Float32FactorSuffices(t.inverse, t.spec.Alpha) {
			t.lowRank, err = newLowRank(ctx, t, t.points.rows32, limit, s.Seed, stop)
		} else {
			t.lowRank, err = newLowRank(ctx, t, t.points.rows64, limit, s.Seed, stop)
		}
		if err != nil {
			return nil, err
		}
	}
	return solve.LowRank(ctx, t.lowRank, alphas)
}

// newLowRank computes the low-rank factor in one of the precisions.
func newLowRank[T kern.Float](ctx context.Context, t *Training, rows pairwise.Rows[T], rankLimit int, seed uint64,
	stop func(int, float64) bool) (*solve.LowRankFactor, error) {
	f, err := landmarks.PivotedUntil(ctx, rows, t.points.kernel, rankLimit, seed, stop)
	if err != nil {
		return nil, err
	}
	return solve.NewLowRankFactor(ctx, f.F, t.inverse)
}

// factor factorizes the full matrix.
func (t *Training) factor(ctx context.Context, ridge []float64) (*Factor, error) {
	return NewFactor(ctx, ridge, func() (kern.View[float64], error) {
		if !t.reuse {
			return FullMatrix(ctx, t.points)
		}
		out, err := t.fullMatrix(ctx)
		out.Data = slices.Clone(out.Data)
		return out, err
	})
}

// fullMatrix returns the kernel matrix, cached for other penalties.
func (t *Training) fullMatrix(ctx context.Context) (whole kern.View[float64], err error) {
	if t.full.Rows == 0 {
		whole, err = FullMatrix(ctx, t.points)
		if err != nil {
			return whole, err
		}
		t.full = whole
	}
	return t.full, nil
}

// objective returns Σ s·e² + α·aᵀKa at a solution. The residual e is α·a/s, so this is α·aᵀ(y − b).
func (t *Training) objective(a, intercept []float64, alpha float64) float64 {
	sum := 0.0
	for at, v := range a {
		sum += alpha * v * (t.y[at] - intercept[at%t.targets])
	}
	return sum
}

// model returns the model of dual weights.
func (t *Training) model(a, intercept []float64, report solve.Report) (*Model, error) {
	if !kern.AllFinite(a) || !kern.AllFinite(intercept) {
		return nil, errors.New("the solution is not finite: the targets are too large or the penalty is too small; " +
			"standardize the targets or use a larger alpha")
	}
	return &Model{X: t.rows, Dual: a, Intercept: intercept, Report: report,
		KernelParams: KernelParams{string(t.name), t.gamma, t.spec.shape()},
		points:       &Points{kernel: t.points.kernel, frame: t.points.frame, rows64: t.points.rows64}}, nil
}

// LOOResult holds leave-one-out predictions.
type LOOResult struct {
	Predictions      *mat.Dense // rows × targets
	GCVPredictions   *mat.Dense // with all leverages replaced by their mean; their mean squared error is GCV
	DegreesOfFreedom float64    // effective
}

// LeaveOneOut returns the leave-one-out predictions from one factor.
func (t *Training) LeaveOneOut(ctx context.Context, s Spec) (*LOOResult, error) {
	n, k, data := len(t.rowIndex), t.targets, t.data
	ridge := DiagonalPenalty(n, s.Alpha, t.weights)
	f, err := t.factor(ctx, ridge)
	if err != nil {
		return nil, err
	}
	m, err := t.solveByFactor(ctx, s, f, ridge)
	if err != nil {
		return nil, err
	}
	residual, slack, err := f.LeaveOneOut(ctx, m.Dual, k, s.Intercept)
	if err != nil {
		return nil, err
	}
	out := &LOOResult{DegreesOfFreedom: float64(n)}
	out.Predictions = mat.NewDense(data.Rows.N, k, nil)
	if n < data.Rows.N { // rows of weight 0 are in no model
		if err := m.Scores(ctx, out.Predictions.RawMatrix().Data, data.Rows.Set.X); err != nil {
			return nil, err
		}
	}
	out.GCVPredictions = mat.DenseCopyOf(out.Predictions)
	for i, v := range slack {
		out.DegreesOfFreedom -= ridge[i] * v
	}
	mean := (float64(n) - out.DegreesOfFreedom) / float64(n)
	for i, at := range t.rowIndex {
		for j := range k {
			y := data.Y[at*k+j]
			out.Predictions.Set(at, j, y-residual[i*k+j])
			out.GCVPredictions.Set(at, j, y-ridge[i]*m.Dual[i*k+j]/mean)
		}
	}
	return out, nil
}
