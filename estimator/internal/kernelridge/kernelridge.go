// Package kernelridge solves kernel ridge regression exactly. With kernel matrix K, weights s, S =
// diag(s) and targets y it minimizes
//
//	Σ s_i (y_i − f(x_i))² + α·‖f‖²,  f(x) = Σ a_i k(x, x_i) + b,  ‖f‖² = a'Ka
//
// The solution satisfies (K + α·S⁻¹)a + b·1 = y with 1ᵀa = 0; without an intercept b and that
// condition are dropped.
//
// [System.Solve] uses conjugate gradients on tiles of K, which is never stored as a whole. Products
// use float32 tiles, cached as far as memory permits. The residual is recomputed in float64 unless
// float32 suffices, and iterative refinement continues from it. [Factor] is the Cholesky factor of
// the full matrix, for few rows. [solve.LowRank] is the preconditioner for many rows.
package kernelridge

import (
	"context"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/kern"
)

// Kernel computes tiles of the kernel matrix of some rows. It is safe for concurrent use.
type Kernel interface {
	// Rows returns the number of rows.
	Rows() int
	// Tile writes the values of rows from i on with rows from j on.
	Tile(dst kern.View[float64], i, j int)
	// TileFloat32 is Tile in float32.
	TileFloat32(dst kern.View[float32], i, j int)
}

// System is (K + α·diag(ridge))x = y for several y and several α, each with the same number of
// columns. If centered, there is an intercept b: Kx + α·ridge·x + b·1 = y with 1ᵀx = 0.
type System struct {
	rows      int
	ridge     []float64
	alphas    []float64
	centered  bool
	product32 *product[float32] // nil if only float64 is used
	product64 *product[float64]
}

// DiagonalPenalty returns alpha divided by the weights, which must be positive; nil means ones.
func DiagonalPenalty(n int, alpha float64, weights []float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		if out[i] = alpha; weights != nil {
			out[i] /= weights[i]
		}
	}
	return out
}

// NewSystem returns a system with α = 1 that caches tiles up to memory bytes.
func NewSystem(k Kernel, ridge []float64, centered bool, memory int64) *System {
	return &System{rows: k.Rows(), ridge: ridge, alphas: []float64{1}, centered: centered,
		product32: newProduct(k.Rows(), memory, k.TileFloat32), product64: newProduct(k.Rows(), 0, k.Tile)}
}

// WithAlphas returns the system for a list of α. The first columns belong to the first α. Both
// share their tiles.
func (s *System) WithAlphas(alphas []float64) *System {
	out := *s
	out.alphas = alphas
	return &out
}

// Result is the outcome of [System.Solve].
type Result struct {
	Iterations int
	Converged  bool
	Residual   float64 // largest over columns, in float64, relative to x = 0 with its best intercept
	Intercept  []float64
	Columns    []ColumnResult
}

// ColumnResult is the outcome for one column.
type ColumnResult struct {
	Iterations int
	Residual   float64
}

// A float32 round ends at roundTolFloat32 of its initial residual or after roundStepsFloat32 steps;
// then the true residual is computed. If a round leaves more than its stall ratio, no further round
// of that precision is made.
const (
	roundTolFloat32   = 3e-7
	roundStepsFloat32 = 200
	stallRatioFloat32 = 0.25
	stallRatioFloat64 = 0.5
)

// precision is the precision of the rounds of a column.
type precision int

const (
	inFloat32 precision = iota
	inFloat64
	finished
)

// Solve iterates from x, rows × columns, until the residual of each column is at most tol relative
// to x = 0, with at most maxIter steps. Stalled float32 rounds are followed by float64 rounds; if
// these stall too, the rest is rounding. A [Factor] uses float64 from the start. Columns are
// independent bit for bit, as long as there are several and their penalties are no smaller.
//
// After the soft deadline of ctx, steps only bring every column to the largest step count so far,
// as with that count for maxIter.
func (s *System) Solve(ctx context.Context, p solve.Preconditioner, x, y []float64, columns int, tol float64,
	maxIter int) (Result, error) {
	c := &solver{System: s, ctx: ctx, columns: columns, maxSteps: maxIter, x: x, y: y,
		initialNorms: make([]float64, columns), r: make([]float64, len(y)),
		precisions: make([]precision, columns), previous: slices.Repeat([]float64{math.Inf(1)}, columns),
		steps: make([]int, columns)}
	if _, exact := p.(*Factor); exact || s.product32 == nil {
		c.precisions = slices.Repeat([]precision{inFloat64}, columns)
	}
	c.float32Residual = float32Suffices(tol, slices.Min(s.alphas)*slices.Min(s.ridge), s.rows)
	if err := c.start(p); err != nil {
		return Result{}, err
	}
	for {
		var err error
		switch c.nextPrecision(tol) {
		case inFloat32:
			err = c.cgRound(inFloat32, s.product32.multiply, tol/2, roundTolFloat32, roundStepsFloat32)
		case inFloat64:
			err = c.cgRound(inFloat64, s.product64.multiply, tol/2, 0, maxIter)
		default:
			return c.result(tol), nil
		}
		if err != nil {
			return Result{}, err
		}
	}
}

// float32Suffices reports whether float32 resolves a relative residual of tol, given minDiag, the
// smallest entry added to the diagonal. Rounding of the n² values of K, independent and at most
// 2⁻²⁴, changes Kx by up to 2⁻²⁴·2√n·‖x‖, and ‖x‖ ≤ ‖y‖/minDiag.
func float32Suffices(tol, minDiag float64, rows int) bool {
	const margin = 10 // for the larger rounding of distances, and safety
	return tol*minDiag >= margin*0x1p-24*2*math.Sqrt(float64(rows))
}

// nextPrecision returns the precision of the next round, the lowest of all columns.
func (c *solver) nextPrecision(tol float64) precision {
	for j, residual := range c.relative() {
		poor := stallRatioFloat32
		if c.precisions[j] == inFloat64 {
			poor = stallRatioFloat64
		}
		switch {
		case !(residual > tol && residual < math.MaxFloat64 && c.steps[j] < c.maxSteps):
			c.precisions[j] = finished
		case residual > poor*c.previous[j]:
			c.precisions[j]++
		}
		c.previous[j] = residual
	}
	return slices.Min(c.precisions)
}

// result returns the outcome.
func (c *solver) result(tol float64) Result {
	out := Result{Intercept: c.intercept, Iterations: slices.Max(c.steps)}
	for j, v := range c.relative() {
		out.Columns = append(out.Columns, ColumnResult{c.steps[j], v})
		if v > out.Residual || v != v {
			out.Residual = v
		}
	}
	out.Converged = out.Residual <= tol
	return out
}

// solver is the state of one call of Solve.
type solver struct {
	*System
	ctx             context.Context
	columns         int
	maxSteps        int  // steps
	float32Residual bool // whether float32 rounds may use float32 residuals
	x, y            []float64
	r               []float64   // y − (K + α·ridge)x − intercept
	intercept       []float64   // by column
	initialNorms    []float64   // residual norm at x = 0, by column
	precisions      []precision // by column
	previous        []float64   // relative residual before the last round, by column
	steps           []int       // by column
	precond         solve.Preconditioner
	border          []float64 // M⁻¹1 for each α, if centered
	borderSum       []float64
}

// start computes the residual at x.
func (c *solver) start(p solve.Preconditioner) error {
	c.precond = p
	if c.centered {
		c.border = slices.Repeat([]float64{1}, c.rows*len(c.alphas))
		if err := p.Solve(c.ctx, c.border, len(c.alphas)); err != nil {
			return err
		}
		if c.borderSum = columnSums(c.border, len(c.alphas)); len(c.alphas) == 1 {
			c.borderSum[0] = kern.Sum(c.border)
		}
		c.projectSum(c.x)
	}
	copy(c.r, c.y)
	c.subtractMean()
	c.norms(c.initialNorms)
	return c.residual()
}

// projectSum moves the columns of v along M⁻¹1 so that they sum to 0.
func (c *solver) projectSum(v []float64) {
	if !c.centered {
		return
	}
	groups := len(c.alphas)
	each := c.columns / groups
	for j, sum := range columnSums(v, c.columns) {
		g := j / each
		for i := range c.rows {
			v[i*c.columns+j] -= c.border[i*groups+g] * sum / c.borderSum[g]
		}
	}
}

// precondition writes M⁻¹r to z, with column sums 0 if centered.
func (c *solver) precondition(z, r []float64) error {
	copy(z, r)
	if err := c.precond.Solve(c.ctx, z, c.columns); err != nil {
		return err
	}
	c.projectSum(z)
	return nil
}

// residual computes r and the intercepts, in float64 unless float32 suffices.
func (c *solver) residual() error {
	copy(c.r, c.y)
	if slices.ContainsFunc(c.x, func(v float64) bool { return v != 0 }) {
		multiply := c.product64.multiply
		if c.float32Residual && !slices.Contains(c.precisions, inFloat64) {
			multiply = c.product32.multiply
		}
		product := make([]float64, len(c.x))
		if err := c.apply(multiply, product, c.x); err != nil {
			return err
		}
		kern.Axpy(-1, product, c.r)
	}
	c.intercept = c.subtractMean()
	return nil
}

// subtractMean subtracts the means of the columns of r if centered, and returns them.
func (c *solver) subtractMean() []float64 {
	if !c.centered {
		return make([]float64, c.columns)
	}
	mean := columnSums(c.r, c.columns)
	kern.Scale(1/float64(c.rows), mean)
	for i := 0; i < len(c.r); i += c.columns {
		kern.Axpy(-1, mean, c.r[i:i+c.columns])
	}
	return mean
}

// apply computes dst = (K + α·ridge)v.
func (c *solver) apply(multiply multiplication, dst, v []float64) error {
	if err := multiply(c.ctx, dst, v, c.columns); err != nil {
		return err
	}
	each := c.columns / len(c.alphas)
	for i, d := range c.ridge {
		for g, alpha := range c.alphas {
			at := i*c.columns + g*each
			kern.Axpy(alpha*d, v[at:at+each], dst[at:at+each])
		}
	}
	return nil
}

// norms writes the residual norm of each column.
func (c *solver) norms(dst []float64) {
	clear(dst)
	for i := 0; i < len(c.r); i += c.columns {
		for j, v := range c.r[i : i+c.columns] {
			dst[j] += v * v
		}
	}
	for j, v := range dst {
		dst[j] = math.Sqrt(v)
	}
}

// relative returns the residual norm of each column relative to x = 0.
func (c *solver) relative() []float64 {
	residuals := make([]float64, c.columns)
	c.norms(residuals)
	for j, v := range residuals {
		if v != 0 {
			residuals[j] = v / c.initialNorms[j]
		}
	}
	return residuals
}

func columnSums(v []float64, columns int) []float64 {
	out := make([]float64, columns)
	for i := 0; i < len(v); i += columns {
		kern.Axpy(1, v[i:i+columns], out)
	}
	return out
}
