package meta

import (
	"context"
	"errors"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/internal/threshold"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/guard"
	"github.com/bochner-ml/bochner/model"
)

// fitLabels fits the model, and selects a threshold for each label.
func (s Threshold) fitLabels(ctx context.Context, data datasets.Set) (*FittedThreshold, error) {
	switch {
	case s.Costs.defined():
		return nil, errors.New("cost is for classes, and the rows have several labels; use a score")
	case s.Estimator == nil:
		return nil, checkModel(s, nil)
	case !s.Tags().MultiLabel || data.Schema.Labels() == nil && len(data.Schema.Targets) > 0:
		return nil, errors.New("several targets must be labels, and the inner estimator must fit labels, as logistic does")
	case s.Score == "auto":
		s.Score = "f1"
	}
	fitted, err := guard.NotNil(s.Estimator.Fit(ctx, data))
	if err != nil {
		return nil, err
	}
	found, _, err := crossValidation{folds: s.Folds, shuffle: true}.predict(ctx,
		batch.Job{Data: data, Shape: data.Shape(), Candidates: batch.Candidates(s.Estimator)}, allRows(data), false, []int{0})
	if err == nil {
		err = found[0].err
	}
	if err != nil {
		return nil, err
	}
	f := &FittedThreshold{wrapper: wrapper{data.Cols(), fitted}, labels: estimator.OutputsOf(fitted).Labels}
	f.rule.probable = found[0].Probabilities != nil
	for j := range f.labels {
		c, err := s.labelCutoff(ctx, found[0], data, j)
		if err != nil {
			return nil, err
		}
		f.cutoffs = append(f.cutoffs, c)
	}
	return f, ctxerr.Check(ctx)
}

// labelCutoff selects the threshold of label j. A label that all rows have, or none, keeps the default.
func (s Threshold) labelCutoff(ctx context.Context, found outOfFold, data datasets.Set, j int) (Cutoff, error) {
	rule := decision{classes: 2, present: []int{0, 1}, probable: found.Probabilities != nil}
	from := rule.compared(found.Prediction)
	if from == nil {
		return Cutoff{}, errNoScores
	}
	n := data.Rows()
	scores, positive, weights := mat.Col(nil, j, from), make([]bool, n), make([]float64, n)
	mass := map[bool]float64{}
	for i := range n {
		if !found.present[i] {
			scores[i] = 0
			continue
		}
		if weights[i] = 1; data.Weights != nil {
			weights[i] = data.Weights[i]
		}
		positive[i] = data.Targets.At(i, j) == 1
		mass[positive[i]] += weights[i]
	}
	if mass[true] == 0 || mass[false] == 0 {
		return Cutoff{Value: rule.usual(), Usual: rule.usual()}, nil
	}
	cuts := threshold.Cuts(scores, positive, weights, rule.low(), rule.high(), rule.usual())
	learned, err := s.chosen(ctx, rule, cuts, nil)
	if err != nil {
		return Cutoff{}, err
	}
	return learned.(decision).found, nil
}

// readLabels subtracts the thresholds and decides again.
func (f *FittedThreshold) readLabels(pred estimator.Prediction) (estimator.Prediction, error) {
	from := f.rule.compared(pred)
	pred.Scores, pred.Targets = &mat.Dense{}, &mat.Dense{}
	if from == nil || from.IsEmpty() {
		return pred, nil
	}
	pred.Scores.Apply(func(_, j int, v float64) float64 { return v - f.cutoffs[j].Value }, from)
	pred.Targets.Apply(func(_, _ int, z float64) float64 {
		if z > 0 {
			return 1
		}
		return 0
	}, pred.Scores)
	pred.Values = mat.Col(nil, 0, pred.Targets)
	return pred, nil
}

// exportLabels adds to g the labels by their thresholds.
func (f *FittedThreshold) exportLabels(g *graph.Graph, pred graph.Prediction) (graph.Prediction, error) {
	from, err := f.rule.exportCompared(pred)
	if err != nil {
		return pred, err
	}
	cuts := make([]float64, len(f.cutoffs))
	for j, c := range f.cutoffs {
		cuts[j] = c.Value
	}
	out := g.LabelsFromScores(g.Sub(from, g.Row(cuts)))
	out.Probabilities = pred.Probabilities
	return out, nil
}

// labelState serializes the thresholds of labels, without the scores of other thresholds.
func (f *FittedThreshold) labelState(s *model.State) {
	cuts, best, usual, score := make([]float64, len(f.cutoffs)), make([]float64, len(f.cutoffs)),
		make([]float64, len(f.cutoffs)), ""
	for j, c := range f.cutoffs {
		cuts[j], best[j], usual[j] = c.Value, c.Best, c.AtUsual
		if c.Score != "" {
			score = c.Score
		}
	}
	s.Strings("labels", &f.labels)
	s.Bool("probabilities", &f.rule.probable)
	s.String("score", &score)
	s.Floats("thresholds", &cuts)
	s.Floats("best", &best)
	s.Floats("at_usual", &usual)
	if !s.Restoring() || s.Err() != nil {
		return
	}
	has := estimator.OutputsOf(f.inner)
	s.Require(len(f.labels) >= 2 && slices.Equal(has.Labels, f.labels), "the inner model must have the same labels")
	s.Require(!f.rule.probable || has.Has.Has(estimator.OutputProbabilities), "the inner model must have probabilities")
	s.Require(len(cuts) == len(f.labels) && len(best) == len(cuts) && len(usual) == len(cuts),
		"there must be one threshold for each label")
	s.Require(!slices.ContainsFunc(cuts, func(v float64) bool { return v-v != 0 }), "thresholds must be finite")
	if s.Err() != nil {
		return
	}
	f.cutoffs = nil
	for j := range cuts {
		f.cutoffs = append(f.cutoffs, Cutoff{Value: cuts[j], Usual: f.rule.usual(), Score: score, Best: best[j],
			AtUsual: usual[j]})
	}
}
