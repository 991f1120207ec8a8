package pipeline

import (
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

// Capabilities describes the predictions of a model before it is fitted.
type Capabilities struct {
	Unknown       bool // whether nothing is known
	Classes       bool // predicts classes; otherwise numbers, or as in Targetless
	Probabilities bool
	Std           bool // predicts standard deviations
	Intervals     bool // predicts intervals or class sets
	MultiLabel    bool // also fits several labels per row
	// Targetless is clustering or anomaly for an unsupervised model, else "". For a wrapper it is
	// that of an inner model, and the other fields are unknown.
	Targetless datasets.Task
}

// Task returns the task of the model, or [datasets.AnyTask] if nothing is known.
func (f Capabilities) Task() datasets.Task {
	switch {
	case f.Unknown:
		return datasets.AnyTask
	case f.Targetless != "":
		return f.Targetless
	case f.Classes:
		return datasets.Classification
	}
	return datasets.Regression
}

// Capabilities returns the outputs of a future fit: those of the fitted type of the model or of its inner
// models. Its tags declare the task.
func (p Pipeline) Capabilities() Capabilities { return capabilitiesOf(p.Estimator) }

func capabilitiesOf(spec estimator.Estimator) Capabilities {
	if p, ok := spec.(Pipeline); ok {
		return p.Capabilities()
	}
	models := modelsWithin(spec)
	for _, m := range models {
		if one := capabilitiesOf(m.Estimator); one.Targetless != "" {
			return Capabilities{Unknown: true, Targetless: one.Targetless}
		}
	}
	tags := datasets.TagsOf(spec)
	task := tags.Task
	if task.Unsupervised() {
		return Capabilities{Targetless: task}
	}
	e, ok := Lookup(spec)
	if !ok {
		return Capabilities{Unknown: task == datasets.AnyTask, Classes: task == datasets.Classification}
	}
	var has estimator.Output
	if full, ok := any(e.Fitted()).(estimator.FullPredictor); ok {
		has = full.Outputs().Has
	}
	classes, probable, intervals := has.Has(estimator.OutputScores), has.Has(estimator.OutputProbabilities),
		has.Has(estimator.OutputIntervals)
	switch {
	case len(models) == 0 || classes && probable:
		return Capabilities{Unknown: classes && has.Has(estimator.OutputTargets), Classes: classes, Probabilities: probable,
			Std: has.Has(estimator.OutputStd), Intervals: intervals, MultiLabel: tags.MultiLabel}
	case classes: // probabilities are those of the inner models
		probable = !slices.ContainsFunc(models,
			func(m meta.Member) bool { return !capabilitiesOf(m.Estimator).Probabilities })
		return Capabilities{Classes: true, Probabilities: probable, Intervals: intervals, MultiLabel: tags.MultiLabel}
	case task != datasets.AnyTask:
		return Capabilities{Classes: task == datasets.Classification}
	}
	out := Capabilities{Classes: true, Probabilities: true, Std: true, Intervals: intervals}
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
