package newton

import (
	"math"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
)

// ObjectiveBound is the objective that a fit to a relative tolerance may not end above: that of the trivial
// model, and what rounding and the tolerance may leave of that of zeros.
func ObjectiveBound(trivial, zeros, tol float64) float64 {
	const rounding = 1e-6 // of rows in single precision
	return trivial + max(tol, rounding)*zeros
}

// hingeBound is the bar of the squared hinge of each class against the rest, C being 1.
func hingeBound(l *design.Labels, intercept bool, tol float64) float64 {
	mass := l.ClassWeights()
	if len(mass) == 2 {
		mass = mass[1:]
	}
	total, trivial := kern.Sum(l.Weights), 0.0
	for _, m := range mass {
		if intercept {
			trivial += 4 * m * (total - m) / total
		} else {
			trivial += total
		}
	}
	return ObjectiveBound(trivial, total*float64(len(mass)), tol)
}

// logisticBound is the bar of the logistic loss of several classes, C being 1.
func logisticBound(l *design.Labels, intercept bool, tol float64) float64 {
	total, trivial, present := kern.Sum(l.Weights), 0.0, 0.0
	for _, m := range l.ClassWeights() {
		if m > 0 {
			trivial += m * math.Log(total/m)
			present++
		}
	}
	zeros := total * math.Log(present)
	if !intercept {
		trivial = zeros
	}
	return ObjectiveBound(trivial, zeros, tol)
}
