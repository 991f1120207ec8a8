package experiment

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gonum.org/v1/gonum/mat"
	"gopkg.in/yaml.v3"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// Validate reports everything that is wrong with an experiment file, with values overridden, and with
// its data, as [Faults]. Unlike [Load] it reads large files of rows through, too: it finds what [Run]
// would find before its first fit.
func Validate(ctx context.Context, path string, overrides ...Override) error {
	text, err := readText(path)
	if err != nil {
		return fmt.Errorf("experiment: %w", tell(err))
	}
	_, err = parse(ctx, path, text, true, overrides)
	return err
}

// places are where the values of a spec stand in its file.
type places struct {
	file  string
	at    map[string]*yaml.Node // key of each path that is given
	steps *yaml.Node            // of the pipeline
}

// fault puts f at a path, or at the section that it would be in.
func (p *places) fault(path string, f param.Fault) param.Fault {
	f.Path = path
	if p == nil {
		return f
	}
	f.File = p.file
	switch node := p.find(path); {
	case node == nil:
	case node.Line == 0:
		f.File = source
	default:
		f.Line, f.Column = node.Line, node.Column
	}
	return f
}

func (p *places) find(path string) *yaml.Node {
	if step, ok := strings.CutPrefix(path, "pipeline."); ok && p.steps != nil {
		return p.step(step)
	}
	for {
		if node := p.at[path]; node != nil {
			return node
		}
		end := strings.LastIndexByte(path, '.')
		if end < 0 {
			return nil
		}
		path = path[:end]
	}
}

// step returns where the step with that path stands, as far as its first part tells.
func (p *places) step(path string) *yaml.Node {
	name, _, _ := strings.Cut(path, ".")
	for _, step := range p.steps.Content {
		for _, word := range append([]*yaml.Node{step}, step.Content...) {
			if word.Value == name {
				return word
			}
		}
	}
	return p.steps
}

// ofRows returns what is wrong with files of rows: each fault at its line, or where the spec names the
// file.
func (p *places) ofRows(path string, err error) param.Faults {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var out param.Faults
		for _, one := range many.Unwrap() {
			out = append(out, p.ofRows(path, one)...)
		}
		return out
	}
	var at *datasets.LineError
	if errors.As(err, &at) && at.Line > 0 {
		return param.Faults{{File: at.File, Line: at.Line, Column: at.Letter, Problem: at.Err.Error(), Err: err}}
	}
	return param.Faults{p.fault(path, param.Fault{Problem: problem(err), Err: err})}
}

// problem is what an error says without the package it comes from.
func problem(err error) string {
	text := err.Error()
	for _, room := range []string{"experiment: ", "datasets: ", "gridsearch: ", "metrics: ", "pipeline: "} {
		text = strings.TrimPrefix(text, room)
	}
	return text
}

// checking looks whether a spec and its rows go together, and collects what does not.
type checking struct {
	spec   Spec
	task   metrics.Task
	faults param.Faults
}

func (c *checking) add(path string, f param.Fault) {
	c.faults = append(c.faults, c.spec.places.fault(path, f))
}

// check looks at rows as they were opened: at their kinds, at what they lack, and at what the task is.
// An error is none of the user's making.
func (s Spec) check(ctx context.Context, train, test datasets.Source, task metrics.Task) (param.Faults, error) {
	c := &checking{spec: s, task: task}
	classes := train.Schema().Classes()
	switch targets := train.Schema().Targets; {
	case len(targets) == 0:
		c.add("data.target", param.Fault{Problem: "the data have no target"})
	case task == metrics.Classification && len(classes) < 2:
		c.add("data.target", param.Fault{Problem: fmt.Sprintf("column %s: one class only, %q; there is nothing to tell apart", targets[0].Name, classes)})
	}
	c.faults = append(c.faults, s.checkTask(task, len(classes))...)
	if err := c.columns(ctx, train, test); err != nil {
		return nil, err
	}
	return c.faults, nil
}

// checkAll is check and checkParts, of rows that stay where they are.
func (s Spec) checkAll(ctx context.Context, train, test datasets.Source, task metrics.Task) error {
	faults, err := s.check(ctx, train, test, task)
	if err != nil {
		return err
	}
	more, err := s.checkParts(ctx, train, test != nil, task)
	if err != nil {
		return err
	}
	return append(faults, more...).Err()
}

// checkTask looks whether estimator, score and folds are for a task of so many classes, 0 where they
// are not known.
func (s Spec) checkTask(task metrics.Task, classes int) param.Faults {
	c := &checking{spec: s, task: task}
	if f, wrong := s.otherTask(task); wrong {
		c.add("pipeline", f)
	}
	if task == metrics.Regression && s.Data.Split.Stratify {
		c.add("data.split.stratify", param.Fault{Problem: "only classes can be stratified, and the task is regression"})
	}
	if s.Search == nil {
		return c.faults
	}
	if task == metrics.Regression && s.Search.CV.Kind == "stratified" {
		c.add("search.cv.kind", param.Fault{Problem: "only classes can be stratified, and the task is regression"})
	}
	c.score(classes)
	return c.faults
}

// score looks whether the metric is one of the task and of so many classes, and whether the model
// gives what it reads.
func (c *checking) score(classes int) {
	const path = "search.score"
	m, err := metrics.ByName(string(c.spec.Search.Score))
	if c.spec.Search.Score == "" || err != nil {
		return // there is one for every task, or the name is reported already
	}
	if m.Task != c.task {
		c.add(path, param.Fault{Problem: fmt.Sprintf("%s is for %s, and the task is %s", m.Name, m.Task, c.task)})
		return
	}
	if m.Task == metrics.Classification && classes > 1 {
		if err := m.CheckClasses(classes); err != nil {
			c.add(path, param.Fault{Problem: problem(err)})
		}
	}
	own, known := pipeline.EntryOf(c.spec.Pipeline.Estimator)
	if !known || classifies(own) != (c.task == metrics.Classification) || m.Needs.Met(gives(own)) {
		return
	}
	var others []string
	for _, e := range pipeline.Registered() {
		if e.IsEstimator() && classifies(e) == classifies(own) && m.Needs.Met(gives(e)) {
			others = append(others, e.Name)
		}
	}
	c.add(path, param.Fault{Problem: fmt.Sprintf("%s needs %s, which %s does not give", m.Name, m.Needs, own.Name),
		Hint: "take " + param.Alternatives(append(others, "another score"))})
}

// gives is an input for metrics that has what the models of an entry give.
func gives(e pipeline.Entry) metrics.Input {
	in := metrics.Input{Predicted: []float64{0}}
	fitted := e.Fitted()
	if _, ok := fitted.(estimator.Classifier); ok {
		in.Scores = mat.NewDense(1, 1, nil)
	}
	if _, ok := fitted.(estimator.Probabilistic); ok {
		in.Probabilities = mat.NewDense(1, 1, nil)
	}
	return in
}

// columns looks whether every step takes the columns that come to it, those of the test rows, too.
func (c *checking) columns(ctx context.Context, train, test datasets.Source) error {
	s, seen := c.spec, map[string]bool{}
	first := s.firstSetting()
	for _, rows := range []struct {
		path   string
		source datasets.Source
	}{{"data.train", train}, {"data.test", test}} {
		if rows.source == nil {
			continue
		}
		content, err := datasets.Survey(ctx, rows.source)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			c.faults = append(c.faults, s.places.ofRows(rows.path, err)...)
			continue
		}
		var faults param.Faults
		if s.Pipeline.Estimator == nil || !errors.As(first.CheckContent(train.Schema(), content), &faults) {
			continue
		}
		for _, f := range faults {
			if !seen[f.Path] || rows.path == "data.train" {
				c.add(join("pipeline", f.Path), f)
			}
		}
		for _, f := range faults {
			seen[f.Path] = true
		}
	}
	return nil
}

// firstSetting is the pipeline with the first value of every axis of the search.
func (s Spec) firstSetting() pipeline.Pipeline {
	if s.Search == nil || s.Pipeline.Estimator == nil {
		return s.Pipeline
	}
	var first []param.Setting
	for _, axis := range s.Search.Grid {
		first = append(first, param.Setting{Path: axis.Path, Value: axis.Values[0]})
	}
	if set, err := param.With(s.Pipeline, first...); err == nil {
		return set.(pipeline.Pipeline)
	}
	return s.Pipeline
}

// checkParts looks whether the training rows can be split, and what is left of them divided into folds.
func (s Spec) checkParts(ctx context.Context, train datasets.Source, tested bool, task metrics.Task) (param.Faults, error) {
	c := &checking{spec: s, task: task}
	split := !tested && s.Data.Split.Test > 0
	if !split && s.Search == nil {
		return nil, nil
	}
	stand, err := outline(ctx, train, s.Search != nil || s.Data.Split.Stratify || s.Data.Group != "")
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return s.places.ofRows("data.train", err), nil
	}
	if split {
		folds, err := s.splitter(stand).Split(stand)
		if err != nil {
			path := "data.split.test"
			if s.Data.Split.Stratify {
				path = "data.split.stratify"
			}
			c.add(path, param.Fault{Problem: problem(err)})
			return c.faults, nil
		}
		stand = pick(stand, folds[0].Train)
	}
	if s.Search != nil {
		c.folds(stand)
	}
	return c.faults, nil
}

// folds looks whether the rows can be divided as the search wants them.
func (c *checking) folds(stand datasets.Set) {
	s := c.spec
	splitter := s.folds(stand, c.task)
	if left, ok := splitter.(gridsearch.LeaveOneOut); ok && s.Pipeline.Estimator != nil {
		if err := left.Check(gridsearch.NewSearch(s.Pipeline, s.Search.Grid...)); err != nil {
			c.add("search.cv.kind", param.Fault{Problem: problem(err)})
		}
	}
	folds, err := splitter.Split(stand)
	if err != nil {
		path := "search.cv.folds"
		if s.places != nil && s.places.at["search.folds"] != nil {
			path = "search.folds"
		}
		c.add(path, param.Fault{Problem: problem(err)})
		return
	}
	most := 0
	for _, f := range folds {
		most = max(most, len(f.Train))
	}
	if h := s.Search.Halving; h.Resource == "rows" && h.Least > most {
		c.add("search.halving.least", param.Fault{Value: h.Least, Wanted: fmt.Sprintf("at most the %d rows that a fold trains on", most)})
	}
}

// pick returns the named rows of a stand-in.
func pick(stand datasets.Set, rows []int) datasets.Set {
	out := datasets.Set{Schema: stand.Schema, X: blank{len(rows), stand.Cols()}}
	for _, i := range rows {
		if stand.Y != nil {
			out.Y = append(out.Y, stand.Y[i])
		}
		if stand.Groups != nil {
			out.Groups = append(out.Groups, stand.Groups[i])
		}
	}
	if stand.Targets != nil {
		out.Targets = datasets.SelectRows(stand.Targets, rows).(*mat.Dense)
	}
	return out
}
