package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/reader"
	"github.com/bochner-ml/bochner/internal/share"
	"github.com/bochner-ml/bochner/internal/suggest"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// Task is what the document says is to be learned, or what its model does where that learns without a target;
// [datasets.AnyTask] where the target tells.
func (s Spec) Task() datasets.Task {
	if s.Data.Task != "auto" {
		return datasets.Task(s.Data.Task)
	}
	if task := share.TaskOf(s.Pipeline); task.Unsupervised() {
		return task
	}
	return datasets.AnyTask
}

// CheckTask looks whether estimator, score and folds are for a task of so many classes, 0 where they
// are not known.
func (s Spec) CheckTask(task datasets.Task, classes int) param.FieldErrors {
	var faults param.FieldErrors
	add := func(path string, f param.FieldError) { faults = append(faults, s.Fault(path, f)) }
	if f, wrong := otherTask(s, task); wrong {
		add("pipeline", f)
	}
	var untaught param.FieldErrors
	errors.As(s.Pipeline.CheckTargets(), &untaught)
	for _, f := range untaught {
		add("pipeline."+f.Path, f)
	}
	if task.Unsupervised() && len(s.Data.Target) > 1 {
		add("data.target", param.FieldError{Value: strings.Join(s.Data.Target, ", "), Constraint: "one column at most, for the task is " + string(task) + ", which a target only scores"})
	}
	if task == datasets.Regression && s.Data.Split.Stratify {
		add("data.split.stratify", param.FieldError{Problem: "only classes can be stratified, and the task is regression"})
	}
	checkIntervals(s, task, add)
	checkUnscored(s, task, add)
	if s.Search == nil {
		return faults
	}
	if task == datasets.Regression && s.Search.CV.Kind == "stratified" {
		add("search.cv.kind", param.FieldError{Problem: "only classes can be stratified, and the task is regression"})
	}
	checkScore(s, task, classes, func(f param.FieldError) { add("search.score", f) })
	return faults
}

// checkUnscored looks, of a task without a target, whether something is wanted that only a target tells.
func checkUnscored(s Spec, task datasets.Task, add func(path string, f param.FieldError)) {
	if !task.Unsupervised() || len(s.Data.Target) > 0 || s.Data.Dataset != "" || s.Data.labelled() {
		return
	}
	const none = "no target is named"
	hint := "data.target names the column that tells, of which nothing is learned"
	if s.Data.Split.Stratify {
		add("data.split.stratify", param.FieldError{Problem: "only classes can be stratified, and " + none})
	}
	if len(s.Data.Positive) > 0 {
		add("data.positive", param.FieldError{Problem: "these are values of a target, and " + none})
	}
	if s.Search == nil {
		return
	}
	if s.Search.CV.Kind == "stratified" {
		add("search.cv.kind", param.FieldError{Problem: "only classes can be stratified, and " + none})
	}
	m, err := metrics.ByName(string(s.Search.Score))
	switch {
	case s.Search.Score == "" && task == datasets.Anomaly:
		add("search", param.FieldError{Problem: "candidates of the task anomaly are scored by rows of which it is known what they are, and " + none, Hint: hint + "; without one leave the search out"})
	case s.Search.Score != "" && err == nil && m.Serves(task) && m.NeedsTruth():
		if task == datasets.Clustering {
			hint += "; silhouette does without"
		}
		add("search.score", param.FieldError{Problem: m.Name + " compares with a target, and " + none, Hint: hint})
	}
}

// labelled says whether the files have targets of their own.
func (s Data) labelled() bool {
	return s.Format == "svmlight" || s.Format == "auto" && slices.ContainsFunc(s.Train, func(path string) bool { return reader.FormatOf(path) == "svmlight" })
}

// checkScore looks whether the metric is one of the task and of so many classes, and whether the model
// gives what it reads.
func checkScore(s Spec, task datasets.Task, classes int, add func(param.FieldError)) {
	m, err := metrics.ByName(string(s.Search.Score))
	if s.Search.Score == "" || err != nil {
		return // there is one for every task, or the name is reported already
	}
	if !m.Serves(task) {
		add(param.FieldError{Problem: fmt.Sprintf("%s is for %s, and the task is %s", m.Name, m.Task, task)})
		return
	}
	if m.Task == datasets.Classification && classes > 1 {
		if err := m.CheckClasses(classes); err != nil {
			add(param.FieldError{Problem: Problem(err)})
		}
	}
	model := s.Pipeline.Estimator
	own, known := pipeline.EntryOf(model)
	if does := pipeline.InferCapabilities(model); !known || does.Task() != task || task.Unsupervised() || m.Needs.Met(input(does)) {
		return
	}
	var others []string
	for _, e := range pipeline.Registered() {
		if spec, ok := e.New().(estimator.Estimator); ok {
			if does := pipeline.InferCapabilities(spec); does.Task() == task && m.Needs.Met(input(does)) {
				others = append(others, e.Name)
			}
		}
	}
	add(param.FieldError{Problem: fmt.Sprintf("%s needs %s, which %s does not give", m.Name, m.Needs, own.Name),
		Hint: "take " + suggest.Alternatives(append(others, "another score"))})
}

// input is one for metrics that has what a model gives.
func input(does pipeline.Capabilities) metrics.Input {
	in := metrics.Input{Predicted: []float64{0}}
	if does.Classes {
		in.Scores = mat.NewDense(1, 1, nil)
	}
	if does.Probabilities {
		in.Probabilities = mat.NewDense(1, 1, nil)
	}
	if does.Std {
		in.Std, in.Lower = []float64{1}, []float64{0}
	}
	if does.Intervals && does.Classes {
		in.Sets = mat.NewDense(1, 1, nil)
	} else if does.Intervals {
		in.Lower = []float64{0}
	}
	return in
}

// otherTask says that the estimator is for another task, if it is.
func otherTask(s Spec, task datasets.Task) (f param.FieldError, wrong bool) {
	own, known := pipeline.EntryOf(s.Pipeline.Estimator)
	does := pipeline.InferCapabilities(s.Pipeline.Estimator)
	if !known || does.Task() == task {
		return f, false
	}
	if does.Unknown {
		f.Problem = fmt.Sprintf("%s is made of models that learn from a target, and one of them %s", own.Name, deeds[does.Targetless])
		return f, does.Targetless != ""
	}
	var others []string
	for _, e := range pipeline.Registered() {
		spec, ok := e.New().(estimator.Estimator)
		if !ok || len(pipeline.Within(spec)) > 0 {
			continue
		}
		if other := pipeline.InferCapabilities(spec); other.Task() == task || other.Unknown && !task.Unsupervised() { // unknown: what the target is tells
			others = append(others, e.Name)
		}
	}
	return param.FieldError{Problem: fmt.Sprintf("%s %s, and the task is %s; take %s", own.Name, deeds[does.Task()], task, suggest.Alternatives(others))}, true
}

// deeds are what models for the tasks do.
var deeds = map[datasets.Task]string{
	datasets.Regression:     "predicts numbers",
	datasets.Classification: "predicts classes",
	datasets.Clustering:     "finds clusters",
	datasets.Anomaly:        "tells rows unlike the others",
}

// Problem is what an error says without the package it comes from.
func Problem(err error) string {
	text := err.Error()
	for _, room := range []string{"experiment: ", "datasets: ", "gridsearch: ", "metrics: ", "pipeline: "} {
		text = strings.TrimPrefix(text, room)
	}
	return text
}
