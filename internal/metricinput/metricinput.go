// Package metricinput puts the truth about rows and what a model said of them together, as metrics read them.
//
//	in := judged.With(judged.Truth(data, task), said)
//	value, err := metric.Score(in)
package metricinput

import (
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/metrics"
)

// Truth is what is known of rows: their targets, weights and classes, the latter for classification only.
func Truth(data datasets.Set, task datasets.Task) metrics.Input {
	in := metrics.Input{Weights: data.Weights}
	if data.Targets != nil {
		in.TruthTargets = data.Targets
	} else {
		in.Truth = data.Y
	}
	if task == datasets.Classification {
		in.ClassNames = data.Schema.Classes()
		in.Classes = max(2, len(in.ClassNames))
	}
	return in
}

// With adds all that a model said.
func With(in metrics.Input, p estimator.Prediction) metrics.Input {
	in.Scores, in.Probabilities, in.Sets = p.Scores, p.Probabilities, p.Sets
	if len(p.Anomaly) > 0 {
		in.Scores = mat.NewDense(len(p.Anomaly), 1, p.Anomaly)
	}
	if in.TruthTargets != nil {
		in.PredictedTargets, in.StdTargets, in.LowerTargets, in.UpperTargets = p.Targets, p.StdTargets, p.LowerTargets, p.UpperTargets
	} else {
		in.Predicted, in.Std, in.Lower, in.Upper = p.Values, p.Std, p.Lower, p.Upper
	}
	return in
}

// Wants returns the outputs of a model that metrics read, of those that it has. Several is whether the rows have several
// targets.
func Wants(list []metrics.Metric, several bool, has estimator.Output) (want estimator.Request) {
	for _, m := range list {
		switch {
		case m.Needs == metrics.Deviations || m.Needs == metrics.Intervals || m.Needs == metrics.Sets:
			return estimator.Request{}
		case m.Needs == metrics.Predictions && several:
			want.Outputs |= estimator.Targets
		case m.Needs == metrics.Predictions || m.Needs == metrics.PredictionsAndRows:
			want.Outputs |= estimator.Values
		case has.Has(estimator.AnomalyScores):
			want.Outputs |= estimator.AnomalyScores
		case has.Has(estimator.Probabilities) && (m.Needs != metrics.ScoresOrProbabilities || !has.Has(estimator.Scores)):
			want.Outputs |= estimator.Probabilities
		default:
			want.Outputs |= estimator.Scores
		}
	}
	return want
}

// Rarity of classes from which accuracy misleads: the share of the largest class, and how many times the
// size of the smallest one it has.
const (
	dominantShare = 0.8
	dominantRatio = 20
)

// DefaultScore returns the name of the metric by which models of a task are chosen where none is given,
// from the number of training rows of each class: r2 for regression, accuracy for classes of similar size,
// roc_auc for two classes and balanced_accuracy for more where one class dominates.
func DefaultScore(task datasets.Task, counts []int) string {
	if task != datasets.Classification || len(counts) == 0 {
		return metrics.ForTask(task, len(counts))[0].Name
	}
	sum, largest := 0, slices.Max(counts)
	for _, n := range counts {
		sum += n
	}
	dominant := float64(largest) >= dominantShare*float64(sum)
	switch {
	case len(counts) == 2 && dominant:
		return "roc_auc"
	case len(counts) > 2 && (dominant || largest >= dominantRatio*slices.Min(counts)):
		return "balanced_accuracy"
	}
	return "accuracy"
}

// CountsRareClasses reports whether a metric depends on rare classes as much as on frequent ones: models
// chosen by it are fitted with balanced class weights.
func CountsRareClasses(metric string) bool {
	return slices.Contains([]string{"balanced_accuracy", "f1", "f1_macro"}, metric)
}
