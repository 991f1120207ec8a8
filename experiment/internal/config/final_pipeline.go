package config

import (
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/internal/learning/coverage"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// Fitted returns the pipeline to fit to all training rows of the given shape in place of p: with
// intervals if the document has that section. Split and cqr wrap the whole pipeline, so that no
// step sees the calibration rows; so does auto if a step uses the targets. Other methods wrap the model.
func (s Spec) Fitted(p pipeline.Pipeline, shape datasets.Shape) pipeline.Pipeline {
	if s.Intervals == nil || p.Estimator == nil {
		return p
	}
	i := s.Intervals
	wrapped := meta.Intervals{Method: i.Method, Level: i.Level, Calibration: i.Calibration, Normalize: i.Normalize,
		Group: i.Group, Seed: s.seedOf("intervals"), Estimator: p.Estimator}
	wrapped.Method = wrapped.ResolvedMethod(shape.After(pipeline.Chain{Steps: p.Steps}.Cost(shape)))
	if i.Method == "auto" && (s.Data.Group != "" || slices.ContainsFunc(p.Steps,
		func(one pipeline.Step) bool { return one.Supervised() })) {
		wrapped.Method = "split"
	}
	if !coverage.Splits(wrapped.Method) {
		p.Estimator, p.Name = wrapped, ""
		return p
	}
	outer := pipeline.Pipeline{Precision: pipeline.Float64, Memory: p.Memory}
	p.Precision = pipeline.Float64
	wrapped.Estimator = p
	if len(p.Steps) == 0 {
		wrapped.Estimator = p.Estimator
	}
	outer.Estimator = wrapped
	return outer
}

// CheckLevel returns an error if there are too few training rows for the level of the intervals.
func (s Spec) CheckLevel(shape datasets.Shape) param.FieldErrors {
	if shape.Rows < 0 || s.Pipeline.Estimator == nil {
		return nil
	}
	var errs param.FieldErrors
	check := func(path string, spec any) {
		if wrapped, ok := spec.(meta.Intervals); ok {
			if err := wrapped.CheckRows(shape.Rows); err != nil {
				errs = append(errs, s.Locate(path, param.FieldError{Problem: err.Error()}))
			}
		}
	}
	if s.Intervals != nil {
		check("intervals.level", s.Fitted(s.Pipeline, shape).Estimator)
	}
	for _, p := range param.All(s.Pipeline) {
		if p.Name == "level" {
			check("pipeline."+p.Path, p.Owner())
		}
	}
	return errs
}

// checkIntervals looks whether the intervals are for the task and the pipeline.
func checkIntervals(s Spec, task datasets.Task, add func(path string, f param.FieldError)) {
	i := s.Intervals
	if i == nil || s.Pipeline.Estimator == nil {
		return
	}
	own, _ := pipeline.Lookup(s.Pipeline.Estimator)
	_, smoothing := s.Pipeline.Estimator.(estimator.LinearSmoother)
	has, _ := s.Pipeline.Capabilities()
	jackknife := i.Method == "jackknife" || i.Method == "jackknife_plus"
	switch {
	case own.Name == "intervals":
		add("intervals", param.FieldError{Problem: "the pipeline already ends with intervals", Hint: "remove one of the two"})
	case task == datasets.MultiLabel:
		add("intervals", param.FieldError{Problem: "the task must be regression or classification, got multilabel"})
	case (jackknife || i.Method == "cqr") && task == datasets.Classification:
		add("intervals.method", param.FieldError{Value: i.Method, Constraint: "split or auto for classes"})
	case i.Method == "cqr" && !slices.ContainsFunc(param.All(s.Pipeline.Estimator),
		func(p param.Param) bool { return p.Name == datasets.TagsOf(p.Owner()).Quantile }):
		add("intervals.method", param.FieldError{Problem: fmt.Sprintf("cqr requires quantile_regression, got %s", own.Name),
			Hint: "use split"})
	case i.Group != "" && (jackknife || i.Method == "normal"):
		add("intervals.group", param.FieldError{Problem: "requires method: split or cqr, got " + i.Method})
	case slices.Contains(slices.Concat(s.Data.Target, s.Data.Drop, []string{s.Data.Weight, s.Data.Group}), i.Group) &&
		i.Group != "":
		add("intervals.group", param.FieldError{Value: i.Group, Constraint: "an input column"})
	case jackknife && !smoothing:
		add("intervals.method", param.FieldError{Problem: fmt.Sprintf("%s requires ridge or kernel_ridge, got %s", i.Method,
			own.Name), Hint: "use split"})
	case jackknife && s.Data.Group != "":
		add("intervals.method", param.FieldError{Problem: i.Method +
			" leaves out single rows and cannot be combined with data.group", Hint: "use split"})
	case (i.Method == "normal" || i.Normalize) && own.Name != "" && has != 0 && !has.Has(estimator.OutputStd):
		add("intervals", param.FieldError{Problem: fmt.Sprintf("normal and normalize require a model with standard "+
			"deviations, got %s", own.Name)})
	case i.Normalize && (jackknife || i.Method == "normal" || i.Method == "cqr"):
		add("intervals.normalize", param.FieldError{Problem: "requires method: split, got " + i.Method})
	case s.Pipeline.Precision == pipeline.Float32 && (coverage.Splits(i.Method) || i.Method == "auto"):
		add("intervals", param.FieldError{Problem: "methods split and cqr require precision: float64",
			Hint: "remove precision: float32 or use another method"})
	}
}
