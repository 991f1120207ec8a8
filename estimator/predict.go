package estimator

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/conformal"
)

// CheckPredictor returns an error if a fitted value has Classes and Probabilities and is no
// [Classifier] for want of Decision: its class codes would be taken for numbers.
func CheckPredictor(p Predictor) error {
	var names interface{ Classes() []string }
	var probable Probabilistic
	var classes Classifier
	if As(p, &classes) || !As(p, &names) || !As(p, &probable) {
		return nil
	}
	return fmt.Errorf("estimator: %T has the methods Classes and Probabilities, and must have Decision(ctx, X) (*mat.Dense, error) too to be a classifier", p)
}

// Predict returns all that p, or what it wraps, says about the rows of X.
func Predict(ctx context.Context, p Predictor, X mat.Matrix) (Prediction, error) {
	if w, ok := p.(WholePredictor); ok {
		out, err := w.PredictAll(ctx, X)
		if err == nil && out.Std != nil && out.Lower == nil {
			out = out.WithNormalEnds(DefaultLevel)
		}
		return out, err
	}
	var out Prediction
	err := CheckPredictor(p)
	if err != nil {
		return out, err
	}
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
	var allDeviate MultiStdPredictor
	if err == nil && As(p, &allDeviate) {
		_, out.StdTargets, err = allDeviate.PredictTargetsStd(ctx, X)
	}
	var intervals IntervalPredictor
	if err == nil && As(p, &intervals) {
		out.Lower, out.Upper, err = intervals.PredictInterval(ctx, X, DefaultLevel)
	} else if err == nil && out.Std != nil {
		out = out.WithNormalEnds(DefaultLevel)
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

// WithNormalEnds returns the prediction with intervals that a new observation lies in with the probability level, if
// what is known of it is a normal law: see [NormalInterval].
func (p Prediction) WithNormalEnds(level float64) Prediction {
	p.Lower, p.Upper = NormalInterval(p.Values, p.Std, level)
	if p.StdTargets == nil {
		return p
	}
	if p.LowerTargets, p.UpperTargets = (&mat.Dense{}), (&mat.Dense{}); !p.StdTargets.IsEmpty() {
		n, t := p.StdTargets.Dims()
		lower, upper := NormalInterval(p.Targets.RawMatrix().Data, p.StdTargets.RawMatrix().Data, level)
		p.LowerTargets, p.UpperTargets = mat.NewDense(n, t, lower), mat.NewDense(n, t, upper)
	}
	return p
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
