package meta

import (
	"github.com/bochner-ml/bochner/internal/spec/registry"
)

// The steps of this package with their names in experiment files.
func init() {
	registry.Add("meta", "target", "a regression on transformed targets, whose predictions are turned back",
		func() Target { return NewTarget(nil) }, &fittedTarget{})
	registry.Add("meta", "calibrated", "a classifier with probabilities, learned from scores of rows that it had not seen",
		func() Calibrated { return NewCalibrated(nil) }, &fittedCalibrated{})
	registry.Add("meta", "threshold", "a classifier that decides as a metric or the costs of mistakes would have it",
		func() Threshold { return NewThreshold(nil) }, &FittedThreshold{})
	registry.Add("meta", "intervals", "prediction intervals, or sets of classes, of another model",
		func() Intervals { return NewIntervals(nil) }, &fittedIntervals{})
	registry.Add("meta", "ensemble", "several models, or one by several seeds, that predict together",
		func() Ensemble { return NewEnsemble() }, &FittedEnsemble{})
	registry.Add[any]("meta", "intervals.sets", "", nil, &fittedSets{})
}
