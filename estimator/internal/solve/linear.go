package solve

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/model"
)

// Linear is a linear model with scores xᵀW + b.
type Linear struct {
	Weights   []float64 // W, inputs × outputs in row-major order
	Intercept []float64 // b, by output
	Scale     float64   // of the residuals, if the loss estimates it
	Report    Report
}

// Report describes the solution process.
type Report = model.Report

// ErrDiverged reports a solution that is worse than the trivial model.
var ErrDiverged = errors.New("diverged")

// CheckObjective returns [ErrDiverged] unless the objective is at most bound.
func CheckObjective(r Report, bar float64) error {
	if r.Objective <= bar {
		return nil
	}
	return fmt.Errorf("%w: objective %.6g after %d iterations of %s exceeds %.6g of the trivial model",
		ErrDiverged, r.Objective, r.Iterations, r.Solver, bar)
}

// Join returns models of one output on the same inputs as one model, with the worst of their reports.
func Join(models []Linear) Linear {
	k, d := len(models), len(models[0].Weights)
	out := Linear{Weights: make([]float64, d*k), Intercept: make([]float64, k), Report: Report{Converged: true}}
	for j, m := range models {
		for i, v := range m.Weights {
			out.Weights[i*k+j] = v
		}
		out.Intercept[j] = m.Intercept[0]
		r, one := &out.Report, m.Report
		r.Solver, r.Iterations = cmp.Or(r.Solver, one.Solver), max(r.Iterations, one.Iterations)
		r.Gradient, r.Gap = max(r.Gradient, one.Gradient), max(r.Gap, one.Gap)
		r.Objective += one.Objective
		if r.Converged = r.Converged && one.Converged; len(r.Warnings) == 0 {
			r.Warnings = one.Warnings
		}
	}
	return out
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
