// Package newton minimises penalised losses of linear scores by Newton's method, a few passes over the rows
// for each step, with conjugate gradients and a preconditioner made of a sample of the rows.
//
// A [Task] is one loss with its targets; [Task.Solve] minimises it on rows of any kind, and a [IncrementalNewton] by passes
// that somebody else drives. A [Batch] solves many problems on one reading of the rows: several penalties, folds and
// classes at once.
package newton

import (
	"context"
	"slices"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/solve"
)

// Task is what is to be minimised: a loss of the rows' scores, with their targets and weights.
type Task struct {
	Loss           Loss
	Outputs        int     // scores of a row
	Groups         int     // parts of the problem that do not depend on each other
	ObjectiveBound float64 // an objective above it, times what the weights are multiplied with, is an error
	y              []float64
	weights        []float64
	intercept      bool
	finish         func(w, intercept []float64, report solve.Report) (solve.Linear, error)
}

// Logistic is logistic regression, of one output for two classes, else with the softmax.
func Logistic(l *design.Labels, intercept bool, tol float64) Task {
	t := Task{Loss: logisticLoss{}, Outputs: 1, Groups: 1, y: l.Y, finish: solve.NewLinear}
	if len(l.Classes) != 2 {
		t = multinomial(l)
	}
	t.weights, t.intercept, t.ObjectiveBound = l.Weights, intercept, logisticBound(l, intercept, tol)
	return t
}

// SquaredHinge is the squared hinge, of one output for two classes, else of each class against the rest.
func SquaredHinge(l *design.Labels, intercept bool, tol float64) Task {
	k := l.Outputs()
	return Task{Loss: hingeLoss{k}, Outputs: k, Groups: k, ObjectiveBound: hingeBound(l, intercept, tol),
		y: l.Y, weights: l.Weights, intercept: intercept, finish: solve.NewLinear}
}

// SquaredEpsilonInsensitive is the squared loss of residuals beyond a width.
func SquaredEpsilonInsensitive(l *design.Labels, width float64, intercept bool, bar float64) Task {
	return Task{Loss: squaredEpsilonInsensitiveLoss{width}, Outputs: 1, Groups: 1, ObjectiveBound: bar,
		y: l.Y, weights: l.Weights, intercept: intercept, finish: solve.NewLinear}
}

// SingleOutputLoss is the loss of one output by itself, where the outputs do not depend on each other.
func (t Task) SingleOutputLoss() Loss {
	if t.Outputs == 1 {
		return t.Loss
	}
	return hingeLoss{1}
}

// objective returns what is minimised on rows, with other weights.
func (t Task) objective(ctx context.Context, r *design.Rows, weights []float64) *objective {
	return newObjective(ctx, r, t.Loss, t.Outputs, t.Groups, t.intercept, t.y, weights)
}

// Solve minimises the loss on rows from zero. An objective that is worse than the trivial model's is an
// error.
func (t Task) Solve(ctx context.Context, r *design.Rows, tol float64, maxIter int) (solve.Linear, error) {
	return t.SolveScaled(ctx, r, 1, 1, tol, maxIter)
}

// SolveScaled is Solve with all weights times C, for features that are scale times the columns of the rows: on columns Ψ
// with Z = c·Ψ, C on Z is C·c² on Ψ, of c² times the objective. The weights are those of the columns, the report's
// objective is that of the features.
func (t Task) SolveScaled(ctx context.Context, r *design.Rows, C, scale, tol float64, maxIter int) (solve.Linear, error) {
	weights := t.weights
	if factor := C * scale * scale; factor != 1 { // streams hold few numbers for each row
		weights = slices.Clone(weights)
		kern.Scale(factor, weights)
	}
	w, b, report, err := t.objective(ctx, r, weights).minimize(tol, maxIter)
	if err == nil {
		report.Objective /= scale * scale
		err = report.CheckObjective(C * t.ObjectiveBound)
	}
	if err != nil {
		return solve.Linear{}, err
	}
	return t.finish(w, b, report)
}

// multinomial is the task of the classes that training rows have; the others get no weights and an
// intercept that makes them impossible.
func multinomial(l *design.Labels) Task {
	position := make([]int, len(l.Classes))
	var present []int
	for c, absent := range l.Absent {
		if !absent {
			position[c] = len(present)
			present = append(present, c)
		}
	}
	y := make([]float64, len(l.Y))
	for i, c := range l.Y {
		y[i] = float64(position[int(c)])
	}
	k := len(present)
	return Task{Loss: softmaxLoss{k}, Outputs: k, Groups: 1, y: y, finish: func(w, b []float64, report solve.Report) (solve.Linear, error) {
		cols := len(w) / k
		mean := kern.Sum(b) / float64(k)
		full, intercept := make([]float64, cols*len(l.Classes)), make([]float64, len(l.Classes))
		for c := range intercept {
			intercept[c] = design.AbsentIntercept
		}
		for at, c := range present {
			intercept[c] = b[at] - mean
			for i := range cols {
				full[i*len(l.Classes)+c] = w[i*k+at]
			}
		}
		return solve.NewLinear(full, intercept, report)
	}}
}
