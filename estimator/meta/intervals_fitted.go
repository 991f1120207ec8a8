package meta

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/internal/conformal"
	"github.com/bochner-ml/bochner/internal/learning/coverage"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/model"
)

// fittedIntervals is a fitted [Intervals] for regression: the inner model and its residuals.
type fittedIntervals struct {
	wrapper
	conformity   // except for normal
	method       string
	level        float64
	normalized   bool
	lower, upper estimator.Predictor // quantiles of cqr
	smoother     *estimator.Smoother // of jackknife_plus
}

// Tags returns the method and the probability level of the intervals.
func (f *fittedIntervals) Tags() datasets.Tags {
	out := f.wrapper.Tags()
	out.IntervalMethod, out.Level, out.PooledGroups = f.method, f.level, slices.Clone(f.pooled)
	return out
}

// Refit fits the inner model to data and keeps the residuals of split. The jackknife, whose residuals are those of
// held-out rows in any fit, and cqr are fitted again.
func (f *fittedIntervals) Refit(ctx context.Context, spec estimator.Estimator, data datasets.Set) (estimator.Predictor,
	error) {
	if f.method != "split" {
		return spec.Fit(ctx, data)
	}
	out := *f
	var err error
	out.wrapper, err = f.refit(ctx, spec, data)
	return &out, Intervals{}.named(err)
}

// Predict returns the predictions of the inner model.
func (f *fittedIntervals) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	out, err := f.inner.Predict(ctx, X)
	return out, Intervals{}.named(err)
}

// Outputs returns the outputs of the inner model and intervals.
func (f *fittedIntervals) Outputs() estimator.Outputs {
	out := estimator.OutputsOf(f.inner)
	out.Has |= estimator.OutputIntervals
	return out
}

// PredictFull returns the requested outputs of the inner model and intervals of the requested
// level; the default is the level of the spec. It returns an error if there are too few residuals
// for the level.
func (f *fittedIntervals) PredictFull(ctx context.Context, X mat.Matrix, want estimator.Request) (estimator.Prediction,
	error) {
	out, err := f.predict(ctx, X, want)
	return out, Intervals{}.named(err)
}

func (f *fittedIntervals) predict(ctx context.Context, X mat.Matrix, want estimator.Request) (estimator.Prediction,
	error) {
	none := estimator.Prediction{}
	if !want.Wants(estimator.OutputIntervals) {
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
		want.Outputs |= estimator.OutputValues | estimator.OutputTargets
		if want.Outputs &^= estimator.OutputIntervals; f.normalized || f.method == "normal" {
			want.Outputs |= estimator.OutputStd
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
	if n, _ := X.Dims(); n == 0 {
		if pred.Lower, pred.Upper = []float64{}, []float64{}; pred.Targets != nil {
			pred.LowerTargets, pred.UpperTargets = &mat.Dense{}, &mat.Dense{}
		}
		return pred, nil
	}
	centers, half, err := f.centers(ctx, X, pred)
	if err != nil {
		return none, err
	}
	n, t := centers.Dims()
	if want := f.nonconformity.RawMatrix().Cols; t != want {
		return none, fmt.Errorf("the model was fitted with %d targets, got %d", want, t)
	}
	lower, upper := mat.NewDense(n, t, nil), mat.NewDense(n, t, nil)
	if f.method == "jackknife_plus" {
		err = f.jackknifePlus(ctx, X, level, centers, lower, upper)
	} else {
		err = f.symmetric(X, level, centers, pred.Std, half, lower, upper)
	}
	if err != nil {
		return none, err
	}
	if pred.Lower, pred.Upper = mat.Col(nil, 0, lower), mat.Col(nil, 0, upper); pred.Targets != nil {
		pred.LowerTargets, pred.UpperTargets = lower, upper
	}
	return pred, nil
}

// centers returns the centers of the intervals of the rows of X, rows × targets. Half is half the
// distance between the quantiles of cqr, negative if they cross.
func (f *fittedIntervals) centers(ctx context.Context, X mat.Matrix,
	pred estimator.Prediction) (centers *mat.Dense, half []float64, err error) {
	if f.method != "cqr" {
		if pred.Targets != nil {
			return pred.Targets, nil, nil
		}
		return mat.NewDense(len(pred.Values), 1, pred.Values), nil, nil
	}
	if pred.Targets != nil && pred.Targets.RawMatrix().Cols > 1 {
		return nil, nil, errors.New("cqr is for a single target")
	}
	lower, err := f.lower.Predict(ctx, X)
	if err != nil {
		return nil, nil, err
	}
	upper, err := f.upper.Predict(ctx, X)
	if err != nil {
		return nil, nil, err
	}
	middle, half := make([]float64, len(lower)), make([]float64, len(lower))
	for i, l := range lower {
		middle[i], half[i] = (l+upper[i])/2, (upper[i]-l)/2
	}
	return mat.NewDense(len(middle), 1, middle), half, nil
}

// symmetric writes the intervals center ± quantile, of which the quantile is multiplied by the
// standard deviation if normalized, and half is added for cqr.
func (f *fittedIntervals) symmetric(X mat.Matrix, level float64, centers *mat.Dense, std, half []float64,
	lower, upper *mat.Dense) error {
	reach, err := f.quantiles(level)
	if err != nil {
		return err
	}
	if f.normalized && len(std) == 0 {
		return errNoStd
	}
	for i := range centers.RawMatrix().Rows {
		for j, off := range reach.of(X, i) {
			switch {
			case f.normalized:
				off *= std[i]
			case half != nil:
				off = max(0, off+half[i])
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
func (f *fittedIntervals) jackknifePlus(ctx context.Context, X mat.Matrix, level float64, centers,
	lower, upper *mat.Dense) error {
	all := make([]*conformal.Jackknife, f.nonconformity.RawMatrix().Cols)
	for j := range all {
		var err error
		if all[j], err = conformal.NewJackknife(mat.Col(nil, j, f.nonconformity), level); err != nil {
			return err
		}
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
func (f *fittedIntervals) State(s *model.State) {
	f.wrapper.state(s)
	s.String("method", &f.method)
	s.Float("level", &f.level)
	s.Bool("normalized", &f.normalized)
	s.Require(slices.Contains(coverage.Methods, f.method) && f.method != "auto", "the method is not known")
	s.Require(conformal.Check(f.level) == nil, "the level is no probability")
	switch f.method {
	case "normal":
	case "jackknife_plus":
		if s.Restoring() {
			f.smoother = &estimator.Smoother{}
		}
		if f.smoother.State(s.Child("smoother")); s.Err() == nil {
			s.Require(f.smoother.InputWidth() == f.cols, "the weights are of other columns")
			f.nonconformity = f.smoother.Residuals()
			_, err := conformal.Rank(f.smoother.Rows(), f.level)
			s.Require(err == nil, "there are too few residuals")
		}
	case "cqr":
		modelState(s, "lower", &f.lower, f.cols)
		modelState(s, "upper", &f.upper, f.cols)
		fallthrough
	default:
		f.conformity.state(s, f.cols, f.level)
	}
	if !s.Restoring() || s.Err() != nil {
		return
	}
	pred, known := predictZeros(f.inner, f.cols)
	if known && (f.method == "normal" || f.normalized) {
		s.Require(len(pred.Std) == 1, "the model within has no standard deviations")
	}
	targets := 1
	if pred.Targets != nil {
		targets = pred.Targets.RawMatrix().Cols
	}
	s.Require(!known || f.method == "normal" || f.nonconformity.RawMatrix().Cols == targets,
		"the residuals are of other targets")
	s.Require(f.method != "cqr" || f.nonconformity.RawMatrix().Cols == 1, "cqr is for a single target")
}

// predictZeros returns the prediction for a row of zeros, which shows the outputs and their widths;
// known is false if the model returns an error.
func predictZeros(p estimator.Predictor, cols int) (pred estimator.Prediction, known bool) {
	pred, err := estimator.Predict(context.Background(), p, mat.NewDense(1, cols, nil), estimator.Request{})
	return pred, err == nil
}

// fittedSets is a fitted [Intervals] for classification: the inner classifier and the nonconformity
// scores of the calibration rows.
type fittedSets struct {
	wrapper
	conformity
	level    float64
	classes  int
	probable bool // whether sets use probabilities; else scores
}

// Tags returns "split" and the probability level of the sets.
func (f *fittedSets) Tags() datasets.Tags {
	out := f.wrapper.Tags()
	out.IntervalMethod, out.Level, out.PooledGroups = "split", f.level, slices.Clone(f.pooled)
	return out
}

// Refit fits the inner classifier to data and keeps the nonconformity scores.
func (f *fittedSets) Refit(ctx context.Context, spec estimator.Estimator, data datasets.Set) (estimator.Predictor,
	error) {
	out := *f
	var err error
	out.wrapper, err = f.refit(ctx, spec, data)
	return &out, Intervals{}.named(err)
}

// Predict returns the predictions of the inner classifier.
func (f *fittedSets) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	out, err := f.inner.Predict(ctx, X)
	return out, Intervals{}.named(err)
}

// Outputs returns the outputs of the inner classifier and sets.
func (f *fittedSets) Outputs() estimator.Outputs {
	out := estimator.OutputsOf(f.inner)
	out.Has |= estimator.OutputSets
	return out
}

// PredictFull returns the requested outputs of the inner classifier and sets of the requested
// level; the default is the level of the spec. It returns an error if there are too few calibration
// rows for the level.
func (f *fittedSets) PredictFull(ctx context.Context, X mat.Matrix, want estimator.Request) (estimator.Prediction,
	error) {
	out, err := f.predict(ctx, X, want)
	return out, Intervals{}.named(err)
}

func (f *fittedSets) predict(ctx context.Context, X mat.Matrix, want estimator.Request) (estimator.Prediction, error) {
	none := estimator.Prediction{}
	if !want.Wants(estimator.OutputSets) {
		return estimator.Predict(ctx, f.inner, X, want)
	}
	level := f.level
	if want.Level != 0 {
		level = want.Level
	}
	most, err := f.quantiles(level)
	if err != nil {
		return none, err
	}
	if want.Outputs != 0 {
		if want.Outputs |= estimator.OutputValues | estimator.OutputScores; f.probable {
			want.Outputs |= estimator.OutputProbabilities
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
		conformal.Set(pred.Sets.RawRowView(i), scores.RawRowView(i), most.of(X, i)[0])
	}
	return pred, nil
}

// scores returns the probabilities or scores that the sets use.
func (f *fittedSets) scores(pred estimator.Prediction) (*mat.Dense, error) {
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
func (f *fittedSets) State(s *model.State) {
	f.wrapper.state(s)
	s.Float("level", &f.level)
	s.Int("classes", &f.classes)
	s.Bool("probabilities", &f.probable)
	f.conformity.state(s, f.cols, f.level)
	if !s.Restoring() || s.Err() != nil {
		return
	}
	s.Require(f.nonconformity.RawMatrix().Cols == 1, "there must be one score for each row")
	s.Require(len(classesOf(f.inner)) == f.classes, "the model within is of other classes")
	if s.Err() != nil {
		return
	}
	if pred, known := predictZeros(f.inner, f.cols); known {
		_, err := f.scores(pred)
		s.Require(err == nil, "the model within has other outputs than the sets are made of")
	}
}
