// Package validate looks whether the document of an experiment and the data that it names go together, and
// says all that does not: before a run, and when a document is read.
package validate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/experiment/config"
	"github.com/bochner-ml/bochner/internal/experiment/dataload"
	"github.com/bochner-ml/bochner/internal/suggest"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// checking looks whether a spec and its rows go together, and collects what does not.
type checking struct {
	spec   config.Spec
	task   datasets.Task
	faults param.FieldErrors
}

func (c *checking) add(path string, f param.FieldError) {
	c.faults = append(c.faults, c.spec.Fault(path, f))
}

// Rows looks at rows as they were opened: at their kinds, at what they lack, and at what the task is.
// An error is none of the user's making.
func Rows(ctx context.Context, s config.Spec, p *dataload.Parts) (param.FieldErrors, error) {
	c := &checking{spec: s, task: p.Task}
	classes := p.Train.Schema().Classes()
	switch targets := p.Train.Schema().Targets; {
	case p.Task == datasets.Anomaly && len(classes) > 2:
		c.add("data.target", param.FieldError{Problem: fmt.Sprintf("column %s has %d values, %s: which of them are anomalies?", targets[0].Name, len(classes), suggest.List(classes)),
			Hint: "data.positive names them"})
	case p.Task.Unsupervised():
	case len(targets) == 0:
		c.add("data.target", param.FieldError{Problem: "the data have no target"})
	case p.Task == datasets.Classification && len(classes) < 2:
		c.add("data.target", param.FieldError{Problem: fmt.Sprintf("column %s: one class only, %q; there is nothing to tell apart", targets[0].Name, classes)})
	}
	c.faults = append(c.faults, s.CheckTask(p.Task, len(classes))...)
	if p.Task == datasets.Classification {
		c.faults = append(c.faults, s.CheckDecisions(classes)...)
	}
	c.silhouette(p.Train.Schema())
	if err := c.columns(ctx, p.Train, p.Test); err != nil {
		return nil, err
	}
	return c.faults, nil
}

// silhouette looks whether a score that looks at the rows themselves finds numbers there.
func (c *checking) silhouette(schema datasets.Schema) {
	if c.task != datasets.Clustering || c.spec.Search == nil || len(schema.Columns) == 0 || slices.ContainsFunc(schema.Columns, func(col datasets.Column) bool { return col.Kind == datasets.Numeric }) {
		return
	}
	name, path := string(c.spec.Search.Score), "search.score"
	if name == "" && len(schema.Targets) == 0 {
		name, path = "silhouette", "search"
	}
	if m, err := metrics.ByName(name); err == nil && m.Serves(c.task) && !m.NeedsTruth() {
		c.add(path, param.FieldError{Problem: m.Name + " looks at distances of numbers, and no column is numeric", Hint: "a target that is named scores clusters, too"})
	}
}

// All is Rows and Parts, of rows that stay where they are.
func All(ctx context.Context, s config.Spec, p *dataload.Parts) error {
	faults, err := Rows(ctx, s, p)
	if err != nil {
		return err
	}
	more, err := Parts(ctx, s, p)
	if err != nil {
		return err
	}
	return append(faults, more...).Err()
}

// columns looks whether every step takes the columns that come to it, those of the test rows, too.
func (c *checking) columns(ctx context.Context, train, test datasets.Source) error {
	s, seen := c.spec, map[string]bool{}
	first := firstCandidate(s)
	for _, part := range []struct {
		path   string
		source datasets.Source
	}{{"data.train", train}, {"data.test", test}} {
		if part.source == nil {
			continue
		}
		content, err := datasets.ScanContent(ctx, part.source)
		if ctx.Err() != nil {
			return ctxerr.Check(ctx)
		}
		if err != nil {
			c.faults = append(c.faults, dataload.FaultsOf(s, part.path, err)...)
			continue
		}
		var faults param.FieldErrors
		if s.Pipeline.Estimator == nil || !errors.As(first.CheckContent(train.Schema(), content), &faults) {
			continue
		}
		for _, f := range faults {
			if !seen[f.Path] || part.path == "data.train" {
				c.add(strings.TrimSuffix("pipeline."+f.Path, "."), f)
			}
		}
		for _, f := range faults {
			seen[f.Path] = true
		}
	}
	return nil
}

// firstCandidate is the pipeline with the first value of every axis of the search.
func firstCandidate(s config.Spec) pipeline.Pipeline {
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

// Parts looks whether the training rows can be split, and what is left of them divided into folds.
func Parts(ctx context.Context, s config.Spec, p *dataload.Parts) (param.FieldErrors, error) {
	c := &checking{spec: s, task: p.Task}
	split := p.Test == nil && s.Data.Split.Test > 0
	if !split && s.Search == nil {
		return nil, nil
	}
	streamed := p.Streamed || s.Search != nil && dataload.Streams(s, p.Train)
	if s.Search != nil && streamed {
		if c.faults = append(c.faults, s.CheckStreamed(p.Task)...); !split {
			return c.faults, nil
		}
	}
	stand, err := dataload.Outline(ctx, p.Train, s.Search != nil && !streamed || s.Data.Split.Stratify || s.Data.Group != "")
	if ctx.Err() != nil {
		return nil, ctxerr.Check(ctx)
	}
	if err != nil {
		return dataload.FaultsOf(s, "data.train", err), nil
	}
	if split {
		folds, err := s.TestRows(stand.Groups != nil).Split(stand)
		if err != nil {
			path := "data.split.test"
			if s.Data.Split.Stratify {
				path = "data.split.stratify"
			}
			c.add(path, param.FieldError{Problem: config.Problem(err)})
			return c.faults, nil
		}
		stand = dataload.Pick(stand, folds[0].Train)
	}
	if s.Search != nil && !streamed {
		c.folds(stand)
	}
	return c.faults, nil
}

// folds looks whether the rows can be divided as the search wants them.
func (c *checking) folds(stand datasets.Set) {
	s := c.spec
	if c.task == datasets.Anomaly && !slices.Contains(stand.Y, 1) {
		c.add("search", param.FieldError{Problem: "candidates of the task anomaly are scored by rows of which it is known what they are, and of these none is known for an anomaly",
			Hint: "data.positive says which values of the target are anomalies; without any leave the search out"})
		return
	}
	splitter := s.Folds(stand.Groups != nil, c.task)
	if left, ok := splitter.(gridsearch.LeaveOneOut); ok && s.Pipeline.Estimator != nil {
		search := gridsearch.NewSearch(s.Pipeline, s.Search.Grid...)
		search.Random = 1000 // enough of a grid that is not tried as a whole
		if err := left.Check(search); err != nil {
			c.add("search.cv.kind", param.FieldError{Problem: config.Problem(err)})
		}
	}
	folds, err := splitter.Split(stand)
	if err != nil {
		path := "search.cv.folds"
		if s.Given("search.folds") {
			path = "search.folds"
		}
		c.add(path, param.FieldError{Problem: config.Problem(err)})
		return
	}
	most := 0
	for _, f := range folds {
		most = max(most, len(f.Train))
	}
	if h := s.Search.Halving; h.Resource == "rows" && h.MinResources > most {
		c.add("search.halving.min_resources", param.FieldError{Value: h.MinResources, Constraint: fmt.Sprintf("at most the %d rows that a fold trains on", most)})
	}
}
