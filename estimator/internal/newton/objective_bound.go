package newton

import (
	"math"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
)

// ObjectiveBound returns the largest acceptable objective of a fit with relative tolerance tol. It
// is the objective of the trivial model plus an allowance, relative to the objective of zero
// weights, for rounding and the tolerance.
func ObjectiveBound(trivial, zeros, tol float64) float64 {
	const rounding = 1e-6 // of float32 rows
	return trivial + max(tol, rounding)*zeros
}

// hingeBound is the bound of the one-vs-rest squared hinge with C = 1.
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

// logisticBound is the bound of the multiclass logistic loss with C = 1.
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
