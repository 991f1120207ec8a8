package solve

import (
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/kern"
)

// CGResult is the outcome of [CG].
type CGResult struct {
	Iterations int
	Converged  bool      // whether every column met its criteria
	Residual   float64   // largest ratio √(rᵀM⁻¹r)/√(bᵀM⁻¹b)
	Decrease   []float64 // decrease of ½xᵀAx − bᵀx, by column
}

// StopCriteria are the stopping criteria of [CG]. All columns stop after MaxIter products with A. A
// column stops when √(rᵀM⁻¹r) is at most Tol times its initial value and at most its AbsTol. It
// also stops when ½xᵀAx − bᵀx has decreased by its MaxDecrease; the last step is shortened to end
// there. Nil slices impose no bound. PrecondRHS is M⁻¹b if the caller has it.
//
// Active replaces the criteria, except MaxIter, unless it is nil. It is called with r before each
// step, may project r, and sets active to false for columns to stop. The solution is then added to x.
type StopCriteria struct {
	Tol                 float64
	AbsTol, MaxDecrease []float64
	MaxIter             int
	PrecondRHS          []float64
	Active              func(r []float64, active []bool)
}

// CG solves A·x = b for a symmetric positive semidefinite A by preconditioned conjugate gradients,
// for all columns in lockstep:
//
//	x₀ = 0, r = b, z = M⁻¹r, p = z;  a = r'z / p'Ap;  x += a·p, r −= a·Ap, z = M⁻¹r, p = z + β·p
//
// A column that has stopped keeps p = 0. precondition computes M⁻¹v; nil means M = I. If A is
// singular and b lies in its range, x stays in the range of M⁻¹A. (Hestenes & Stiefel 1952; Saad,
// Iterative Methods for Sparse Linear Systems, algorithm 9.1.)
func CG(a, precondition Operator, x, b []float64, columns int, until StopCriteria) (CGResult, error) {
	if precondition == nil {
		precondition = func(dst, v []float64) error { copy(dst, v); return nil }
	}
	c := &cg{columns: columns, StopCriteria: until, x: x, r: append([]float64(nil), b...)}
	c.z, c.p, c.ap = make([]float64, len(b)), make([]float64, len(b)), make([]float64, len(b))
	c.rz, c.initialRZ, c.step = make([]float64, columns), make([]float64, columns), make([]float64, columns)
	c.decrease, c.decreaseReached = make([]float64, columns), make([]bool, columns)
	if until.Active == nil {
		clear(x)
	} else {
		c.active = slices.Repeat([]bool{true}, columns)
		until.Active(c.r, c.active)
	}
	if until.PrecondRHS != nil {
		copy(c.z, until.PrecondRHS)
	} else if err := precondition(c.z, c.r); err != nil {
		return CGResult{}, err
	}
	copy(c.p, c.z)
	c.dots(c.rz, c.r, c.z)
	copy(c.initialRZ, c.rz)
	done := 0
	for done < until.MaxIter && !c.allDone() {
		done++
		if err := a(c.ap, c.p); err != nil {
			return CGResult{}, err
		}
		if !c.advance() {
			break
		}
		if c.active != nil {
			if until.Active(c.r, c.active); c.allDone() {
				break
			}
		}
		if err := precondition(c.z, c.r); err != nil {
			return CGResult{}, err
		}
		c.updateDirection()
	}
	return CGResult{Iterations: done, Converged: c.allDone(), Residual: c.worst(), Decrease: c.decrease}, nil
}

// cg is the state of one call.
type cg struct {
	StopCriteria
	columns        int
	x, r, z, p, ap []float64
	// by column:
	rz, initialRZ, step, decrease []float64
	decreaseReached               []bool // whether MaxDecrease is reached
	active                        []bool // nil without Active
}

// dots computes Σ x·y of each column. Kernel ridge sums a single column by kern.Dot, whose order of
// summation differs.
func (c *cg) dots(sums, x, y []float64) {
	if c.active == nil || c.columns > 1 {
		dots(sums, x, y)
		return
	}
	sums[0] = kern.Dot(x, y)
}

// relative returns √(rᵀz) of column j relative to its initial value.
func (c *cg) relative(j int) float64 {
	if !(c.initialRZ[j] > 0) || !(c.rz[j] > 0) {
		return 0
	}
	return math.Sqrt(c.rz[j] / c.initialRZ[j])
}

// done reports whether column j met its criteria.
func (c *cg) done(j int) bool {
	if c.active != nil {
		return !c.active[j]
	}
	return c.decreaseReached[j] || c.relative(j) <= c.Tol && (c.AbsTol == nil || !(c.rz[j] > c.AbsTol[j]*c.AbsTol[j]))
}

func (c *cg) allDone() bool {
	for j := range c.columns {
		if !c.done(j) {
			return false
		}
	}
	return true
}

func (c *cg) worst() float64 {
	worst := 0.0
	for j := range c.columns {
		worst = max(worst, c.relative(j))
	}
	return worst
}

// advance updates x and r along p in every active column. It reports whether any column moved: if
// pᵀAp ≤ 0, p is in the null space to working precision.
func (c *cg) advance() bool {
	c.dots(c.step, c.p, c.ap)
	moved := false
	for j, curvature := range c.step {
		c.step[j] = 0
		if !c.done(j) && curvature > 0 && c.rz[j] > 0 {
			c.step[j] = c.stepLength(j, curvature)
			moved = true
		} else if c.active != nil {
			c.active[j] = false
		}
	}
	axpys(c.step, c.p, c.x)
	for j := range c.step {
		c.step[j] = -c.step[j]
	}
	axpys(c.step, c.ap, c.r)
	return moved
}

// stepLength returns the step to the minimum along p, or the step that reaches MaxDecrease.
func (c *cg) stepLength(j int, curvature float64) float64 {
	slope := c.rz[j]
	fall := slope * slope / (2 * curvature)
	if c.MaxDecrease == nil || c.decrease[j]+fall < c.MaxDecrease[j] {
		c.decrease[j] += fall
		return slope / curvature
	}
	remaining := max(0, c.MaxDecrease[j]-c.decrease[j])
	c.decrease[j], c.decreaseReached[j] = c.MaxDecrease[j], true
	return 2 * remaining / (slope + math.Sqrt(max(0, slope*slope-2*curvature*remaining)))
}

// updateDirection computes p = z + β·p.
func (c *cg) updateDirection() {
	previous := append([]float64(nil), c.rz...)
	c.dots(c.rz, c.r, c.z)
	for j := range c.step {
		moved := c.step[j] != 0
		c.step[j] = 0
		if moved && previous[j] > 0 {
			c.step[j] = c.rz[j] / previous[j]
		}
		if c.done(j) { // stopped: p = 0
			c.step[j] = 0
			for i := j; i < len(c.z); i += c.columns {
				c.z[i], c.p[i] = 0, 0
			}
		}
	}
	scaleAdd(c.step, c.z, c.p)
}
