package meta

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/conformal"
	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/rowblock"
	"github.com/bochner-ml/bochner/model"
)

// FittedIntervals is a fitted [Intervals] for regression: the inner model and its residuals.
type FittedIntervals struct {
	wrapper
	method     string
	level      float64
	normalized bool
	residuals  *mat.Dense          // rows × targets, nil for normal
	smoother   *estimator.Smoother // of jackknife_plus
}

// Uncertainty returns the method and the probability level of the intervals.
func (f *FittedIntervals) Uncertainty() (method string, level float64) { return f.method, f.level }

// Predict returns the predictions of the inner model.
func (f *FittedIntervals) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	out, err := f.inner.Predict(ctx, X)
	return out, Intervals{}.named(err)
}

// Outputs returns the outputs of the inner model and intervals.
func (f *FittedIntervals) Outputs() estimator.Outputs {
	out := estimator.OutputsOf(f.inner)
	out.Has |= estimator.Intervals
	return out
}

// PredictFull returns the requested outputs of the inner model and intervals of the requested
// level; the default is the level of the spec. It returns an error if there are too few residuals
// for the level.
func (f *FittedIntervals) PredictFull(ctx context.Context, X mat.Matrix, want estimator.Request) (estimator.Prediction,
	error) {
	out, err := f.predict(ctx, X, want)
	return out, Intervals{}.named(err)
}

func (f *FittedIntervals) predict(ctx context.Context, X mat.Matrix, want estimator.Request) (estimator.Prediction,
	error) {
	none := estimator.Prediction{}
	if !want.Wants(estimator.Intervals) {
		return estimator.Predict(ctx, f.inner, X, want)
	}
	level := f.level
	if want.Level != 0 {
		level = want.Level
	}
	if err := conformal.Check(level); err != nil {
		return none, err
	}
	if want.Outputs != 0 {
		want.Outputs |= estimator.Values | estimator.Targets
		if want.Outputs &^= estimator.Intervals; f.normalized || f.method == "normal" {
			want.Outputs |= estimator.Std
		}
	}
	pred, err := estimator.Predict(ctx, f.inner, X, want)
	if err != nil {
		return none, err
	}
	if f.method == "normal" {
		if pred.Std == nil {
			return none, errNoStd
		}
		return pred.WithNormalIntervals(level), nil
	}
	pred.LowerTargets, pred.UpperTargets = nil, nil
	centers := pred.Targets
	if n := len(pred.Values); pred.Targets == nil && n > 0 {
		centers = mat.NewDense(n, 1, pred.Values)
	}
	if centers == nil || centers.IsEmpty() {
		if pred.Lower, pred.Upper = []float64{}, []float64{}; centers != nil {
			pred.LowerTargets, pred.UpperTargets = &mat.Dense{}, &mat.Dense{}
		}
		return pred, nil
	}
	n, t := centers.Dims()
	if t != f.residuals.RawMatrix().Cols {
		return none, fmt.Errorf("the model was fitted with %d targets, got %d", f.residuals.RawMatrix().Cols, t)
	}
	lower, upper := mat.NewDense(n, t, nil), mat.NewDense(n, t, nil)
	write := f.symmetric
	if f.method == "jackknife_plus" {
		write = f.jackknifePlus
	}
	if err := write(ctx, X, level, centers, pred.Std, lower, upper); err != nil {
		return none, err
	}
	if pred.Lower, pred.Upper = mat.Col(nil, 0, lower), mat.Col(nil, 0, upper); pred.Targets != nil {
		pred.LowerTargets, pred.UpperTargets = lower, upper
	}
	return pred, nil
}

// jackknives returns the conformal quantiles of the residuals of each target.
func (f *FittedIntervals) jackknives(level float64) ([]*conformal.Jackknife, error) {
	_, t := f.residuals.Dims()
	out := make([]*conformal.Jackknife, t)
	for j := range out {
		var err error
		if out[j], err = conformal.NewJackknife(mat.Col(nil, j, f.residuals), level); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// symmetric writes the intervals center ± quantile, times the standard deviation if normalized.
func (f *FittedIntervals) symmetric(_ context.Context, _ mat.Matrix, level float64, centers *mat.Dense, std []float64,
	lower, upper *mat.Dense) error {
	all, err := f.jackknives(level)
	if err != nil {
		return err
	}
	if f.normalized && len(std) == 0 {
		return errNoStd
	}
	n, _ := centers.Dims()
	for j, one := range all {
		reach := one.Get()
		for i := range n {
			off := reach
			if f.normalized {
				off *= std[i]
			}
			lower.Set(i, j, centers.At(i, j)-off)
			upper.Set(i, j, centers.At(i, j)+off)
		}
	}
	return nil
}

// maxWeightsAtOnce limits the number of smoother weights in memory.
const maxWeightsAtOnce = 1 << 19

// jackknifePlus writes jackknife+ intervals, one tile of rows at a time.
func (f *FittedIntervals) jackknifePlus(ctx context.Context, X mat.Matrix, level float64, centers *mat.Dense,
	_ []float64, lower, upper *mat.Dense) error {
	all, err := f.jackknives(level)
	if err != nil {
		return err
	}
	n, _ := centers.Dims()
	tile := max(8, maxWeightsAtOnce/f.smoother.Rows())
	for lo := 0; lo < n; lo += tile {
		hi := min(lo+tile, n)
		weights, err := f.smoother.Weights(ctx, rowblock.Slice(X, lo, hi))
		if err != nil {
			return err
		}
		for i := lo; i < hi; i++ {
			if err := ctxerr.Check(ctx); err != nil {
				return err
			}
			for j, one := range all {
				a, b := one.Plus(centers.At(i, j), weights.RawRowView(i-lo))
				lower.Set(i, j, a)
				upper.Set(i, j, b)
			}
		}
	}
	return nil
}

// State serializes the residuals, the smoother of jackknife+, and the inner model.
func (f *FittedIntervals) State(s *model.State) {
	f.wrapper.state(s)
	s.String("method", &f.method)
	s.Float("level", &f.level)
	s.Bool("normalized", &f.normalized)
	s.Require(slices.Contains(conformal.Methods, f.method) && f.method != "auto", "the method is not known")
	s.Require(conformal.Check(f.level) == nil, "the level is no probability")
	switch f.method {
	case "normal":
	case "jackknife_plus":
		if s.Restoring() {
			f.smoother = &estimator.Smoother{}
		}
		if f.smoother.State(s.Child("smoother")); s.Err() == nil {
			s.Require(f.smoother.InputWidth() == f.cols, "the weights are of other columns")
			f.residuals = f.smoother.Residuals()
		}
	default:
		s.Matrix("residuals", &f.residuals)
	}
	if !s.Restoring() || s.Err() != nil {
		return
	}
	pred, known := predictZeros(f.inner, f.cols)
	if known && (f.method == "normal" || f.normalized) {
		s.Require(len(pred.Std) == 1, "the model within has no standard deviations")
	}
	if f.method == "normal" {
		return
	}
	if s.Require(f.residuals != nil && !f.residuals.IsEmpty(), "there are no residuals"); s.Err() != nil {
		return
	}
	s.Require(!slices.ContainsFunc(f.residuals.RawMatrix().Data,
		func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }), "residuals are not finite")
	_, err := conformal.Rank(f.residuals.RawMatrix().Rows, f.level)
	s.Require(err == nil, "there are too few residuals")
	targets := 1
	if pred.Targets != nil {
		targets = pred.Targets.RawMatrix().Cols
	}
	s.Require(!known || f.residuals.RawMatrix().Cols == targets, "the residuals are of other targets")
}

// predictZeros returns the prediction for a row of zeros, which shows the outputs and their widths;
// known is false if the model returns an error.
func predictZeros(p estimator.Predictor, cols int) (pred estimator.Prediction, known bool) {
	pred, err := estimator.Predict(context.Background(), p, mat.NewDense(1, cols, nil), estimator.Request{})
	return pred, err == nil
}

// FittedSets is a fitted [Intervals] for classification: the inner classifier and the nonconformity
// scores of the calibration rows.
type FittedSets struct {
	wrapper
	level         float64
	classes       int
	probable      bool      // whether sets use probabilities; else scores
	nonconformity []float64 // ascending
}

// Uncertainty returns "split" and the probability level of the sets.
func (f *FittedSets) Uncertainty() (method string, level float64) { return "split", f.level }

// Predict returns the predictions of the inner classifier.
func (f *FittedSets) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	out, err := f.inner.Predict(ctx, X)
	return out, Intervals{}.named(err)
}

// Outputs returns the outputs of the inner classifier and sets.
func (f *FittedSets) Outputs() estimator.Outputs {
	out := estimator.OutputsOf(f.inner)
	out.Has |= estimator.Sets
	return out
}

// PredictFull returns the requested outputs of the inner classifier and sets of the requested
// level; the default is the level of the spec. It returns an error if there are too few calibration
// rows for the level.
func (f *FittedSets) PredictFull(ctx context.Context, X mat.Matrix, want estimator.Request) (estimator.Prediction,
	error) {
	out, err := f.predict(ctx, X, want)
	return out, Intervals{}.named(err)
}

func (f *FittedSets) predict(ctx context.Context, X mat.Matrix, want estimator.Request) (estimator.Prediction, error) {
	none := estimator.Prediction{}
	if !want.Wants(estimator.Sets) {
		return estimator.Predict(ctx, f.inner, X, want)
	}
	level := f.level
	if want.Level != 0 {
		level = want.Level
	}
	k, err := conformal.Rank(len(f.nonconformity), level)
	if err != nil {
		return none, err
	}
	if want.Outputs != 0 {
		if want.Outputs |= estimator.Values | estimator.Scores; f.probable {
			want.Outputs |= estimator.Probabilities
		}
	}
	pred, err := estimator.Predict(ctx, f.inner, X, want)
	if err != nil {
		return none, err
	}
	n := len(pred.Values)
	if pred.Sets = (&mat.Dense{}); n == 0 {
		return pred, nil
	}
	scores, err := f.scores(pred)
	if err != nil {
		return none, err
	}
	pred.Sets = mat.NewDense(n, f.classes, nil)
	for i := range n {
		conformal.Set(pred.Sets.RawRowView(i), scores.RawRowView(i), f.nonconformity[k-1])
	}
	return pred, nil
}

// scores returns the probabilities or scores that the sets use.
func (f *FittedSets) scores(pred estimator.Prediction) (*mat.Dense, error) {
	scores := pred.Scores
	if f.probable {
		scores = pred.Probabilities
	}
	if scores == nil {
		return nil, errNoScores
	}
	if _, width := scores.Dims(); width != conformal.Outputs(f.classes, f.probable) {
		return nil, errors.New("the model within is of other classes")
	}
	return scores, nil
}

// State serializes the nonconformity scores and the inner classifier.
func (f *FittedSets) State(s *model.State) {
	f.wrapper.state(s)
	s.Float("level", &f.level)
	s.Int("classes", &f.classes)
	s.Bool("probabilities", &f.probable)
	s.Floats("strangeness", &f.nonconformity)
	if !s.Restoring() || s.Err() != nil {
		return
	}
	_, err := conformal.Rank(len(f.nonconformity), f.level)
	s.Require(err == nil && slices.IsSorted(f.nonconformity),
		"there are too few rows for the level, or they are out of order")
	s.Require(!slices.ContainsFunc(f.nonconformity, math.IsNaN), "a score is not a number")
	s.Require(len(classesOf(f.inner)) == f.classes, "the model within is of other classes")
	if s.Err() != nil {
		return
	}
	if pred, known := predictZeros(f.inner, f.cols); known {
		_, err := f.scores(pred)
		s.Require(err == nil, "the model within has other outputs than the sets are made of")
	}
}
