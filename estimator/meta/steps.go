package meta

import (
	"github.com/bochner-ml/bochner/internal/spec/registry"
)

// The steps of this package with their names in experiment files.
func init() {
	registry.Add("meta", "target", "regression of transformed targets; predictions are transformed back",
		func() Target { return NewTarget(nil) }, &fittedTarget{})
	registry.Add("meta", "calibrated", "classifier with probabilities that are calibrated on out-of-fold scores",
		func() Calibrated { return NewCalibrated(nil) }, &fittedCalibrated{})
	registry.Add("meta", "threshold", "classifier with a decision threshold that optimizes a metric or the cost of errors",
		func() Threshold { return NewThreshold(nil) }, &FittedThreshold{})
	registry.Add("meta", "intervals", "prediction intervals or prediction sets for another model",
		func() Intervals { return NewIntervals(nil) }, &fittedIntervals{})
	registry.Add("meta", "ensemble", "weighted combination of several models, or of one model with several seeds",
		func() Ensemble { return NewEnsemble() }, &FittedEnsemble{})
	registry.Add[any]("meta", "intervals.sets", "", nil, &fittedSets{})
}
