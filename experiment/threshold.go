package experiment

import (
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/experiment/result"
)

// thresholdOf returns the threshold that a model decides by, nil where it has none of its own.
func thresholdOf(m estimator.Predictor) *result.Threshold {
	var decides meta.Decisive
	if !estimator.AsWithin(m, &decides) {
		return nil
	}
	c, ok := decides.Cutoff()
	if !ok {
		return nil
	}
	return &result.Threshold{Value: c.Value, Usual: c.Usual, Score: c.Score, Best: c.Best, AtUsual: c.AtUsual, At: c.At, Scores: c.Scores}
}
