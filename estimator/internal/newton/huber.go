package newton

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// Huber is the Huber loss of residuals r with a jointly estimated scale σ > 0 (Owen 2007),
//
//	σ + σ·H(r/σ),  H(q) = q² if |q| < epsilon, else 2·epsilon·|q| − epsilon²
//
// and the penalty alpha·‖w‖², divided by 2·alpha unless that is 0. It is convex in all variables.
func Huber(l *design.Labels, epsilon, alpha float64, intercept bool, tol float64) Task {
	h := &huberTask{epsilon: epsilon}
	if intercept {
		h.center = weightedQuantile(l.Y, l.Weights, 0.5)
	}
	h.setTrivialScale(l)
	t := Task{Loss: h.loss(), Outputs: 1, Groups: 1, Unpenalized: alpha == 0, y: l.Y, weights: l.Weights,
		intercept: intercept, minimize: h.minimize}
	unit := 1.0
	if alpha > 0 {
		unit = 2 * alpha
	}
	t.finish = func(w, b []float64, report solve.Report) (solve.Linear, error) {
		report.Objective *= unit
		return solve.NewLinear(w, b, report)
	}
	if h.scale > 0 {
		values, scores := make([]float64, 3), slices.Repeat([]float64{h.center}, len(l.Y))
		t.Loss.evaluate(values, scores, make([]float64, len(l.Y)), l.Y, l.Weights)
		t.ObjectiveBound = ObjectiveBound(values[0], values[0], tol)
	}
	return t
}

// huberTask has the trivial model, from which the minimization starts.
type huberTask struct {
	epsilon, center, scale float64
}

func (h *huberTask) loss() *huberLoss { return &huberLoss{epsilon: h.epsilon, scale: h.scale} }

// setTrivialScale sets the best scale of the residuals of the center. If that is 0, it is their mean.
func (h *huberTask) setTrivialScale(l *design.Labels) {
	total, mean, largest := kern.Sum(l.Weights), 0.0, 0.0
	for i, y := range l.Y {
		r := math.Abs(y - h.center)
		if mean += l.Weights[i] / total * r; l.Weights[i] > 0 {
			largest = max(largest, r)
		}
	}
	const halvings = 60
	lo, hi := minHuberScale*mean, largest
	for range halvings {
		mid, slope := (lo+hi)/2, 0.0 // Σ s·(1 − min(r²/σ², epsilon²)) ascends with σ
		for i, y := range l.Y {
			q := (y - h.center) / mid
			slope += l.Weights[i] * (1 - min(q*q, h.epsilon*h.epsilon))
		}
		if slope < 0 {
			lo = mid
		} else {
			hi = mid
		}
	}
	if h.scale = hi; hi < 2*minHuberScale*mean {
		h.scale = mean
	}
}

// minHuberScale bounds the scale relative to that of the trivial model. The optimum is smaller if
// the model fits more than 1 − 1/epsilon² of the rows exactly.
const minHuberScale = 1e-6

// minimize runs Newton from the trivial model.
func (h *huberTask) minimize(a *Batch, tol float64, maxIter int) (solve.Linear, error) {
	size, o := a.size(), &a.problems[0]
	x := make([]float64, size+1)
	if a.intercept {
		x[size-1] = h.center
	}
	if x[size] = h.scale; h.scale == 0 { // every residual is 0
		return a.model(x[:size], 0, 1, solve.Report{Solver: "newton-cg", Converged: true}), ctxerr.Check(a.ctx)
	}
	const sampledPerColumn = 16 // curvatures are 0 or equal, so that the factor is of use in all steps
	a.preconditioners.sampleStep = min(a.preconditioners.sampleStep, max(1, a.n/(sampledPerColumn*a.rows.Cols)))
	p := &huberProblem{Batch: a, loss: h.loss(), minScale: minHuberScale * h.scale, total: kern.Sum(o.Weights)}
	o.Loss = p.loss
	result, err := minimizeMixed(a.ctx, p, a.rows, x, 1, tol, maxIter)
	atBound := err == errScaleAtBound
	if atBound {
		result, err = p.decreaseScale(x, h.scale, tol, maxIter)
	}
	if err = cmp.Or(ctxerr.Check(a.ctx), err); err != nil { // errors after cancellation are consequences of it
		return solve.Linear{}, err
	}
	m := a.model(x[:size], 0, 1, newReport(result, tol))
	if m.Scale = x[size]; atBound {
		m.Report.Warnings = append(m.Report.Warnings, fmt.Sprintf("the scale of the residuals is at its bound, %.2g: "+
			"more than %.0f%% of the rows are fitted exactly", m.Scale, 100*(1-1/(h.epsilon*h.epsilon))))
	}
	return m, nil
}

// decreaseScale minimizes at fixed scales that descend from scale to the bound.
func (p *huberProblem) decreaseScale(x []float64, scale, tol float64, maxIter int) (result solve.NewtonResult,
	err error) {
	const factor, roughTol = 0.2, 1e-3
	p.fixed = true
	for err == nil && scale > p.minScale {
		scale = max(factor*scale, p.minScale)
		x[len(x)-1] = scale
		p.Advance(math.MaxInt)
		steps, sufficient := result.Iterations, tol
		if scale > p.minScale {
			sufficient = max(tol, roughTol)
		}
		result, err = solve.Newton(p, x, 1, []float64{p.reference}, sufficient, maxIter-steps)
		result.Iterations += steps
	}
	return result, err
}

// huberProblem has the variables of a batch of one problem, followed by the scale. The passes are
// those of the batch: they sum the derivatives in the scale next to the value.
type huberProblem struct {
	*Batch
	loss      *huberLoss
	minScale  float64
	fixed     bool    // whether the scale is constant
	reference float64 // norm of the first gradient
	total     float64 // Σ weights
	curvature float64 // second derivative in the scale
}

var _ rowProblem = (*huberProblem)(nil)

// errScaleAtBound ends steps that decrease a scale close to its bound.
var errScaleAtBound = errors.New("the scale is at its bound")

// Evaluate computes value and gradient. The value at a scale below its bound is infinite.
func (p *huberProblem) Evaluate(values, gradient, x []float64) error {
	last := len(x) - 1
	if !(x[last] >= p.minScale) {
		if p.loss.scale < 10*p.minScale {
			return errScaleAtBound
		}
		values[0] = math.Inf(1)
		clear(gradient)
		return ctxerr.Check(p.ctx)
	}
	p.loss.scale = x[last]
	sums := make([]float64, 3)
	err := p.Batch.Evaluate(sums, gradient[:last], x[:last])
	values[0], gradient[last] = sums[0], sums[1]
	const floor = 1e-3
	p.curvature = max(sums[2], floor*2*p.total/p.loss.scale)
	if p.fixed {
		gradient[last] = 0
	}
	if p.reference == 0 {
		p.reference = math.Sqrt(kern.Dot(gradient, gradient))
	}
	return err
}

// Hessian computes dst = H·v at the last evaluated point.
func (p *huberProblem) Hessian(dst, v []float64) error {
	last := len(v) - 1
	p.loss.step = v[last]
	sum := make([]float64, 1)
	err := p.product(sum, dst[:last], v[:last])
	if dst[last] = sum[0]; p.fixed {
		dst[last] = 0
	}
	return err
}

// Precondition computes dst = M⁻¹·v, M being block diagonal.
func (p *huberProblem) Precondition(dst, v []float64) error {
	last := len(v) - 1
	dst[last] = v[last] / p.curvature
	return p.Batch.Precondition(dst[:last], v[:last])
}

// huberLoss is the loss of [Huber] at a scale. Its value is followed by the first and second
// derivatives in the scale; curve is r/σ.
type huberLoss struct {
	epsilon, scale float64
	step           float64 // the scale's part of the vector in multiply
}

func (h *huberLoss) evaluate(values, scores, curve, y, weights []float64) {
	var value, slope, bend float64
	for i, z := range scores {
		s, q := weights[i], (z-y[i])/h.scale
		curve[i] = q
		if a := math.Abs(q); a < h.epsilon {
			value += s * (1 + q*q)
			slope += s * (1 - q*q)
			bend += s * 2 * q * q
			scores[i] = s * 2 * q
		} else {
			value += s * (1 + h.epsilon*(2*a-h.epsilon))
			slope += s * (1 - h.epsilon*h.epsilon)
			scores[i] = s * math.Copysign(2*h.epsilon, q)
		}
	}
	values[0] += value * h.scale
	values[1] += slope
	values[2] += bend / h.scale
}

func (h *huberLoss) multiply(values, u, curve, weights []float64) {
	for i, q := range curve {
		if math.Abs(q) < h.epsilon {
			u[i] = 2 * weights[i] / h.scale * (u[i] - q*h.step)
			values[0] -= q * u[i]
		} else {
			u[i] *= weights[i] * h.outlierCurvature(q)
		}
	}
}

func (h *huberLoss) rowCurvature(dst, curve, weights []float64) {
	for i, q := range curve {
		if dst[i] = 2 * weights[i] / h.scale; math.Abs(q) >= h.epsilon {
			dst[i] = weights[i] * h.outlierCurvature(q)
		}
	}
}

// outlierCurvature is a small fraction of the curvature of the quadratic bound of iteratively
// reweighted least squares. It keeps the step finite if all rows are outliers, and is negligible
// otherwise.
func (h *huberLoss) outlierCurvature(q float64) float64 {
	const part = 1e-2
	return part * 2 * h.epsilon / (math.Abs(q) * h.scale)
}

// weightedQuantile returns the smallest value such that values up to it have a part q of the weight.
func weightedQuantile(y, weights []float64, q float64) float64 {
	order := make([]int, len(y))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(y[i], y[j]) })
	part, sum := q*kern.Sum(weights), 0.0
	for _, i := range order {
		if sum += weights[i]; sum >= part {
			return y[i]
		}
	}
	return y[order[len(order)-1]]
}
