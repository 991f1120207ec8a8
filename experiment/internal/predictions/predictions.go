// Package predictions scores predictions of a model and writes them as CSV.
//
//	verdict, err := predictions.Judge(ctx, model, datasets.Classification, rows, writer.Block, nil)
//	scores, warnings, err := verdict.Score()
package predictions

import (
	"context"
	"errors"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/learning/metricinput"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/pipeline"
)

// Judge predicts rows in blocks, passes each block of predictions to write unless it is nil, and
// accumulates the input of the metrics. Without write it skips intervals and prediction sets.
func Judge(ctx context.Context, model estimator.Predictor, task datasets.Task, source datasets.Source,
	write func(block datasets.Set, p estimator.Prediction) error, done func(rows int)) (Verdict, error) {
	n, _ := source.Dims()
	v := newVerdict(task, source.Schema(), n)
	if p := pipeline.Find(model); p != nil && task == datasets.Classification {
		v.Costs = metricinput.Costs(p.Spec(), v.classNames)
	}
	var want estimator.Request
	if write == nil {
		want.Outputs = ^(estimator.OutputIntervals | estimator.OutputSets)
	}
	err := source.Blocks(ctx, func(block datasets.Set) error {
		p, err := estimator.Predict(ctx, model, block.X, want)
		if err != nil {
			return datasets.FromRow(block.Locate(err, 0), v.Rows)
		}
		if write != nil {
			if err := write(block, p); err != nil {
				return err
			}
		}
		v.add(block, p)
		if done != nil {
			done(v.Rows)
		}
		return nil
	})
	return v, err
}

// Beside is [Judge] for several models in one pass.
func Beside(ctx context.Context, models []estimator.Predictor, task datasets.Task, source datasets.Source) ([]Verdict,
	error) {
	n, _ := source.Dims()
	out := make([]Verdict, len(models))
	for k := range out {
		out[k] = newVerdict(task, source.Schema(), n)
	}
	err := source.Blocks(ctx, func(block datasets.Set) error {
		for k, model := range models {
			p, err := estimator.Predict(ctx, model, block.X, estimator.Request{})
			if err != nil {
				return err
			}
			out[k].add(block, p)
		}
		return nil
	})
	return out, err
}

// Verdict accumulates true values and predictions.
type Verdict struct {
	Rows  int
	Costs *mat.Dense // of mistakes between the classes; nil for none

	task             datasets.Task
	seen             sample // of a clustering
	classNames       []string
	classes, buf     int
	truth, predicted estimator.Prediction // values and targets
	weights          []float64
}

// newVerdict returns an empty verdict for n rows; negative n means unknown.
func newVerdict(task datasets.Task, schema datasets.Schema, n int) Verdict {
	names := schema.Classes()
	return Verdict{task: task, classNames: names, classes: len(names), buf: max(n, 0)}
}

func (v *Verdict) add(block datasets.Set, p estimator.Prediction) {
	v.Rows += block.Rows()
	if v.task == datasets.Clustering {
		v.seen.add(block)
	}
	v.truth = v.truth.Append(estimator.Prediction{Values: block.Y, Targets: block.Targets}, v.buf)
	v.predicted = v.predicted.Append(p, v.buf)
	if block.Weights != nil {
		v.weights = append(slices.Grow(v.weights, max(0, v.buf-len(v.weights))), block.Weights...)
	}
}

// Clusters returns the number of rows in each cluster.
func (v *Verdict) Clusters() []int {
	var out []int
	for _, cluster := range v.predicted.Values {
		for len(out) <= int(cluster) {
			out = append(out, 0)
		}
		out[int(cluster)]++
	}
	return out
}

// Anomalies returns the share of rows classified as anomalies.
func (v *Verdict) Anomalies() float64 {
	count := 0
	for _, output := range v.predicted.Values {
		if output == 1 {
			count++
		}
	}
	return float64(count) / float64(max(v.Rows, 1))
}

// AllUsual reports whether labeled rows contain no anomaly.
func (v *Verdict) AllUsual() bool {
	return v.task == datasets.Anomaly && v.truth.Values != nil && !slices.Contains(v.truth.Values, 1)
}

// Score returns the default metrics of the task and extra. It omits metrics that need missing true
// labels, and metrics that are undefined, with a warning.
func (v *Verdict) Score(extra ...string) (scores map[string]float64, warnings []string, err error) {
	if v.AllUsual() {
		return nil, []string{"no row is labeled as an anomaly, so there are no scores; set data.positive to the values of " +
			"the target that denote anomalies"}, nil
	}
	in := v.Input()
	if v.task == datasets.Regression {
		in.Scores, in.Probabilities, in.Classes = nil, nil, 0
	}
	some, err := v.seen.input(v.predicted.Values)
	if err != nil {
		return nil, nil, err
	}
	list := metrics.ForTask(v.task, v.classes)
	if v.Costs != nil {
		extra = append(extra, "cost")
	}
	for _, name := range extra {
		m, err := metrics.ByName(name)
		if err != nil {
			return nil, nil, err
		}
		if !slices.ContainsFunc(list, func(o metrics.Metric) bool { return o.Name == m.Name }) {
			list = append(list, m)
		}
	}
	if v.task.Unsupervised() && v.classes == 0 {
		list = slices.DeleteFunc(list, metrics.Metric.IsSupervised)
	}
	return score(list, func(m metrics.Metric) metrics.Input {
		if !m.IsSupervised() {
			return some
		}
		return in
	})
}

// Uncertainty returns the coverage and size of intervals or prediction sets, if any.
func (v *Verdict) Uncertainty() (map[string]float64, error) {
	var list []metrics.Metric
	for _, name := range []string{"coverage", "mean_width", "set_coverage", "mean_set_size"} {
		m, err := metrics.ByName(name)
		if err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	in := v.Input()
	if in.Sets == nil {
		in.Classes = 0
	}
	found, _, err := score(list, func(metrics.Metric) metrics.Input { return in })
	return found, err
}

// Input returns the true values and all predictions as input of metrics.
func (v *Verdict) Input() metrics.Input {
	return metricinput.AddPredictions(metrics.Input{YTrue: v.truth.Values, YTrueTargets: v.truth.Targets,
		Weights: v.weights, Classes: v.classes, ClassNames: v.classNames, Costs: v.Costs}, v.predicted)
}

// score returns the metrics whose requirements the input satisfies.
func score(list []metrics.Metric, input func(m metrics.Metric) metrics.Input) (scores map[string]float64,
	warnings []string, err error) {
	scores = map[string]float64{}
	for _, m := range list {
		in := input(m)
		if !m.Requires.SatisfiedBy(in) {
			continue
		}
		value, err := m.Score(in)
		if errors.Is(err, metrics.ErrUndefined) {
			warnings = append(warnings, err.Error())
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		scores[m.Name] = value
	}
	return scores, warnings, nil
}
