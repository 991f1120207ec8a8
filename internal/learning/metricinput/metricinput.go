// Package metricinput builds the input of metrics from data sets and predictions.
//
//	in := metricinput.AddPredictions(metricinput.FromSet(data, task), prediction)
//	value, err := metric.Score(in)
package metricinput

import (
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/param"
)

// FromSet returns the true values and weights of a set and, for classification, its classes.
func FromSet(data datasets.Set, task datasets.Task) metrics.Input {
	in := metrics.Input{Weights: data.Weights}
	if data.Targets != nil {
		in.YTrueTargets = data.Targets
	} else {
		in.YTrue = data.Y
	}
	if task == datasets.Classification {
		in.ClassNames = data.Schema.Classes()
		in.Classes = max(2, len(in.ClassNames))
	}
	return in
}

// FromRows is FromSet for some rows of a set.
func FromRows(data datasets.Set, rows []int, task datasets.Task) metrics.Input {
	known := datasets.Set{Schema: data.Schema, Weights: take(data.Weights, rows)}
	if data.Targets != nil {
		known.Targets = rowblock.Select(data.Targets, rows).(*mat.Dense)
	} else {
		known.Y = take(data.Y, rows)
	}
	return FromSet(known, task)
}

func take(list []float64, rows []int) []float64 {
	if list == nil {
		return nil
	}
	out := make([]float64, len(rows))
	for k, i := range rows {
		out[k] = list[i]
	}
	return out
}

// AddPredictions adds the predictions of a model.
func AddPredictions(in metrics.Input, p estimator.Prediction) metrics.Input {
	in.Scores, in.Probabilities, in.Sets = p.Scores, p.Probabilities, p.Sets
	if len(p.Anomaly) > 0 {
		in.Scores = mat.NewDense(len(p.Anomaly), 1, p.Anomaly)
	}
	if in.YTrueTargets != nil {
		in.YPredTargets, in.StdTargets, in.LowerTargets, in.UpperTargets = p.Targets, p.StdTargets, p.LowerTargets,
			p.UpperTargets
	} else {
		in.YPred, in.Std, in.Lower, in.Upper = p.Values, p.Std, p.Lower, p.Upper
	}
	return in
}

// Costs returns the costs of mistakes between classes that a spec declares, as the wrapper threshold
// does; nil if there are none.
func Costs(spec any, classes []string) (costs *mat.Dense) {
	if spec == nil || len(classes) < 2 {
		return nil
	}
	for _, one := range param.All(spec) {
		if table := datasets.TagsOf(one.Owner()).Costs; table != nil && costs == nil {
			costs = table(classes)
		}
	}
	return costs
}

// RequiredOutputs returns the available outputs of a model that the metrics read. It returns the
// zero Request if a metric requires standard deviations, intervals or prediction sets.
func RequiredOutputs(list []metrics.Metric, multiTarget bool, available estimator.Output) (request estimator.Request) {
	for _, m := range list {
		switch {
		case m.Requires == metrics.RequiresStdDevs || m.Requires == metrics.RequiresIntervals ||
			m.Requires == metrics.RequiresSets:
			return estimator.Request{}
		case m.Requires == metrics.RequiresPredictions && multiTarget:
			request.Outputs |= estimator.OutputTargets
		case m.Requires == metrics.RequiresPredictions || m.Requires == metrics.RequiresPredictionsAndCosts ||
			!m.IsSupervised():
			request.Outputs |= estimator.OutputValues
		case available.Has(estimator.OutputAnomalyScores):
			request.Outputs |= estimator.OutputAnomalyScores
		case available.Has(estimator.OutputProbabilities) && (m.Requires != metrics.RequiresScores ||
			!available.Has(estimator.OutputScores)):
			request.Outputs |= estimator.OutputProbabilities
		default:
			request.Outputs |= estimator.OutputScores
		}
	}
	return request
}

// Class imbalance from which accuracy is misleading: fraction of the largest class, and ratio of
// the largest to the smallest class.
const (
	dominantShare = 0.8
	dominantRatio = 20
)

// DefaultMetric returns the name of the metric for model selection, given the number of training
// rows per class: r2 for regression, accuracy for balanced classes, roc_auc for two imbalanced
// classes, and balanced_accuracy for more.
func DefaultMetric(task datasets.Task, counts []int) string {
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

// IsClassBalanced reports whether a metric weights all classes equally. Models selected by it are
// fitted with balanced class weights.
func IsClassBalanced(metric string) bool {
	return slices.Contains([]string{"balanced_accuracy", "f1", "f1_macro"}, metric)
}
