package experiment

import (
	"cmp"
	"fmt"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/pipeline"
)

// PlanStep is what one step takes on all training rows.
type PlanStep struct {
	Name  string `json:"name"`
	Width int    `json:"width"`           // columns that come out, -1 where nothing tells
	Guess bool   `json:"guess,omitempty"` // whether only fitting tells the width
	Bytes int64  `json:"bytes"`
}

// fitCost is what a fit takes, with what each of its steps does.
type fitCost struct {
	steps []PlanStep
	work  datasets.Cost // with the memory of what is predicted
}

// costOfFit adds up the steps of a pipeline on data of a shape, and the predictions of the rows.
func costOfFit(p pipeline.Pipeline, shape datasets.Shape, count result.Rows) (out fitCost) {
	at := shape
	add := func(name string, step any) {
		own, _ := pipeline.EntryOf(step)
		cost := datasets.Cost{Width: at.Cols}
		if c, ok := step.(datasets.Coster); ok {
			cost = c.Cost(at)
		}
		out.steps = append(out.steps, PlanStep{Name: cmp.Or(name, own.Name, fmt.Sprintf("%T", step)), Width: cost.Width, Guess: cost.Guess, Bytes: cost.Bytes})
		at = at.After(cost)
	}
	shown := p
	if wrapped, ok := p.Estimator.(meta.Intervals); ok {
		if whole, ok := wrapped.Of.(pipeline.Pipeline); ok { // its steps are what takes the time
			shown = whole
			at.Rows -= int(wrapped.Calibration * float64(at.Rows))
		}
	}
	for i, s := range shown.Steps {
		kept := at.Streamed
		at.Streamed = kept || i == len(shown.Steps)-1 // its rows are made in blocks as the estimator reads them
		add(s.Name, s.Fitter)
		at.Streamed = kept
	}
	add(shown.Name, shown.Estimator)
	cost := p.Cost(shape)
	said := 2 * 8 * float64(max(count.Train, count.Test)) * float64(max(shape.Outputs, 1)) // scores and probabilities of all rows
	cost.Bytes = max(cost.Bytes, int64(said))
	out.work = cost
	return out
}

// planOfSearch is the plan of the search on rows that are stood for, without the last fit.
func planOfSearch(spec Spec, train datasets.Set, task datasets.Task) (p gridsearch.Plan, err error) {
	search := spec.GridSearch(train.Groups != nil, task)
	switch {
	case spec.Search.Coordinate():
		p, err = spec.AlongAxes(search).Plan(train)
	case spec.Search.Halving.Least == 0:
		p, err = search.Plan(train)
	default:
		p, err = spec.Rounds(search).Plan(train)
	}
	return p, ofHalving(err)
}

// predicting is the work of predicting all rows.
func predicting(p pipeline.Pipeline, shape datasets.Shape, count result.Rows) datasets.Cost {
	shape.Rows = count.Train + count.Test
	var work datasets.Cost
	mapped := shape
	for _, s := range p.Steps {
		c, ok := s.Fitter.(datasets.Coster)
		if !ok {
			continue
		}
		cost := c.Cost(mapped)
		mapped = mapped.After(cost)
		if cost.Each > 0 {
			cost.Flops = cost.Each * float64(shape.Rows)

		}
		work = work.With(cost)
	}
	if wrapped, ok := p.Estimator.(meta.Intervals); ok && wrapped.Way(mapped) == "jackknife_plus" {
		work.Flops += 2 * float64(count.Test) * float64(count.Train) * mapped.Entries()
	}
	work.Flops += 2 * float64(shape.Rows) * mapped.Entries() * float64(max(shape.Outputs, 1))
	return datasets.Cost{Flops: work.Flops}
}

// streamedRows is how many bytes of mapped rows a streamed fit may keep.
const streamedRows = 64 << 20
