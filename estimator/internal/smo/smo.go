// Package smo solves the dual problems of kernel support vector machines by sequential minimal
// optimization. With kernel matrix K it minimizes over β
//
//	½β'Kβ − y'β + ε‖β‖₁  subject to  Σβ_i = 0 and Lower_i ≤ β_i ≤ Upper_i
//
// The decision function is f(x) = Σ β_i k(x, x_i) + b. In classification y = ±1, ε = 0, and β_i lies
// between 0 and y_i·C_i. In ε-insensitive regression β_i lies between −C_i and C_i; one variable per
// row replaces the pair α, α* of textbooks, and a step may cross the kink at 0.
//
// Rounds optimize a working set of up to a few hundred rows, the most violating ones and the
// previous ones. Within it, pairs are selected by second-order information. The gradient of all
// rows follows once per round, from kernel rows that are computed in blocks by the product kernels
// and cached in float32. Rows outside the working set cost nothing between rounds, which is why
// there is no other shrinking. Where a working set takes many steps of pairs, a step of Newton's
// method over the rows strictly between their bounds replaces most of them, with float64 kernel
// values where C is so large that the rounding of float32 exceeds the tolerance. If all kernel values
// are there, rounds over all rows, which copy none, alternate with rounds over those that violate
// the conditions. Gradients are float64. At the end they are recomputed with float64 kernel values,
// unless rounding cannot matter at the tolerance, and the solution is refined until they satisfy
// the tolerance as well. (Fan, Chen & Lin, JMLR 2005; working sets: Joachims, 1999; Wen et al.,
// ThunderSVM, JMLR 2018.)
package smo

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// Problem is a dual problem.
type Problem struct {
	Y            []float64
	Lower, Upper []float64 // with Lower ≤ 0 ≤ Upper
	Epsilon      float64
	Tol          float64 // violation of the optimality conditions at which to stop
	MaxSteps     int     // maximum number of steps of pairs
}

// Classification returns the problem of signs ±1 and penalties C_i of rows.
func Classification(signs, C []float64) Problem {
	p := Problem{Y: signs, Lower: make([]float64, len(C)), Upper: make([]float64, len(C))}
	for i, c := range C {
		if signs[i] > 0 {
			p.Upper[i] = c
		} else {
			p.Lower[i] = -c
		}
	}
	return p
}

// Regression returns the problem of targets and penalties C_i of rows.
func Regression(y, C []float64, epsilon float64) Problem {
	p := Problem{Y: y, Lower: make([]float64, len(C)), Upper: C, Epsilon: epsilon}
	for i, c := range C {
		p.Lower[i] = -c
	}
	return p
}

// Result is a solution.
type Result struct {
	Beta      []float64
	Intercept float64
	Steps     int     // of pairs
	Rounds    int     // of working sets
	Violation float64 // max over pairs: how far optimality conditions are violated
	Dual      float64 // y'β − ε‖β‖₁ − ½β'Kβ, which grows
	Primal    float64 // ½β'Kβ + Σ C_i·loss_i
	Converged bool
	Product   []float64 // Kβ

	exact []float64 // the part of β whose product has been of float64 kernel values
}

// workspace is the memory of a solution, for the next one.
type workspace struct {
	local working
	all   working // all rows, of a whole matrix
}

var workspaces = sync.Pool{New: func() any { return new(workspace) }}

// solver is the state of a solution.
type solver struct {
	Problem
	m *Matrix

	beta  []float64
	grad  []float64 // Kβ − y
	exact []float64 // the part of β whose part of grad is that of float64 kernel values
	steps int
	size  int // of working sets
	tried int // number of working sets of this size
	*workspace
	direct int // number of last rounds over all rows
}

// maxRefinements bounds the number of times that a solution is continued from exact gradients.
const maxRefinements = 30

// Solve minimizes from β = 0, or from the solution of a problem with the same matrix and other
// bounds, scaled into the new bounds. The soft deadline of ctx ends it early.
func Solve(ctx context.Context, m *Matrix, p Problem, from *Result) (Result, error) {
	n := len(p.Y)
	w := workspaces.Get().(*workspace)
	defer func() {
		w.local.exact = nil // do not retain the matrix
		workspaces.Put(w)
	}()
	w.local.rows = nil
	s := &solver{Problem: p, m: m, workspace: w, beta: make([]float64, n), grad: make([]float64, n),
		exact: make([]float64, n), size: workingRows}
	for i, y := range p.Y {
		s.grad[i] = -y
	}
	if from != nil {
		s.start(from)
	}
	refinements := 0
	for rounds := 0; ; rounds++ {
		up, down := s.extremes()
		stop := s.steps >= s.MaxSteps || ctxerr.SoftDeadlinePassed(ctx)
		if down-up > s.Tol && !stop {
			changed, err := s.round(ctx, up, down)
			if err != nil {
				return Result{}, err
			}
			if changed {
				// Steps by wrong gradients lead nowhere.
				if s.local.exact != nil && s.rounding() > innerShare*(down-up) {
					if err := s.recompute(ctx); err != nil {
						return Result{}, err
					}
				}
				continue
			}
			stop = true
		}
		if slices.Equal(s.exact, s.beta) || !stop && s.roundingNegligible() {
			return s.result(rounds, down-up), nil
		}
		if err := s.recompute(ctx); err != nil {
			return Result{}, err
		}
		if refinements++; stop && s.steps >= s.MaxSteps || refinements == maxRefinements {
			up, down = s.extremes()
			return s.result(rounds, down-up), nil
		}
	}
}

// start begins from a solution, or from its largest multiple within the bounds if that has the lower objective.
func (s *solver) start(from *Result) {
	largest, linear, quadratic := math.Inf(1), 0.0, 0.0
	for i, b := range from.Beta {
		switch {
		case b > 0:
			largest = min(largest, s.Upper[i]/b)
		case b < 0:
			largest = min(largest, s.Lower[i]/b)
		}
		linear += b*s.Y[i] - s.Epsilon*math.Abs(b)
		quadratic += b * from.Product[i]
	}
	// With many rows at their bounds the solution grows with these, with few it hardly changes.
	factor := largest
	if objective := func(f float64) float64 { return f*f*quadratic/2 - f*linear }; largest > 1 &&
		!(objective(largest) < objective(1)) {
		factor = 1
	}
	for i, b := range from.Beta {
		s.beta[i] = min(max(factor*b, s.Lower[i]), s.Upper[i]) // factor·b may be rounded out of the bounds
		s.grad[i] = factor*from.Product[i] - s.Y[i]
		s.exact[i] = factor * from.exact[i]
	}
}

// upOffset returns what a kink or bound adds to the derivative by an increase of β_i: +Inf if β_i
// cannot grow.
func upOffset(beta, upper, epsilon float64) float64 {
	switch {
	case beta >= upper:
		return math.Inf(1)
	case beta < 0:
		return -epsilon
	}
	return epsilon
}

// downOffset is upOffset for a decrease, and −Inf if there can be none.
func downOffset(beta, lower, epsilon float64) float64 {
	switch {
	case beta <= lower:
		return math.Inf(-1)
	case beta > 0:
		return epsilon
	}
	return -epsilon
}

// upSlope and downSlope are the derivatives of row i. At the optimum no upSlope is below a downSlope.
func (s *solver) upSlope(i int) float64 {
	return s.grad[i] + upOffset(s.beta[i], s.Upper[i], s.Epsilon)
}

func (s *solver) downSlope(i int) float64 {
	return s.grad[i] + downOffset(s.beta[i], s.Lower[i], s.Epsilon)
}

// extremes returns the minimum of the upSlopes and the maximum of the downSlopes.
func (s *solver) extremes() (up, down float64) {
	up, down = math.Inf(1), math.Inf(-1)
	for i := range s.grad {
		up, down = min(up, s.upSlope(i)), max(down, s.downSlope(i))
	}
	return up, down
}

// innerShare is the violation within a working set, relative to that of all rows, that ends a round.
const innerShare = 0.1

// maxTried is the number of working sets of a size.
const maxTried = 32

// round optimizes a working set and reports whether β has changed. Where many steps or many sets
// are needed, rows depend on many others, and the next sets are larger.
func (s *solver) round(ctx context.Context, up, down float64) (changed bool, err error) {
	if s.m.whole.Rows > 0 {
		return s.roundOfWhole(ctx, up, down)
	}
	return s.roundOf(ctx, s.selectRows(up, down), innerShare*(down-up))
}

// roundOfWhole optimizes all rows, and every other time the active ones. The former copies no kernel rows, but they
// are longer; it has as many steps as take the time of copying those of the active rows, and none of newton.
func (s *solver) roundOfWhole(ctx context.Context, up, down float64) (changed bool, err error) {
	const minSteps, maxDirect = 256, 32
	var active []int // rows of violating pairs
	for i := range s.grad {
		if s.upSlope(i) < down || s.downSlope(i) > up {
			active = append(active, i)
		}
	}
	if s.direct > 0 && len(active) <= maxWorkingRows && (len(active) <= len(s.beta)/2 || s.direct >= maxDirect) {
		s.direct = 0
		return s.roundOf(ctx, active, innerShare*(down-up))
	}
	s.direct++
	s.all.share(s)
	steps, err := s.all.optimize(ctx, s.Tol/2, min(max(minSteps, len(active)/2), s.MaxSteps-s.steps), false)
	s.steps += steps
	return steps > 0, err
}

// roundOf optimizes the rows of the list.
func (s *solver) roundOf(ctx context.Context, list []int, tol float64) (changed bool, err error) {
	if len(list) == len(s.beta) {
		tol = 0
	}
	s.local.load(ctx, s, list)
	if s.local.exact = nil; s.roundingOf(s.beta, nil) > s.Tol {
		s.local.exact = s.m
	}
	steps, err := s.local.optimize(ctx, max(s.Tol/2, tol), s.MaxSteps-s.steps, true)
	if err != nil {
		return false, err
	}
	s.steps += steps
	if s.tried++; steps > 2*s.size || s.tried > maxTried {
		s.size, s.tried = min(2*s.size, maxWorkingRows), 0
	}
	rows, change := s.local.store(s)
	if len(rows) == 0 {
		return false, nil
	}
	return true, s.m.addRows(ctx, s.grad, rows, change)
}

// recompute computes the gradient from float64 kernel values.
func (s *solver) recompute(ctx context.Context) error {
	if err := s.m.Multiply(ctx, s.grad, s.beta); err != nil {
		return err
	}
	kern.Axpy(-1, s.Y, s.grad)
	copy(s.exact, s.beta)
	return nil
}

// roundingNegligible reports whether the rounding of float32 kernel values cannot matter at the tolerance.
func (s *solver) roundingNegligible() bool {
	margin := 20.0
	if s.m.whole.Rows > 0 {
		margin = 4 // distances are those of float64
	}
	return margin*s.rounding() <= s.Tol
}

// rounding returns the error of a gradient by float32 kernel values: an error of 2⁻²⁴ for each value, independent of
// the others, is √ΣΔ² times as large in a gradient, where Δ is what has been added to β. Values are at most
// √(K_ii·K_jj).
func (s *solver) rounding() float64 { return s.roundingOf(s.beta, s.exact) }

// roundingOf returns the rounding of a product with beta − exact, the latter nil for 0.
func (s *solver) roundingOf(beta, exact []float64) float64 {
	sum, largest := 0.0, 1.0
	if s.m.diagonal != nil {
		largest = slices.Max(s.m.diagonal)
	}
	for i, b := range beta {
		if exact != nil {
			b -= exact[i]
		}
		square := b * b
		if s.m.diagonal != nil {
			square *= math.Abs(s.m.diagonal[i])
		}
		sum += square
	}
	return 0x1p-24 * math.Sqrt(sum*largest)
}

// snap moves coefficients that only rounding separates from a bound or from 0 there. They would count
// as free and determine an intercept that is otherwise the middle of a range, for example with
// balanced classes whose rows are all at their bounds.
func (s *solver) snap() {
	const rounding = 1e-10 // relative to the range of a coefficient
	for i, b := range s.beta {
		for _, place := range []float64{0, s.Upper[i], s.Lower[i]} {
			if math.Abs(b-place) <= rounding*(s.Upper[i]-s.Lower[i]) {
				s.beta[i] = place
			}
		}
	}
}

// result returns the solution.
func (s *solver) result(rounds int, violation float64) Result {
	s.snap()
	r := Result{Beta: s.beta, exact: s.exact, Steps: s.steps, Rounds: rounds, Violation: max(violation, 0),
		Intercept: s.intercept(), Converged: violation <= s.Tol}
	quadratic := 0.0
	for i, b := range s.beta {
		f := s.grad[i] + s.Y[i]
		r.Product = append(r.Product, f)
		quadratic += b * f
		r.Dual += b*s.Y[i] - s.Epsilon*math.Abs(b)
		// The loss of a row: C_i = Upper_i bounds what raises f, −Lower_i what lowers it.
		residual := -s.grad[i] - r.Intercept
		r.Primal += s.Upper[i]*max(0, residual-s.Epsilon) - s.Lower[i]*max(0, -residual-s.Epsilon)
	}
	r.Dual -= quadratic / 2
	r.Primal += quadratic / 2
	return r
}

// intercept returns the mean over the rows strictly between bounds and kinks of the intercept that
// makes their slope 0, or the middle of its possible range if there are none.
func (s *solver) intercept() float64 {
	sum, free := 0.0, 0
	up, down := math.Inf(1), math.Inf(-1)
	for i, b := range s.beta {
		u, d := s.upSlope(i), s.downSlope(i)
		if b != 0 && u == d {
			sum += u
			free++
		}
		up, down = min(up, u), max(down, d)
	}
	switch {
	case free > 0:
		return -sum / float64(free)
	case math.IsInf(up, 1):
		return -down
	case math.IsInf(down, -1):
		return -up
	}
	return -(up + down) / 2
}
