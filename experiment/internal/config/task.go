package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/learning/metricinput"
	"github.com/bochner-ml/bochner/internal/rows/reader"
	"github.com/bochner-ml/bochner/internal/spec/suggest"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// Task returns the task of the file, or of a target of label lists or an unsupervised model, else
// [datasets.AnyTask].
func (s Spec) Task() datasets.Task {
	if s.Data.Task != "auto" {
		return datasets.Task(s.Data.Task)
	}
	if s.Data.Labels.Delimiter != "" {
		return datasets.MultiLabel
	}
	if task := s.Pipeline.Tags().Task; task.Unsupervised() {
		return task
	}
	return datasets.AnyTask
}

// CheckTask checks the estimator, the metric and the folds against a task with the given number of
// classes; 0 is unknown.
func (s Spec) CheckTask(task datasets.Task, classes int) param.FieldErrors {
	var errs param.FieldErrors
	add := func(path string, f param.FieldError) { errs = append(errs, s.Locate(path, f)) }
	if f, wrong := otherTask(s, task); wrong {
		add("pipeline", f)
	}
	var untaught param.FieldErrors
	errors.As(s.Pipeline.CheckTargets(), &untaught)
	for _, f := range untaught {
		add("pipeline."+f.Path, f)
	}
	if task.Unsupervised() && len(s.Data.Target) > 1 {
		add("data.target", param.FieldError{Value: strings.Join(s.Data.Target, ", "),
			Constraint: "at most one column for the task " + string(task) + ""})
	}
	unstratified := task == datasets.Regression || task == datasets.MultiLabel
	if unstratified && s.Data.Split.Stratify {
		add("data.split.stratify", param.FieldError{Problem: "stratification requires classes, got the task " + string(task)})
	}
	checkIntervals(s, task, add)
	checkUnscored(s, task, add)
	if s.Search == nil {
		return errs
	}
	if unstratified && s.Search.CV.Kind == "stratified" {
		add("search.cv.kind", param.FieldError{Problem: "stratification requires classes, got the task " + string(task)})
	}
	checkScore(s, task, classes, func(f param.FieldError) { add("search.score", f) })
	return errs
}

// checkUnscored reports settings that require a target in an unsupervised task without one.
func checkUnscored(s Spec, task datasets.Task, add func(path string, f param.FieldError)) {
	if !task.Unsupervised() || len(s.Data.Target) > 0 || s.Data.Dataset != "" || s.Data.labeled() {
		return
	}
	const none = "no target is named"
	hint := "data.target names the column with labels, which is used for scores only"
	if s.Data.Split.Stratify {
		add("data.split.stratify", param.FieldError{Problem: "stratification requires a target; " + none})
	}
	if len(s.Data.Positive) > 0 {
		add("data.positive", param.FieldError{Problem: "requires a target; " + none})
	}
	if s.Search == nil {
		return
	}
	if s.Search.CV.Kind == "stratified" {
		add("search.cv.kind", param.FieldError{Problem: "stratification requires a target; " + none})
	}
	m, err := metrics.ByName(string(s.Search.Score))
	switch {
	case s.Search.Score == "" && task == datasets.Anomaly:
		add("search", param.FieldError{Problem: "a search for anomalies requires labeled rows; " + none,
			Hint: hint + "; otherwise remove the search"})
	case s.Search.Score != "" && err == nil && m.SupportsTask(task) && m.IsSupervised():
		if task == datasets.Clustering {
			hint += "; silhouette does without"
		}
		add("search.score", param.FieldError{Problem: m.Name + " requires a target; " + none, Hint: hint})
	}
}

// labeled reports whether the format of the files includes targets.
func (s Data) labeled() bool {
	return s.Format == "svmlight" || s.Format == "auto" && slices.ContainsFunc(s.Train,
		func(path string) bool { return reader.FormatOf(path) == "svmlight" })
}

// checkScore checks the metric against the task, the number of classes and the outputs of the
// model.
func checkScore(s Spec, task datasets.Task, classes int, add func(param.FieldError)) {
	m, err := metrics.ByName(string(s.Search.Score))
	if s.Search.Score == "" || err != nil {
		return // valid for every task, or already reported
	}
	if !m.SupportsTask(task) {
		add(param.FieldError{Problem: fmt.Sprintf("%s requires the task %s, got %s", m.Name, m.Task, task)})
		return
	}
	if m.Task == datasets.Classification && classes > 1 {
		if err := m.CheckClasses(classes); err != nil {
			add(param.FieldError{Problem: Problem(err)})
		}
	}
	if m.Requires == metrics.RequiresPredictionsAndCosts {
		if s.Pipeline.Estimator != nil && metricinput.Costs(s.Pipeline, []string{"0", "1"}) == nil {
			add(param.FieldError{Problem: m.Name + " requires the costs of mistakes, and the pipeline has none",
				Hint: "wrap the classifier: threshold: {cost: {false_positive: 1, false_negative: 5}, estimator: …}"})
		}
		return
	}
	model := s.Pipeline.Estimator
	own, known := pipeline.Lookup(model)
	if has, own := pipeline.Steps().Then(model).Capabilities(); !known || has == 0 || own != task || task.Unsupervised() ||
		m.Requires.SatisfiedBy(input(has)) {
		return
	}
	var others []string
	for _, e := range pipeline.Registered() {
		if spec, ok := e.New().(estimator.Estimator); ok {
			has, own := pipeline.Steps().Then(spec).Capabilities()
			if has != 0 && own == task && m.Requires.SatisfiedBy(input(has)) {
				others = append(others, e.Name)
			}
		}
	}
	add(param.FieldError{Problem: fmt.Sprintf("%s requires %s; %s does not return them", m.Name, m.Requires, own.Name),
		Hint: "use " + suggest.Alternatives(append(others, "another score"))})
}

// input returns an example input with the outputs of a model.
func input(has estimator.Output) metrics.Input {
	in := metrics.Input{YPred: []float64{0}}
	if has.Has(estimator.OutputScores) {
		in.Scores = mat.NewDense(1, 1, nil)
	}
	if has.Has(estimator.OutputProbabilities) {
		in.Probabilities = mat.NewDense(1, 1, nil)
	}
	if has.Has(estimator.OutputStd) {
		in.Std, in.Lower = []float64{1}, []float64{0}
	}
	if has.Has(estimator.OutputIntervals | estimator.OutputScores) {
		in.Sets = mat.NewDense(1, 1, nil)
	} else if has.Has(estimator.OutputIntervals) {
		in.Lower = []float64{0}
	}
	return in
}

// otherTask returns an error if the estimator does not support the task.
func otherTask(s Spec, task datasets.Task) (f param.FieldError, wrong bool) {
	own, known := pipeline.Lookup(s.Pipeline.Estimator)
	has, does := s.Pipeline.Capabilities()
	if !known || has != 0 && does == task || task == datasets.MultiLabel && s.Pipeline.Tags().MultiLabel {
		return f, false
	}
	if has == 0 && task != datasets.MultiLabel {
		f.Problem = fmt.Sprintf("%s is made of models that learn from a target, and one of them %s", own.Name,
			deeds[does])
		return f, does != datasets.AnyTask
	}
	var others []string
	for _, e := range pipeline.Registered() {
		spec, ok := e.New().(estimator.Estimator)
		if !ok || len(pipeline.Within(spec)) > 0 {
			continue
		}
		// unknown: depends on the target
		one := pipeline.Steps().Then(spec)
		has, other := one.Capabilities()
		if has != 0 && other == task || has == 0 && !task.Unsupervised() && task != datasets.MultiLabel ||
			one.Tags().MultiLabel && task == datasets.MultiLabel {
			others = append(others, e.Name)
		}
	}
	if has == 0 {
		does = datasets.AnyTask
	}
	deed := cmp.Or(deeds[does], "predicts numbers or classes")
	return param.FieldError{Problem: fmt.Sprintf("%s %s, but the task is %s; use %s", own.Name, deed, task,
		suggest.Alternatives(others))}, true
}

// deeds are the verb phrases of the tasks in messages.
var deeds = map[datasets.Task]string{
	datasets.Regression:     "predicts numbers",
	datasets.Classification: "predicts classes",
	datasets.Clustering:     "finds clusters",
	datasets.Anomaly:        "detects anomalies",
}

// Problem returns the message of an error without its package prefix.
func Problem(err error) string {
	text := err.Error()
	for _, buf := range []string{"experiment: ", "datasets: ", "gridsearch: ", "metrics: ", "pipeline: "} {
		text = strings.TrimPrefix(text, buf)
	}
	return text
}
