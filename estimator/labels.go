package estimator

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/descent"
	"github.com/bochner-ml/bochner/estimator/internal/newton"
	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
)

// labelSpec is a penalized spec that fits several labels: [Logistic] and [SVM].
type labelSpec interface {
	newtonSpec
	fittedLabels(f FittedLinearClassifier) Predictor
}

// labelNames returns the names of several labels of rows in memory; nil if there is a single target.
func labelNames(data datasets.Set) []string {
	if data.Targets == nil {
		return nil
	}
	return (&design.Rows{Schema: data.Schema, Several: data.Targets.RawMatrix().Cols}).LabelNames()
}

// rejectLabels refuses passes over rows with several labels.
func rejectLabels(schema datasets.Schema) error {
	if schema.Labels() == nil {
		return nil
	}
	return fmt.Errorf("%w: several labels need all rows at once", datasets.ErrNoPasses)
}

// fitLabels fits a model of two classes for each label.
func fitLabels(ctx context.Context, s labelSpec, r *design.Rows) (Predictor, error) {
	model, err := solveLabels(ctx, s, r)
	if err != nil {
		return nil, fmt.Errorf("estimator: %s: %w", s.name(), err)
	}
	return s.fittedLabels(FittedLinearClassifier{linear: newLinear(model), labels: r.LabelNames()}), nil
}

// solveLabels uses coordinate descent or Newton's method, as for two classes. A label that all rows
// have, or none, has a constant score.
func solveLabels(ctx context.Context, s labelSpec, r *design.Rows) (solve.Linear, error) {
	_, _, by, _ := s.solver()
	list, constant, err := r.ReadBinaryTargets(ctx, by.factors)
	if err == nil {
		err = checkMemory(s, r.Shape(r.N, len(list)))
	}
	if err != nil {
		return solve.Linear{}, err
	}
	p, models := s.plain(), make([]solve.Linear, len(list))
	var fitted []int
	var slopes []newton.Task
	var duals []descent.Task
	for j, l := range list {
		if l == nil {
			models[j] = solve.Linear{Weights: make([]float64, r.Cols), Report: solve.Report{Converged: true},
				Intercept: []float64{(1 - 2*constant[j]) * design.AbsentIntercept}}
			continue
		}
		if p.Path != nil {
			if models[j], err = solvePath(ctx, p, r, l); err != nil {
				return solve.Linear{}, err
			}
			continue
		}
		if fitted = append(fitted, j); p.UsesDescent(r, l) {
			duals = append(duals, p.Descent(l))
		} else {
			slopes = append(slopes, p.Newton(l))
		}
	}
	var solved []solve.Linear
	switch {
	case len(fitted) == 0:
	case duals != nil:
		solved, err = descent.SolveTogether(ctx, r, r.N, duals)
	default:
		solved, err = newton.SolveTogether(ctx, r, slopes, p.C, p.Tol, p.MaxIter)
	}
	if err != nil {
		return solve.Linear{}, err
	}
	for k, j := range fitted {
		models[j] = solved[k]
	}
	return solve.Join(models), nil
}

// predictLabels returns the prediction of several labels from their scores, and their probabilities
// if these are the log odds.
func predictLabels(scores *mat.Dense, err error, want Request, odds bool) (Prediction, error) {
	if err != nil {
		return Prediction{}, err
	}
	out := Prediction{Scores: scores, Targets: &mat.Dense{}}
	if !scores.IsEmpty() {
		out.Targets.Apply(func(_, _ int, z float64) float64 {
			if z > 0 {
				return 1
			}
			return 0
		}, scores)
	}
	out.Values = firstColumn(out.Targets)
	if odds && want.Wants(OutputProbabilities) {
		out.Probabilities = &mat.Dense{}
		if !scores.IsEmpty() {
			out.Probabilities.Apply(func(_, _ int, z float64) float64 {
				_, p := logistic(z)
				return p
			}, scores)
		}
	}
	return out, nil
}
