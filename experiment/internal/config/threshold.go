package config

import (
	"errors"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// CheckDecisions looks whether each threshold in the pipeline, wherever it stands, can decide between classes of these
// names by the model that it is around, and whether class weights name these classes.
func (s Spec) CheckDecisions(classes []string) (errs param.FieldErrors) {
	if s.Pipeline.Estimator == nil {
		return nil
	}
	for _, p := range param.All(s.Pipeline) {
		var weights estimator.ClassWeight
		var unknown param.FieldError
		if p.Name == "class_weight" && weights.Set(p.Value) == nil && errors.As(weights.CheckClasses(classes), &unknown) {
			unknown.Path = ""
			errs = append(errs, s.Locate("pipeline."+p.Path, unknown))
		}
		at, ok := strings.CutSuffix(p.Path, ".cost")
		owner, err := specs.Owner(s.Pipeline, p.Path)
		decides, is := owner.(meta.Threshold)
		if !ok || err != nil || !is || decides.Estimator == nil {
			continue
		}
		var wrong param.FieldErrors
		errors.As(decides.CheckClasses(classes), &wrong)
		if has, task := pipeline.Steps().Then(decides.Estimator).Capabilities(); has != 0 {
			switch {
			case task != datasets.Classification:
				wrong = append(wrong, param.FieldError{Path: "estimator",
					Problem: "threshold requires a classifier, got a regressor"})
			case len(classes) > 2 && !has.Has(estimator.OutputProbabilities):
				wrong = append(wrong, param.FieldError{Path: "estimator", Problem: "expected costs require probabilities",
					Hint: "wrap the classifier in calibrated"})
			}
		}
		for _, f := range wrong {
			errs = append(errs, s.Locate("pipeline."+at+"."+f.Path, f))
		}
	}
	return errs
}
