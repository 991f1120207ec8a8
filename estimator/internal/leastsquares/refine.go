package leastsquares

import (
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/estimator/internal/solve"
)

// Sums of products have a relative rounding error of a few ε of their trace. The solution then has
// an error of that times ‖w‖ in the norm of A⁻¹. Its effect on training predictions is bounded via
// 1/(2√λ), where the smallest squared pivot estimates the smallest eigenvalue λ of A. If the effect
// exceeds the tolerance, weights are refined: a pass sums the gradient g = Σ
// s·(x−x̄)·(y−ȳ−(x−x̄)ᵀw) − α·w, and w moves by A⁻¹g. This reduces the error from ε·trace to
// ε·√trace, times ‖w‖ (Björck, Numerical Methods for Least Squares Problems, 1996, section 2.9).
const (
	// visibleTol is the tolerated prediction error due to rounding, relative to √TSS.
	visibleTol = 1e-9
	// MaxRefinements bounds the refinement passes.
	MaxRefinements = 4
	// maxContraction is the largest contraction factor for which refinement is tried.
	maxContraction = 0.1
	// visibleTolFloat32 and epsilonFloat32 replace visibleTol and epsilon for float32 sums.
	visibleTolFloat32 = 1e-3
	epsilonFloat32    = 0x1p-23
)

// precision is the unit roundoff and the tolerance for sums of products.
type precision struct{ epsilon, visible float64 }

// precisionOf returns the precision of float32 or float64 sums.
func precisionOf(single bool) precision {
	if single {
		return precision{epsilonFloat32, visibleTolFloat32}
	}
	return precision{epsilon, visibleTol}
}

// roundingBound bounds the relative prediction error of the solution w due to rounding, and the
// contraction factor of a refinement. trace is that of the sums, pivot the smallest squared pivot.
func (p precision) roundingBound(w, spreads []float64, trace, pivot float64) (size, contraction float64) {
	contraction = 4 * p.epsilon * trace / pivot
	return 4 * p.epsilon * trace * relativeNorm(w, spreads) / (2 * math.Sqrt(pivot)), contraction
}

// relativeNorm returns the largest ‖w‖/√TSS over the targets. Constant targets are skipped.
func relativeNorm(w, spreads []float64) float64 {
	t, largest := len(spreads), 0.0
	for j, spread := range spreads {
		square := 0.0
		for i := j; i < len(w); i += t {
			square += w[i] * w[i]
		}
		if spread > 0 {
			largest = max(largest, math.Sqrt(square/spread))
		}
	}
	return largest
}

// warnTol is the relative prediction error for new rows above which a warning is issued.
const warnTol = 1e-6

// warnRounding adds a warning about rounding that remains after refinement, or about the rounding
// of residuals.
func warnRounding(r *solve.Report, alpha, remaining, floor, visible float64) {
	if remaining > visible {
		r.Converged = false
	} else if remaining = floor; remaining <= warnTol {
		return
	}
	r.Warnings = append(r.Warnings, roundingWarning(alpha, remaining))
}

// Thresholds for the effect of float32 rounding of features on predictions, relative to √TSS.
const (
	// featureRoundingWarn issues a warning.
	featureRoundingWarn = 1e-3
	// featureRoundingShared is the limit for a model of float64 features to stand for one of
	// float32 features.
	featureRoundingShared = 1e-4
	// featureRoundingSame is the limit if both use the same float32 features; it is below the
	// warning.
	featureRoundingSame = 5e-4
)

// featureRounding returns the relative effect of float32 feature rounding on predictions: ε·√(Σ
// w_j²·z_j²), where z_j are the root mean squares of the columns.
func featureRounding(w, meanSquares, spreads []float64, weight float64) float64 {
	t := len(spreads)
	scaled := make([]float64, len(w))
	for i, v := range w {
		scaled[i] = v * math.Sqrt(max(0, meanSquares[i/t])*weight)
	}
	return epsilonFloat32 * relativeNorm(scaled, spreads)
}

// warnFeatureRounding adds a warning about float32 feature rounding.
func warnFeatureRounding(r *solve.Report, alpha, roundingError float64) {
	if roundingError > featureRoundingWarn {
		r.Warnings = append(r.Warnings,
			fmt.Sprintf("alpha %v: float32 rounding of the features changes predictions by about %.1g relative to the "+
				"targets; increase alpha or use precision float64", alpha, roundingError))
	}
}

func roundingWarning(alpha, remaining float64) string {
	return fmt.Sprintf("alpha %v: rounding may change predictions by %.1g relative to the targets; increase alpha", alpha,
		remaining)
}

// negligible reports whether a prediction error is well below the tolerance.
func negligible(remaining, visible float64) bool { return !(remaining > visible/32) }

func singularWarning(alpha float64, rank, columns int) string {
	return fmt.Sprintf("alpha %v: the system is singular (rank %d of %d); used the minimum-norm solution", alpha, rank,
		columns)
}
