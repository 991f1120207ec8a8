package solve

import "math"

// Problem is one or more smooth, convex, nonnegative functions, one per column of variables. They
// are evaluated together in one pass over the data.
type Problem interface {
	// Evaluate writes the value of every column and the gradient at x. Hessian then refers to x.
	Evaluate(values, gradient, x []float64) error
	// Hessian computes dst = H·v at the last evaluated point. Inactive columns of v are 0.
	Hessian(dst, v []float64) error
	// Precondition computes dst = M⁻¹·v with a positive definite M close to the Hessian.
	Precondition(dst, v []float64) error
	// Advance reports, before a new point is evaluated, the number of Hessian products of the step
	// to it. The problem may then renew M.
	Advance(products int)
	// Noise returns the relative rounding error of the values.
	Noise() float64
}

// NewtonResult is the outcome of [Newton].
type NewtonResult struct {
	Iterations int       // Newton steps
	Products   int       // products with the Hessian
	Passes     int       // evaluations and products
	Converged  bool      // whether every column met the tolerance
	Gradient   float64   // largest ratio of final to reference gradient norm
	Values     []float64 // final values, by column
	Reference  []float64 // reference gradient norms, by column
}

// Newton minimizes by truncated Newton steps from x, which it overwrites. Each step solves H·p = −g
// by preconditioned [CG] to a tolerance that tightens with the gradient (Eisenstat & Walker 1996).
// It stops early at the trusted decrease of the quadratic model (Steihaug 1983), and a backtracking
// line search with interpolation ensures sufficient decrease (Armijo). The trusted decrease is at
// most the value, since values are nonnegative, and shrinks after steps that were too long.
//
// A column has converged when two conditions hold. The norm of its gradient g is at most tol times
// its reference, by default the norm at the start. The estimated remaining decrease ½·gᵀM⁻¹g is at
// most tol times the value. If the last quadratic model decreased by more than this estimate, the
// estimate is scaled up by their ratio. Newton returns after maxIter steps or when rounding hides
// further decrease. (Nocedal & Wright, Numerical Optimization, algorithms 7.1 and 7.2; Lin, Weng &
// Keerthi, JMLR 2008.)
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
	step, negGradient, precondGrad []float64 // precondGrad is M⁻¹g, negated by computeStep
	// by column:
	values, trialValues             []float64
	norms, reference, modelDecrease []float64
	slope, stepLengths              []float64
	// decrease of the quadratic models: trusted after the last step, bound in this one, attained
	trust, maxDecrease, predictedDecrease []float64
	modelScale                            []float64 // last model decrease over its estimate by M, at least 1
	result                                NewtonResult
}

// updateNorms computes the gradient norms and the estimated remaining decreases.
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

// done reports whether column j has converged.
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

// computeStep computes the step of every active column.
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
	r, err := CG(n.problem.Hessian, n.problem.Precondition, n.step, n.negGradient, n.columns,
		StopCriteria{Tol: maxForcing, AbsTol: absTol, MaxDecrease: n.maxDecrease, MaxIter: 250, PrecondRHS: n.precondGrad})
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

// lineSearch moves x along the step and reports whether any column moved.
func (n *newton) lineSearch() (moved bool, err error) {
	const armijo, maxBacktracks = 1e-4, 40
	pending := make([]bool, n.columns) // columns still searching
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
				pending[j] = false // value at rounding level, slope still decreasing
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

// updateTrust sets the trusted decrease of the next models. It shrinks where the model predicted
// too much, and grows where a truncated model was accurate.
func (n *newton) updateTrust() {
	const right, wrong = 0.5, 0.25 // ratios of actual to predicted decrease
	for j, t := range n.stepLengths {
		promised, change := n.predictedDecrease[j], n.values[j]-n.trialValues[j]
		switch {
		case !(n.slope[j] < 0):
		case t < 1: // the quadratic model at t
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

// backtrack returns the minimizer of the quadratic through the value and slope at 0 and the failed
// trial, limited to [t/10, t/2].
func backtrack(t, change, slope float64) float64 {
	best := -slope * t * t / (2 * (change - slope*t))
	if !(best >= t/10) {
		return t / 10
	}
	return min(best, t/2)
}
