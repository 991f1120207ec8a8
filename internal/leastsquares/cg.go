package leastsquares

import (
	"context"
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/solve"
)

// ridgeCG solves (X'SX − W·x̄x̄' + alpha·I)w = X'S(y−ȳ) by conjugate gradients: the centring is implicit,
// so that sparse rows stay as they are.
type ridgeCG struct {
	*Problem
	ctx            context.Context
	m              *diagonalMoments
	mean, diagonal []float64
}

// primal solves for the weights.
func (c *ridgeCG) primal() (w []float64, report solve.Report, err error) {
	right := c.m.rightSide()
	w = make([]float64, len(right))
	run := &cgRun{apply: c.apply, diagonal: c.diagonal, alpha: c.Alpha, columns: c.m.targets, tol: c.Tol, enough: c.goal(),
		most: c.MaxIter, inFloat32: c.rows.Float32, left: c.gradient}
	run.widen = func() { c.rows = c.rows.Widened() }
	report, err = run.solve(w, right)
	return w, report, err
}

// drifts reports whether weights in the null space of fewer rows than columns, which only alpha keeps at
// 0, could still be seen in predictions of new rows at the residual where primal stops.
func (c *ridgeCG) drifts() bool {
	if c.Alpha == 0 || !c.m.short() {
		return false
	}
	run := &cgRun{diagonal: c.diagonal, alpha: c.Alpha, columns: c.m.targets}
	factor := 100 * math.Sqrt(c.Alpha/sumOf(c.diagonal))
	start, goal := run.norms(c.m.rightSide()), c.goal()
	for j, v := range goal {
		if v*factor < c.Tol*start[j] {
			return true
		}
	}
	return false
}

// goal returns the residual at which predictions are right. A residual r is off the predictions by
// √(r'A⁻¹r), which is at most √(r'M⁻¹r/λ) for the least eigenvalue λ of M⁻¹A, M = A's diagonal, and λ is
// at least alpha over the largest of M.
func (c *ridgeCG) goal() []float64 {
	if c.Alpha == 0 {
		return nil
	}
	largest := 0.0
	for _, v := range c.diagonal {
		largest = max(largest, v)
	}
	visible := 100 * c.Tol
	if c.rows.Float32 {
		visible = max(visible, visibleFloat32)
	}
	out := c.m.spreads()
	for j, spread := range out {
		out[j] = visible * math.Sqrt(spread*c.Alpha/(largest+c.Alpha))
	}
	return out
}

// gradient returns what w leaves of the right side.
func (c *ridgeCG) gradient(w []float64) ([]float64, error) {
	g := NewGradient(c.m.Cols, c.m.targets)
	if err := c.addGradient(c.ctx, &c.m.Moments, g, w, intercepts(w, c.mean, c.m.targetMean())); err != nil {
		return nil, err
	}
	return g.right(w, 0, c.m.targets, c.mean, c.Alpha), nil
}

// apply multiplies by the matrix.
func (c *ridgeCG) apply(dst, v []float64) error {
	clear(dst)
	t := c.m.targets
	err := c.rows.Again(c.ctx, c.m.rows, func(first int, block datasets.Set) error {
		weights, err := c.Weights(first, block)
		if err == nil {
			c.m.product(dst, v, block.X, weights)
		}
		return err
	})
	if err != nil {
		return err
	}
	if c.Intercept {
		inner := make([]float64, t)
		kern.MulVec(inner, kern.Dense(c.m.Cols, t, t, v).T(), c.mean, false)
		kern.Scale(-c.m.Weight, inner)
		for i, mean := range c.mean {
			row := dst[i*t : (i+1)*t]
			for j, v := range inner {
				row[j] += mean * v
			}
		}
	}
	kern.Axpy(c.Alpha, v, dst)
	return nil
}

// cgRun is conjugate gradients with a diagonal preconditioner, which goes on from what is left of the
// right side, as the rows themselves tell, where its own account of that may have lost its digits.
type cgRun struct {
	apply      solve.Operator
	diagonal   []float64 // of the matrix but for alpha
	alpha      float64
	columns    int
	tol        float64
	enough     []float64 // √(r'M⁻¹r) of each column to get to; nil for none
	most       int       // iterations
	inFloat32  bool      // whether apply works in single precision
	widen      func()    // makes it work in double
	left       func(x []float64) ([]float64, error)
	start      []float64
	iterations int
	converged  bool
	residual   float64 // relative to the start
}

func (r *cgRun) solve(x, right []float64) (solve.Report, error) {
	r.start = r.norms(right)
	result, err := solve.CG(r.apply, r.precondition, x, right, r.columns, solve.Until{Tol: r.tol, Enough: r.enough, MaxIter: r.most})
	r.iterations, r.converged, r.residual = result.Iterations, result.Converged, result.Residual
	// Rows in single precision want another look.
	if err == nil && r.converged && r.enough != nil && (r.inFloat32 || r.wanted() < r.tol) {
		err = r.goOn(x)
	}
	report := solve.Report{Solver: "cg", Iterations: r.iterations, Converged: r.converged, Gradient: r.residual}
	if !r.converged {
		report.Warnings = append(report.Warnings, fmt.Sprintf("not converged after %d iterations: the residual is %.2g of its start, wanted %.2g", r.iterations, r.residual, r.wanted()))
	}
	return report, err
}

// wanted returns the residual to get to, relative to the start.
func (r *cgRun) wanted() float64 {
	wanted := r.tol
	for j, v := range r.enough {
		if r.start[j] > 0 {
			wanted = min(wanted, v/r.start[j])
		}
	}
	return wanted
}

// goOn solves for what x leaves until that is out of sight.
func (r *cgRun) goOn(x []float64) error {
	if r.inFloat32 {
		r.widen()
	}
	step := make([]float64, len(x))
	for range Refinements + 1 {
		right, err := r.left(x)
		if err != nil {
			return err
		}
		r.residual, r.converged = 0, true
		for j, v := range r.norms(right) {
			if r.converged = r.converged && !(v > r.enough[j]); r.start[j] > 0 {
				r.residual = max(r.residual, v/r.start[j])
			}
		}
		if r.converged || r.iterations >= r.most {
			return nil
		}
		result, err := solve.CG(r.apply, r.precondition, step, right, r.columns, solve.Until{Tol: 1, Enough: r.enough, MaxIter: r.most - r.iterations})
		if err != nil {
			return err
		}
		r.iterations += result.Iterations
		kern.Axpy(1, step, x)
	}
	return nil
}

// norms returns √(r'M⁻¹r) of each column.
func (r *cgRun) norms(list []float64) []float64 {
	z, out := make([]float64, len(list)), make([]float64, r.columns)
	r.precondition(z, list)
	for i, v := range list {
		out[i%len(out)] += v * z[i]
	}
	for j, v := range out {
		out[j] = math.Sqrt(v)
	}
	return out
}

// precondition divides by the matrix's diagonal.
func (r *cgRun) precondition(dst, v []float64) error {
	t := r.columns
	for i, square := range r.diagonal {
		for j := range t {
			dst[i*t+j] = 0
			if square+r.alpha > 0 {
				dst[i*t+j] = v[i*t+j] / (square + r.alpha)
			}
		}
	}
	return nil
}
