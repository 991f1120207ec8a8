package estimator

import (
	"context"

	"gonum.org/v1/gonum/mat"
)

// Predict returns all that p, or what it wraps, says about the rows of X.
func Predict(ctx context.Context, p Predictor, X mat.Matrix) (Prediction, error) {
	if w, ok := p.(WholePredictor); ok {
		return w.PredictAll(ctx, X)
	}
	var out Prediction
	var err error
	var (
		multi    MultiPredictor
		deviates StdPredictor
		classes  Classifier
		probable Probabilistic
	)
	if As(p, &multi) {
		if out.Targets, err = multi.PredictTargets(ctx, X); err == nil {
			if out.Values = []float64{}; !out.Targets.IsEmpty() {
				out.Values = mat.Col(nil, 0, out.Targets)
			}
		}
	} else if !As(p, &deviates) {
		out.Values, err = p.Predict(ctx, X)
	}
	if err == nil && As(p, &deviates) {
		out.Values, out.Std, err = deviates.PredictStd(ctx, X)
	}
	var allDeviate MultiStdPredictor
	if err == nil && As(p, &allDeviate) {
		_, out.TargetsStd, err = allDeviate.PredictTargetsStd(ctx, X)
	}
	if err == nil && As(p, &classes) {
		out.Scores, err = classes.Decision(ctx, X)
	}
	if err == nil && As(p, &probable) {
		out.Probabilities, err = probable.Probabilities(ctx, X)
	}
	if err != nil {
		return Prediction{}, err
	}
	return out, nil
}
