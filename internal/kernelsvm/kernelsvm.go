// Package kernelsvm fits support vector machines with an exact kernel: the two-class machine, one
// for each class against the rest, and ε-insensitive regression, by package smo.
//
// All outputs of a [Training] share the kernel rows, and so do the penalties C that it is solved for.
// A fitted model is a kernelridge.Model of the support vectors, the rows with a dual weight other than
// 0 for at least one output.
package kernelsvm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/kernelridge"
	"github.com/bochner-ml/bochner/internal/rowblock"
	"github.com/bochner-ml/bochner/internal/smo"
	"github.com/bochner-ml/bochner/internal/solve"
	"github.com/bochner-ml/bochner/kernel"
)

// Spec is the specification of a support vector machine.
type Spec struct {
	Kernel    kernel.Name
	Gamma     kernel.Gamma
	C         float64
	Epsilon   float64 // of regression
	Nu, Shape float64
	Tol       float64 // relative to the margin 1, or to the standard deviation of the targets
	Cache     int     // megabytes of kernel rows; 0 for automatic
	MaxIter   int     // maximum number of steps of pairs, for each output
	Seed      uint64
}

// Training is a set of training rows with a kernel, solved for several C.
type Training struct {
	rows     *kernelridge.Rows
	params   kernelridge.KernelParams
	x        mat.Matrix // of positive weight
	rowIndex []int      // row numbers in the data
	labels   *design.Labels
	y        []float64 // rows × outputs: signs, or centered targets
	mean     float64   // of the targets
	scale    float64   // standard deviation of the targets, 1 for classes
	weights  []float64
	matrix   *smo.Matrix

	expansion *kernelridge.Model // on all rows, without weights; nil until it is used
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

// Cost estimates a fit to rows of a shape. A kernel value costs valueFlops besides its distance,
// and a row takes part in a few updates of the gradient.
func (s Spec) Cost(shape datasets.Shape) datasets.Cost {
	const valueFlops, updateFlops = 200, 100
	n, d, t := float64(shape.Rows), shape.Entries(), float64(max(shape.Outputs, 1))
	working := min(n, 4096)
	return datasets.Cost{Passes: 1, OutputWidth: max(shape.Outputs, 1), Flops: n * n * (2*d + valueFlops + updateFlops*t),
		Bytes: s.cacheBytes(shape.Rows) + design.Float64Bytes(2.5*n*d+n*(8+2*t)+working*working/2)}
}

// NewTraining prepares rows in memory. Labels without classes are those of a regression. A previous
// training of the same rows with the same kernel and γ lends its kernel rows; it may be nil.
func NewTraining(ctx context.Context, s Spec, r *design.Rows, l *design.Labels, previous *Training) (*Training, error) {
	t := &Training{labels: l, scale: 1}
	var err error
	t.rows, err = kernelridge.Spec{Kernel: s.Kernel, Gamma: s.Gamma, Nu: s.Nu, Shape: s.Shape,
		Seed: s.Seed}.Resolve(ctx, *r.Set)
	if err != nil {
		return nil, err
	}
	t.params = kernelridge.KernelParams{Kernel: string(s.Kernel), Gamma: t.rows.Gamma, Nu: s.Nu, Shape: s.Shape}
	for i, w := range l.Weights {
		if w > 0 {
			t.rowIndex, t.weights = append(t.rowIndex, i), append(t.weights, w)
		}
	}
	if t.x = t.rows.X; len(t.rowIndex) < len(l.Weights) {
		t.x = rowblock.Select(t.x, t.rowIndex)
	}
	if t.readTargets(); !(t.scale < math.MaxFloat64) {
		return nil, errors.New("the variance of the targets overflows; standardize the targets")
	}
	if previous != nil && previous.params.Kernel == t.params.Kernel &&
		slices.Equal(previous.params.Gamma, t.params.Gamma) && slices.Equal(previous.rowIndex, t.rowIndex) {
		t.x, t.matrix, t.expansion = previous.x, previous.matrix, previous.expansion
		return t, nil
	}
	f, err := t.rows.Frame(t.x)
	if err != nil {
		return nil, err
	}
	t.matrix = smo.NewMatrix(t.rows.Kernel, f, t.x, s.cacheBytes(len(t.rowIndex)))
	return t, nil
}

// outputs returns the number of outputs.
func (t *Training) outputs() int {
	if t.labels.Classes == nil {
		return 1
	}
	return t.labels.Outputs()
}

// readTargets sets the targets of the rows of positive weight.
func (t *Training) readTargets() {
	k, all := t.outputs(), t.labels.Y
	if t.labels.Classes != nil {
		all = t.labels.Signs(make([]float64, len(all)*k), 0)
	}
	for _, i := range t.rowIndex {
		t.y = append(t.y, all[i*k:(i+1)*k]...)
	}
	if t.labels.Classes != nil {
		return
	}
	total := kern.Sum(t.weights)
	t.mean = kern.Dot(t.weights, t.y) / total
	variance := 0.0
	for i := range t.y {
		t.y[i] -= t.mean
		variance += t.weights[i] / total * t.y[i] * t.y[i]
	}
	t.scale = math.Sqrt(variance)
}

// Solve solves for the C, Epsilon, Tol and MaxIter of a spec, from the solutions for another C if there are any. The
// solution of an output is nil if it has no rows of its own: a class that is absent.
func (t *Training) Solve(ctx context.Context, s Spec, from Solution) (Solution, error) {
	n, k := len(t.rowIndex), t.outputs()
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
		if k > 1 && slices.Max(y) < 0 {
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
			return nil, errNotFinite
		}
		out[j] = &r
	}
	return out, nil
}

// errNotFinite reports sums that overflow.
var errNotFinite = errors.New("the solution is not finite: C is too large; use a smaller C")

// Model returns the model of a solution, with the support vectors of all outputs.
func (t *Training) Model(s Spec, solution Solution) (*kernelridge.Model, error) {
	k := len(solution)
	m := &kernelridge.Model{KernelParams: t.params, Intercept: make([]float64, k), Report: t.Report(s, solution)}
	var support []int
	for i := range t.rowIndex {
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
	m.X = rowblock.Select(t.x, support)
	return m, m.Prepare()
}

// intercept returns the intercept of output j of a solution.
func (t *Training) intercept(solution Solution, j int) float64 {
	if solution[j] == nil {
		return design.AbsentIntercept
	}
	return solution[j].Intercept + t.mean
}

// Scores returns the predictions of several solutions for the rows of X, rows × outputs each, in
// one pass over the kernel values of all training rows, so that they do not depend on the other
// solutions. That of a nil solution is nil.
func (t *Training) Scores(ctx context.Context, X mat.Matrix, solutions []Solution) ([]*mat.Dense, error) {
	if t.expansion == nil {
		t.expansion = &kernelridge.Model{KernelParams: t.params, X: t.x}
		if err := t.expansion.Prepare(); err != nil {
			return nil, err
		}
	}
	n, _ := X.Dims()
	k := t.outputs()
	columns := max(2, k*len(solutions)) // a single column would be summed in a different order
	m := *t.expansion
	m.Dual, m.Intercept = make([]float64, len(t.rowIndex)*columns), make([]float64, columns)
	for p, solution := range solutions {
		for j, r := range solution {
			m.Intercept[p*k+j] = t.intercept(solution, j)
			for i := range t.rowIndex {
				if r != nil {
					m.Dual[i*columns+p*k+j] = r.Beta[i]
				}
			}
		}
	}
	all := make([]float64, n*columns)
	if err := m.Scores(ctx, all, X); err != nil {
		return nil, err
	}
	out := make([]*mat.Dense, len(solutions))
	for p, solution := range solutions {
		if solution != nil {
			out[p] = mat.DenseCopyOf(mat.NewDense(n, columns, all).Slice(0, n, p*k, (p+1)*k))
		}
	}
	return out, nil
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

// Fit fits a model to rows in memory.
func (s Spec) Fit(ctx context.Context, r *design.Rows, l *design.Labels) (*kernelridge.Model, error) {
	t, err := NewTraining(ctx, s, r, l, nil)
	if err != nil {
		return nil, err
	}
	solution, err := t.Solve(ctx, s, nil)
	if err != nil {
		return nil, err
	}
	return t.Model(s, solution)
}
