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

// FittedIntervals is what [Intervals] is fitted to of numbers: a model and its residuals. What else the model can do,
// [estimator.As] finds.
type FittedIntervals struct {
	wrapped
	method     string
	level      float64
	normalized bool
	residuals  *mat.Dense          // rows × targets, nil for normal
	smoother   *estimator.Smoother // of jackknife_plus
}

// Sureness returns the way to the intervals and their level.
func (f *FittedIntervals) Sureness() (method string, level float64) { return f.method, f.level }

// Predict returns what the model within predicts.
func (f *FittedIntervals) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	out, err := f.within.Predict(ctx, X)
	return out, Intervals{}.named(err)
}

// Outputs returns those of the model within, and intervals.
func (f *FittedIntervals) Outputs() estimator.Outputs {
	out := estimator.OutputsOf(f.within)
	out.Has |= estimator.Intervals
	return out
}

// PredictFull returns what the model within says of each row of X, with intervals of the requested level, by default
// that of the fit. A level that there are too few residuals for is an error.
func (f *FittedIntervals) PredictFull(ctx context.Context, X mat.Matrix, want estimator.Request) (estimator.Prediction, error) {
	out, err := f.predict(ctx, X, want)
	return out, Intervals{}.named(err)
}

func (f *FittedIntervals) predict(ctx context.Context, X mat.Matrix, want estimator.Request) (estimator.Prediction, error) {
	none := estimator.Prediction{}
	if !want.Wants(estimator.Intervals) {
		return estimator.Predict(ctx, f.within, X, want)
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
	said, err := estimator.Predict(ctx, f.within, X, want)
	if err != nil {
		return none, err
	}
	if f.method == "normal" {
		if said.Std == nil {
			return none, errNoStd
		}
		return said.WithNormalIntervals(level), nil
	}
	said.LowerTargets, said.UpperTargets = nil, nil
	centres := said.Targets
	if n := len(said.Values); said.Targets == nil && n > 0 {
		centres = mat.NewDense(n, 1, said.Values)
	}
	if centres == nil || centres.IsEmpty() {
		if said.Lower, said.Upper = []float64{}, []float64{}; centres != nil {
			said.LowerTargets, said.UpperTargets = &mat.Dense{}, &mat.Dense{}
		}
		return said, nil
	}
	n, t := centres.Dims()
	if t != f.residuals.RawMatrix().Cols {
		return none, fmt.Errorf("%d targets at fit, %d now", f.residuals.RawMatrix().Cols, t)
	}
	lower, upper := mat.NewDense(n, t, nil), mat.NewDense(n, t, nil)
	write := f.around
	if f.method == "jackknife_plus" {
		write = f.plus
	}
	if err := write(ctx, X, level, centres, said.Std, lower, upper); err != nil {
		return none, err
	}
	if said.Lower, said.Upper = mat.Col(nil, 0, lower), mat.Col(nil, 0, upper); said.Targets != nil {
		said.LowerTargets, said.UpperTargets = lower, upper
	}
	return said, nil
}

// jackknives prepares for intervals of each target.
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

// around writes intervals that reach as far to both sides.
func (f *FittedIntervals) around(_ context.Context, _ mat.Matrix, level float64, centres *mat.Dense, std []float64, lower, upper *mat.Dense) error {
	all, err := f.jackknives(level)
	if err != nil {
		return err
	}
	if f.normalized && len(std) == 0 {
		return errNoStd
	}
	n, _ := centres.Dims()
	for j, one := range all {
		reach := one.Plain()
		for i := range n {
			off := reach
			if f.normalized {
				off *= std[i]
			}
			lower.Set(i, j, centres.At(i, j)-off)
			upper.Set(i, j, centres.At(i, j)+off)
		}
	}
	return nil
}

// plusNumbers is how many weights of rows are made at once.
const plusNumbers = 1 << 19

// plus writes intervals of the jackknife+, some rows at a time.
func (f *FittedIntervals) plus(ctx context.Context, X mat.Matrix, level float64, centres *mat.Dense, _ []float64, lower, upper *mat.Dense) error {
	all, err := f.jackknives(level)
	if err != nil {
		return err
	}
	n, _ := centres.Dims()
	tile := max(8, plusNumbers/f.smoother.Rows())
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
				a, b := one.Plus(centres.At(i, j), weights.RawRowView(i-lo))
				lower.Set(i, j, a)
				upper.Set(i, j, b)
			}
		}
	}
	return nil
}

// State keeps the residuals, the weights that the jackknife+ needs, and the model.
func (f *FittedIntervals) State(s *model.State) {
	f.wrapped.state(s)
	s.String("method", &f.method)
	s.Float("level", &f.level)
	s.Bool("normalized", &f.normalized)
	s.Require(slices.Contains(IntervalMethods, f.method) && f.method != "auto", "the method is not known")
	s.Require(conformal.Check(f.level) == nil, "the level is no probability")
	switch f.method {
	case "normal":
	case "jackknife_plus":
		if s.Reading() {
			f.smoother = &estimator.Smoother{}
		}
		if f.smoother.State(s.Child("smoother")); s.Err() == nil {
			s.Require(f.smoother.InputWidth() == f.cols, "the weights are of other columns")
			f.residuals = f.smoother.Residuals()
		}
	default:
		s.Matrix("residuals", &f.residuals)
	}
	if !s.Reading() || s.Err() != nil {
		return
	}
	said, known := ofZeros(f.within, f.cols)
	if known && (f.method == "normal" || f.normalized) {
		s.Require(len(said.Std) == 1, "the model within has no standard deviations")
	}
	if f.method == "normal" {
		return
	}
	if s.Require(f.residuals != nil && !f.residuals.IsEmpty(), "there are no residuals"); s.Err() != nil {
		return
	}
	s.Require(!slices.ContainsFunc(f.residuals.RawMatrix().Data, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }), "residuals are not finite")
	_, err := conformal.Rank(f.residuals.RawMatrix().Rows, f.level)
	s.Require(err == nil, "there are too few residuals")
	targets := 1
	if said.Targets != nil {
		targets = said.Targets.RawMatrix().Cols
	}
	s.Require(!known || f.residuals.RawMatrix().Cols == targets, "the residuals are of other targets")
}

// ofZeros returns what a model predicts for a row of zeros, unless it refuses that row: which outputs
// there are, and of which width.
func ofZeros(p estimator.Predictor, cols int) (said estimator.Prediction, known bool) {
	said, err := estimator.Predict(context.Background(), p, mat.NewDense(1, cols, nil), estimator.Request{})
	return said, err == nil
}

// FittedSets is what [Intervals] is fitted to of classes: a classifier, and how little the true classes of rows fitted that
// it had not seen. What else the classifier can do, [estimator.As] finds.
type FittedSets struct {
	wrapped
	level    float64
	classes  int
	probable bool      // whether sets are made of probabilities; else of scores
	strange  []float64 // of true classes, from the smallest
}

// Sureness returns split, and the level of the sets.
func (f *FittedSets) Sureness() (method string, level float64) { return "split", f.level }

// Predict returns what the classifier within predicts.
func (f *FittedSets) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	out, err := f.within.Predict(ctx, X)
	return out, Intervals{}.named(err)
}

// Outputs returns those of the classifier within, and sets.
func (f *FittedSets) Outputs() estimator.Outputs {
	out := estimator.OutputsOf(f.within)
	out.Has |= estimator.Sets
	return out
}

// PredictFull returns what the classifier within says of each row of X, with sets of the requested level, by default
// that of the fit. A level that there are too few rows for is an error.
func (f *FittedSets) PredictFull(ctx context.Context, X mat.Matrix, want estimator.Request) (estimator.Prediction, error) {
	out, err := f.predict(ctx, X, want)
	return out, Intervals{}.named(err)
}

func (f *FittedSets) predict(ctx context.Context, X mat.Matrix, want estimator.Request) (estimator.Prediction, error) {
	none := estimator.Prediction{}
	if !want.Wants(estimator.Sets) {
		return estimator.Predict(ctx, f.within, X, want)
	}
	level := f.level
	if want.Level != 0 {
		level = want.Level
	}
	k, err := conformal.Rank(len(f.strange), level)
	if err != nil {
		return none, err
	}
	if want.Outputs != 0 {
		if want.Outputs |= estimator.Values | estimator.Scores; f.probable {
			want.Outputs |= estimator.Probabilities
		}
	}
	said, err := estimator.Predict(ctx, f.within, X, want)
	if err != nil {
		return none, err
	}
	n := len(said.Values)
	if said.Sets = (&mat.Dense{}); n == 0 {
		return said, nil
	}
	scores, err := f.scores(said)
	if err != nil {
		return none, err
	}
	said.Sets = mat.NewDense(n, f.classes, nil)
	for i := range n {
		conformal.Set(said.Sets.RawRowView(i), scores.RawRowView(i), f.strange[k-1])
	}
	return said, nil
}

// scores returns the probabilities, or else the scores, that sets are made of.
func (f *FittedSets) scores(said estimator.Prediction) (*mat.Dense, error) {
	scores := said.Scores
	if f.probable {
		scores = said.Probabilities
	}
	if scores == nil {
		return nil, errNoScores
	}
	if _, width := scores.Dims(); width != conformal.Outputs(f.classes, f.probable) {
		return nil, errors.New("the model within is of other classes")
	}
	return scores, nil
}

// State keeps how little true classes fitted, and the classifier.
func (f *FittedSets) State(s *model.State) {
	f.wrapped.state(s)
	s.Float("level", &f.level)
	s.Int("classes", &f.classes)
	s.Bool("probabilities", &f.probable)
	s.Floats("strangeness", &f.strange)
	if !s.Reading() || s.Err() != nil {
		return
	}
	_, err := conformal.Rank(len(f.strange), f.level)
	s.Require(err == nil && slices.IsSorted(f.strange), "there are too few rows for the level, or they are out of order")
	s.Require(!slices.ContainsFunc(f.strange, math.IsNaN), "a score is not a number")
	s.Require(len(classesOf(f.within)) == f.classes, "the model within is of other classes")
	if s.Err() != nil {
		return
	}
	if said, known := ofZeros(f.within, f.cols); known {
		_, err := f.scores(said)
		s.Require(err == nil, "the model within has other outputs than the sets are made of")
	}
}
