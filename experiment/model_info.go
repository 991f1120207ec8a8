package experiment

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/experiment/internal/predictions"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/internal/learning/coverage"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// membersOf returns the members of the ensemble in a model, if any.
func membersOf(m estimator.Predictor) (out []result.MemberWeight) {
	var c *meta.FittedEnsemble
	if estimator.As(m, &c) {
		for _, one := range c.Combined() {
			out = append(out, result.MemberWeight{Name: one.Name, Weight: one.Weight})
		}
	}
	return out
}

// surenessOf returns the uncertainty outputs of a model, nil without any.
func surenessOf(m estimator.Predictor) *result.Uncertainty {
	if tags := estimator.FittedTags(m); tags.IntervalMethod != "" {
		return &result.Uncertainty{Method: tags.IntervalMethod, Level: tags.Level, Pooled: tags.PooledGroups}
	}
	if estimator.OutputsOf(m).Has.Has(estimator.OutputStd) {
		return &result.Uncertainty{Method: "normal", Level: coverage.DefaultLevel}
	}
	return nil
}

// lossMetrics returns the metrics of the loss that a model minimizes.
func lossMetrics(m estimator.Predictor) (names []string) {
	if p := pipeline.Find(m); p != nil {
		for _, one := range param.All(p.Spec()) {
			names = append(names, datasets.TagsOf(one.Owner()).LossMetrics...)
		}
	}
	return names
}

// quantileOf returns the quantile that a model predicts, 0 for a model of another loss.
func quantileOf(m estimator.Predictor) (quantile float64) {
	if p := pipeline.Find(m); p != nil {
		for _, one := range param.All(p.Spec()) {
			if v, ok := one.Value.(float64); ok && one.Name == datasets.TagsOf(one.Owner()).Quantile {
				quantile = v
			}
		}
	}
	return quantile
}

// hasIntervals reports whether a model has intervals or prediction sets.
func hasIntervals(m estimator.Predictor) bool {
	return datasets.TagsOf(m).IntervalMethod != ""
}

// judgeSureness adds the evaluation on labeled rows.
func judgeSureness(s *result.Uncertainty, v predictions.Verdict) error {
	if s == nil || v.Rows == 0 {
		return nil
	}
	found, err := v.Uncertainty()
	if err != nil {
		return err
	}
	for _, one := range []struct {
		to   **float64
		from []string
	}{{&s.Coverage, []string{"coverage", "set_coverage"}}, {&s.Width, []string{"mean_width"}},
		{&s.Size, []string{"mean_set_size"}}} {
		for _, name := range one.from {
			if value, ok := found[name]; ok {
				*one.to = &value
			}
		}
	}
	return nil
}

// coverageWarnings returns a warning if the intervals or sets contain fewer targets than their level, by
// more than two standard errors.
func coverageWarnings(u *result.Uncertainty, v predictions.Verdict) []string {
	if u == nil || u.Coverage == nil {
		return nil
	}
	n := float64(v.Rows)
	if weights := v.Input().Weights; weights != nil {
		total, squares := 0.0, 0.0
		for _, w := range weights {
			total, squares = total+w, squares+w*w
		}
		n = total * total / squares // number of rows of equal weight with this standard error
	}
	stdErr := math.Sqrt(u.Level * (1 - u.Level) / n)
	if *u.Coverage >= u.Level-2*stdErr {
		return nil
	}
	return []string{fmt.Sprintf("coverage %.3g is below the level %.3g by %.2g standard errors: these rows differ from "+
		"the training rows, as later rows of a series do; do not rely on the level for such rows", *u.Coverage, u.Level,
		(u.Level-*u.Coverage)/stdErr)}
}

// thresholdOf returns the decision threshold of a model, nil if it has none.
func thresholdOf(m estimator.Predictor) *meta.Cutoff {
	var decides *meta.FittedThreshold
	if !estimator.As(m, &decides) {
		return nil
	}
	c, ok := decides.Cutoff()
	if !ok {
		return nil
	}
	return &c
}

// thresholdSpec returns the wrapper of a model that decides between its classes, nil if it has none.
func thresholdSpec(m estimator.Predictor) *meta.Threshold {
	p := pipeline.Find(m)
	if p == nil {
		return nil
	}
	for _, one := range param.All(p.Spec()) {
		if spec, ok := one.Owner().(meta.Threshold); ok {
			return &spec
		}
	}
	return nil
}

// addThresholds adds the threshold of each of several labels, if the model has them.
func addThresholds(f *result.Findings, m estimator.Predictor) {
	var decides *meta.FittedThreshold
	if !estimator.As(m, &decides) {
		return
	}
	for j, c := range decides.Cutoffs() {
		if j < len(f.PerClass) {
			f.PerClass[j].Threshold = &c.Value
		}
	}
}

// relevanceOf returns the relevance of the inputs of the steps and of the model, and the shares of the
// terms of its kernel.
func relevanceOf(ctx context.Context, p *pipeline.FittedPipeline) (out []result.Relevance, err error) {
	all := p.Relevance()
	terms, err := p.Terms(ctx)
	if err != nil {
		return nil, err
	}
	learned := len(all)
	if terms.Values != nil {
		all = append(all, terms)
	}
	for k, r := range all {
		r, step := r.ByOrigin(), result.Relevance{Step: r.Step, Terms: k == learned}
		for j, v := range r.Values {
			step.Inputs = append(step.Inputs, relevance{Name: r.Columns[j], Relevance: v})
		}
		slices.SortStableFunc(step.Inputs, func(a, b relevance) int { return cmp.Compare(b.Relevance, a.Relevance) })
		out = append(out, step)
	}
	if _, last := p.Model(); hasIntervals(last) { // intervals for the whole pipeline
		if inner := pipeline.Find(last); inner != nil {
			more, err := relevanceOf(ctx, inner)
			return append(out, more...), err
		}
	}
	return out, nil
}

// positiveOf returns the positive class of two; clusters have none.
func positiveOf(task datasets.Task, schema datasets.Schema) string {
	if task == datasets.Clustering {
		return ""
	}
	return metrics.PositiveClass(schema.Classes())
}

// relevance is the relevance of one input.
type relevance = struct {
	Name      string  `json:"name"`
	Relevance float64 `json:"relevance"`
}
