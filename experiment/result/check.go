package result

import (
	"errors"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/inspection"
)

// Check returns an error if the lengths of lists are inconsistent, as in a damaged result.json.
func (r Result) Check() error {
	var errs []error
	same := func(key string, want int, lengths ...int) {
		for _, n := range lengths {
			if n != want {
				errs = append(errs, fmt.Errorf("%s: lists must have equal lengths, got %d and %d", key, want, n))
				return
			}
		}
	}
	if c := r.Clusters; c.Test != nil {
		same("clusters", len(c.Train), len(c.Test))
	}
	if c := r.Confusion; c.Classes != nil || c.Counts != nil {
		same("confusion", len(c.Classes), len(c.Counts))
		for _, row := range c.Counts {
			same("confusion.counts", len(c.Classes), len(row))
		}
	}
	for _, c := range r.ROC {
		same("roc", len(c.X), len(c.Y))
	}
	for _, c := range r.PrecisionRecall {
		same("precision_recall", len(c.X), len(c.Y))
	}
	for _, c := range r.Calibration {
		same("calibration", len(c.Rows), len(c.Predicted), len(c.Observed))
	}
	if t := r.Threshold; t != nil {
		same("threshold", len(t.At), len(t.Scores))
	}
	if l := r.LearningCurve; l.Rows != nil {
		same("learning_curve", len(l.Rows), len(l.Train), len(l.Scores))
	}
	for _, e := range r.Effects {
		same("effects", len(e.Mean), len(e.Values)+len(e.Categories))
		if len(e.Values) > 0 && len(e.Categories) > 0 {
			errs = append(errs, errors.New("effects: must have values or levels, got both"))
		}
		first := r.Effects[slices.IndexFunc(r.Effects, func(o inspection.Effect) bool { return o.Input == e.Input })]
		same("effects of "+e.Input, len(first.Values), len(e.Values))
		same("effects of "+e.Input, len(first.Categories), len(e.Categories))
		if len(e.Mean) == 0 {
			errs = append(errs, errors.New("effects.mean: must not be empty"))
		}
	}
	r.checkExplanations(same)
	for _, e := range r.Errors {
		if len(e.Sample) == 0 {
			errs = append(errs, errors.New("errors.sample: must not be empty"))
		}
	}
	return errors.Join(errs...)
}

// checkExplanations calls same for the lists of Shapley values and of the ANOVA, as [Result.Check] does.
func (r Result) checkExplanations(same func(key string, want int, lengths ...int)) {
	if s := r.Shapley; s.Outputs != nil {
		inputs := len(s.Sample.Inputs)
		same("shapley.sample", inputs, len(s.Sample.Data))
		for _, o := range s.Sample.Outputs {
			rows := len(o.Values)
			same("shapley.sample.outputs", rows, len(o.Predictions))
			for _, c := range s.Sample.Data {
				same("shapley.sample.data", rows, len(c.Values))
			}
			for _, row := range o.Values {
				same("shapley.sample.values", inputs, len(row))
			}
		}
	}
	if a := r.ANOVA; a != nil {
		for _, o := range a.Outputs {
			same("anova.outputs", len(a.Inputs), len(o.Inputs), len(o.Pairs))
			for _, row := range o.Pairs {
				same("anova.pairs", len(a.Inputs), len(row))
			}
		}
	}
}
