package experiment

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/experiment/internal/findings"
	"github.com/bochner-ml/bochner/experiment/internal/rows"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/internal/cause"
	"github.com/bochner-ml/bochner/internal/reading"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// Pilot is a fit to some of the rows, of a search those of three candidates. How often a model reads its rows until it is done
// depends on them and on its penalty, and no cost model knows that; the pilot counts it, and Times is how many times as often
// that is as by the cost model. What a reading takes the cost model knows better: few rows are in a cache, and small matrices
// are slow. Each row counts as many times as there are others for it, so that the penalty is to the loss what it is in
// the run: a logistic regression of seven classes with C = 10 reads some thousand rows as often as it reads 75,000.
type Pilot struct {
	Rows    int     `json:"rows"`
	Seconds float64 `json:"seconds"`
	Times   float64 `json:"times"`
}

const (
	// Operations, so that a pilot is the same on every machine, however busy: some tenths of a second.
	pilotWork    = 5e10   // that it is to take by the cost model
	pilotPart    = 0.15   // of those of all fits, likewise,
	pilotShort   = 2e10   // or so many where these are few
	pilotMost    = 1.5e11 // after which it is given up
	pilotLeast   = 500    // rows
	pilotColumn  = 2.5    // and for each column: of fewer a plane goes through all, and is long sought
	pilotEnough  = 16     // times as many
	pilotEntries = 2e7    // of a file that is read to its end for some of its rows
)

// pilot fits the pipeline to some of the rows, which takes a small part of the forecast of all fits. It is nil where the model
// reads the rows as often as its cost says, where even few rows take long, and where they cannot be fitted.
func (f forecast) pilot(ctx context.Context, parts *rows.Parts, search gridsearch.Plan) (*Pilot, error) {
	if f.fit.work.Read == 0 {
		return nil, nil
	}
	machines := f.piloted()
	most := min(pilotWork, max(pilotShort, pilotPart*searchFlops(search, f.fit)))
	if len(machines) > 1 && f.pilotRows(most, machines) < f.leastPiloted(machines) {
		machines = machines[1:2]
	}
	n, least := f.pilotRows(most, machines), f.leastPiloted(machines)
	if n < least {
		return nil, nil
	}
	n = min(n, pilotEnough*least)
	set, err := f.someRows(ctx, parts, n)
	if err != nil || set.Rows() < pilotLeast {
		return nil, err
	}
	f.standFor(&set)
	return f.fly(ctx, set, machines)
}

// pilotSimple returns how many times as often as by its cost the linear model that a report compares with reads its rows, by a
// pilot where it takes long.
func (f forecast) pilotSimple(ctx context.Context, parts *rows.Parts) (float64, error) {
	const long, short = 3e9, 6e8 // operations of the fit, and of its pilot
	if f.task.Targetless() {
		return 1, nil
	}
	shape := f.shape
	shape.Rows, shape.Streamed = min(shape.Rows, findings.LinearRows), false
	machine := findings.Linear(shape, f.task)
	cost := machine.Cost(shape)
	if cost.Read == 0 || cost.Flops < long {
		return 1, nil
	}
	f.shape, f.fit.work.Most = shape, cost.Most
	machines := []pipeline.Pipeline{machine}
	set, err := f.someRows(ctx, parts, max(pilotLeast, f.pilotRows(short, machines)))
	if err != nil || set.Rows() < pilotLeast {
		return 1, err
	}
	f.standFor(&set)
	p, err := f.fly(ctx, set, machines)
	if p == nil {
		return 1, err
	}
	return p.Times, err
}

// fly fits the machines one after the other until they have read the rows too often.
func (f forecast) fly(ctx context.Context, set datasets.Set, machines []pipeline.Pipeline) (*Pilot, error) {
	shape, each := f.shape, 0.0
	shape.Rows, shape.Streamed = set.Rows(), false
	for _, machine := range machines {
		cost := machine.Cost(shape)
		each = max(each, cost.Iterated/max(cost.Read, 1))
	}
	bounded, counter, end := reading.Bounded(ctx, pilotMost/max(each, 1))
	defer end()
	out, expected := &Pilot{Rows: set.Rows()}, 0.0
	began := time.Now()
	for _, machine := range machines {
		_, err := machine.Fit(bounded, set)
		if ctx.Err() != nil {
			return nil, cause.Err(ctx)
		}
		if err != nil && bounded.Err() == nil {
			return nil, nil // a run says what is wrong with the rows, if it is wrong with all
		}
		expected += machine.Cost(shape).Read
		if bounded.Err() != nil {
			break // it reads them at least so often
		}
	}
	out.Seconds = time.Since(began).Seconds()
	if out.Times = counter.Rows() / expected; bounded.Err() != nil {
		out.Times = max(out.Times, 1) // at least
	}
	if most := f.fit.work.Most; most > 0 {
		out.Times = min(out.Times, most)
	}
	return out, nil
}

// piloted are the pipelines that are tried: the one of the spec, or of a search those with the first value of each axis, the
// middle and the last. A wrapper that fits its model to folds would fit it many times to ever fewer rows: its model stands for it,
// which can have as many rows as its folds have.
func (f forecast) piloted() (out []pipeline.Pipeline) {
	if f.spec.Search == nil {
		return []pipeline.Pipeline{unfolded(f.last, f.shape.Rows)}
	}
	for k := range 3 {
		var settings []param.Setting
		for _, axis := range f.spec.Search.Grid {
			settings = append(settings, param.Setting{Path: axis.Path, Value: axis.Values[k*(len(axis.Values)-1)/2]})
		}
		if with, err := param.With(f.spec.Pipeline, settings...); err == nil {
			if machine, ok := with.(pipeline.Pipeline); ok {
				out = append(out, unfolded(lastPipeline(f.spec, machine, f.shape, f.shape.Streamed), f.shape.Rows))
			}
		}
	}
	return out
}

// unfolded is a pipeline with the model within wrappers that fit it to folds in their place. An exact kernel that is solved by
// steps for many rows is so for few.
func unfolded(p pipeline.Pipeline, rows int) pipeline.Pipeline {
	for {
		switch w := p.Estimator.(type) {
		case meta.Calibrated:
			p.Estimator = w.Of
		case meta.Threshold:
			p.Estimator = w.Of
		case estimator.KernelRidge:
			w.Solver = w.Way(rows)
			p.Estimator = w
			return p
		case estimator.KernelRidgeClassifier:
			w.Solver = w.Way(rows)
			p.Estimator = w
			return p
		default:
			return p
		}
	}
}

// leastPiloted is how many rows tell anything of the machines.
func (f forecast) leastPiloted(machines []pipeline.Pipeline) int {
	least := pilotLeast
	for _, m := range machines {
		if at := f.shape.After(pipeline.Chain{Steps: m.Steps}.Cost(f.shape)); at.Filled == 0 {
			least = max(least, min(int(pilotColumn*float64(at.Cols)), f.shape.Rows/2))
		}
	}
	return least
}

// pilotRows is how many rows, half of all at most, fits of the machines take so much work on.
func (f forecast) pilotRows(flops float64, machines []pipeline.Pipeline) int {
	low, high := 0, f.shape.Rows/2
	for low < high {
		n, sum := (low+high+1)/2, 0.0
		for _, m := range machines {
			sum += f.flopsOf(n, m)
		}
		if sum <= flops {
			low = n
		} else {
			high = n - 1
		}
	}
	return low
}

// flopsOf is what a fit to so many rows takes by the cost model.
func (f forecast) flopsOf(n int, machine pipeline.Pipeline) float64 {
	shape := f.shape
	shape.Rows, shape.Streamed = n, false
	return machine.Cost(shape).Flops
}

// standFor gives rows the weight of all, each as much more as there are more of them.
func (f forecast) standFor(set *datasets.Set) {
	more := float64(f.shape.Rows) / float64(set.Rows())
	weights := make([]float64, set.Rows())
	for i := range weights {
		weights[i] = more
		if set.Weights != nil {
			weights[i] *= set.Weights[i]
		}
	}
	set.Weights = weights
}

var errEnough = errors.New("enough rows")

// someRows returns so many rows, spread over all where they are in memory or soon read, else the first of the file.
func (f forecast) someRows(ctx context.Context, parts *rows.Parts, n int) (out datasets.Set, err error) {
	source := parts.Train
	if parts.Task.Targetless() {
		source = datasets.WithoutTargets(source)
	}
	if set, ok := datasets.Held(source); ok {
		return set.Spread(n), nil
	}
	var blocks []datasets.Set
	left := n
	err = source.Blocks(ctx, func(block datasets.Set) error {
		take := min(left, block.Rows())
		if float64(f.shape.Rows)*f.shape.Entries() < pilotEntries {
			take = min(left, int(math.Ceil(float64(n*block.Rows())/float64(f.shape.Rows))))
		}
		blocks = append(blocks, block.Select(datasets.Spread(block.Rows(), take))) // a copy, for the block is the reader's
		if left -= take; left <= 0 {
			return errEnough
		}
		return nil
	})
	if err != nil && err != errEnough {
		return out, err
	}
	return datasets.Stack(blocks...)
}
