// Package meta holds the meta-estimators: estimators that are made of other estimators, pipelines among them.
//
// The specs, by their names in an experiment file, and what fitting them returns:
//
//	target            [Target]           *[FittedTarget]            on transformed targets
//	calibrated        [Calibrated]       *[FittedCalibrated]        probabilities of any classifier
//	threshold         [Threshold]        *[FittedThreshold]         decides by a metric or by costs of mistakes
//	intervals         [Intervals]        *[FittedIntervals]         with intervals, or with sets of classes (*[FittedSets])
//	ensemble          [Ensemble]         *[FittedEnsemble]          several together
//
// Each is an [estimator.Estimator] like any other, and what it is fitted to an [estimator.Wrapper]: what the
// models within can do besides, [estimator.As] finds. A search over the parameters of a meta-estimator and of
// the models within shares what these share by themselves, for each is an BatchFitter that hands
// them batches of its own.
//
// What is learned from predictions, calibration, thresholds and weights, is learned from out-of-fold predictions: what
// models say of training rows that they have not seen, by cross-validation within the training rows.
package meta

import (
	"errors"
	"fmt"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/internal/share"
	"github.com/bochner-ml/bochner/internal/specs"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// FittedMember is a fitted model that others are combined with.
type FittedMember struct {
	Name      string
	Weight    float64 // of its prediction, or of its scores brought to the size of the others'
	Predictor estimator.Predictor
}

var errNoModel = errors.New("there is no model to wrap")

// checkModel reports a wrapper without a model, and what is wrong with either.
func checkModel(spec any, inner estimator.Estimator) error {
	if inner == nil {
		return errNoModel
	}
	return specs.CheckFit(spec)
}

// named says which wrapper failed; nil stays nil.
func named(wrapper string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("estimator: %s: %w", wrapper, err)
}

// declareFolds declares a number of folds, 0 for leaving one row out where that is exact.
func declareFolds(l *param.List, folds *int, text string) {
	l.Int(folds, "folds", text, param.Between(0, mostFolds))
	l.Also("folds", func() error {
		if *folds == 1 {
			return errors.New("0, or an integer ≥ 2")
		}
		return nil
	})
}

// wrapped is the model within a fitted wrapper.
type wrapped struct {
	cols   int
	within estimator.Predictor
}

// InputWidth returns the number of columns that go in.
func (w *wrapped) InputWidth() int { return w.cols }

// Unwrap returns the model within, which is fitted to the same rows.
func (w *wrapped) Unwrap() (within estimator.Predictor, sameRows bool) { return w.within, true }

func (w *wrapped) state(s *model.State) {
	s.Int("columns", &w.cols)
	s.Require(w.cols > 0, "there are no columns")
	keepModel(s, "of", &w.within, w.cols)
}

// keepModel keeps the model within below a name. One that is read must be of the columns that come to it, where it
// knows their number.
func keepModel(s *model.State, name string, fitted *estimator.Predictor, cols int) {
	estimator.RegisterPredictor(s.Child(name), fitted)
	s.Require(*fitted != nil, "there is no model")
	sized, ok := (*fitted).(interface{ InputWidth() int })
	s.Require(!ok || s.Err() != nil || sized.InputWidth() == cols, "the model within is of other columns")
}

var (
	_ = []interface {
		estimator.FullPredictor
		graph.ModelExporter
		model.Stateful
	}{(*FittedTarget)(nil), (*FittedCalibrated)(nil), (*FittedThreshold)(nil), (*FittedIntervals)(nil), (*FittedSets)(nil), (*FittedEnsemble)(nil)}
	_ = []estimator.Wrapper{(*FittedTarget)(nil), (*FittedCalibrated)(nil), (*FittedThreshold)(nil), (*FittedIntervals)(nil), (*FittedSets)(nil)}
	_ = []estimator.BlockEstimator{Intervals{}, Target{}}
	_ = []share.BatchFitter{Calibrated{}, Threshold{}, Target{}, Ensemble{}}
	_ = []datasets.CostEstimator{Calibrated{}, Threshold{}, Target{}, Ensemble{}, Intervals{}}

	_ estimator.Reporter     = (*FittedEnsemble)(nil)
	_ estimator.TaskProvider = Target{}
)
