package leastsquares

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/matrices"
)

// minPreconditionedSize is the number of dense rows and of columns from which CG uses the Nyström
// preconditioner.
const minPreconditionedSize = 1024

// ridgeCG solves (XᵀSX − W·x̄x̄ᵀ + alpha·I)w = XᵀS(y−ȳ) by conjugate gradients, with implicit
// centering.
type ridgeCG struct {
	*Problem
	ctx            context.Context
	m              *diagonalMoments
	mean, diagonal []float64
}

// solve uses the Nyström preconditioner if it pays and rounding permits, otherwise the diagonal.
func (c *ridgeCG) solve() (w []float64, report solve.Report, err error) {
	if c.usesNystroem(c.m.rows, c.m.Cols, c.rows.Sparse) {
		if w, report, err = c.solvePreconditioned(); !errors.Is(err, solve.ErrRounding) {
			return w, report, err
		}
	}
	visible := c.predictionTol()
	if c.nullspaceVisible() {
		if w, report, err = c.solveByKernel(); w != nil || err != nil {
			return w, report, err
		}
		visible = min(visible, 100*c.Tol*math.Sqrt(c.Alpha/(c.Alpha+sum(c.diagonal))))
	}
	r := &refinedCG{ridgeCG: c, precondition: c.precondDiagonal, rows: c.rows, tol: c.Tol, predictionTol: visible,
		goal: c.residualGoal(visible)}
	return r.solve()
}

// solveWithinBudget is solve, limited to the steps that cost as much as a Gram matrix if Cholesky
// is an alternative. At this point the norms of the rows are known, which determine the number of
// steps.
func (c *ridgeCG) solveWithinBudget() (w []float64, report solve.Report, err error) {
	if !c.canFallBack(c.m.Cols, c.rows.Sparse) {
		return c.solve()
	}
	trace := sum(c.diagonal)
	budget := c.stepBudget(c.m.rows, c.m.Cols, trace)
	if c.estimateSteps(trace) >= budget {
		return nil, report, errSteps
	}
	maxIter := c.MaxIter
	c.MaxIter = min(maxIter, int(budget))
	w, report, err = c.solvePreconditioned()
	if errors.Is(err, solve.ErrRounding) || err == nil && !report.Converged && c.MaxIter < maxIter {
		return nil, report, errSteps
	}
	return w, report, err
}

// solvePreconditioned uses the Nyström preconditioner, and float32 inputs if available.
func (c *ridgeCG) solvePreconditioned() (w []float64, report solve.Report, err error) {
	r := &refinedCG{ridgeCG: c, rows: c.rows, tol: 1, predictionTol: c.Tol}
	if c.rows.Float32Rows != nil {
		r.rows = c.rows.Float32Rows
	}
	trace := sum(c.diagonal)
	sums := newSketch(c.mean, rankOf(c.m.Cols, c.Alpha, trace))
	err = r.eachInput(func(first int, X mat.Matrix) error {
		n, _ := X.Dims()
		return sums.add(c.ctx, X, rowWeights(c.m.weights, first, n))
	})
	if err != nil {
		return nil, report, err
	}
	by, err := sums.newPreconditioner(c.ctx, c.Alpha, trace)
	if err != nil {
		return nil, report, err
	}
	r.precondition = func(dst, v []float64) error { return by.solve(dst, v, c.m.targets) }
	// The goal bounds the error of training predictions by Tol·√TSS. With fewer rows than columns,
	// weights in the null space do not affect these; there predictions for new rows must be
	// accurate to 100·Tol.
	if c.m.underdetermined() {
		r.predictionTol = min(c.Tol, 100*c.Tol*math.Sqrt(c.Alpha/(c.Alpha+trace)))
	}
	r.goal = c.residualGoals(r.predictionTol, by.alpha/by.penalty)
	return r.solve()
}

// nullspaceVisible reports whether, with fewer rows than columns, null-space weights could affect
// predictions for new rows at the residual where diagonal preconditioning stops.
func (c *ridgeCG) nullspaceVisible() bool {
	if c.Alpha == 0 || !c.m.underdetermined() {
		return false
	}
	factor := 100 * math.Sqrt(c.Alpha/sum(c.diagonal))
	right, start := c.m.rightSide(), make([]float64, c.m.targets)
	z := make([]float64, len(right))
	c.precondDiagonal(z, right)
	columnNorms(start, right, z)
	for j, v := range c.residualGoal(c.predictionTol()) {
		if v*factor < c.Tol*start[j] {
			return true
		}
	}
	return false
}

// solveByKernel solves in the dual, whose weights are combinations of rows, see
// [Problem.SolveAlphas]. It accepts sparse rows in memory and few dense rows, and returns nil if it
// does not converge.
func (c *ridgeCG) solveByKernel() (w []float64, report solve.Report, err error) {
	p := *c.Problem
	if !p.rows.Sparse {
		if c.m.rows >= minPreconditionedSize {
			return nil, report, nil
		}
		gathered, err := p.rows.InMemory(c.ctx)
		if err != nil {
			return nil, report, err
		}
		set := *gathered.Set
		set.X = matrices.CSRFromDense(design.ToFloat64(set.X))
		if p.rows, err = design.FromSet(set); err != nil {
			return nil, report, err
		}
	}
	if p.rows.Set == nil {
		return nil, report, nil
	}
	models, err := p.SolveAlphas(c.ctx, []float64{c.Alpha}, []bool{true})
	if err != nil || models[0] == nil {
		return nil, report, err
	}
	report = models[0].Report
	report.Objective = 0
	return models[0].Weights, report, nil
}

// predictionTol returns the relative prediction error accepted with diagonal preconditioning.
func (c *ridgeCG) predictionTol() float64 {
	if c.rows.Float32 {
		return max(100*c.Tol, visibleTolFloat32)
	}
	return 100 * c.Tol
}

// residualGoal returns the residual norms at which predictions are accurate to the given tolerance,
// nil without penalty. The prediction error √(rᵀA⁻¹r) is at most √(rᵀM⁻¹r/λ), where M is the
// diagonal of A and λ the smallest eigenvalue of M⁻¹A. λ is at least alpha over the largest entry
// of M.
func (c *ridgeCG) residualGoal(visible float64) []float64 {
	if c.Alpha == 0 {
		return nil
	}
	return c.residualGoals(visible, c.Alpha/(slices.Max(c.diagonal)+c.Alpha))
}

// residualGoals returns the norms √(rᵀM⁻¹r) at which predictions are accurate to visible·√TSS of
// each target, if rᵀA⁻¹r ≤ rᵀM⁻¹r/minEigenvalue.
func (c *ridgeCG) residualGoals(visible, minEigenvalue float64) []float64 {
	out := c.m.sumSquares()
	for j, spread := range out {
		if out[j] = visible * math.Sqrt(spread*minEigenvalue); spread <= constantTol(c.m.rows)*c.m.squares[j] {
			out[j] = math.Inf(1) // the target is constant
		}
	}
	return out
}

// precondDiagonal divides by the diagonal of the matrix.
func (c *ridgeCG) precondDiagonal(dst, v []float64) error {
	t := c.m.targets
	for i, square := range c.diagonal {
		for j := range t {
			dst[i*t+j] = 0
			if square+c.Alpha > 0 {
				dst[i*t+j] = v[i*t+j] / (square + c.Alpha)
			}
		}
	}
	return nil
}

// residual returns the residual of w in float64.
func (c *ridgeCG) residual(w []float64) ([]float64, error) {
	g := NewGradient(c.m.Cols, c.m.targets)
	if err := c.addGradient(c.ctx, &c.m.Moments, g, w, intercepts(w, c.mean, c.m.TargetMean())); err != nil {
		return nil, err
	}
	return g.rhs(w, 0, c.m.targets, c.mean, c.Alpha), nil
}

const (
	// minFloat32Residual bounds the reduction of the residual per float32 round, before it is
	// recomputed in float64.
	minFloat32Residual = 3e-5
	// maxRounds bounds the rounds. A round that reduces the residual by less than half is followed
	// by float64 steps.
	maxRounds = 12
)

// refinedCG solves by iterative refinement: each round computes the residual in float64 and solves
// for the correction by CG, on float32 inputs if available. The solution has float64 accuracy,
// while most passes read float32 rows at half the cost.
type refinedCG struct {
	*ridgeCG
	precondition  solve.Operator
	rows          *design.Rows // rows for CG steps
	widen         bool         // convert float32 inputs to float64
	tol           float64      // of the first round, in addition to the goal
	predictionTol float64      // prediction error at the goal
	goal          []float64    // target norms √(rᵀM⁻¹r), nil for none
}

func (r *refinedCG) solve() (w []float64, report solve.Report, err error) {
	t, right := r.m.targets, r.m.rightSide()
	w, step, z := make([]float64, len(right)), make([]float64, len(right)), make([]float64, len(right))
	report = solve.Report{Solver: "cg"}
	if r.goal == nil {
		result, err := solve.CG(r.apply, r.precondition, w, right, t, solve.StopCriteria{Tol: r.tol, MaxIter: r.MaxIter})
		report.Iterations, report.Converged, report.Gradient = result.Iterations, result.Converged, result.Residual
		if !report.Converged {
			report.Warnings = append(report.Warnings,
				fmt.Sprintf("not converged after %d iterations: relative residual %.2g, tolerance %.2g", report.Iterations,
					report.Gradient, r.tol))
		}
		return w, report, err
	}
	norms, worst := make([]float64, t), math.Inf(1)
	for rounds := 0; ; rounds++ {
		if err := r.precondition(z, right); err != nil {
			return nil, report, err
		}
		if !columnNorms(norms, right, z) {
			return nil, report, solve.ErrRounding
		}
		previous := worst
		if worst = maxRatio(norms, r.goal); worst <= 1 || report.Iterations >= r.MaxIter || rounds == maxRounds {
			break
		}
		if r.usesFloat32() && worst > previous/2 {
			r.widen, r.rows = true, r.ridgeCG.rows
		}
		until := solve.StopCriteria{Tol: 1, AbsTol: r.roundGoals(norms), MaxIter: r.MaxIter - report.Iterations}
		if rounds == 0 && !r.usesFloat32() {
			until.Tol = r.tol
		}
		result, err := solve.CG(r.apply, r.precondition, step, right, t, until)
		if err != nil {
			return nil, report, err
		}
		report.Iterations += result.Iterations
		kern.Axpy(1, step, w)
		if right, err = r.residual(w); err != nil {
			return nil, report, err
		}
	}
	report.Converged, report.Gradient = worst <= 1, r.predictionTol*worst
	report.Objective = -kern.Dot(w, right) // correction of the objective for a nonzero residual
	if !report.Converged {
		report.Warnings = append(report.Warnings,
			fmt.Sprintf("not converged after %d iterations: relative prediction error up to %.2g, tolerance %.2g",
				report.Iterations, report.Gradient, r.predictionTol))
	}
	return w, report, nil
}

// columnNorms writes √(rᵀz) of each column to out and reports whether all are nonnegative.
func columnNorms(out, r, z []float64) bool {
	clear(out)
	for i, v := range r {
		out[i%len(out)] += v * z[i]
	}
	for j, v := range out {
		if !(v >= 0) {
			return false
		}
		out[j] = math.Sqrt(v)
	}
	return true
}

// maxRatio returns the largest ratio of norms to goals.
func maxRatio(norms, goal []float64) float64 {
	worst := 0.0
	for j, v := range norms {
		if v > 0 {
			worst = max(worst, v/goal[j])
		}
	}
	return worst
}

// usesFloat32 reports whether steps use float32 inputs.
func (r *refinedCG) usesFloat32() bool { return r.rows.Float32 && !r.widen }

// roundGoals returns the target norms of the next round. The remaining float32 rounds reduce the
// residual by equal factors.
func (r *refinedCG) roundGoals(norms []float64) []float64 {
	out := make([]float64, len(norms))
	for j, v := range norms {
		out[j] = r.goal[j] / 2
		if r.usesFloat32() && v > out[j] {
			part := out[j] / v
			out[j] = v * math.Pow(part, 1/math.Ceil(math.Log(part)/math.Log(minFloat32Residual)))
		}
	}
	return out
}

// eachInput calls yield with the inputs of each block.
func (r *refinedCG) eachInput(yield func(first int, X mat.Matrix) error) error {
	return r.rows.EachExpected(r.ctx, r.m.rows, func(first int, block datasets.Set) error {
		if !r.widen {
			return yield(first, block.X)
		}
		return eachFloat64(block.X, func(lo, _ int, X mat.Matrix) error { return yield(first+lo, X) })
	})
}

// apply computes dst = A·v.
func (r *refinedCG) apply(dst, v []float64) error {
	t := r.m.targets
	offset := intercepts(v, r.mean, make([]float64, t))
	if r.rows.Sparse {
		g := NewGradient(r.m.Cols, t)
		err := r.eachInput(func(first int, X mat.Matrix) error {
			n, _ := X.Dims()
			g.Add(X, make([]float64, n*t), v, offset, rowWeights(r.m.weights, first, n))
			return ctxerr.Check(r.ctx)
		})
		copy(dst, g.rhs(v, 0, t, r.mean, r.Alpha))
		kern.Scale(-1, dst)
		return err
	}
	b := newFusedProduct(v, offset)
	err := r.eachInput(func(first int, X mat.Matrix) error {
		n, _ := X.Dims()
		b.add(X, rowWeights(r.m.weights, first, n))
		return ctxerr.Check(r.ctx)
	})
	b.centeredTo(dst, r.mean)
	kern.Axpy(r.Alpha, v, dst)
	return err
}

// rowWeights returns the weights of n rows from first on; nil means ones.
func rowWeights(weights []float64, first, n int) []float64 {
	if weights == nil {
		return nil
	}
	return weights[first : first+n]
}

// widenChunk is the number of rows converted to float64 at a time.
const widenChunk = 256

// eachFloat64 calls f with rows [lo, hi) of X in float64, in chunks if X is float32.
func eachFloat64(X mat.Matrix, f func(lo, hi int, X mat.Matrix) error) error {
	n, _ := X.Dims()
	float32Rows, ok := X.(*matrices.Dense32)
	if !ok {
		return f(0, n, X)
	}
	for lo := 0; lo < n; lo += widenChunk {
		hi := min(lo+widenChunk, n)
		err := design.WithFloat64(float32Rows.Slice(lo, hi), func(X mat.Matrix) error { return f(lo, hi, X) })
		if err != nil {
			return err
		}
	}
	return nil
}
