package evidence

import (
	"context"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/kern"
)

const (
	historySize       = 10   // number of curvature pairs
	maxCoordinateStep = 2.0  // bound per coordinate
	firstStep         = 0.5  // of a step along the gradient
	armijo            = 1e-4 // sufficient decrease constant
	maxBacktracks     = 20   // of a step that brings too little
	patience          = 5    // steps considered for convergence
	minDecrease       = 1e-3 // of the log density in patience steps
)

// minimize moves x within [lower, upper] to a minimum of a smooth f by projected L-BFGS. It returns
// the final value and the number of steps. Coordinates at an active bound are fixed for a step, and
// the curvature is that of the free ones. It stops when five steps decrease f by less than 1e-3 in
// total, or at once if f is infinite at the start.
//
// Sources: Liu and Nocedal, "On the limited memory BFGS method for large scale optimization",
// Mathematical Programming 1989; Bertsekas, "Projected Newton methods for optimization problems
// with simple constraints", SIAM Journal on Control and Optimization 1982.
func minimize(ctx context.Context, f func(ctx context.Context, x, gradient []float64) (float64, error), x, lower,
	upper []float64, steps int) (float64, int, error) {
	d := &quasiNewton{x: x, lower: lower, upper: upper, gradient: make([]float64, len(x)), trial: make([]float64, len(x)),
		trialGradient: make([]float64, len(x))}
	value, err := f(ctx, x, d.gradient)
	if err != nil || math.IsInf(value, 1) {
		return value, 0, err
	}
	recent := []float64{value}
	for step := range steps {
		direction := d.direction()
		if direction == nil {
			return value, step, nil
		}
		next, err := d.lineSearch(ctx, f, value, direction)
		if err != nil {
			return 0, step, err
		}
		if !(next < value) {
			if len(d.s) == 0 {
				return value, step, nil
			}
			d.s, d.y = nil, nil // restart along the gradient
			continue
		}
		d.accept()
		value = next
		if recent = append(recent, value); len(recent) > patience && recent[len(recent)-1-patience]-value < minDecrease {
			return value, step + 1, nil
		}
	}
	return value, steps, nil
}

// quasiNewton is the current point and the curvature pairs.
type quasiNewton struct {
	x, lower, upper      []float64
	gradient             []float64
	trial, trialGradient []float64   // trial point and its gradient
	s, y                 [][]float64 // curvature pairs: differences of points and gradients
}

// free reports whether a coordinate may move.
func (d *quasiNewton) free(j int) bool {
	return !(d.x[j] <= d.lower[j] && d.gradient[j] >= 0) && !(d.x[j] >= d.upper[j] && d.gradient[j] <= 0)
}

// direction returns the search direction, nil if the gradient is negligible.
func (d *quasiNewton) direction() []float64 {
	const flat = 1e-6
	out, largest := make([]float64, len(d.x)), 0.0
	for j, g := range d.gradient {
		if d.free(j) {
			out[j] = -g
			largest = max(largest, math.Abs(g))
		}
	}
	if largest < flat {
		return nil
	}
	direction := slices.Clone(out)
	if !d.twoLoop(out) {
		kern.Scale(min(1, firstStep/largest), direction)
		d.s, d.y = nil, nil
		return direction
	}
	largest = 0
	for _, v := range out {
		largest = max(largest, math.Abs(v))
	}
	if largest > maxCoordinateStep {
		kern.Scale(maxCoordinateStep/largest, out)
	}
	return out
}

// twoLoop multiplies v by the approximate inverse Hessian of the free coordinates (two-loop
// recursion). It reports whether the result is a descent direction.
func (d *quasiNewton) twoLoop(v []float64) bool {
	var steps, changes [][]float64
	var products []float64
	for i, s := range d.s {
		s, y := d.projectFree(s), d.projectFree(d.y[i])
		if product := kern.Dot(s, y); product > epsilon*kern.Dot(y, y) {
			steps, changes, products = append(steps, s), append(changes, y), append(products, product)
		}
	}
	if len(steps) == 0 {
		return false
	}
	parts := make([]float64, len(steps))
	for i := len(steps) - 1; i >= 0; i-- {
		parts[i] = kern.Dot(steps[i], v) / products[i]
		kern.Axpy(-parts[i], changes[i], v)
	}
	last := len(steps) - 1
	kern.Scale(products[last]/kern.Dot(changes[last], changes[last]), v)
	for i := range steps {
		kern.Axpy(parts[i]-kern.Dot(changes[i], v)/products[i], steps[i], v)
	}
	return kern.AllFinite(v) && kern.Dot(v, d.gradient) < 0
}

// projectFree returns v with zeros at fixed coordinates.
func (d *quasiNewton) projectFree(v []float64) []float64 {
	out := slices.Clone(v)
	for j := range out {
		if !d.free(j) {
			out[j] = 0
		}
	}
	return out
}

// lineSearch backtracks until the decrease is sufficient and returns the value there. If no step
// succeeds, it returns the initial value.
func (d *quasiNewton) lineSearch(ctx context.Context, f func(ctx context.Context, x, gradient []float64) (float64,
	error), value float64, direction []float64) (float64, error) {
	length := 1.0
	for range maxBacktracks {
		predictedDecrease := 0.0
		for j, v := range direction {
			d.trial[j] = min(max(d.x[j]+length*v, d.lower[j]), d.upper[j])
			predictedDecrease += d.gradient[j] * (d.trial[j] - d.x[j])
		}
		if predictedDecrease >= 0 {
			break
		}
		next, err := f(ctx, d.trial, d.trialGradient)
		if err != nil {
			return 0, err
		}
		if next <= value+armijo*predictedDecrease {
			return next, nil
		}
		// Minimizer of the interpolating quadratic.
		shorter := -predictedDecrease / (2 * (next - value - predictedDecrease))
		if !(shorter > 0.1) {
			shorter = 0.1
		}
		length *= min(shorter, 0.5)
	}
	return value, nil
}

// accept moves to the trial point and records the curvature pair.
func (d *quasiNewton) accept() {
	s, y := slices.Clone(d.trial), slices.Clone(d.trialGradient)
	kern.Axpy(-1, d.x, s)
	kern.Axpy(-1, d.gradient, y)
	copy(d.x, d.trial)
	copy(d.gradient, d.trialGradient)
	if !(kern.Dot(s, y) > epsilon*kern.Dot(y, y)) {
		return
	}
	d.s, d.y = append(d.s, s), append(d.y, y)
	if len(d.s) > historySize {
		d.s, d.y = d.s[1:], d.y[1:]
	}
}
