package meta

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/internal/monotone"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/runtime/guard"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// Target fits a regression to transformed targets z = t(y) and applies the inverse transformation
// to its predictions: for positive amounts with proportional errors or long tails, such as prices
// and counts. Several targets are transformed independently.
//
//	none         z = y                any number: the model itself, in a search over transforms
//	log          z = ln y             targets > 0
//	signed_log   z = ±ln(1 + |y|)     any number; for y ≥ 0 this is log(1 + y)
//	sqrt         z = ±√|y|            any number
//	power        z = ±|y|^Exponent    any number; between log and none for exponents from 0 to 1
//	quantile     z = Φ⁻¹(rank of y)   normally distributed targets; predictions are in the training range
//	standardize  z = (y − mean)/std   mean 0 and variance 1
//
// quantile and standardize are fitted to the training rows. The rank of a value is the fraction of
// the weight below it plus half of that at it; up to 1000 values are stored, with linear
// interpolation.
//
// Scores, also in a search, use predictions in the unit of the targets. t⁻¹ of a mean is not the
// mean of t⁻¹: with log the model predicts the median if errors are symmetric. With Smear a
// prediction is the mean of t⁻¹(z + e) over the training residuals e; it estimates the mean if the
// model does not overfit. (Duan, "Smearing estimate", JASA 1983.) The mean is exact for log and
// standardize and for up to 256 distinct residuals. Otherwise it is over the means of up to 256
// groups of neighbors, whose width of some hundredths of a standard deviation keeps the error below
// one part in a thousand. A standard deviation of the model is transformed to that of t⁻¹ of a normal variable with
// this deviation.
//
// With Limits range, predictions are clipped to the range of the training targets; with auto, those
// of each target for which that lowers the sum of squared errors of five-fold cross-validation. A
// model of logarithms needs it where it extrapolates: an error of 2 in ln y is a factor of 7. The ends
// of intervals and standard deviations are not limited. Limits "" is none.
//
// A search over Transform fits Ridge and KernelRidge once for all transforms, whose targets are
// right-hand sides of the same systems. It shares all work of any inner estimator; for quantile, standardize, Smear and range within
// each fold, for auto nothing. Fit returns an error with the number of the first row for which log is undefined.
// Use [NewTarget]: the zero value is invalid.
type Target struct {
	Transform string
	Exponent  float64 // of power, > 0
	Smear     bool
	Limits    string // none, range or auto
	Estimator estimator.Estimator
}

// NewTarget returns the spec that fits of to logarithms of the targets.
func NewTarget(inner estimator.Estimator) Target {
	return Target{Transform: "log", Exponent: 0.25, Limits: "none", Estimator: specs.ByValue(inner)}
}

// Params declares the transform, its exponent, smear, limits, and the parameters of the model, below of.
func (s *Target) Params(l *param.List) {
	l.Choice(&s.Transform, "transform", "transformation of the targets", monotone.Kinds...)
	l.Float(&s.Exponent, "exponent", "exponent of transform: power", param.Positive())
	l.Bool(&s.Smear, "smear", "whether to predict the mean (smearing over the residuals) instead of the median")
	l.Choice(&s.Limits, "limits", "whether to clip predictions to the range of the training targets; auto: if this "+
		"lowers the cross-validated squared error", "none", "range", "auto")
	l.Unlisted("limits", "")
	l.Child("estimator", &s.Estimator)
}

// Cost returns the cost of the model, plus a pass if the transform is learned and one for the
// residuals; with Limits auto five more fits, to four fifths of the rows. A prediction transforms each
// target back, with Smear up to 256 times.
func (s Target) Cost(shape datasets.Shape) datasets.Cost {
	var cost datasets.Cost
	if c, ok := s.Estimator.(datasets.CostEstimator); ok {
		cost = c.Cost(shape)
	}
	if s.learns() || s.Smear {
		cost.Passes = 0
	}
	if s.Limits == "auto" {
		cost = cost.Scale(5)
	}
	return cost
}

// Tags returns [datasets.Regression], the domain of the transform, and the batches of the inner estimator that
// need no more than its fits.
func (s Target) Tags() datasets.Tags {
	inner := datasets.TagsOf(s.Estimator)
	return datasets.Tags{Task: datasets.Regression, SharedMaps: inner.SharedMaps && !s.individual(),
		LeaveOneOut: inner.LeaveOneOut, CheckTarget: s.checkTarget,
		NoLeaveOneOut: s.named(cmp.Or(s.checkLeaveOneOut(false), inner.NoLeaveOneOut))}
}

// checkTarget returns an error for a target that the transform does not take.
func (s Target) checkTarget(y float64) error {
	if s.Transform == "log" && !(y > 0) {
		return fmt.Errorf("%v, and %w", y, errNotPositive)
	}
	return nil
}

// learns reports whether the transform or the limits depend on the training rows.
func (s Target) learns() bool {
	return monotone.Learns(s.Transform) || s.Limits == "range" || s.Limits == "auto"
}

// individual reports whether a candidate is fitted with all of this wrapper.
func (s Target) individual() bool { return s.Smear || s.Limits == "auto" }

func (s Target) named(err error) error { return wrapError("target", err) }

// check returns the errors of the spec, or an error if the targets are classes.
func (s Target) check(schema datasets.Schema) error {
	if err := checkModel(s, s.Estimator); err != nil {
		return err
	}
	for _, c := range schema.Targets {
		if c.Kind == datasets.Categorical {
			return fmt.Errorf("the target %s has classes, and transforms are for numbers", c.Name)
		}
	}
	return nil
}

// Fit fits the model to transformed targets.
func (s Target) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	if err := cmp.Or(s.check(data.Schema), data.Check()); err != nil {
		return nil, s.named(err)
	}
	learned, mapped, err := s.transformed(data)
	if err != nil {
		return nil, s.named(err)
	}
	fitted, err := guard.NotNil(s.Estimator.Fit(ctx, mapped))
	if err == nil && s.Smear {
		err = learned.smear(ctx, fitted, mapped.Source())
	}
	if err == nil && s.Limits == "auto" {
		err = s.chooseLimits(ctx, data, learned)
	}
	if err != nil {
		return nil, s.named(err)
	}
	return &fittedTarget{wrapper: wrapper{data.Cols(), fitted}, learned: learned}, nil
}

// transformed returns data with transformed targets, and the transforms.
func (s Target) transformed(data datasets.Set) (transforms, datasets.Set, error) {
	y, count, err := design.BlockTargets(0, data)
	if err != nil {
		return nil, data, err
	}
	learned := s.learnTransforms(y, count, data.Weights)
	mapped, err := learned.block(data)
	return learned, mapped, err
}

// FitSource is Fit over a stream. The transforms quantile and standardize are learned in an
// additional pass, which stores the targets, as does Limits range; Smear needs one more pass. If the
// model needs all rows at once, or Limits is auto, they are read into memory.
func (s Target) FitSource(ctx context.Context, data datasets.Source) (estimator.Predictor, error) {
	if err := s.check(data.Schema()); err != nil {
		return nil, s.named(err)
	}
	streamed, ok := s.Estimator.(estimator.BlockEstimator)
	if !ok || s.Limits == "auto" {
		set, err := datasets.ReadAll(ctx, data)
		if err != nil {
			return nil, s.named(err)
		}
		return s.Fit(ctx, set)
	}
	learned, err := s.learn(ctx, data)
	if err != nil {
		return nil, s.named(err)
	}
	mapped := learned.source(data)
	fitted, err := guard.NotNil(streamed.FitSource(ctx, mapped))
	if err == nil && s.Smear {
		err = learned.smear(ctx, fitted, mapped)
	}
	if err != nil {
		return nil, s.named(err)
	}
	_, cols := data.Dims()
	return &fittedTarget{wrapper: wrapper{cols, fitted}, learned: learned}, nil
}

// learn fits the transforms to the targets of a stream.
func (s Target) learn(ctx context.Context, data datasets.Source) (transforms, error) {
	if !s.learns() {
		return s.learnTransforms(nil, max(len(data.Schema().Targets), 1), nil), nil
	}
	var all, weights []float64
	first, count, weighted := 0, 0, false
	err := data.Blocks(ctx, func(block datasets.Set) error {
		y, k, err := design.BlockTargets(first, block)
		if err != nil {
			return err
		}
		w, err := design.BlockWeights(first, block)
		if err != nil {
			return err
		}
		if count != 0 && k != count {
			return fmt.Errorf("rows from %d: %d targets, %d before", first, k, count)
		}
		all, count, weighted = append(all, y...), k, w != nil
		if first += block.Rows(); w == nil {
			w = slices.Repeat([]float64{1}, block.Rows())
		}
		weights = append(weights, w...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if first == 0 {
		return nil, fmt.Errorf("%w: no rows", datasets.ErrEmpty)
	}
	if weighted && !slices.ContainsFunc(weights, func(w float64) bool { return w > 0 }) {
		return nil, errors.New("every weight is 0")
	}
	return s.learnTransforms(all, count, weights), nil
}

// source returns a stream with transformed targets; it supports float32 if data does.
func (t transforms) source(data datasets.Source) datasets.Source {
	mapped := transformedSource{data, t}
	if both, ok := data.(datasets.Float32Source); ok {
		return roundedTransformed{mapped, transformedSource{both.Float32(), t}}
	}
	return mapped
}

// roundedTransformed is a [datasets.Float32Source] with transformed targets.
type roundedTransformed struct {
	transformedSource
	single transformedSource
}

func (m roundedTransformed) Float32() datasets.Source { return m.single }

// transformedSource is a stream with transformed targets.
type transformedSource struct {
	datasets.Source
	learned transforms
}

func (m transformedSource) Blocks(ctx context.Context, yield func(block datasets.Set) error) error {
	first := 0
	return m.Source.Blocks(ctx, func(block datasets.Set) error {
		_, _, err := design.BlockTargets(first, block)
		if err != nil {
			return err
		}
		mapped, err := m.learned.block(block)
		if err != nil {
			return datasets.FromRow(err, first)
		}
		first += block.Rows()
		return yield(mapped)
	})
}

// fittedTarget is a fitted [Target]: a model and the inverse transform of its targets.
// [estimator.As] finds the other capabilities of the model; their predictions are transformed back.
type fittedTarget struct {
	wrapper
	learned transforms
}

// Predict returns the first target of each row of X.
func (f *fittedTarget) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	all, err := f.PredictFull(ctx, X, estimator.Request{Outputs: estimator.OutputValues})
	return all.Values, err
}

// Outputs returns the outputs of the inner estimator.
func (f *fittedTarget) Outputs() estimator.Outputs { return estimator.OutputsOf(f.inner) }

// PredictFull returns the outputs of the model for each row of X in the original units.
func (f *fittedTarget) PredictFull(ctx context.Context, X mat.Matrix, want estimator.Request) (estimator.Prediction,
	error) {
	if want.Outputs != 0 { // transforming a deviation back needs the mean
		want.Outputs |= estimator.OutputValues | estimator.OutputTargets
	}
	all, err := estimator.Predict(ctx, f.inner, X, want)
	if err == nil {
		all, err = f.learned.back(all)
	}
	if err != nil {
		return estimator.Prediction{}, f.named(err)
	}
	return all, nil
}

func (f *fittedTarget) named(err error) error { return Target{}.named(err) }

// Unwrap returns the model, which predicts transformed targets.
func (f *fittedTarget) Unwrap() (within estimator.Predictor, sameRows bool) { return f.inner, false }

// State serializes the transforms and the model.
func (f *fittedTarget) State(s *model.State) {
	f.wrapper.state(s)
	f.learned.state(s, &f.learned)
}
