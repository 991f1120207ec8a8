// Package judged puts the truth about rows and what a model said of them together, as metrics read them.
//
//	in := judged.With(judged.Truth(data, task), said)
//	value, err := metric.Score(in)
package judged

import (
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
