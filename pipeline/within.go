package pipeline

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/transformer"
)

// Within returns the inner specs of a spec: an [estimator.Estimator] or [transformer.Fitter] in a
// field that [param.List.Child] declares, as in a wrapper. In a document the inner spec is below
// the name of the child: a step, or a list of steps, which is a [Pipeline] or a [Chain]; for
// [meta.Members] a mapping of names to these. The children of a [Composite] are not included.
func Within(spec any) []param.Child {
	switch spec.(type) {
	case Composite, Member, Pipeline:
		return nil
	}
	var out []param.Child
	for _, c := range param.Children(spec) {
		if c.Type == reflect.TypeFor[estimator.Estimator]() || c.Type == reflect.TypeFor[transformer.Fitter]() ||
			c.Type == reflect.TypeFor[meta.Members]() {
			out = append(out, c)
		}
	}
	return out
}

// modelsWithin returns the inner estimators of spec, with their paths relative to spec.
func modelsWithin(spec any) (out []meta.Member) {
	for _, c := range Within(spec) {
		switch one := c.Spec.(type) {
		case meta.Members:
			for _, m := range one {
				out = append(out, meta.Member{Name: c.Name + "." + m.Name, Estimator: m.Estimator})
			}
		case estimator.Estimator:
			out = append(out, meta.Member{Name: c.Name, Estimator: one})
		}
	}
	return out
}

// capabilities describes the predictions of a model before it is fitted.
type capabilities struct {
	Unknown       bool // whether nothing is known
	Classes       bool // predicts classes; otherwise numbers, or as in Targetless
	Probabilities bool
	Std           bool // predicts standard deviations
	Intervals     bool // predicts intervals or class sets
	// Targetless is clustering or anomaly for an unsupervised model, else "". For a wrapper it is
	// that of an inner model, and the other fields are unknown.
	Targetless datasets.Task
}

// Capabilities returns the outputs and the task of a future fit: those of the fitted type of the model or of
// its inner models. Its tags declare the task. has is 0 if the outputs depend on the target; the task is then
// that of an unsupervised inner model, else [datasets.AnyTask].
func (p Pipeline) Capabilities() (has estimator.Output, task datasets.Task) {
	does := capabilitiesOf(p.Estimator)
	if does.Unknown {
		return 0, does.Targetless
	}
	has, task = estimator.OutputValues, cmp.Or(does.Targetless, datasets.Regression)
	for output, ok := range map[estimator.Output]bool{estimator.OutputScores: does.Classes, estimator.OutputStd: does.Std,
		estimator.OutputProbabilities: does.Probabilities, estimator.OutputIntervals: does.Intervals} {
		if ok {
			has |= output
		}
	}
	if does.Classes {
		task = datasets.Classification
	}
	return has, task
}

func capabilitiesOf(spec estimator.Estimator) capabilities {
	if p, ok := spec.(Pipeline); ok {
		return capabilitiesOf(p.Estimator)
	}
	models := modelsWithin(spec)
	for _, m := range models {
		if one := capabilitiesOf(m.Estimator); one.Targetless != "" {
			return capabilities{Unknown: true, Targetless: one.Targetless}
		}
	}
	tags := datasets.TagsOf(spec)
	task := tags.Task
	if task.Unsupervised() {
		return capabilities{Targetless: task}
	}
	e, ok := Lookup(spec)
	if !ok {
		return capabilities{Unknown: task == datasets.AnyTask, Classes: task == datasets.Classification}
	}
	var has estimator.Output
	if full, ok := any(e.Fitted()).(estimator.FullPredictor); ok {
		has = full.Outputs().Has
	}
	classes, probable, intervals := has.Has(estimator.OutputScores), has.Has(estimator.OutputProbabilities),
		has.Has(estimator.OutputIntervals)
	switch {
	case len(models) == 0 || classes && probable:
		return capabilities{Unknown: classes && has.Has(estimator.OutputTargets), Classes: classes, Probabilities: probable,
			Std: has.Has(estimator.OutputStd), Intervals: intervals}
	case classes: // probabilities are those of the inner models
		probable = !slices.ContainsFunc(models,
			func(m meta.Member) bool { return !capabilitiesOf(m.Estimator).Probabilities })
		return capabilities{Classes: true, Probabilities: probable, Intervals: intervals}
	case task != datasets.AnyTask:
		return capabilities{Classes: task == datasets.Classification}
	}
	out := capabilities{Classes: true, Probabilities: true, Std: true, Intervals: intervals}
	for _, m := range models {
		one := capabilitiesOf(m.Estimator)
		out.Unknown = out.Unknown || one.Unknown
		out.Classes, out.Probabilities = out.Classes && one.Classes, out.Probabilities && one.Probabilities
		out.Std, out.Intervals = out.Std && one.Std, out.Intervals || one.Intervals
	}
	isMembers := func(c param.Child) bool { return c.Type == reflect.TypeFor[meta.Members]() }
	if slices.ContainsFunc(Within(spec), isMembers) { // a combination of members has neither
		out.Std, out.Intervals = false, false
	}
	return out
}
