package solve

import "math"

// Problem is one or several smooth convex functions, one of each column of variables, that are nowhere negative and
// evaluated together in one pass over the data.
type Problem interface {
	// Evaluate writes the value of every column at x and the gradient there. Products are then with
	// the Hessian at x.
	Evaluate(values, gradient, x []float64) error
	// Hessian computes dst = H·v at the point evaluated last. Columns of v that need no product are 0.
	Hessian(dst, v []float64) error
	// Precondition computes dst = M⁻¹·v, for a positive definite M that is like the Hessian.
	Precondition(dst, v []float64) error
	// Advance is told, before the evaluation of a new point, how many products with the Hessian the
	// step to it took: a reason to renew M there.
	Advance(products int)
	// Noise is the rounding that values may have, relative to themselves.
	Noise() float64
}

// NewtonResult says how a Newton run went.
type NewtonResult struct {
	Iterations int       // steps taken
	Products   int       // products with the Hessian
	Passes     int       // evaluations and products together
	Converged  bool      // whether every column reached the tolerance
	Gradient   float64   // norm of the gradient at the end relative to the first, of the worst column
	Values     []float64 // of the columns at the end
	Reference  []float64 // norms of the gradient that the tolerance was relative to, of the columns
}

// Newton minimises by truncated Newton steps from x, which it overwrites: each step solves H·p = −g
// by preconditioned [CG] to a tolerance that tightens with the gradient (Eisenstat & Walker 1996), goes no further than
// where its parabola has fallen as far as it is trusted to (Steihaug 1983),
// and is shortened by interpolation until the value decreases enough (Armijo). A parabola is not trusted to fall by more than
// the value, which is nowhere negative, nor, after a step that was too long, by much more than that was worth. A column is done when
// the norm of its gradient g is at most tol times that at the start, given as reference or, where
// that is nil, of x; and ½·g'M⁻¹g, which is about as much as its value can still decrease, at most
// tol times the value. Where the last parabola fell by more than that said before it, M is so many times too large, and
// what it says now counts as many times. After maxIter steps, or where rounding hides all further decrease, Newton
// returns what it has reached.
// (Nocedal & Wright, Numerical Optimization, algorithms 7.1 and 7.2; Lin, Weng & Keerthi, JMLR 2008.)
func Newton(p Problem, x []float64, columns int, reference []float64, tol float64, maxIter int) (NewtonResult, error) {
	n := &newton{problem: p, columns: columns, tol: tol, x: x, reference: reference}
	n.gradient, n.trial, n.trialGradient = make([]float64, len(x)), make([]float64, len(x)), make([]float64, len(x))
	n.step, n.negGradient, n.precondGrad = make([]float64, len(x)), make([]float64, len(x)), make([]float64, len(x))
	n.values, n.trialValues = make([]float64, columns), make([]float64, columns)
	n.norms, n.slope, n.stepLengths = make([]float64, columns), make([]float64, columns), make([]float64, columns)
	n.modelDecrease, n.trust, n.maxDecrease = make([]float64, columns), make([]float64, columns), make([]float64, columns)
	n.modelScale = make([]float64, columns)
	for j := range n.trust {
		n.trust[j], n.modelScale[j] = math.Inf(1), 1
	}
	if err := p.Evaluate(n.values, n.gradient, x); err != nil {
		return NewtonResult{}, err
	}
	n.result.Passes++
	if err := n.updateNorms(); err != nil {
		return NewtonResult{}, err
	}
	if n.reference == nil {
		n.reference = append([]float64(nil), n.norms...)
	}
	for n.result.Iterations < maxIter && !n.allDone() {
		n.result.Iterations++
		if err := n.computeStep(); err != nil {
			return NewtonResult{}, err
		}
		moved, err := n.lineSearch()
		if err != nil {
			return NewtonResult{}, err
		}
		if !moved {
			break
		}
	}
	n.result.Gradient = n.worst()
	n.result.Converged = n.allDone()
	n.result.Values, n.result.Reference = n.values, n.reference
	return n.result, nil
}

type newton struct {
	problem                        Problem
	columns                        int
	tol                            float64
	x, gradient                    []float64
	trial, trialGradient           []float64
	step, negGradient, precondGrad []float64 // toward is M⁻¹g, and −M⁻¹g once the step is sought
	// by column:
	values, trialValues                   []float64
	norms, reference, modelDecrease       []float64
	slope, stepLengths                    []float64
	trust, maxDecrease, predictedDecrease []float64 // by how much the parabolas may fall, after the last step and in this one, and have
	modelScale                            []float64 // how many times as much as M saw the last parabolas fell by, at least 1
	result                                NewtonResult
}

// updateNorms finds the norms of the gradient and what the values can still decrease by.
func (n *newton) updateNorms() error {
	dots(n.norms, n.gradient, n.gradient)
	for j, v := range n.norms {
		n.norms[j] = math.Sqrt(v)
	}
	if err := n.problem.Precondition(n.precondGrad, n.gradient); err != nil {
		return err
	}
	dots(n.modelDecrease, n.gradient, n.precondGrad)
	for j := range n.modelDecrease {
		n.modelDecrease[j] /= 2
	}
	return nil
}

// done reports whether column j is within the tolerance.
func (n *newton) done(j int) bool {
	return n.relative(j) <= n.tol && n.modelScale[j]*n.modelDecrease[j] <= n.tol*math.Abs(n.values[j])
}

func (n *newton) allDone() bool {
	for j := range n.columns {
		if !n.done(j) {
			return false
		}
	}
	return true
}

func (n *newton) relative(j int) float64 {
	if n.norms[j] == 0 {
		return 0
	}
	if n.reference[j] == 0 {
		return math.Inf(1)
	}
	return n.norms[j] / n.reference[j]
}

func (n *newton) worst() float64 {
	worst := 0.0
	for j := range n.columns {
		worst = max(worst, n.relative(j))
	}
	return worst
}

// computeStep finds the step of every column that is not done.
func (n *newton) computeStep() error {
	for i := range n.negGradient {
		n.negGradient[i], n.precondGrad[i] = -n.gradient[i], -n.precondGrad[i]
	}
	for j := range n.columns {
		if n.done(j) {
			for i := j; i < len(n.negGradient); i += n.columns {
				n.negGradient[i], n.precondGrad[i] = 0, 0
			}
		}
	}
	const maxForcing = 0.25
	absTol := make([]float64, n.columns)
	for j, v := range n.values {
		relative := n.relative(j)
		forcing := min(maxForcing, max(math.Sqrt(relative), n.tol/(2*relative)))
		absTol[j] = forcing * math.Sqrt(2*n.modelDecrease[j])
		n.maxDecrease[j] = min(n.trust[j], v)
	}
	r, err := CG(n.problem.Hessian, n.problem.Precondition, n.step, n.negGradient, n.columns, StopCriteria{Tol: maxForcing, AbsTol: absTol, MaxDecrease: n.maxDecrease, MaxIter: 250, PrecondRHS: n.precondGrad})
	n.result.Products += r.Iterations
	n.result.Passes += r.Iterations
	if err != nil {
		return err
	}
	n.predictedDecrease = r.Decrease
	for j, v := range n.predictedDecrease {
		if n.modelDecrease[j] > 0 {
			n.modelScale[j] = max(1, v/n.modelDecrease[j])
		}
	}
	dots(n.slope, n.gradient, n.step)
	n.problem.Advance(r.Iterations)
	return nil
}

// lineSearch moves x along the step and reports whether any column has moved.
func (n *newton) lineSearch() (moved bool, err error) {
	const armijo, maxBacktracks = 1e-4, 40
	pending := make([]bool, n.columns) // columns whose length is still sought
	for j := range pending {
		pending[j] = n.slope[j] < 0
		n.stepLengths[j] = 0
		if pending[j] {
			n.stepLengths[j] = 1
		}
	}
	trialSlopes := make([]float64, n.columns)
	for range maxBacktracks {
		copy(n.trial, n.x)
		axpys(n.stepLengths, n.step, n.trial)
		if err := n.problem.Evaluate(n.trialValues, n.trialGradient, n.trial); err != nil {
			return false, err
		}
		n.result.Passes++
		dots(trialSlopes, n.trialGradient, n.step)
		retry := false
		for j := range pending {
			if !pending[j] {
				continue
			}
			change, t := n.trialValues[j]-n.values[j], n.stepLengths[j]
			noise := n.problem.Noise() * math.Abs(n.values[j])
			switch {
			case change <= armijo*t*n.slope[j]:
				pending[j] = false
			case math.Abs(change) <= noise && math.Abs(trialSlopes[j]) <= -n.slope[j]:
				pending[j] = false // the value is at its rounding, the slope still decreases
			case t < 1e-10:
				pending[j], n.stepLengths[j] = false, 0
				retry = true
			default:
				n.stepLengths[j] = backtrack(t, change, n.slope[j])
				retry = true
			}
		}
		if !retry {
			break
		}
	}
	for j, t := range n.stepLengths {
		moved = moved || t > 0 && !pending[j]
	}
	if moved {
		n.updateTrust()
		copy(n.x, n.trial)
		copy(n.gradient, n.trialGradient)
		copy(n.values, n.trialValues)
		err = n.updateNorms()
	}
	return moved, err
}

// updateTrust finds by how much the parabolas of the next step may fall: those that promised too much by what the step was worth in
// the end, those that were not let go to their ends and were right by more.
func (n *newton) updateTrust() {
	const right, wrong = 0.5, 0.25 // of what was promised
	for j, t := range n.stepLengths {
		promised, change := n.predictedDecrease[j], n.values[j]-n.trialValues[j]
		switch {
		case !(n.slope[j] < 0):
		case t < 1: // the parabola at t
			n.trust[j] = -t*n.slope[j] + t*t*(n.slope[j]+promised)
		case promised < n.maxDecrease[j]:
		case change > right*promised:
			n.trust[j] = 4 * promised
		case change < wrong*promised:
			n.trust[j] = promised / 2
		default:
			n.trust[j] = promised
		}
	}
}

// backtrack returns the minimum of the parabola through the start, its slope and the failed trial,
// kept between a tenth and a half of the failed length.
func backtrack(t, change, slope float64) float64 {
	best := -slope * t * t / (2 * (change - slope*t))
	if !(best >= t/10) {
		return t / 10
	}
	return min(best, t/2)
}
