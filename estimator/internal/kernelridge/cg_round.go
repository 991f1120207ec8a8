package kernelridge

import (
	"slices"

	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/solve"
)

// cgRound makes one round of CG for the columns of a precision, starting from the residual. A
// column stops when its residual is at most tol of its initial norm or least of its norm in this
// round. The round ends after most steps, and reverts columns that got worse:
//
//	z = M⁻¹r, p = z;  a = r'z / p'Ap;  x += a·p, r −= a·Ap, z = M⁻¹r, p = z + β·p
//
// If centered, search directions sum to 0 and r has mean 0. (Hestenes & Stiefel 1952; Gould, Hribar
// & Nocedal, SIAM J. Sci. Comput. 2001, for the constraint.)
func (c *solver) cgRound(which precision, multiply multiplication, tol, minReduction float64, maxSteps int) error {
	start := *c
	start.x, start.r = slices.Clone(c.x), slices.Clone(c.r)
	g := newCGState(c, which, tol, minReduction)
	if err := c.precondition(g.z, c.r); err != nil {
		return err
	}
	g.updateDirection()
	for range maxSteps {
		if solve.SoftDeadlinePassed(c.ctx) {
			c.maxSteps = min(c.maxSteps, max(slices.Max(c.steps), 1))
		}
		for j, n := range c.steps {
			g.active[j] = g.active[j] && n < c.maxSteps
		}
		if !slices.Contains(g.active, true) {
			break
		}
		if err := c.apply(multiply, g.ap, g.p); err != nil {
			return err
		}
		g.advance()
		if err := c.precondition(g.z, c.r); err != nil {
			return err
		}
		g.updateDirection()
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

// divergenceRatio is the growth of the residual at which a column is abandoned.
const divergenceRatio = 1e6

// cgState is the state of a round.
type cgState struct {
	*solver
	z, p, ap []float64
	rz, step []float64 // by column
	goal     []float64 // residual norm to reach
	active   []bool    // columns above their goal
}

func newCGState(c *solver, which precision, tol, minReduction float64) *cgState {
	n := len(c.y)
	g := &cgState{solver: c, z: make([]float64, n), p: make([]float64, n), ap: make([]float64, n),
		rz: make([]float64, c.columns), step: make([]float64, c.columns), goal: make([]float64, c.columns),
		active: make([]bool, c.columns)}
	c.norms(g.goal)
	for j, norm := range g.goal {
		g.goal[j] = max(tol*c.initialNorms[j], minReduction*norm)
		g.active[j] = c.precisions[j] == which && norm > g.goal[j]
	}
	return g
}

// advance updates x and r along p in every active column. If pᵀAp ≤ 0, p is in the null space to
// working precision.
func (g *cgState) advance() {
	curvature := make([]float64, g.columns)
	dots(curvature, g.p, g.ap)
	for j, v := range curvature {
		g.step[j] = 0
		if g.active[j] {
			g.steps[j]++
		}
		if g.active[j] = g.active[j] && v > 0 && g.rz[j] > 0; g.active[j] {
			g.step[j] = g.rz[j] / v
		}
	}
	combine(g.x, g.step, g.p)
	for j := range g.step {
		g.step[j] = -g.step[j]
	}
	combine(g.r, g.step, g.ap)
	g.subtractMean()
	norms := make([]float64, g.columns)
	g.norms(norms)
	for j, norm := range norms {
		g.active[j] = g.active[j] && norm > g.goal[j] && norm < divergenceRatio*g.initialNorms[j]
	}
}

// updateDirection computes p = z + β·p; p is 0 for inactive columns.
func (g *cgState) updateDirection() {
	previous := slices.Clone(g.rz)
	dots(g.rz, g.r, g.z)
	t := g.columns
	for j := range t {
		beta := 0.0
		if previous[j] > 0 {
			beta = g.rz[j] / previous[j]
		}
		for at := j; at < len(g.p); at += t {
			if g.p[at] = g.z[at] + beta*g.p[at]; !g.active[j] {
				g.p[at] = 0
			}
		}
	}
}

// dots computes Σ x·y of each column.
func dots(dst, x, y []float64) {
	t := len(dst)
	if t == 1 {
		dst[0] = kern.Dot(x, y)
		return
	}
	clear(dst)
	for i := 0; i < len(x); i += t {
		for j := range dst {
			dst[j] += x[i+j] * y[i+j]
		}
	}
}

// combine adds factors[j] times column j of x to that of dst.
func combine(dst, factors, x []float64) {
	t := len(factors)
	for i := 0; i < len(x); i += t {
		for j, f := range factors {
			dst[i+j] += f * x[i+j]
		}
	}
}
