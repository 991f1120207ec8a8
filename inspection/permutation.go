// Package inspection explains fitted models by their predictions: permutation importance and
// partial dependence for a set of rows, Shapley values for each row, and functional ANOVA.
//
//	found, err := inspection.Permutation(ctx, model, test, inspection.Options{Repeats: 5})
//	effects, err := inspection.PartialDependence(ctx, model, test, 0, inspection.Options{})
//	values, err := inspection.Shapley(ctx, model, train, test, inspection.ShapleyOptions{})
//
// All replace values of inputs and predict again, or compute exactly what that would result in. An
// input is a column of the rows that the model takes: for a pipeline, a raw column before any step.
//
// All ignore the dependence between inputs. Two redundant inputs both get a low importance, and
// replacing one value can create rows that do not occur in practice.
//
// Sources: Breiman, "Random forests", Machine Learning 45, 2001 (permutation importance); Friedman,
// "Greedy function approximation: a gradient boosting machine", Annals of Statistics 29, 2001
// (partial dependence).
package inspection

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/learning/metricinput"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/pipeline"
)

// Options configures the methods. The zero value selects the defaults of a report.
type Options struct {
	Metric  string // name; "" for the first of [metrics.ForTask]
	Repeats int    // permutations per input; 0 for 5
	Rows    int    // maximum number of rows, evenly spaced; 0 for [Options.DefaultRows]
	Seed    uint64
}

// defaultRepeats is the default number of permutations per input.
const defaultRepeats = 5

// DefaultRows returns the default number of rows of [Permutation]: about 200,000 predictions in
// total, and 100 to 2,000 rows.
func (o Options) DefaultRows(inputs int) int {
	return min(2000, max(100, 200_000/max(1, inputs*cmp.Or(o.Repeats, defaultRepeats))))
}

// Importances contains the importance of each input of a model.
type Importances struct {
	Metric   string  `json:"score"`   // name
	Baseline float64 `json:"base"`    // score of the original rows
	Repeats  int     `json:"repeats"` // permutations per input
	Rows     int     `json:"rows"`    // number of rows evaluated
	// Inputs have Name, Column, Mean, Std and StdError each, in descending order of importance.
	Inputs []importance `json:"inputs"`
}

// importance is the decrease of the score when the values of an input are permuted.
type importance struct {
	Name   string  `json:"name"`
	Column int     `json:"column"` // index of the input
	Mean   float64 `json:"mean"`   // mean over the repeats
	Std    float64 `json:"std"`    // standard deviation over the repeats
	// StdError is the standard error of Mean with respect to rows and repeats.
	StdError float64 `json:"std_error"`
}

// jackknifeGroups is the number of groups of the jackknife.
const jackknifeGroups = 10

// groupScores contains the score of all rows, and the scores without each group, NaN if undefined.
type groupScores struct {
	all      float64
	leaveOut [jackknifeGroups]float64
}

// Permutation returns the permutation importance of each input: the mean decrease of the score when
// its values are permuted over the rows,
//
//	importance(j) = mean over r of ± (score(X) − score(X with column j permuted by π_jr))
//
// with the sign that makes a worse score positive. The importance is near 0, possibly negative, if
// the model ignores the input or other inputs replace it.
//
// StdError includes the sampling of rows and the permutations: it adds the delete-a-group jackknife
// variance over ten groups of rows and the variance over the repeats.
//
// Each permutation has its own random stream, so the result does not depend on GOMAXPROCS. Cost:
// inputs × repeats × rows predictions; memory: two copies of the rows. Errors: rows without
// targets, outputs that the metric requires and the model does not have, and invalid options.
func Permutation(ctx context.Context, model estimator.Predictor, data datasets.Set, o Options) (Importances, error) {
	if o.Repeats == 0 {
		o.Repeats = defaultRepeats
	}
	if err := o.check(model, data); err != nil {
		return Importances{}, err
	}
	if o.Rows == 0 {
		o.Rows = o.DefaultRows(data.Cols())
	}
	if data.Y == nil && data.Targets == nil {
		return Importances{}, errors.New("inspection: permutation importance requires targets")
	}
	metric, task, err := metricOf(o.Metric, data, model)
	if err != nil {
		return Importances{}, err
	}
	data = data.EvenlySpaced(o.Rows)
	rows := newColumnEditor(data.X)
	truth := metricinput.FromSet(data, task)
	if p := pipeline.Find(model); p != nil {
		truth.Costs = metricinput.Costs(p.Spec(), truth.ClassNames)
	}
	weights := leaveOutWeights(data)
	request := metricinput.RequiredOutputs([]metrics.Metric{metric}, truth.YTrueTargets != nil,
		estimator.OutputsOf(model).Has)
	score := func() (m groupScores, err error) {
		prediction, err := estimator.Predict(ctx, model, rows.matrix(), request)
		if err != nil {
			return m, err
		}
		return scoreGroups(metric, metricinput.AddPredictions(truth, prediction), weights)
	}
	out := Importances{Metric: metric.Name, Repeats: o.Repeats, Rows: data.Rows()}
	base, err := score()
	if err != nil {
		return Importances{}, wrapError(ctx, err)
	}
	out.Baseline = base.all
	sign := -1.0
	if metric.GreaterIsBetter {
		sign = 1
	}
	decrease := make([]float64, o.Repeats)
	for j := range data.Cols() {
		if rows.isConstant(j) {
			out.Inputs = append(out.Inputs, importance{Name: data.Schema.Name(j), Column: j})
			continue
		}
		var leaveOut [jackknifeGroups]float64 // mean over the repeats
		for r := range decrease {
			rows.permute(j, rand.New(rand.NewPCG(o.Seed, uint64(j)<<20|uint64(r)+1)).Perm(data.Rows()))
			value, err := score()
			if err != nil {
				return Importances{}, wrapError(ctx, err)
			}
			decrease[r] = sign * (base.all - value.all)
			for g := range leaveOut {
				leaveOut[g] += sign * (base.leaveOut[g] - value.leaveOut[g]) / float64(o.Repeats)
			}
		}
		rows.restore(j)
		mean, std := meanStd(decrease)
		out.Inputs = append(out.Inputs, importance{Name: data.Schema.Name(j), Column: j, Mean: mean, Std: std,
			StdError: stdError(std, o.Repeats, leaveOut)})
	}
	slices.SortStableFunc(out.Inputs, func(a, b importance) int { return cmp.Compare(b.Mean, a.Mean) })
	return out, nil
}

// scoreGroups returns the score of all rows and the scores without each group.
func scoreGroups(metric metrics.Metric, in metrics.Input, weights [jackknifeGroups][]float64) (m groupScores,
	err error) {
	if !metric.Requires.SatisfiedBy(in) {
		return m, fmt.Errorf("metric %s requires %s, which the model does not have", metric.Name, metric.Requires)
	}
	if m.all, err = metric.Score(in); err != nil {
		return m, err
	}
	for g := range m.leaveOut {
		in.Weights = weights[g]
		if m.leaveOut[g], err = metric.Score(in); err != nil {
			m.leaveOut[g] = math.NaN()
		}
	}
	return m, nil
}

// leaveOutWeights returns, for each group, the weights of the rows with those of the group set to
// 0.
func leaveOutWeights(data datasets.Set) (out [jackknifeGroups][]float64) {
	for g := range out {
		out[g] = make([]float64, data.Rows())
		for i := range out[g] {
			if i%jackknifeGroups == g {
				continue
			}
			out[g][i] = 1
			if data.Weights != nil {
				out[g][i] = data.Weights[i]
			}
		}
	}
	return out
}

// stdError returns the standard error of a mean, from its standard deviation over the repeats and
// the delete-a-group jackknife over rows (Kott, Journal of Official Statistics 17, 2001). It omits
// the latter if the score of a group is undefined.
func stdError(std float64, repeats int, without [jackknifeGroups]float64) float64 {
	_, groupStd := meanStd(without[:])
	variance := std * std / float64(max(1, repeats-1))
	if rows := (jackknifeGroups - 1) * groupStd * groupStd; rows-rows == 0 {
		variance += rows
	}
	return math.Sqrt(variance)
}

// check validates the options and the rows.
func (o Options) check(model estimator.Predictor, data datasets.Set) error {
	var errs []error
	if fitted := pipeline.Find(model); fitted != nil {
		if err := fitted.InputSchema().CheckColumns(data.Schema); err != nil {
			errs = append(errs, fmt.Errorf("inspection: %w", err))
		}
	}
	if o.Repeats < 0 {
		errs = append(errs, fmt.Errorf("inspection: repeats must be ≥ 1, or 0 for %d, got %d", defaultRepeats, o.Repeats))
	}
	if o.Rows < 0 {
		errs = append(errs, fmt.Errorf("inspection: rows must be ≥ 1, or 0 for the default, got %d", o.Rows))
	}
	if data.X == nil || data.Rows() == 0 || data.Cols() == 0 {
		errs = append(errs, errors.New("inspection: X must not be empty"))
	}
	return errors.Join(errs...)
}

// metricOf returns the metric with the given name, or the default of the task.
func metricOf(name string, data datasets.Set, model estimator.Predictor) (metrics.Metric, datasets.Task, error) {
	task, classes := datasets.Regression, data.Schema.Classes()
	if outputs := estimator.OutputsOf(model); outputs.Labels != nil {
		task = datasets.MultiLabel
	} else if known := outputs.Classes; len(known) > 0 || len(classes) > 0 {
		task = datasets.Classification
		if len(classes) == 0 {
			classes = known
		}
	}
	if name == "" {
		return metrics.ForTask(task, len(classes))[0], task, nil
	}
	m, err := metrics.ByName(name)
	if err == nil && !m.SupportsTask(task) {
		err = fmt.Errorf("metric %s supports %s, but the model is for %s", m.Name, m.Task, task)
	}
	if err != nil {
		return m, task, fmt.Errorf("inspection: %w", err)
	}
	return m, task, nil
}

func wrapError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctxerr.Check(ctx)
	}
	return fmt.Errorf("inspection: %w", err)
}
