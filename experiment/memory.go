package experiment

import (
	"cmp"
	"fmt"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
	"github.com/bochner-ml/bochner/pipeline"
)

// planStep is the estimated output of one step for all training rows.
type planStep struct {
	Name  string `json:"name"`
	Width int    `json:"width"`           // output columns, -1 if unknown
	Guess bool   `json:"guess,omitempty"` // whether the width is an estimate
	Bytes int64  `json:"bytes"`
}

// memoryOfFit returns the memory of each step of a pipeline for data of the given shape, and of the
// whole fit with the predictions of all rows.
func memoryOfFit(p pipeline.Pipeline, shape datasets.Shape, count result.Rows) (steps []planStep, bytes int64) {
	at := shape
	add := func(name string, step any) {
		own, _ := pipeline.Lookup(step)
		cost := datasets.Cost{OutputWidth: at.Cols}
		if c, ok := step.(datasets.CostEstimator); ok {
			cost = c.Cost(at)
		}
		steps = append(steps, planStep{Name: cmp.Or(name, own.Name, fmt.Sprintf("%T", step)), Width: cost.OutputWidth,
			Guess: cost.WidthEstimated, Bytes: cost.Bytes})
		at = at.After(cost)
	}
	shown := p
	if wrapped, ok := p.Estimator.(meta.Intervals); ok {
		if whole, ok := wrapped.Estimator.(pipeline.Pipeline); ok { // the steps dominate the cost
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
	// and probabilities, of all rows
	scores := 2 * 8 * float64(max(count.Train, count.Test)) * float64(max(shape.Outputs, 1))
	return steps, max(p.Cost(shape).Bytes, int64(scores))
}

// tooLarge is a [memory.ErrTooLarge] with the required and available memory.
type tooLarge struct {
	bytes, available int64
	way              string
}

func (e tooLarge) Error() string {
	return fmt.Sprintf("experiment: insufficient memory: needs about %.1f GB, %.1f GB available; %s", float64(e.bytes)/1e9,
		float64(e.available)/1e9, e.way)
}

func (e tooLarge) Unwrap() error { return memory.ErrTooLarge }

// checkMemory returns a [memory.ErrTooLarge] if bytes exceeds the available memory.
func checkMemory(bytes, available int64, streamed, searched bool) error {
	if bytes <= available {
		return nil
	}
	way := "take fewer features"
	switch {
	case !streamed && searched:
		way = "use fewer features, or remove the search and set data.stream: always"
	case !streamed:
		way = "use fewer features or data.stream: always"
	}
	return tooLarge{bytes, available, way}
}
