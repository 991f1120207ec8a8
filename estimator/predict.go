package estimator

import (
	"context"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/conformal"
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
		unlike   AnomalyScorer
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
	if err == nil {
		out.Lower, out.Upper, err = ends(ctx, p, X, out)
	}
	if err == nil && As(p, &classes) {
		out.Scores, err = classes.Decision(ctx, X)
	}
	if err == nil && As(p, &probable) {
		out.Probabilities, err = probable.Probabilities(ctx, X)
	}
	var sets SetPredictor
	if err == nil && As(p, &sets) {
		out.Sets, err = sets.PredictSet(ctx, X, DefaultLevel)
	}
	if err == nil && As(p, &unlike) {
		out.Anomaly, err = unlike.AnomalyScores(ctx, X)
	}
	if err != nil {
		return Prediction{}, err
	}
	return out, nil
}

// ends returns the ends of the intervals of a model that says no level: those that it knows of, or, from means and
// standard deviations, those of a normal law.
func ends(ctx context.Context, p Predictor, X mat.Matrix, said Prediction) (lower, upper []float64, err error) {
	var intervals IntervalPredictor
	if As(p, &intervals) {
		return intervals.PredictInterval(ctx, X, DefaultLevel)
	}
	if said.Std == nil {
		return nil, nil, nil
	}
	lower, upper = NormalInterval(said.Values, said.Std, DefaultLevel)
	return lower, upper, nil
}

// NormalInterval returns the ends of the intervals in which numbers of a normal law with these means and standard
// deviations lie with the probability level: mean ± std·√2·erf⁻¹(level).
func NormalInterval(mean, std []float64, level float64) (lower, upper []float64) {
	reach := conformal.Deviations(level)
	lower, upper = make([]float64, len(mean)), make([]float64, len(mean))
	for i, m := range mean {
		lower[i], upper[i] = m-reach*std[i], m+reach*std[i]
	}
	return lower, upper
}
