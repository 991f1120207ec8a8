package leastsquares

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/solve"
	"github.com/bochner-ml/bochner/single"
	"github.com/bochner-ml/bochner/sparse"
)

// minPreconditionedSize is the number of dense columns and of rows from which conjugate gradients are preconditioned by
// more than the diagonal.
const minPreconditionedSize = 1024

// ridgeCG solves (X'SX − W·x̄x̄' + alpha·I)w = X'S(y−ȳ) by conjugate gradients: the centring is implicit,
// so that sparse rows stay as they are.
type ridgeCG struct {
	*Problem
	ctx            context.Context
	m              *diagonalMoments
	mean, diagonal []float64
}

// solve goes with a preconditioner where that pays and rounding lets it be, else with the diagonal alone.
func (c *ridgeCG) solve() (w []float64, report solve.Report, err error) {
	if c.usesNystroem(c.m.rows, c.m.Cols, c.rows.Sparse) {
		if w, report, err = c.solvePreconditioned(); !errors.Is(err, errRounding) {
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
	r := &refinedCG{ridgeCG: c, precondition: c.precondDiagonal, rows: c.rows, tol: c.Tol, predictionTol: visible, goal: c.residualGoal(visible)}
	return r.solve()
}

// solveWithinBudget is solve with as many steps as a Gram matrix is worth, where there is a way back to that: what the rows say
// of their lengths, and steps of how many there are, is known by now.
func (c *ridgeCG) solveWithinBudget() (w []float64, report solve.Report, err error) {
	if !c.canFallBack(c.m.Cols, c.rows.Sparse) {
		return c.solve()
	}
	trace := sum(c.diagonal)
	budget := c.stepBudget(c.m.rows, c.m.Cols, trace)
	if c.estimateSteps(trace) >= budget {
		return nil, report, errSteps
	}
	most := c.MaxIter
	c.MaxIter = min(most, int(budget))
	w, report, err = c.solvePreconditioned()
	if errors.Is(err, errRounding) || err == nil && !report.Converged && c.MaxIter < most {
		return nil, report, errSteps
	}
	return w, report, err
}

// solvePreconditioned solves with Nyström's approximation, on inputs in single precision where these can be had.
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
	// √(r'P⁻¹r) at which the predictions are right to Tol of the spread of each target. Of weights in the null space of fewer
	// rows than columns these tell nothing: there those of new rows are to be right to 100·Tol.
	if c.m.underdetermined() {
		r.predictionTol = min(c.Tol, 100*c.Tol*math.Sqrt(c.Alpha/(c.Alpha+trace)))
	}
	r.goal = c.residualGoals(r.predictionTol, by.alpha/by.penalty)
	return r.solve()
}

// nullspaceVisible reports whether weights in the null space of fewer rows than columns, which only alpha keeps at
// 0, could still be seen in predictions of new rows at the residual where the diagonal alone stops.
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

// solveByKernel solves for weights that are sums of rows whatever the residual, see [Problem.SolveAlphas], of sparse rows in memory and
// dense ones that are not many. It returns nil where it does not get to the end.
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
		set.X = sparse.FromDense(design.ToFloat64(set.X))
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

// predictionTol is the change of predictions, against the spread of a target, that the diagonal alone leaves.
func (c *ridgeCG) predictionTol() float64 {
	if c.rows.Float32 {
		return max(100*c.Tol, visibleTolFloat32)
	}
	return 100 * c.Tol
}

// residualGoal returns the residual at which predictions are right to a share of the spread of each target. A residual r is off the predictions by
// √(r'A⁻¹r), which is at most √(r'M⁻¹r/λ) for the least eigenvalue λ of M⁻¹A, M = A's diagonal, and λ is
// evidencePoint least alpha over the largest of M. It is nil for no penalty.
func (c *ridgeCG) residualGoal(visible float64) []float64 {
	if c.Alpha == 0 {
		return nil
	}
	return c.residualGoals(visible, c.Alpha/(slices.Max(c.diagonal)+c.Alpha))
}

// residualGoals returns the norms of residuals √(r'M⁻¹r) at which the predictions are right to a share of the spread of each target,
// where r'A⁻¹r is at most r'M⁻¹r/least.
func (c *ridgeCG) residualGoals(visible, least float64) []float64 {
	out := c.m.sumSquares()
	for j, spread := range out {
		if out[j] = visible * math.Sqrt(spread*least); spread <= constantTol(c.m.rows)*c.m.squares[j] {
			out[j] = math.Inf(1) // the target is constant
		}
	}
	return out
}

// precondDiagonal divides by the matrix's diagonal.
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

// residual returns what w leaves of the right side, in double precision.
func (c *ridgeCG) residual(w []float64) ([]float64, error) {
	g := NewGradient(c.m.Cols, c.m.targets)
	if err := c.addGradient(c.ctx, &c.m.Moments, g, w, intercepts(w, c.mean, c.m.targetMean())); err != nil {
		return nil, err
	}
	return g.rhs(w, 0, c.m.targets, c.mean, c.Alpha), nil
}

const (
	// minFloat32Residual is the part of a residual that steps with inputs in single precision are to leave at least, before
	// the rows say in double precision what is left.
	minFloat32Residual = 3e-5
	// maxRounds is how often they are asked. A round in which less than half of a residual goes is followed by steps in
	// double precision.
	maxRounds = 12
)

// refinedCG solves for the weights by rounds: each asks the rows in double precision for the residual and solves for what is
// missing by conjugate gradients, on inputs in single precision where these can be had. So the solution is that of the system
// in double precision, and most readings of the rows cost half.
type refinedCG struct {
	*ridgeCG
	precondition  solve.Operator
	rows          *design.Rows // of steps
	widen         bool         // whether their inputs are widened where they are in single precision
	tol           float64      // of the first round, beside the goal
	predictionTol float64      // the error of predictions that the goal stands for
	goal          []float64    // √(r'M⁻¹r) of each target to get to; nil for none
}

func (r *refinedCG) solve() (w []float64, report solve.Report, err error) {
	t, right := r.m.targets, r.m.rightSide()
	w, step, z := make([]float64, len(right)), make([]float64, len(right)), make([]float64, len(right))
	report = solve.Report{Solver: "cg"}
	if r.goal == nil {
		result, err := solve.CG(r.apply, r.precondition, w, right, t, solve.StopCriteria{Tol: r.tol, MaxIter: r.MaxIter})
		report.Iterations, report.Converged, report.Gradient = result.Iterations, result.Converged, result.Residual
		if !report.Converged {
			report.Warnings = append(report.Warnings, fmt.Sprintf("not converged after %d iterations: the residual is %.2g of its start, wanted %.2g", report.Iterations, report.Gradient, r.tol))
		}
		return w, report, err
	}
	left, worst := make([]float64, t), math.Inf(1)
	for rounds := 0; ; rounds++ {
		if err := r.precondition(z, right); err != nil {
			return nil, report, err
		}
		if !columnNorms(left, right, z) {
			return nil, report, errRounding
		}
		before := worst
		if worst = maxRatio(left, r.goal); worst <= 1 || report.Iterations >= r.MaxIter || rounds == maxRounds {
			break
		}
		if r.usesFloat32() && worst > before/2 {
			r.widen, r.rows = true, r.ridgeCG.rows
		}
		until := solve.StopCriteria{Tol: 1, AbsTol: r.roundGoals(left), MaxIter: r.MaxIter - report.Iterations}
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
	report.Objective = -kern.Dot(w, right) // what is left of it where a residual is
	if !report.Converged {
		report.Warnings = append(report.Warnings, fmt.Sprintf("not converged after %d iterations: the predictions may be off by %.2g of the spread of the targets, wanted %.2g", report.Iterations, report.Gradient, r.predictionTol))
	}
	return w, report, nil
}

// columnNorms writes √(r'z) of each column to out, and reports whether they are lengths.
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

// maxRatio returns the largest ratio of norms to their goals.
func maxRatio(norms, goal []float64) float64 {
	worst := 0.0
	for j, v := range norms {
		if v > 0 {
			worst = max(worst, v/goal[j])
		}
	}
	return worst
}

// usesFloat32 reports whether steps are on inputs in single precision.
func (r *refinedCG) usesFloat32() bool { return r.rows.Float32 && !r.widen }

// roundGoals returns the norms that a round is to get to: of the rounds that it takes from those that are left, each leaves an
// equal part.
func (r *refinedCG) roundGoals(left []float64) []float64 {
	out := make([]float64, len(left))
	for j, v := range left {
		out[j] = r.goal[j] / 2
		if r.usesFloat32() && v > out[j] {
			part := out[j] / v
			out[j] = v * math.Pow(part, 1/math.Ceil(math.Log(part)/math.Log(minFloat32Residual)))
		}
	}
	return out
}

// eachInput reads the inputs of steps.
func (r *refinedCG) eachInput(yield func(first int, X mat.Matrix) error) error {
	return r.rows.EachExpected(r.ctx, r.m.rows, func(first int, block datasets.Set) error {
		if !r.widen {
			return yield(first, block.X)
		}
		return eachFloat64(block.X, func(lo, _ int, X mat.Matrix) error { return yield(first+lo, X) })
	})
}

// apply multiplies by the matrix.
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

// widenChunk is the number of rows that are widened at a time.
const widenChunk = 256

// eachFloat64 calls f with rows lo to hi of X in double precision: with some at a time where X is not.
func eachFloat64(X mat.Matrix, f func(lo, hi int, X mat.Matrix) error) error {
	n, _ := X.Dims()
	short, ok := X.(*single.Dense)
	if !ok {
		return f(0, n, X)
	}
	for lo := 0; lo < n; lo += widenChunk {
		hi := min(lo+widenChunk, n)
		if err := design.WithFloat64(short.Slice(lo, hi), func(X mat.Matrix) error { return f(lo, hi, X) }); err != nil {
			return err
		}
	}
	return nil
}
