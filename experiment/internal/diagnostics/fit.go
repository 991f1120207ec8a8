package diagnostics

import (
	"fmt"

	"github.com/bochner-ml/bochner/estimator"
)

// FitWarnings returns the warnings of a fit, such as missing convergence.
func FitWarnings(model estimator.Predictor) []string {
	var m estimator.Reporter
	if !estimator.As(model, &m) {
		return nil
	}
	report := m.Report()
	if !report.Converged && len(report.Warnings) == 0 {
		return []string{fmt.Sprintf("the fit did not converge: %s stopped after %d iterations with a relative gradient of "+
			"%.2g; raise max_iter or tol", report.Solver, report.Iterations, report.Gradient)}
	}
	return report.Warnings
}
