// Package kernelsvm fits support vector machines with an exact kernel: the two-class machine, one
// for each class against the rest, and ε-insensitive regression, by package smo.
//
// All outputs of a [Training] share the kernel rows, and so do the penalties C that it is solved
// for. Trainings of several folds share the whole kernel matrix, see [Matrices]: rows that a fold
// leaves out have the penalty 0, and their predictions are elements of the product of the matrix
// with the solution. A fitted model is a kernelridge.Model of the support vectors, the rows with a
// dual weight other than 0 for at least one output.
package kernelsvm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/kernelridge"
	"github.com/bochner-ml/bochner/estimator/internal/smo"
	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/kernel"
)

// Spec is the specification of a support vector machine.
type Spec struct {
	Kernel  kernel.Name
	Gamma   kernel.Gamma
	C       float64
	Epsilon float64 // of regression
	Shape   spectral.Shape
	Tol     float64 // relative to the margin 1, or to the standard deviation of the targets
	Cache   int     // megabytes of kernel rows; 0 for automatic
	MaxIter int     // maximum number of steps of pairs, for each output
	Seed    uint64
}

// Training is a set of training rows among those of a kernel matrix, solved for several C.
type Training struct {
	labels  *design.Labels
	y       []float64 // rows × outputs: signs, or centered targets; 0 for other rows
	mean    float64   // of the targets
	scale   float64   // standard deviation of the targets, 1 for classes
	weights []float64 // 0 for other rows
	matrix  *smo.Matrix
}

// Solution has the solution of each output.
type Solution []*smo.Result

// maxCacheBytes bounds the kernel rows of an automatic cache.
const maxCacheBytes = 2 << 30

// cacheBytes returns the memory for kernel rows. It does not depend on the host, because the size of working sets
// depends on it.
func (s Spec) cacheBytes(rows int) int64 {
	whole := 4 * int64(rows) * int64(rows)
	if s.Cache > 0 {
		return min(whole, int64(s.Cache)<<20)
	}
	return min(whole, maxCacheBytes)
}

// Cost estimates a fit to rows of a shape. A kernel value costs valueFlops in addition to its distance,
// and a row takes part in a few updates of the gradient.
func (s Spec) Cost(shape datasets.Shape) datasets.Cost {
	const valueFlops, updateFlops = 200, 100
	n, d, t := float64(shape.Rows), shape.Entries(), float64(max(shape.Outputs, 1))
	working := min(n, 4096)
	return datasets.Cost{Passes: 1, OutputWidth: max(shape.Outputs, 1), Flops: n * n * (2*d + valueFlops + updateFlops*t),
		Bytes: s.cacheBytes(shape.Rows) + design.Float64Bytes(2.5*n*d+n*(8+2*t)+1.5*working*working)}
}

// NewTraining prepares the labels of rows of a kernel matrix: those of label i are of row rows[i]. Labels without
// classes are those of a regression.
func NewTraining(m *smo.Matrix, l *design.Labels, rows []int) (*Training, error) {
	t := &Training{labels: l, scale: 1, matrix: m, weights: make([]float64, m.Rows())}
	k, all := t.outputs(), l.Y
	if l.Classes != nil {
		all = l.Signs(make([]float64, len(all)*k), 0)
	}
	t.y = make([]float64, len(t.weights)*k)
	for i, w := range l.Weights {
		if w > 0 {
			t.weights[rows[i]] += w
			copy(t.y[rows[i]*k:], all[i*k:(i+1)*k])
		}
	}
	if l.Classes == nil {
		t.center()
	}
	if !(t.scale < math.MaxFloat64) {
		return nil, errors.New("the variance of the targets overflows; standardize the targets")
	}
	return t, nil
}

// outputs returns the number of outputs.
func (t *Training) outputs() int {
	if t.labels.Classes == nil {
		return 1
	}
	return t.labels.Outputs()
}

// center subtracts the mean of the targets, and sets the scale.
func (t *Training) center() {
	total := kern.Sum(t.weights)
	t.mean = kern.Dot(t.weights, t.y) / total
	variance := 0.0
	for i, w := range t.weights {
		if w > 0 {
			t.y[i] -= t.mean
			variance += w / total * t.y[i] * t.y[i]
		}
	}
	t.scale = math.Sqrt(variance)
}

// Solve solves for the C, Epsilon, Tol and MaxIter of a spec, from the solutions for another C if there are any. The
// solution of an output is nil if it has no rows of its own: a class that is absent.
func (t *Training) Solve(ctx context.Context, s Spec, from Solution) (Solution, error) {
	n, k := len(t.weights), t.outputs()
	C := make([]float64, n)
	for i, w := range t.weights {
		C[i] = s.C * w
	}
	out := make(Solution, k)
	for j := range out {
		y := make([]float64, n)
		for i := range y {
			y[i] = t.y[i*k+j]
		}
		if k > 1 && slices.Max(y) <= 0 {
			continue
		}
		p := smo.Classification(y, C)
		if t.labels.Classes == nil {
			p = smo.Regression(y, C, s.Epsilon)
		}
		p.Tol, p.MaxSteps = s.Tol*t.scale, s.MaxIter
		var start *smo.Result
		if from != nil {
			start = from[j]
		}
		r, err := smo.Solve(ctx, t.matrix, p, start)
		if err != nil {
			return nil, err
		}
		if !kern.AllFinite(r.Beta) || !(math.Abs(r.Intercept) < math.MaxFloat64) {
			if s.Kernel.IsOwn() {
				return nil, NotFiniteError(s.Kernel)
			}
			return nil, errNotFinite
		}
		out[j] = &r
	}
	return out, nil
}

// errNotFinite reports sums that overflow.
var errNotFinite = errors.New("the solution is not finite: C is too large; use a smaller C")

// NotFiniteError reports values of a kernel of the caller, among them those of test rows.
func NotFiniteError(name kernel.Name) error {
	return fmt.Errorf("kernel %s has values that are not finite, or C is too large", name)
}

// Model returns the model of a solution, with the support vectors of all outputs. X are the rows of the matrix.
func (t *Training) Model(s Spec, params kernelridge.KernelParams, X mat.Matrix, solution Solution) (
	*kernelridge.Model, error) {
	k := len(solution)
	m := &kernelridge.Model{KernelParams: params, Intercept: make([]float64, k), Report: t.Report(s, solution)}
	var support []int
	for i := range t.weights {
		any := false
		for _, r := range solution {
			any = any || r != nil && r.Beta[i] != 0
		}
		if any {
			support = append(support, i)
		}
	}
	if len(support) == 0 {
		support = []int{0} // a constant; its model has one row of weight 0
	}
	m.Dual = make([]float64, len(support)*k)
	for j, r := range solution {
		m.Intercept[j] = t.intercept(solution, j)
		for p, i := range support {
			if r != nil {
				m.Dual[p*k+j] = r.Beta[i]
			}
		}
	}
	m.X = rowblock.Select(X, support)
	return m, m.Prepare()
}

// intercept returns the intercept of output j of a solution.
func (t *Training) intercept(solution Solution, j int) float64 {
	if solution[j] == nil {
		return design.AbsentIntercept
	}
	return solution[j].Intercept + t.mean
}

// Scores returns the predictions of a solution for rows of the matrix, rows × outputs.
func (t *Training) Scores(solution Solution, rows []int) *mat.Dense {
	out := mat.NewDense(len(rows), len(solution), nil)
	for j, r := range solution {
		intercept := t.intercept(solution, j)
		for i, row := range rows {
			if out.Set(i, j, intercept); r != nil {
				out.Set(i, j, r.Product[row]+intercept)
			}
		}
	}
	return out
}

// Report returns the report of a solution: sums and maxima over the outputs.
func (t *Training) Report(s Spec, solution Solution) solve.Report {
	out := solve.Report{Solver: "smo", Converged: true}
	for _, r := range solution {
		if r == nil {
			continue
		}
		out.Iterations += r.Steps
		out.Converged = out.Converged && r.Converged
		out.Objective += r.Primal
		if t.scale > 0 {
			out.Gradient = max(out.Gradient, r.Violation/t.scale)
		}
		if r.Primal > 0 {
			out.Gap = max(out.Gap, (r.Primal-r.Dual)/r.Primal)
		}
	}
	if !out.Converged {
		out.Warnings = []string{fmt.Sprintf(
			"smo did not converge: violation %.2g, tolerance %.2g, after %d steps; decrease C, or increase tol or max_iter",
			out.Gradient, s.Tol, out.Iterations)}
	}
	return out
}

// Kernels returns kernel ridge regression with the kernel of the spec.
func (s Spec) Kernels() kernelridge.Spec {
	return kernelridge.Spec{Kernel: s.Kernel, Gamma: s.Gamma, Nu: s.Shape.Nu, Shape: s.Shape.Alpha,
		Exponent: s.Shape.Exponent, Degree: s.Shape.Degree, Coef0: s.Shape.Coef0, Seed: s.Seed}
}

// Resolve returns the kernel of the spec and its γ, which may depend on the rows.
func (s Spec) Resolve(ctx context.Context, set datasets.Set) (*kernelridge.Rows, error) {
	return s.Kernels().Resolve(ctx, set)
}

// Matrix returns the matrix of rows of X, whose rows are computed and cached as they are used.
func (s Spec) Matrix(rows *kernelridge.Rows, X mat.Matrix) (*smo.Matrix, error) {
	f, err := rows.Frame(X)
	if err != nil {
		return nil, err
	}
	n, _ := X.Dims()
	return smo.NewMatrix(rows.Kernel, f, X, s.cacheBytes(n))
}

// Fit fits a model to rows in memory.
func (s Spec) Fit(ctx context.Context, r *design.Rows, l *design.Labels) (*kernelridge.Model, error) {
	rows, err := s.Resolve(ctx, *r.Set)
	if err != nil {
		return nil, err
	}
	X, position := weighted(rows, l)
	warnings, err := checkOwn(ctx, rows, X)
	if err != nil {
		return nil, err
	}
	matrix, err := s.Matrix(rows, X)
	if err != nil {
		return nil, err
	}
	t, err := NewTraining(matrix, l, position)
	if err != nil {
		return nil, err
	}
	solution, err := t.Solve(ctx, s, nil)
	if err != nil {
		return nil, err
	}
	params := kernelridge.KernelParams{Kernel: string(rows.Name), Gamma: rows.Gamma, Shape: s.Shape}
	m, err := t.Model(s, params, X, solution)
	if err == nil {
		m.Report.Warnings = append(m.Report.Warnings, warnings...)
	}
	return m, err
}

// weighted returns the rows of positive weight, and the position of each row among them.
func weighted(rows *kernelridge.Rows, l *design.Labels) (X mat.Matrix, position []int) {
	var selected []int
	position = make([]int, len(l.Weights))
	for i, w := range l.Weights {
		if position[i] = len(selected); w > 0 {
			selected = append(selected, i)
		}
	}
	if len(selected) == len(l.Weights) {
		return rows.X, position
	}
	return rowblock.Select(rows.X, selected), position
}

// CheckOwn returns an error if the kernel of the rows is that of the caller and its values of the rows of positive
// weight are not finite or not symmetric.
func CheckOwn(ctx context.Context, rows *kernelridge.Rows, l *design.Labels) error {
	X, _ := weighted(rows, l)
	_, err := checkOwn(ctx, rows, X)
	return err
}

// checkOwn also returns a warning of values that are not positive definite.
func checkOwn(ctx context.Context, rows *kernelridge.Rows, X mat.Matrix) ([]string, error) {
	err := rows.CheckOwn(ctx, X)
	if warning, negative := kernelridge.NegativeWarning(err); negative {
		return []string{warning}, nil
	}
	return nil, err
}
