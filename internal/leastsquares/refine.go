package leastsquares

import (
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/internal/solve"
)

// Sums of products are right to a few roundings of their trace, and the weights that solve for them
// are off by that times ‖w‖ in the inverse of the system A. What shows in the predictions of the
// training rows is at most its product with 1/(2√λ) for the smallest eigenvalue λ of A, which the
// smallest pivot stands in for. Where that is more than visible, weights are refined: a pass over
// the rows themselves adds up the gradient g = Σ s·(x−x̄)·(y−ȳ−(x−x̄)'w) − α·w, and w moves by A⁻¹g.
// What is then left is a rounding of √trace where it was one of the trace, times ‖w‖ (Björck,
// Numerical Methods for Least Squares Problems, 1996, section 2.9).
const (
	// visibleTol is the change of predictions, against the spread of the targets, that is not to depend
	// on the order of summation.
	visibleTol = 1e-9
	// MaxRefinements is how many passes over the rows are made at most.
	MaxRefinements = 4
	// maxContraction is the part of an error that a refinement may leave, else it is not tried.
	maxContraction = 0.1
	// visibleTolFloat32 and epsilonFloat32 take the places of visible and epsilon for sums in single precision.
	visibleTolFloat32 = 1e-3
	epsilonFloat32    = 0x1p-23
)

// precision is what is to be expected of sums of products.
type precision struct{ epsilon, visible float64 }

// precisionOf returns that of sums in single precision, which are not meant to be as right, or double.
func precisionOf(single bool) precision {
	if single {
		return precision{epsilonFloat32, visibleTolFloat32}
	}
	return precision{epsilon, visibleTol}
}

// roundingBound returns how much the rounding of a system's sums may move the predictions of its solution
// w against the spreads of the targets, and which part of an error is left after a refinement. The
// sums have the given trace, and least is the smallest pivot.
func (p precision) roundingBound(w, spreads []float64, trace, least float64) (size, left float64) {
	left = 4 * p.epsilon * trace / least
	return 4 * p.epsilon * trace * relativeNorm(w, spreads) / (2 * math.Sqrt(least)), left
}

// relativeNorm returns ‖w‖ over the root of the spread for the target where that is the largest. A target
// without a spread has no weights but for rounding.
func relativeNorm(w, spreads []float64) float64 {
	t, most := len(spreads), 0.0
	for j, spread := range spreads {
		square := 0.0
		for i := j; i < len(w); i += t {
			square += w[i] * w[i]
		}
		if spread > 0 {
			most = max(most, math.Sqrt(square/spread))
		}
	}
	return most
}

// warnTol is the change of predictions for new rows, against the spread of the targets, that the
// rounding of residuals may make without a warning.
const warnTol = 1e-6

// warnRounding tells of what refinements leave, beyond what is visible, and of their own rounding.
func warnRounding(r *solve.Report, alpha, left, floor, visible float64) {
	if left > visible {
		r.Converged = false
	} else if left = floor; left <= warnTol {
		return
	}
	r.Warnings = append(r.Warnings, roundingWarning(alpha, left))
}

// Features in single precision are off by their rounding, and predictions from them by what the weights
// make of it.
const (
	// featureRoundingWarn is the change of predictions, against the spread of the targets, that is told.
	featureRoundingWarn = 1e-3
	// featureRoundingShared is the one up to which a model of features in double stands for one of single precision.
	featureRoundingShared = 1e-4
	// featureRoundingSame is the one up to which it does that was found from the same features by other sums, and predicts from
	// features that may be rounded otherwise: below what is told, as the fit would.
	featureRoundingSame = 5e-4
)

// featureRounding returns how much the rounding of features in single precision moves predictions, against the
// spread of the targets: √(Σ w_j²·z_j²) times it, for z_j the root mean squares of the columns.
func featureRounding(w, meanSquares, spreads []float64, weight float64) float64 {
	t := len(spreads)
	scaled := make([]float64, len(w))
	for i, v := range w {
		scaled[i] = v * math.Sqrt(max(0, meanSquares[i/t])*weight)
	}
	return epsilonFloat32 * relativeNorm(scaled, spreads)
}

// warnFeatureRounding tells of the rounding of features in single precision.
func warnFeatureRounding(r *solve.Report, alpha, blur float64) {
	if blur > featureRoundingWarn {
		r.Warnings = append(r.Warnings, fmt.Sprintf("with alpha %v the rounding of features in single precision moves the predictions by about %.1g of the spread of the targets; use a larger alpha or precision float64", alpha, blur))
	}
}

func roundingWarning(alpha, left float64) string {
	return fmt.Sprintf("with alpha %v rounding may move the predictions by %.1g of the spread of the targets; use a larger alpha", alpha, left)
}

// negligible reports whether an error in the predictions is out of sight.
func negligible(left, visible float64) bool { return !(left > visible/32) }

func singularWarning(alpha float64, rank, of int) string {
	return fmt.Sprintf("with alpha %v the system is singular (rank %d of %d): the solution of least norm was taken", alpha, rank, of)
}
