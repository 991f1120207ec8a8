// Package newton minimizes penalized losses of linear scores by a truncated Newton method. Each
// step takes a few passes over the rows for conjugate gradients, preconditioned by a Hessian over a
// sample of the rows.
//
// A [Task] is a loss with targets. [Task.Solve] minimizes it on rows of any kind.
// [IncrementalNewton] does so by passes that the caller makes (reverse communication). A [Batch]
// solves many problems in shared passes: several penalties, folds and classes.
package newton

import (
	"context"
	"slices"

	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
)

// Task is a loss of scores with targets and weights.
type Task struct {
	Loss           Loss
	Outputs        int     // scores per row
	Groups         int     // independent parts of the problem
	ObjectiveBound float64 // largest acceptable objective for C = 1
	Unpenalized    bool    // whether the objective is the loss alone
	y              []float64
	weights        []float64
	intercept      bool
	offset         float64                                                        // of the intercept of the model
	minimize       func(a *Batch, tol float64, maxIter int) (solve.Linear, error) // nil for Newton from zeros
	finish         func(w, intercept []float64, report solve.Report) (solve.Linear, error)
}

// Logistic is logistic regression: one output for two classes, otherwise softmax.
func Logistic(l *design.Labels, intercept bool, tol float64) Task {
	t := Task{Loss: logisticLoss{}, Outputs: 1, Groups: 1, y: l.Y, finish: solve.NewLinear}
	if len(l.Classes) != 2 {
		t = multinomial(l)
	}
	t.weights, t.intercept, t.ObjectiveBound = l.Weights, intercept, logisticBound(l, intercept, tol)
	return t
}

// SquaredHinge is the squared hinge: one output for two classes, otherwise one-vs-rest.
func SquaredHinge(l *design.Labels, intercept bool, tol float64) Task {
	k := l.Outputs()
	return Task{Loss: hingeLoss{1}, Outputs: k, Groups: k, ObjectiveBound: hingeBound(l, intercept, tol),
		y: l.Y, weights: l.Weights, intercept: intercept, finish: solve.NewLinear}
}

// SquaredEpsilonInsensitive is the squared epsilon-insensitive loss.
func SquaredEpsilonInsensitive(l *design.Labels, width float64, intercept bool, bar float64) Task {
	return Task{Loss: squaredEpsilonInsensitiveLoss{width}, Outputs: 1, Groups: 1, ObjectiveBound: bar,
		y: l.Y, weights: l.Weights, intercept: intercept, finish: solve.NewLinear}
}

// Problems returns the problems of the task on rows with the given targets and weights, one for each
// group, for features that are scale times the leading columns.
func (t Task) Problems(y, weights []float64, C, scale float64, width int) (list []Problem) {
	for group := range t.Groups {
		o := Problem{Loss: t.Loss, Y: y, Weights: weights, C: C, WeightFactor: C * scale * scale, Width: width,
			outputs: t.Outputs / t.Groups}
		if t.Groups > 1 {
			o.Loss = hingeLoss{group}
		}
		list = append(list, o)
	}
	return list
}

// batch returns the batch of the problems of the task alone, on n rows with other weights.
func (t Task) batch(ctx context.Context, r *design.Rows, n int, weights []float64) *Batch {
	a := newBatch(ctx, r, t.intercept, t.Problems(t.y, weights, 1, 1, r.Cols), n)
	a.preconditioners.unpenalized = t.Unpenalized
	_, softmax := t.Loss.(softmaxLoss)
	a.preconditioners.planSingle(float64(n), float64(r.Cols), float64(t.Outputs), r.Sparse, softmax)
	return a
}

// Solve minimizes the loss on rows from zero. It fails if the objective exceeds ObjectiveBound.
func (t Task) Solve(ctx context.Context, r *design.Rows, tol float64, maxIter int) (solve.Linear, error) {
	return t.SolveScaled(ctx, r, 1, 1, tol, maxIter)
}

// SolveScaled is Solve with weights multiplied by C, for features Z = scale·X of the rows X. The
// problem on Z with C is the problem on X with C·scale², whose objective is scale² times larger.
// The returned weights refer to X, the objective to Z.
func (t Task) SolveScaled(ctx context.Context, r *design.Rows, C, scale, tol float64, maxIter int) (solve.Linear,
	error) {
	weights := t.weights
	if factor := C * scale * scale; factor != 1 { // avoid a copy per row for streams
		weights = slices.Clone(weights)
		kern.Scale(factor, weights)
	}
	a := t.batch(ctx, r, len(t.y), weights)
	a.setCurves(make([]float64, len(t.y)*t.Outputs))
	if t.minimize != nil {
		m, err := t.minimize(a, tol, maxIter)
		if err != nil {
			return solve.Linear{}, err
		}
		return t.Finish(m, C, scale)
	}
	if err := a.Solve(tol, maxIter); err != nil {
		return solve.Linear{}, err
	}
	return t.Finish(a.Model(0, t.Groups, tol), C, scale)
}

// Finish returns the model of a solution of the problems of C and scale. It fails if the objective
// exceeds C times ObjectiveBound.
func (t Task) Finish(m solve.Linear, C, scale float64) (solve.Linear, error) {
	m.Report.Objective /= scale * scale
	if err := solve.CheckObjective(m.Report, C*t.ObjectiveBound); err != nil {
		return solve.Linear{}, err
	}
	out, err := t.finish(m.Weights, m.Intercept, m.Report)
	out.Scale = m.Scale
	return out, err
}

// SupportsBatch reports whether a [Batch] solves the task: outputs are independent, and the
// variables are penalized weights and intercepts.
func (t Task) SupportsBatch() bool {
	return t.Groups == t.Outputs && !t.Unpenalized && t.minimize == nil
}

// multinomial is the softmax task of the classes that occur in the training rows. Absent classes
// get zero weights and an intercept that excludes them.
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
	return Task{Loss: softmaxLoss{k}, Outputs: k, Groups: 1, y: y,
		finish: func(w, b []float64, report solve.Report) (solve.Linear, error) {
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
