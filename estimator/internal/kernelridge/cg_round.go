package kernelridge

import (
	"slices"

	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// divergenceRatio is the growth of the residual at which a column is abandoned.
const divergenceRatio = 1e6

// cgRound makes one round of CG for the columns of a precision, starting from the residual. A
// column stops when its residual is at most tol of its initial norm or minReduction of its norm in
// this round. The round ends after maxSteps steps, and reverts columns that got worse.
//
// If centered, search directions sum to 0 and r has mean 0. (Gould, Hribar & Nocedal, SIAM J. Sci.
// Comput. 2001.)
func (c *solver) cgRound(which precision, multiply multiplication, tol, minReduction float64, maxSteps int) error {
	start := *c
	start.x = slices.Clone(c.x)
	goal, norms, going := make([]float64, c.columns), make([]float64, c.columns), make([]bool, c.columns)
	c.norms(norms)
	for j, norm := range norms {
		goal[j] = max(tol*c.initialNorms[j], minReduction*norm)
		going[j] = c.precisions[j] == which && norm > goal[j]
	}
	stepped := false
	until := solve.StopCriteria{MaxIter: maxSteps, Active: func(r []float64, active []bool) {
		if c.r = r; stepped {
			c.subtractMean()
			c.norms(norms)
			for j, norm := range norms {
				if going[j] {
					c.steps[j]++
				}
				going[j] = active[j] && norm > goal[j] && norm < divergenceRatio*c.initialNorms[j]
			}
		}
		stepped = true
		if ctxerr.SoftDeadlinePassed(c.ctx) {
			c.maxSteps = min(c.maxSteps, max(slices.Max(c.steps), 1))
		}
		for j, n := range c.steps {
			going[j] = going[j] && n < c.maxSteps
			active[j] = going[j]
		}
	}}
	product := func(dst, v []float64) error { return c.apply(multiply, dst, v) }
	if _, err := solve.CG(product, c.precondition, c.x, c.r, c.columns, until); err != nil {
		return err
	}
	if err := c.residual(); err != nil {
		return err
	}
	c.revertWorse(&start)
	return nil
}

// revertWorse restores the start of a round for columns that did not improve.
func (c *solver) revertWorse(start *solver) {
	initial := start.relative()
	for j, residual := range c.relative() {
		if residual < initial[j] {
			continue
		}
		for at := j; at < len(c.x); at += c.columns {
			c.x[at], c.r[at] = start.x[at], start.r[at]
		}
		c.intercept[j] = start.intercept[j]
	}
}
