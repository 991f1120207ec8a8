package experiment

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/experiment/internal/rows"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// Pilot is a fit to some of the rows, of a search those of three candidates. How often a model reads its rows until it is done
// depends on them and on its penalty, and no cost model knows that; the pilot says how many times as long as by the cost
// model a fit takes. Each row counts as many times as there are others for it, so that the penalty is to the loss what it is in
// the run: a logistic regression of seven classes with C = 10 reads some thousand rows as often as it reads 75,000.
type Pilot struct {
	Rows    int     `json:"rows"`
	Seconds float64 `json:"seconds"`
	Times   float64 `json:"times"`
}

const (
	pilotSeconds = 0.08 // that the pilot is to take by the cost model
	pilotPart    = 0.05 // of the forecast of all fits, likewise
	pilotMost    = 1.5  // seconds after which it is given up
	pilotLeast   = 500  // rows
)

// pilot fits the pipeline to some of the rows, which takes a small part of the forecast of all fits. It is nil where the model
// reads the rows as often as its cost says, where even few rows take long, and where they cannot be fitted.
func (f forecast) pilot(ctx context.Context, parts *rows.Parts, search gridsearch.Plan) (*Pilot, error) {
	before := f.shape.After(pipeline.Chain{Steps: f.last.Steps}.Cost(f.shape))
	if c, ok := f.last.Estimator.(datasets.Coster); !ok || c.Cost(before).Passes > 0 {
		return nil, nil
	}
	machines := f.piloted()
	planned := searchSeconds(f.spec, search, 1) + f.seconds(f.fit.flops, f.fit.alone)
	n := f.pilotRows(min(pilotSeconds, pilotPart*planned), machines)
	if n < pilotLeast {
		return nil, nil
	}
	set, err := someRows(ctx, parts, n)
	if err != nil || set.Rows() < pilotLeast {
		return nil, err
	}
	f.standFor(&set)
	return f.fly(ctx, set, machines)
}

// fly fits the machines one after the other until the time is over.
func (f forecast) fly(ctx context.Context, set datasets.Set, machines []pipeline.Pipeline) (*Pilot, error) {
	bounded, end := context.WithTimeout(ctx, time.Duration(pilotMost*float64(time.Second)))
	defer end()
	out, forecast := &Pilot{Rows: set.Rows()}, 0.0
	start := time.Now()
	for _, machine := range machines {
		least := math.Inf(1)
		for try := 0; try == 0 || try == 1 && time.Since(start).Seconds() < pilotMost/3; try++ { // the first waits for fresh memory, too
			began := time.Now()
			_, err := machine.Fit(bounded, set)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err != nil && bounded.Err() == nil {
				return nil, nil // a run says what is wrong with the rows, if it is wrong with all
			}
			if err == nil || try == 0 {
				least = min(least, time.Since(began).Seconds())
			}
		}
		out.Seconds += least
		forecast += f.secondsOf(set.Rows(), machine)
		if bounded.Err() != nil {
			break // it takes at least so long
		}
	}
	out.Times = out.Seconds / forecast
	return out, nil
}

// piloted are the pipelines that are tried: the one of the spec, or of a search those with the first value of each axis, the
// middle and the last.
func (f forecast) piloted() (out []pipeline.Pipeline) {
	if f.spec.Search == nil {
		return []pipeline.Pipeline{f.last}
	}
	for k := range 3 {
		var settings []param.Setting
		for _, axis := range f.spec.Search.Grid {
			settings = append(settings, param.Setting{Path: axis.Path, Value: axis.Values[k*(len(axis.Values)-1)/2]})
		}
		if with, err := param.With(f.spec.Pipeline, settings...); err == nil {
			if machine, ok := with.(pipeline.Pipeline); ok {
				out = append(out, lastPipeline(f.spec, machine, f.shape, f.shape.Streamed))
			}
		}
	}
	return out
}

// pilotRows is how many rows, a quarter of all at most, fits of the machines take so long on.
func (f forecast) pilotRows(seconds float64, machines []pipeline.Pipeline) int {
	low, high := 0, f.shape.Rows/4
	for low < high {
		n, sum := (low+high+1)/2, 0.0
		for _, m := range machines {
			sum += f.secondsOf(n, m)
		}
		if sum <= seconds {
			low = n
		} else {
			high = n - 1
		}
	}
	return low
}

// secondsOf is how long a fit to so many rows takes by the cost model.
func (f forecast) secondsOf(n int, machine pipeline.Pipeline) float64 {
	shape := f.shape
	shape.Rows, shape.Streamed = n, false
	cost := machine.Cost(shape)
	return f.seconds(cost.Flops, cost.Alone)
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

// someRows returns so many rows, spread over those in memory, or of the first block of a file that stays where it is.
func someRows(ctx context.Context, parts *rows.Parts, n int) (out datasets.Set, err error) {
	source := parts.Train
	if parts.Task.Targetless() {
		source = datasets.WithoutTargets(source)
	}
	if set, ok := datasets.Held(source); ok {
		return set.Spread(n), nil
	}
	err = source.Blocks(ctx, func(block datasets.Set) error {
		out = block.Select(datasets.Spread(block.Rows(), n)) // a copy, for the block is the reader's
		return errEnough
	})
	if err == errEnough {
		err = nil
	}
	return out, err
}
