// Package meta provides meta-estimators: estimators that contain other estimators or pipelines.
//
// The specs, their names in experiment files, and the exported fitted types:
//
//	target            [Target]                                     regression on transformed targets
//	calibrated        [Calibrated]                                 calibrated probabilities of a classifier
//	threshold         [Threshold]        *[FittedThreshold]         decision threshold for a metric or for costs
//	intervals         [Intervals]                                  prediction intervals, or sets of classes
//	ensemble          [Ensemble]         *[FittedEnsemble]          weighted average of several models
//
// Fitted meta-estimators are [estimator.Wrapper] values, so that [estimator.As] finds the inner
// estimator. A search over the parameters of a meta-estimator and of its inner estimator shares the
// work of the inner estimators.
//
// Calibration maps, thresholds and stacking weights are fitted to out-of-fold predictions, by
// cross-validation within the training rows.
package meta

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/internal/learning/predictorstate"
	"github.com/bochner-ml/bochner/internal/runtime/guard"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// FittedMember is a fitted model that others are combined with.
type FittedMember struct {
	Name      string
	Weight    float64 // weight of its prediction, or of its scaled scores
	Predictor estimator.Predictor
}

// checkModel returns the errors of a wrapper and of its inner estimator, which must not be nil.
func checkModel(spec any, inner estimator.Estimator) error {
	if inner == nil {
		return fmt.Errorf("estimator is missing (start from New%s(estimator))", reflect.TypeOf(spec).Name())
	}
	return specs.CheckFit(spec)
}

// wrapError adds the name of the wrapper to an error, which may be nil.
func wrapError(wrapper string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("estimator: %s: %w", wrapper, err)
}

// declareFolds declares a number of folds; 0 means leave-one-out if that is exact.
func declareFolds(l *param.List, folds *int, text string) {
	l.Int(folds, "folds", text, param.Between(0, maxFolds))
	l.Check("folds", func() error {
		if *folds == 1 {
			return errors.New("0, or an integer ≥ 2")
		}
		return nil
	})
}

// wrapper is the inner estimator a fitted wrapper.
type wrapper struct {
	cols  int
	inner estimator.Predictor
}

// Tags returns those of the inner model.
func (w *wrapper) Tags() datasets.Tags {
	out := estimator.FittedTags(w.inner)
	out.InputWidth = w.cols
	return out
}

// Unwrap returns the inner estimator, which is fitted to the same rows.
func (w *wrapper) Unwrap() (within estimator.Predictor, sameRows bool) { return w.inner, true }

// refit returns the wrapper of the inner estimator that is fitted to other rows.
func (w wrapper) refit(ctx context.Context, spec estimator.Estimator, data datasets.Set) (wrapper, error) {
	s, ok := spec.(interface{ within() estimator.Estimator })
	if !ok {
		return w, fmt.Errorf("must be the spec of the fitted model, got %T", spec)
	}
	var err error
	w.inner, err = guard.NotNil(estimator.Refit(ctx, s.within(), w.inner, data))
	return w, err
}

func (w *wrapper) state(s *model.State) {
	s.Int("columns", &w.cols)
	s.Require(w.cols > 0, "there are no columns")
	modelState(s, "of", &w.inner, w.cols)
}

// modelState serializes the inner estimator below a name. When reading, it checks the number of its
// input columns, if known.
func modelState(s *model.State, name string, fitted *estimator.Predictor, cols int) {
	predictorstate.Part(s.Child(name), fitted)
	s.Require(*fitted != nil, "there is no model")
	if s.Err() == nil {
		width := datasets.TagsOf(*fitted).InputWidth
		s.Require(width == 0 || width == cols, "the model within is of other columns")
	}
}

var (
	_ = []interface {
		estimator.FullPredictor
		graph.ModelExporter
		model.Stateful
	}{(*fittedTarget)(nil), (*fittedCalibrated)(nil), (*FittedThreshold)(nil), (*fittedIntervals)(nil), (*fittedSets)(nil),
		(*FittedEnsemble)(nil)}
	_ = []estimator.Wrapper{(*fittedTarget)(nil), (*fittedCalibrated)(nil), (*FittedThreshold)(nil),
		(*fittedIntervals)(nil), (*fittedSets)(nil)}
	_ = []estimator.Refitter{(*fittedCalibrated)(nil), (*FittedThreshold)(nil), (*fittedIntervals)(nil), (*fittedSets)(nil),
		(*FittedEnsemble)(nil)}
	_ = []estimator.BlockEstimator{Intervals{}, Target{}}
	_ = []batch.Fitter{Calibrated{}, Threshold{}, Target{}, Ensemble{}}
	_ = []datasets.CostEstimator{Calibrated{}, Threshold{}, Target{}, Ensemble{}, Intervals{}}

	_ = []datasets.Tagger{Calibrated{}, Threshold{}, Target{}, Ensemble{}, Intervals{}}

	_ estimator.Reporter = (*FittedEnsemble)(nil)
)
