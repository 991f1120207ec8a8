package experiment

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/internal/memory"
	"github.com/bochner-ml/bochner/pipeline"
)

// Plan is what a run would do and what that takes.
type Plan struct {
	Name       string   `json:"name"`
	Task       string   `json:"task"`
	Rows       Rows     `json:"rows"`
	Features   int      `json:"features_in"`
	Stream     bool     `json:"stream"` // whether the rows stay in the file
	Candidates int      `json:"candidates"`
	Folds      int      `json:"folds"` // 0 without a search
	Fits       int      `json:"fits"`  // the last one included
	Shared     []string `json:"shared"`
	Flops      float64  `json:"flops"`
	Seconds    float64  `json:"seconds"` // of reading, fits and predictions; 0 where an estimator does not tell what it costs
	// What a search takes when every fit is done by itself, 0 where nothing is shared.
	OneByOneFlops float64 `json:"one_by_one_flops,omitempty"`
	OneByOne      float64 `json:"one_by_one_seconds,omitempty"`

	Bytes     int64      `json:"bytes"`
	Available int64      `json:"available_bytes"`
	Steps     []PlanStep `json:"steps"`
	Warnings  []string   `json:"warnings"`

	once float64 // flops of one fit
}

// PlanStep is what one step takes on all training rows.
type PlanStep struct {
	Name  string  `json:"name"`
	Width int     `json:"width"`           // columns that come out, -1 where nothing tells
	Guess bool    `json:"guess,omitempty"` // whether only fitting tells the width
	Flops float64 `json:"flops"`
	Bytes int64   `json:"bytes"`
}

// NewPlan estimates what a run of the spec takes. It reads the data for their shape and fits nothing: the
// shape gives the cost of each step, that of the search and its time, at the speed that this machine
// has at products of matrices now.
func NewPlan(ctx context.Context, spec Spec) (Plan, error) {
	began := time.Now()
	train, test, r, err := spec.openAll(ctx)
	if err != nil {
		return Plan{}, err
	}
	opening := time.Since(began).Seconds()
	r.train = train
	if err := spec.checkAll(ctx, train, test, r.task); err != nil {
		return Plan{}, err
	}
	p := Plan{
		Name: spec.Name, Task: string(r.task), Stream: spec.streams(train), Candidates: 1, Fits: 1,
		Available: memory.Available(), Shared: []string{}, Warnings: append([]string{}, r.warnings...),
	}
	stand, err := outline(ctx, train, spec.Search != nil)
	if err != nil {
		return Plan{}, err
	}
	p.Rows.Train, p.Features = stand.Rows(), stand.Cols()
	switch share := spec.Data.Split.Test; {
	case test != nil:
		held, err := outline(ctx, test, false)
		if err != nil {
			return Plan{}, err
		}
		p.Rows.Test = held.Rows()
	case share > 0:
		p.Rows.Test = int(math.Ceil(share * float64(p.Rows.Train)))
		p.Rows.Train -= p.Rows.Test
		stand = head(stand, p.Rows.Train)
	}
	if info, err := os.Stat(spec.Data.Train); err == nil && spec.Data.svm(spec.Data.Train) {
		const text = 8 // bytes of an entry
		stand.X = sparseBlank{blank{p.Rows.Train, p.Features}, int(min(info.Size()/text, int64(p.Rows.Train)*int64(p.Features)))}
	}
	shape := stand.Shape()
	p.steps(spec, shape)
	if p.Refusal() != nil {
		return p, nil
	}
	var found gridsearch.Plan
	if spec.Search != nil {
		if found, err = p.search(spec, r, stand); err != nil {
			return Plan{}, err
		}
	}
	if !p.Stream {
		p.Bytes += 2 * spec.memoryOf(train) // the rows, and their parts
	}
	if err := ctx.Err(); err != nil {
		return Plan{}, err
	}
	if p.Refusal() == nil {
		p.time(spec, shape, found, p.reading(spec, opening))
	}
	return p, nil
}

// reading returns how long it takes to read the rows, from the time of opening the training file: a
// pass over it, which learns its columns, as the next one does that gathers its rows.
func (p *Plan) reading(spec Spec, opening float64) float64 {
	passes := 1.0
	if spec.Data.Dataset == "" {
		passes = 2
	}
	if spec.Data.Test != "" {
		passes += float64(p.Rows.Test) / float64(max(p.Rows.Train, 1))
	}
	return passes * opening
}

// head returns the first n rows of a stand-in.
func head(stand datasets.Set, n int) datasets.Set {
	stand.X = blank{n, stand.Cols()}
	stand.Y, stand.Groups = stand.Y[:min(len(stand.Y), n)], stand.Groups[:min(len(stand.Groups), n)]
	if stand.Targets != nil {
		stand.Targets = datasets.SliceRows(stand.Targets, 0, n).(*mat.Dense)
	}
	return stand
}

// steps adds up the costs of one fit.
func (p *Plan) steps(spec Spec, shape datasets.Shape) {
	list := spec.Pipeline
	if p.Stream {
		list = spec.streaming()
	}
	at := shape
	add := func(name string, step any) {
		own, _ := pipeline.EntryOf(step)
		cost := datasets.Cost{Width: at.Cols}
		if c, ok := step.(datasets.Coster); ok {
			cost = c.Cost(at)
		}
		p.Steps = append(p.Steps, PlanStep{Name: cmp.Or(name, own.Name, fmt.Sprintf("%T", step)), Width: cost.Width, Guess: cost.Guess, Flops: cost.Flops, Bytes: cost.Bytes})
		at = at.After(cost)
	}
	for _, s := range list.Steps {
		add(s.Name, s.Fitter)
	}
	add(list.Name, list.Estimator)
	cost := list.Cost(shape)
	said := 2 * 8 * float64(max(p.Rows.Train, p.Rows.Test)) * float64(max(shape.Outputs, 1)) // scores and probabilities of all rows
	p.Flops, p.Bytes, p.once = cost.Flops, max(cost.Bytes, int64(said)), cost.Flops
}

// search adds the fits of a grid search.
func (p *Plan) search(spec Spec, r *rows, stand datasets.Set) (found gridsearch.Plan, err error) {
	search := spec.searchOn(stand, r.task)
	search.Memory = 0
	if spec.Search.Halving.Least > 0 {
		found, err = spec.halvingOn(search).Plan(stand)
	} else {
		found, err = search.Plan(stand)
	}
	if err != nil {
		return found, ofHalving(err)
	}
	p.Candidates, p.Folds, p.Fits = found.Candidates, found.Folds, found.Fits+1
	p.Shared = append(p.Shared, found.Shared...)
	if found.Known {
		p.Flops = found.Flops
	}
	if found.SharedFlops > 0 {
		p.Flops = found.SharedFlops + p.once
		if found.Known {
			p.Flops = min(p.Flops, found.Flops) // sharing work never adds to it
		}
	}
	p.Bytes = max(p.Bytes, found.Bytes)
	return found, nil
}

// time adds up how long reading takes, the search, which a budget ends, the fit to all rows, and the
// predictions of all of them. It stays 0 where the estimator does not say what it costs.
func (p *Plan) time(spec Spec, shape datasets.Shape, found gridsearch.Plan, reading float64) {
	if _, ok := spec.Pipeline.Estimator.(datasets.Coster); !ok {
		return
	}
	rate := found.Rate
	if rate == 0 {
		rate = gridsearch.Speed()
	}
	shape.Rows = p.Rows.Train + p.Rows.Test
	mapping := pipeline.Chain{Steps: spec.Pipeline.Steps}.Cost(shape)
	predicting := mapping.Flops + 2*float64(shape.Rows)*shape.After(mapping).Entries()*float64(max(shape.Outputs, 1))
	took := found.Seconds
	if found.SharedFlops > 0 && found.OneByOne > 0 {
		p.OneByOneFlops, p.OneByOne = found.Flops, found.OneByOne+p.once/rate
		took = min(took, found.OneByOne)
	}
	if spec.Search != nil && spec.Search.Budget > 0 {
		took = min(took, time.Duration(spec.Search.Budget).Seconds())
	}
	p.Seconds = reading + took + (p.once+predicting)/rate
}

// Refusal is an error where the run cannot fit in memory, which says the way out.
func (p Plan) Refusal() error {
	if p.Bytes <= p.Available {
		return nil
	}
	way := "take fewer features"
	switch {
	case !p.Stream && p.Folds > 0:
		way = "take fewer features, or leave out the search and say data.stream: always"
	case !p.Stream:
		way = "take fewer features, or say data.stream: always"
	}
	return fmt.Errorf("experiment: about %.1f GB of memory are wanted and %.1f GB are available; %s", float64(p.Bytes)/1e9, float64(p.Available)/1e9, way)
}
