package document

import (
	"fmt"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// CheckTask looks whether estimator, score and folds are for a task of so many classes, 0 where they
// are not known.
func (s Spec) CheckTask(task datasets.Task, classes int) param.Faults {
	var faults param.Faults
	add := func(path string, f param.Fault) { faults = append(faults, s.Fault(path, f)) }
	if f, wrong := s.otherTask(task); wrong {
		add("pipeline", f)
	}
	if task == datasets.Regression && s.Data.Split.Stratify {
		add("data.split.stratify", param.Fault{Problem: "only classes can be stratified, and the task is regression"})
	}
	if s.Search == nil {
		return faults
	}
	if task == datasets.Regression && s.Search.CV.Kind == "stratified" {
		add("search.cv.kind", param.Fault{Problem: "only classes can be stratified, and the task is regression"})
	}
	s.checkScore(task, classes, func(f param.Fault) { add("search.score", f) })
	return faults
}

// checkScore looks whether the metric is one of the task and of so many classes, and whether the model
// gives what it reads.
func (s Spec) checkScore(task datasets.Task, classes int, add func(param.Fault)) {
	m, err := metrics.ByName(string(s.Search.Score))
	if s.Search.Score == "" || err != nil {
		return // there is one for every task, or the name is reported already
	}
	if m.Task != task {
		add(param.Fault{Problem: fmt.Sprintf("%s is for %s, and the task is %s", m.Name, m.Task, task)})
		return
	}
	if m.Task == datasets.Classification && classes > 1 {
		if err := m.CheckClasses(classes); err != nil {
			add(param.Fault{Problem: Problem(err)})
		}
	}
	model := s.Pipeline.Estimator
	own, known := pipeline.EntryOf(model)
	if does := pipeline.Foretell(model); !known || does.Unknown || does.Classes != (task == datasets.Classification) || m.Needs.Met(input(does)) {
		return
	}
	var others []string
	for _, e := range pipeline.Registered() {
		if spec, ok := e.New().(estimator.Estimator); ok {
			if does := pipeline.Foretell(spec); does.Classes == (task == datasets.Classification) && m.Needs.Met(input(does)) && !does.Unknown {
				others = append(others, e.Name)
			}
		}
	}
	add(param.Fault{Problem: fmt.Sprintf("%s needs %s, which %s does not give", m.Name, m.Needs, own.Name),
		Hint: "take " + param.Alternatives(append(others, "another score"))})
}

// input is one for metrics that has what a model gives.
func input(does pipeline.Foretold) metrics.Input {
	in := metrics.Input{Predicted: []float64{0}}
	if does.Classes {
		in.Scores = mat.NewDense(1, 1, nil)
	}
	if does.Probabilities {
		in.Probabilities = mat.NewDense(1, 1, nil)
	}
	return in
}

// otherTask says that the estimator is for another task, if it is.
func (s Spec) otherTask(task datasets.Task) (f param.Fault, wrong bool) {
	own, known := pipeline.EntryOf(s.Pipeline.Estimator)
	does := pipeline.Foretell(s.Pipeline.Estimator)
	if !known || does.Unknown || does.Classes == (task == datasets.Classification) {
		return f, false
	}
	var others []string
	for _, e := range pipeline.Registered() {
		spec, ok := e.New().(estimator.Estimator)
		if !ok || len(pipeline.Within(spec)) > 0 {
			continue
		}
		if other := pipeline.Foretell(spec); other.Unknown || other.Classes != does.Classes { // unknown: what the target is tells
			others = append(others, e.Name)
		}
	}
	what := "numbers"
	if does.Classes {
		what = "classes"
	}
	return param.Fault{Problem: fmt.Sprintf("%s predicts %s, and the task is %s; take %s", own.Name, what, task, param.Alternatives(others))}, true
}

// Problem is what an error says without the package it comes from.
func Problem(err error) string {
	text := err.Error()
	for _, room := range []string{"experiment: ", "datasets: ", "gridsearch: ", "metrics: ", "pipeline: "} {
		text = strings.TrimPrefix(text, room)
	}
	return text
}
