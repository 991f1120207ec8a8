// Package validate checks the configuration of an experiment against its data and reports all
// errors, before a run and when a file is loaded.
package validate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/experiment/internal/config"
	"github.com/bochner-ml/bochner/experiment/internal/dataload"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/spec/suggest"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// checking collects the errors of a configuration and its rows.
type checking struct {
	spec config.Spec
	task datasets.Task
	errs param.FieldErrors
}

func (c *checking) add(path string, f param.FieldError) {
	c.errs = append(c.errs, c.spec.Locate(path, f))
}

// Rows checks the column kinds, missing values and task of opened rows. It returns invalid input as
// field errors; the other error is a failure to read.
func Rows(ctx context.Context, s config.Spec, p *dataload.Parts) (param.FieldErrors, error) {
	c := &checking{spec: s, task: p.Task}
	classes := p.Train.Schema().Classes()
	switch targets := p.Train.Schema().Targets; {
	case p.Task == datasets.Anomaly && len(classes) > 2:
		c.add("data.target", param.FieldError{Problem: fmt.Sprintf("the target of anomaly detection must have known "+
			"anomalies, got column %s with %d values, %s", targets[0].Name, len(classes), suggest.List(classes)),
			Hint: "list the anomalies in data.positive"})
	case p.Task.Unsupervised():
	case len(targets) == 0:
		c.add("data.target", param.FieldError{Problem: "the data must have a target"})
	case p.Task == datasets.Classification && len(classes) < 2:
		c.add("data.target", param.FieldError{Problem: fmt.Sprintf("column %s must have at least two classes, got %q",
			targets[0].Name, classes)})
	}
	c.errs = append(c.errs, s.CheckTask(p.Task, len(classes))...)
	if p.Task == datasets.Classification {
		c.errs = append(c.errs, s.CheckDecisions(classes)...)
	}
	c.silhouette(p.Train.Schema())
	if err := c.columns(ctx, p.Train, p.Test); err != nil {
		return nil, err
	}
	return c.errs, nil
}

// silhouette checks that a clustering metric without true labels finds numeric columns.
func (c *checking) silhouette(schema datasets.Schema) {
	if c.task != datasets.Clustering || c.spec.Search == nil || len(schema.Columns) == 0 ||
		slices.ContainsFunc(schema.Columns, func(col datasets.Column) bool { return col.Kind == datasets.Numeric }) {
		return
	}
	name, path := string(c.spec.Search.Score), "search.score"
	if name == "" && len(schema.Targets) == 0 {
		name, path = "silhouette", "search"
	}
	if m, err := metrics.ByName(name); err == nil && m.SupportsTask(c.task) && !m.IsSupervised() {
		c.add(path, param.FieldError{Problem: m.Name + " requires numeric columns",
			Hint: "or name a target to score the clusters"})
	}
}

// All runs [Rows] and [Parts] on streamed rows.
func All(ctx context.Context, s config.Spec, p *dataload.Parts) error {
	errs, err := Rows(ctx, s, p)
	if err != nil {
		return err
	}
	more, err := Parts(ctx, s, p)
	if err != nil {
		return err
	}
	return append(errs, more...).Err()
}

// columns checks that every step accepts its input columns, for training and test rows.
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
			c.errs = append(c.errs, dataload.FieldErrors(s, part.path, err)...)
			continue
		}
		if s.Pipeline.Estimator == nil {
			continue
		}
		if err := negatives(ctx, first, part.source, content); err != nil {
			if ctx.Err() != nil {
				return ctxerr.Check(ctx)
			}
			c.errs = append(c.errs, dataload.FieldErrors(s, part.path, err)...)
			continue
		}
		var errs param.FieldErrors
		if !errors.As(first.CheckContent(train.Schema(), content), &errs) {
			continue
		}
		for _, f := range errs {
			if !seen[f.Path] || part.path == "data.train" {
				c.add(strings.TrimSuffix("pipeline."+f.Path, "."), f)
			}
		}
		for _, f := range errs {
			seen[f.Path] = true
		}
	}
	return nil
}

// negatives adds the first negative value of each column to content, in a pass over the rows, if a
// step would refuse negative values.
func negatives(ctx context.Context, p pipeline.Pipeline, rows datasets.Source, content []datasets.ColumnContent) error {
	all := slices.Clone(content)
	for j := range all {
		if rows.Schema().Column(j).Kind == datasets.Numeric {
			all[j].Negative = &datasets.Position{}
		}
	}
	count := func(content []datasets.ColumnContent) int {
		var errs param.FieldErrors
		errors.As(p.CheckContent(rows.Schema(), content), &errs)
		return len(errs)
	}
	if count(all) == count(content) {
		return nil
	}
	first := 0
	return rows.Blocks(ctx, func(block datasets.Set) error {
		for i := range block.Rows() {
			for j := range content {
				if content[j].Negative == nil && all[j].Negative != nil && block.X.At(i, j) < 0 {
					content[j].Negative = &datasets.Position{Row: first + i}
				}
			}
		}
		first += block.Rows()
		return nil
	})
}

// firstCandidate returns the pipeline with the first value of every axis of the search.
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

// Parts checks the split of the rows and the folds of the training rows.
func Parts(ctx context.Context, s config.Spec, p *dataload.Parts) (param.FieldErrors, error) {
	c := &checking{spec: s, task: p.Task}
	split := p.Test == nil && s.Data.Split.Test > 0
	streamed := p.Streamed || dataload.Streams(ctx, s, p.Train)
	bounded := !streamed && !p.Task.Unsupervised() && len(outOfDomain(s.Pipeline, math.Inf(-1))) > 0
	if !split && s.Search == nil && !bounded {
		rows, cols := p.Train.Dims()
		return s.CheckLevel(datasets.Shape{Rows: rows, Cols: cols, Streamed: streamed}), nil
	}
	if s.Search != nil && streamed {
		if c.errs = append(c.errs, s.CheckStreamed(p.Task)...); !split {
			return c.errs, nil
		}
	}
	stand, err := dataload.Outline(ctx, p.Train, s.Search != nil && !streamed || s.Data.Split.Stratify ||
		s.Data.Group != "" || bounded)
	if ctx.Err() != nil {
		return nil, ctxerr.Check(ctx)
	}
	if err != nil {
		return dataload.FieldErrors(s, "data.train", err), nil
	}
	if split {
		folds, err := s.TestRows(stand.Groups != nil).Split(stand)
		if err != nil {
			path := "data.split.test"
			if s.Data.Split.Stratify {
				path = "data.split.stratify"
			}
			c.add(path, param.FieldError{Problem: config.Problem(err)})
			return c.errs, nil
		}
		stand = dataload.Pick(stand, folds[0].Train)
	}
	c.errs = append(c.errs, s.CheckLevel(stand.Shape())...)
	if bounded {
		c.targets(stand)
	}
	if s.Search != nil && !streamed {
		c.folds(stand)
	}
	return c.errs, nil
}

// targets checks that the loss of every model is defined for the targets of the training rows.
func (c *checking) targets(stand datasets.Set) {
	values := stand.Y
	if stand.Targets != nil {
		values = stand.Targets.RawMatrix().Data
	}
	for _, y := range values {
		if math.IsNaN(y) {
			continue // reported elsewhere
		}
		if errs := outOfDomain(c.spec.Pipeline, y); errs != nil {
			for _, f := range errs {
				c.add(strings.TrimSuffix("pipeline."+f.Path, "."), f)
			}
			return
		}
	}
}

// outOfDomain returns the errors of the models in a pipeline whose loss is not defined for y. A model
// within another that checks targets has other ones.
func outOfDomain(p pipeline.Pipeline, y float64) (errs param.FieldErrors) {
	if p.Estimator == nil {
		return nil
	}
	seen := map[string]bool{}
	for _, one := range param.All(p) {
		path := strings.TrimSuffix(strings.TrimSuffix(one.Path, one.Name), ".")
		check := datasets.TagsOf(one.Owner()).CheckTarget
		within := slices.ContainsFunc(slices.Collect(maps.Keys(seen)),
			func(outer string) bool { return path == outer || strings.HasPrefix(path, outer+".") })
		if check == nil || within {
			continue
		}
		seen[path] = true
		if err := check(y); err != nil {
			errs = append(errs, param.FieldError{Path: path, Problem: config.Problem(err)})
		}
	}
	return errs
}

// folds checks the folds of the search.
func (c *checking) folds(stand datasets.Set) {
	s := c.spec
	if c.task == datasets.Anomaly && !slices.Contains(stand.Y, 1) {
		c.add("search", param.FieldError{Problem: "a search for anomalies requires labeled anomalies",
			Hint: "list the anomalies in data.positive or remove the search"})
		return
	}
	splitter := s.Folds(stand.Groups != nil, c.task)
	if left, ok := splitter.(gridsearch.LeaveOneOut); ok && s.Pipeline.Estimator != nil {
		search := gridsearch.NewSearch(s.Pipeline, s.Search.Grid...)
		search.Random = 1000 // a sample of a large grid suffices
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
		c.add("search.halving.min_resources", param.FieldError{Value: h.MinResources,
			Constraint: fmt.Sprintf("at most the %d training rows of a fold", most)})
	}
}
