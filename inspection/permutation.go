// Package inspection tells which inputs of a fitted model matter, and how.
//
//	found, err := inspection.Permutation(ctx, model, test, inspection.Options{Repeats: 5})
//	effects, err := inspection.PartialDependence(ctx, model, test, 0, inspection.Options{})
//
// Both look at the model from outside: they change the values of one input and see what it says then. An input is a
// column of the rows that the model takes, so for a pipeline a column of the file, whatever its steps make of it.
//
// Neither knows what inputs have to do with each other. Of two that say the same a model can do without either, and both
// seem to matter little; and rows with one value changed may be such as there are none.
//
// Sources: Breiman, "Random forests", Machine Learning 45, 2001, for permutations; Friedman, "Greedy function
// approximation: a gradient boosting machine", Annals of Statistics 29, 2001, for partial dependence.
package inspection

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/metricinput"
	"github.com/bochner-ml/bochner/metrics"
)

// Options say how closely to look. The zero value looks as a report does.
type Options struct {
	Score   string // metric by its name; "" for the first that [metrics.ForTask] has
	Repeats int    // permutations of each input; 0 for 5
	Rows    int    // at most, evenly spread over those given; 0 for as many as keep the work bounded, see [Rows]
	Seed    uint64
}

// defaultRepeats is how often each input is permuted where nothing is said.
const defaultRepeats = 5

// Rows returns how many rows [Permutation] looks at where nothing is said: so many that all inputs together take some
// 200,000 predictions, at least 100 and at most 2,000.
func Rows(inputs, repeats int) int {
	return min(2000, max(100, 200_000/max(1, inputs*repeats)))
}

// Result is how much each input matters to a model on some rows.
type Result struct {
	Score   string  `json:"score"`   // metric by its name
	Base    float64 `json:"base"`    // of the rows as they are
	Repeats int     `json:"repeats"` // permutations of each input
	Rows    int     `json:"rows"`    // that it was measured on
	Inputs  []Input `json:"inputs"`  // those that matter most first
}

// Input is by how much the score gets worse where the values of an input are permuted.
type Input struct {
	Name   string  `json:"name"`
	Column int     `json:"column"` // its number among the inputs
	Mean   float64 `json:"mean"`   // over the repeats
	Std    float64 `json:"std"`    // over the repeats, divided by their number
	// StdError is the standard error of Mean, over the rows and the repeats.
	StdError float64 `json:"std_error"`
}

// groups is how many groups of rows the jackknife leaves out in turn.
const groups = 10

// measured is a score of all rows, and without each group of rows, NaN where it has no value.
type measured struct {
	all     float64
	without [groups]float64
}

// Permutation measures by how much a score of the model gets worse on rows with a known target where the values of one
// input are permuted over the rows, for each input in turn:
//
//	importance(j) = mean over r of ± (score(X) − score(X with column j permuted by π_jr))
//
// with the sign by which a worse score counts as positive. Near 0, or below it by chance, is an input that the model makes
// no use of, or that another one stands in for.
//
// StdError covers the draw of the rows as well as that of the permutations: score differences without
// each of ten groups of rows give a jackknife variance, to which the variance over repeats is added.
//
// Every permutation is drawn from a stream of its own, so that the result is the same for any number of cores. The cost
// is that of inputs × repeats × rows predictions; memory is that of two copies of the rows looked at.
func Permutation(ctx context.Context, model estimator.Predictor, data datasets.Set, o Options) (Result, error) {
	if o.Repeats == 0 {
		o.Repeats = defaultRepeats
	}
	if err := o.check(model, data); err != nil {
		return Result{}, err
	}
	if o.Rows == 0 {
		o.Rows = Rows(data.Cols(), o.Repeats)
	}
	if data.Y == nil && data.Targets == nil {
		return Result{}, errors.New("importance: the rows have no targets, by which a score tells right from wrong")
	}
	metric, task, err := metricOf(o.Score, data, model)
	if err != nil {
		return Result{}, err
	}
	data = data.EvenlySpaced(o.Rows)
	v := newVaried(data.X)
	truth := metricinput.Truth(data, task)
	weights := weightsWithout(data)
	wanted := metricinput.Wants([]metrics.Metric{metric}, truth.TruthTargets != nil, estimator.OutputsOf(model).Has)
	score := func() (m measured, err error) {
		said, err := estimator.Predict(ctx, model, v.rows(), wanted)
		if err != nil {
			return m, err
		}
		in := metricinput.With(truth, said)
		if !metric.Needs.Met(in) {
			return m, fmt.Errorf("%s needs %s, which the model does not give", metric.Name, metric.Needs)
		}
		if m.all, err = metric.Score(in); err != nil {
			return m, err
		}
		for g := range m.without {
			in.Weights = weights[g]
			if m.without[g], err = metric.Score(in); err != nil {
				m.without[g] = math.NaN()
			}
		}
		return m, nil
	}
	out := Result{Score: metric.Name, Repeats: o.Repeats, Rows: data.Rows()}
	base, err := score()
	if err != nil {
		return Result{}, wrapped(ctx, err)
	}
	out.Base = base.all
	sign := -1.0
	if metric.GreaterIsBetter {
		sign = 1
	}
	worse := make([]float64, o.Repeats)
	for j := range data.Cols() {
		if v.constant(j) {
			out.Inputs = append(out.Inputs, Input{Name: data.Schema.Name(j), Column: j})
			continue
		}
		var without [groups]float64 // mean over the repeats
		for r := range worse {
			v.permute(j, rand.New(rand.NewPCG(o.Seed, uint64(j)<<20|uint64(r)+1)).Perm(data.Rows()))
			value, err := score()
			if err != nil {
				return Result{}, wrapped(ctx, err)
			}
			worse[r] = sign * (base.all - value.all)
			for g := range without {
				without[g] += sign * (base.without[g] - value.without[g]) / float64(o.Repeats)
			}
		}
		v.restore(j)
		mean, std := meanStd(worse)
		out.Inputs = append(out.Inputs, Input{Name: data.Schema.Name(j), Column: j, Mean: mean, Std: std, StdError: stdError(std, o.Repeats, without)})
	}
	slices.SortStableFunc(out.Inputs, func(a, b Input) int {
		switch {
		case a.Mean > b.Mean:
			return -1
		case a.Mean < b.Mean:
			return 1
		}
		return 0
	})
	return out, nil
}

// weightsWithout returns the weights of the rows with those of one group 0, for each group.
func weightsWithout(data datasets.Set) (out [groups][]float64) {
	for g := range out {
		out[g] = make([]float64, data.Rows())
		for i := range out[g] {
			if i%groups == g {
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

// stdError returns the standard error of a mean over repeats with deviation std and over rows, the
// latter by the delete-a-group jackknife (Kott, Journal of Official Statistics 17, 2001). Without a
// score of some group it is that over the repeats.
func stdError(std float64, repeats int, without [groups]float64) float64 {
	_, spread := meanStd(without[:])
	variance := std * std / float64(max(1, repeats-1))
	if rows := (groups - 1) * spread * spread; rows-rows == 0 {
		variance += rows
	}
	return math.Sqrt(variance)
}

// check returns all that is wrong with the options and the rows.
func (o Options) check(model estimator.Predictor, data datasets.Set) error {
	var faults []error
	var fitted interface{ InputSchema() datasets.Schema }
	if estimator.As(model, &fitted) {
		if err := fitted.InputSchema().CheckColumns(data.Schema); err != nil {
			faults = append(faults, fmt.Errorf("importance: %w", err))
		}
	}
	if o.Repeats < 0 {
		faults = append(faults, fmt.Errorf("importance: repeats = %d, wanted at least 1, or 0 for %d", o.Repeats, defaultRepeats))
	}
	if o.Rows < 0 {
		faults = append(faults, fmt.Errorf("importance: rows = %d, wanted at least 1, or 0 for a number that suits", o.Rows))
	}
	if data.X == nil || data.Rows() == 0 || data.Cols() == 0 {
		faults = append(faults, errors.New("importance: there are no rows, or none of their inputs, to look at"))
	}
	return errors.Join(faults...)
}

// metricOf returns the metric of that name, or the first of the task.
func metricOf(name string, data datasets.Set, model estimator.Predictor) (metrics.Metric, datasets.Task, error) {
	task, classes := datasets.Regression, data.Schema.Classes()
	if known := estimator.OutputsOf(model).Classes; len(known) > 0 || len(classes) > 0 {
		task = datasets.Classification
		if len(classes) == 0 {
			classes = known
		}
	}
	if name == "" {
		return metrics.ForTask(task, len(classes))[0], task, nil
	}
	m, err := metrics.ByName(name)
	if err == nil && m.Task != task {
		err = fmt.Errorf("score %s is for %s, and the model is one of %s", m.Name, m.Task, task)
	}
	if err != nil {
		return m, task, fmt.Errorf("importance: %w", err)
	}
	return m, task, nil
}

func wrapped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctxerr.Check(ctx)
	}
	return fmt.Errorf("importance: %w", err)
}
