// Package descent trains support vector machines and related models by dual coordinate descent,
// with all rows in memory. A [Task] has a problem per output, all on the same [Rows].
package descent

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
)

// Task is a problem per output.
type Task struct {
	outputs int
	problem func(output int) solve.Dual // without rows
	absent  []bool                      // outputs of classes without rows, nil for none
	Tol     float64
	maxIter int
}

// Hinge is the hinge or squared hinge loss: one output for two classes, otherwise one-vs-rest.
func Hinge(l *design.Labels, C float64, squared, intercept bool, tol float64, maxIter int) Task {
	t := Task{outputs: l.Outputs(), Tol: tol, maxIter: maxIter, problem: func(j int) solve.Dual {
		p := margins(l, j, C, squared)
		p.Intercept = intercept
		return p
	}}
	if t.outputs > 1 {
		t.absent = l.Absent
	}
	return t
}

// Logistic is logistic regression with two classes.
func Logistic(l *design.Labels, C float64, intercept bool, tol float64, maxIter int) Task {
	return Task{outputs: 1, Tol: tol, maxIter: maxIter, problem: func(int) solve.Dual {
		p := margins(l, 0, C, false)
		p.Target, p.Logistic, p.Intercept = nil, true, intercept
		return p
	}}
}

// EpsilonInsensitive is the epsilon-insensitive loss or its square.
func EpsilonInsensitive(l *design.Labels, C, width float64, squared, intercept bool, tol float64, maxIter int) Task {
	return Task{outputs: 1, Tol: tol, maxIter: maxIter, problem: func(int) solve.Dual {
		p := solve.Dual{Target: l.Y, Epsilon: width, Intercept: intercept}
		p.Low, p.High, p.Diagonal = bounds(l.Weights, C, squared)
		return p
	}}
}

// Trivial returns the objective of output j with zero weights and the best intercept.
func (t Task) Trivial(j int) float64 {
	p := t.problem(j)
	value, _ := p.Trivial()
	return value
}

// Solve loads the n rows into memory and solves.
func (t Task) Solve(ctx context.Context, r *design.Rows, n int) (solve.Linear, error) {
	r, err := r.WithRowCount(n).InMemory(ctx)
	if err != nil {
		return solve.Linear{}, err
	}
	inputs, err := NewRows(ctx, r)
	if err != nil {
		return solve.Linear{}, err
	}
	results, err := t.Descend(ctx, inputs, nil)
	if err != nil {
		return solve.Linear{}, err
	}
	return Model(inputs, results, t.Tol)
}

// SolveTogether solves tasks of one output on the n rows, which it loads into memory once, and
// returns a model for each.
func SolveTogether(ctx context.Context, r *design.Rows, n int, tasks []Task) ([]solve.Linear, error) {
	r, err := r.WithRowCount(n).InMemory(ctx)
	if err != nil {
		return nil, err
	}
	inputs, err := NewRows(ctx, r)
	if err != nil {
		return nil, err
	}
	all := tasks[0]
	all.outputs, all.problem = len(tasks), func(j int) solve.Dual { return tasks[j].problem(0) }
	results, err := all.Descend(ctx, inputs, nil)
	if err != nil {
		return nil, err
	}
	models := make([]solve.Linear, len(tasks))
	for j := range models {
		if models[j], err = Model(inputs, results[j:j+1], all.Tol); err != nil {
			return nil, err
		}
	}
	return models, nil
}

// Descend solves the problems of all outputs in parallel. from are solutions for other bounds as
// warm starts, or nil.
func (t Task) Descend(ctx context.Context, inputs Rows, from []solve.DualResult) ([]solve.DualResult, error) {
	results, failures := make([]solve.DualResult, t.outputs), make([]error, t.outputs)
	kern.Parallel(t.outputs, 1, func(lo, hi int) {
		for j := lo; j < hi; j++ {
			p := t.problem(j)
			p.Rows, p.PrivateSquares = inputs, inputs.own()
			if from != nil {
				p.WarmStart = &from[j]
			}
			results[j], failures[j] = p.Solve(ctx, t.Tol, t.maxIter)
			if t.absent != nil && t.absent[j] && p.Intercept {
				results[j].B = design.AbsentIntercept // practically −∞, never the largest score
			}
		}
	})
	for _, err := range failures {
		if errors.Is(err, solve.ErrNotFinite) {
			err = fmt.Errorf("%w: %w", solve.ErrDiverged, err)
		}
		if err != nil {
			return nil, err
		}
	}
	return results, nil
}

// margins returns the targets ±1 of output j and the bounds of the dual variables, on the side of
// the target, for the loss C·s·h.
func margins(l *design.Labels, j int, C float64, squared bool) solve.Dual {
	k := l.Outputs()
	p := solve.Dual{Target: make([]float64, len(l.Y))}
	p.Low, p.High, p.Diagonal = bounds(l.Weights, C, squared)
	for i, y := range l.Y {
		if c := int(y); c == j && k > 1 || c == 1 && k == 1 {
			p.Target[i], p.Low[i] = 1, 0
		} else {
			p.Target[i], p.High[i] = -1, 0
		}
	}
	return p
}

// bounds returns the two-sided bounds of the dual variables for the loss C·s·max(0, r) or
// C·s·max(0, r)².
func bounds(weights []float64, C float64, squared bool) (low, high, diagonal []float64) {
	low, high = make([]float64, len(weights)), make([]float64, len(weights))
	if squared {
		diagonal = make([]float64, len(weights))
	}
	for i, s := range weights {
		s *= C
		switch {
		case s == 0:
		case squared:
			low[i], high[i], diagonal[i] = math.Inf(-1), math.Inf(1), 1/(2*s)
		default:
			low[i], high[i] = -s, s
		}
	}
	return low, high, diagonal
}

// Model combines the solutions of all outputs.
func Model(inputs Rows, results []solve.DualResult, tol float64) (solve.Linear, error) {
	k := len(results)
	trivial := 0.0
	for _, r := range results {
		trivial += r.Trivial
	}
	if err := solve.CheckObjective(reportOf(results, tol), trivial); err != nil {
		return solve.Linear{}, err
	}
	var w []float64
	b := make([]float64, k)
	for j, r := range results {
		b[j] = r.B
		full := inputs.weights(r.W, r.Beta)
		if k == 1 {
			return solve.NewLinear(full, b, reportOf(results, tol))
		}
		if w == nil {
			w = make([]float64, len(full)*k)
		}
		for i, v := range full {
			w[i*k+j] = v
		}
	}
	return solve.NewLinear(w, b, reportOf(results, tol))
}

// reportOf summarizes several problems by the worst.
func reportOf(results []solve.DualResult, tol float64) solve.Report {
	report := solve.Report{Solver: "dual coordinate descent", Converged: true}
	for _, r := range results {
		if r.InteriorSteps > 0 {
			report.Solver = "dual coordinate descent, interior point"
		}
		report.Iterations = max(report.Iterations, r.Epochs)
		report.Converged = report.Converged && r.Converged
		report.Gap = max(report.Gap, r.Gap)
		report.Objective += r.Objective
	}
	if !report.Converged {
		report.Warnings = []string{fmt.Sprintf("not converged after %d passes: relative duality gap %.2g, tolerance %.2g",
			report.Iterations, report.Gap, tol)}
	}
	return report
}
