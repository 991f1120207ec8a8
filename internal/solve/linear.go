package solve

import (
	"errors"
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/internal/kern"
)

// Linear is a linear model with scores xᵀW + b.
type Linear struct {
	Weights   []float64 // W, inputs × outputs in row-major order
	Intercept []float64 // b, by output
	Scale     float64   // of the residuals, if the loss estimates it
	Report    Report
}

// Report describes the solution process.
type Report struct {
	Solver     string
	Iterations int
	Converged  bool
	Gradient   float64
	Gap        float64
	Objective  float64
	Warnings   []string
}

// ErrDiverged reports a solution that is worse than the trivial model.
var ErrDiverged = errors.New("diverged")

// CheckObjective returns [ErrDiverged] unless the objective is at most bound.
func (r Report) CheckObjective(bar float64) error {
	if r.Objective <= bar {
		return nil
	}
	return fmt.Errorf("%w: objective %.6g after %d iterations of %s exceeds %.6g of the trivial model",
		ErrDiverged, r.Objective, r.Iterations, r.Solver, bar)
}

// NewLinear returns a model. It fails if weights or intercept are not finite.
func NewLinear(w, intercept []float64, report Report) (Linear, error) {
	if !kern.AllFinite(w) || !kern.AllFinite(intercept) {
		return Linear{}, fmt.Errorf("the solution is not finite: the inputs or the targets are too large, or too unequal " +
			"in scale; standardize them")
	}
	if math.IsNaN(report.Objective) {
		report.Objective = math.Inf(1)
	}
	return Linear{Weights: w, Intercept: intercept, Report: report}, nil
}
