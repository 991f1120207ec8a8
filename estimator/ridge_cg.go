package estimator

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
	*ridgeProblem
	ctx            context.Context
	m              *diagonalMoments
	mean, diagonal []float64
	enough         []float64 // √(r'M⁻¹r) of each target at which its predictions are right; nil where unknown
}

func (p *ridgeProblem) cg(ctx context.Context) (linear, error) {
	kept := *p
	var err error
	if kept.rows, err = p.rows.kept(ctx); err != nil {
		return linear{}, err
	}
	m, err := kept.diagonalMoments(ctx)
	if err != nil {
		return linear{}, err
	}
	c := &ridgeCG{ridgeProblem: &kept, ctx: ctx, m: m, mean: m.mean(), diagonal: m.centredDiagonal()}
	c.enough = c.goal()
	w, report, err := c.solve()
	if err != nil {
		return linear{}, err
	}
	report.Objective = max(0, m.spread()-kern.Dot(w, m.rightSide()))
	return newLinear(w, intercepts(w, c.mean, m.targetMean()), report)
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
	if c.rows.single {
		visible = max(visible, visibleSingle)
	}
	out := c.m.spreads()
	for j, spread := range out {
		out[j] = visible * math.Sqrt(spread*c.Alpha/(largest+c.Alpha))
	}
	return out
}

// solve goes on from what is left of the right side, as the rows themselves tell, where the solver's
// own account of it may have lost its digits.
func (c *ridgeCG) solve() (w []float64, report Report, err error) {
	right, t := c.m.rightSide(), c.m.targets
	w = make([]float64, len(right))
	start := c.norms(right)
	result, err := solve.CG(c.apply, c.precondition, w, right, t, c.Tol, c.enough, c.MaxIter)
	report = Report{Solver: "cg", Iterations: result.Iterations, Converged: result.Converged, Gradient: result.Residual}
	if err == nil && result.Converged && c.binding(start) {
		report.Gradient, report.Converged, err = c.goOn(w, start, &report.Iterations)
	}
	if err == nil && !report.Converged {
		report.Warnings = append(report.Warnings, fmt.Sprintf("not converged after %d iterations: the residual is %.2g of its start, wanted %.2g",
			report.Iterations, report.Gradient, c.wanted(start)))
	}
	return w, report, err
}

// binding reports whether the goal asks for more than the tolerance, or rows in single precision for
// another look.
func (c *ridgeCG) binding(start []float64) bool {
	return c.enough != nil && (c.rows.single || c.wanted(start) < c.Tol)
}

// wanted returns the residual to get to, relative to the start.
func (c *ridgeCG) wanted(start []float64) float64 {
	wanted := c.Tol
	for j, v := range c.enough {
		if start[j] > 0 {
			wanted = min(wanted, v/start[j])
		}
	}
	return wanted
}

// norms returns √(r'M⁻¹r) of each column.
func (c *ridgeCG) norms(r []float64) []float64 {
	z, out := make([]float64, len(r)), make([]float64, c.m.targets)
	c.precondition(z, r)
	for i, v := range r {
		out[i%len(out)] += v * z[i]
	}
	for j, v := range out {
		out[j] = math.Sqrt(v)
	}
	return out
}

// goOn solves for what w leaves until that is out of sight. It returns how much of the start is left.
func (c *ridgeCG) goOn(w, start []float64, iterations *int) (left float64, done bool, err error) {
	c.rows = c.rows.widened()
	step := make([]float64, len(w))
	for range refinements + 1 {
		right, err := c.gradient(w)
		if err != nil {
			return 0, false, err
		}
		left, done = 0, true
		for j, v := range c.norms(right) {
			if done = done && v <= c.enough[j]; start[j] > 0 {
				left = max(left, v/start[j])
			}
		}
		if done || *iterations >= c.MaxIter {
			break
		}
		result, err := solve.CG(c.apply, c.precondition, step, right, c.m.targets, 1, c.enough, c.MaxIter-*iterations)
		if err != nil {
			return 0, false, err
		}
		*iterations += result.Iterations
		kern.Axpy(1, step, w)
	}
	return left, done, nil
}

// gradient returns what w leaves of the right side.
func (c *ridgeCG) gradient(w []float64) ([]float64, error) {
	g := newGradient(c.m.cols, c.m.targets)
	if err := c.addGradient(c.ctx, &c.m.moments, g, w, intercepts(w, c.mean, c.m.targetMean())); err != nil {
		return nil, err
	}
	return g.right(w, 0, c.m.targets, c.mean, c.Alpha), nil
}

// apply multiplies by the matrix.
func (c *ridgeCG) apply(dst, v []float64) error {
	clear(dst)
	t := c.m.targets
	err := c.rows.again(c.ctx, c.m.rows, func(first int, block datasets.Set) error {
		weights, err := c.weights(first, block)
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
		kern.MulVec(inner, kern.Dense(c.m.cols, t, t, v).T(), c.mean, false)
		for i, mean := range c.mean {
			kern.Axpy(-c.m.weight*mean, inner, dst[i*t:(i+1)*t])
		}
	}
	kern.Axpy(c.Alpha, v, dst)
	return nil
}

// precondition divides by the matrix's diagonal.
func (c *ridgeCG) precondition(dst, v []float64) error {
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
