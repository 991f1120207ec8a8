package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/gridsearch"
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
	Seconds    float64  `json:"seconds"` // of reading, and of fits and predictions by a trial on some of the rows; 0 where there was none
	// What a search takes when every fit is done by itself, 0 where nothing is shared.
	OneByOneFlops float64 `json:"one_by_one_flops,omitempty"`
	OneByOne      float64 `json:"one_by_one_seconds,omitempty"`

	Bytes     int64      `json:"bytes"`
	Available int64      `json:"available_bytes"`
	Steps     []PlanStep `json:"steps"`
	Warnings  []string   `json:"warnings"`

	found gridsearch.Plan
}

// PlanStep is what one step takes on all training rows.
type PlanStep struct {
	Name  string  `json:"name"`
	Width int     `json:"width"` // columns that come out, -1 where only fitting tells
	Flops float64 `json:"flops"`
	Bytes int64   `json:"bytes"`
}

// NewPlan estimates what a run of the spec takes. It reads the data for their shape and, to know
// the speed of the machine, fits the pipeline to some of the rows.
func NewPlan(ctx context.Context, spec Spec) (Plan, error) {
	began := time.Now()
	train, test, r, err := spec.openAll(ctx)
	if err != nil {
		return Plan{}, err
	}
	opening := time.Since(began).Seconds()
	r.train = train
	if err := spec.suits(r); err != nil {
		return Plan{}, err
	}
	p := Plan{
		Name: spec.Name, Task: string(r.task), Stream: spec.streams(train), Candidates: 1, Fits: 1,
		Available: memoryBudget(), Shared: []string{}, Warnings: append([]string{}, r.warnings...),
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
	p.steps(spec)
	if spec.Search != nil {
		if err := p.search(spec, r, stand); err != nil {
			return Plan{}, err
		}
	}
	if !p.Stream {
		p.Bytes += 2 * spec.memoryOf(train) // the rows, and their parts
	}
	if p.Refusal() != nil {
		return p, nil
	}
	if err := p.trial(ctx, spec, train); err != nil {
		return Plan{}, err
	}
	if p.Seconds > 0 {
		p.Seconds += p.reading(spec, opening)
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
func (p *Plan) steps(spec Spec) {
	rows, cols := p.Rows.Train, p.Features
	list := spec.Pipeline
	if p.Stream {
		list = spec.streaming()
	}
	add := func(name string, step any) {
		own, _ := entryOf(step)
		cost := datasets.Cost{Width: cols}
		if c, ok := step.(datasets.Coster); ok {
			cost = c.Cost(rows, cols)
		}
		p.Steps = append(p.Steps, PlanStep{Name: cmp.Or(name, own.Name), Width: cost.Width, Flops: cost.Flops, Bytes: cost.Bytes})
		if cost.Width >= 0 {
			cols = cost.Width
		}
	}
	for _, s := range list.Steps {
		add(s.Name, s.Fitter)
	}
	add(list.Name, list.Estimator)
	cost := list.Cost(rows, p.Features)
	p.Flops, p.Bytes = cost.Flops, cost.Bytes
}

// search adds the fits of a grid search.
func (p *Plan) search(spec Spec, r *rows, stand datasets.Set) error {
	search, err := spec.searchOn(stand, r.task)
	if err != nil {
		return err
	}
	search.Memory = 0
	var found gridsearch.Plan
	if spec.Search.Halving.Least > 0 {
		found, err = spec.halvingOn(search).Plan(stand)
	} else {
		found, err = search.Plan(stand)
	}
	if err != nil {
		return ofHalving(err)
	}
	p.found = found
	p.Candidates, p.Folds, p.Fits = found.Candidates, found.Folds, found.Fits+1
	p.Shared = append(p.Shared, found.Shared...)
	if found.Known {
		p.Flops = found.Flops
	}
	if found.SharedFlops > 0 {
		p.Flops = found.SharedFlops
		if found.Known {
			p.Flops = min(p.Flops, found.Flops) // sharing work never adds to it
		}
	}
	p.Bytes = max(p.Bytes, found.Bytes)
	return nil
}

// The rows that trial fits look at. Two numbers of them tell what a fit takes whatever the rows and
// what each row adds; each is fitted twice, for the first fit of a program is slower than others.
const (
	fewTrialRows  = 1024
	mostTrialRows = 4096
	trialTimes    = 2
)

// trial fits the pipeline to some rows, lets the model predict them, and takes the time.
func (p *Plan) trial(ctx context.Context, spec Spec, train datasets.Source) error {
	some, err := first(ctx, train, mostTrialRows)
	if err != nil {
		return err
	}
	few := some.Slice(0, min(fewTrialRows, some.Rows()))
	short, _, err := fastest(ctx, spec, few)
	var long, predicted float64
	if err == nil {
		long, predicted, err = fastest(ctx, spec, some)
	}
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		p.Warnings = append(p.Warnings, fmt.Sprintf("no estimate of the time: a trial fit to %d rows failed: %v", some.Rows(), err))
		return nil
	}
	one := long
	if more := some.Rows() - few.Rows(); more > 0 {
		one += max(long-short, 0) / float64(more) * float64(p.Rows.Train-some.Rows())
	}
	p.Seconds = one
	if spec.Search != nil {
		p.searchTime(spec, one)
	}
	p.Seconds += predicted / float64(some.Rows()) * float64(p.Rows.Train+p.Rows.Test)
	return nil
}

// searchTime adds what the search takes, by its flops and the speed of the machine; where they are
// not known, as so many fits like the one of the trial. A budget ends it.
func (p *Plan) searchTime(spec Spec, one float64) {
	fits := float64(p.Fits - 1)
	took := fits * one
	if p.found.Seconds > 0 {
		took = p.found.Seconds
	}
	if p.found.SharedFlops > 0 && p.found.OneByOne > 0 {
		p.OneByOneFlops, p.OneByOne = p.found.Flops, p.found.OneByOne+one
		took = min(took, p.found.OneByOne)
	}
	if budget := time.Duration(spec.Search.Budget).Seconds(); budget > 0 {
		took = min(took, budget)
	}
	p.Seconds += took
}

// fastest returns the least time that a fit has taken, and that predicting the rows has.
func fastest(ctx context.Context, spec Spec, rows datasets.Set) (fitted, predicted float64, err error) {
	fitted, predicted = math.Inf(1), math.Inf(1)
	for range trialTimes {
		began := time.Now()
		model, err := spec.Pipeline.Fit(ctx, rows)
		if err != nil {
			return 0, 0, err
		}
		fitted = min(fitted, time.Since(began).Seconds())
		began = time.Now()
		if _, err := predict(ctx, model, rows.X); err != nil {
			return 0, 0, err
		}
		predicted = min(predicted, time.Since(began).Seconds())
	}
	return fitted, predicted, nil
}

// first returns about the first n rows of a source.
func first(ctx context.Context, source datasets.Source, n int) (datasets.Set, error) {
	enough := errors.New("enough")
	var blocks []datasets.Set
	rows := 0
	err := source.Blocks(ctx, func(block datasets.Set) error {
		all := make([]int, block.Rows())
		for i := range all {
			all[i] = i
		}
		blocks = append(blocks, block.Select(all))
		if rows += len(all); rows >= n {
			return enough
		}
		return nil
	})
	if err != nil && err != enough {
		return datasets.Set{}, err
	}
	return datasets.Stack(blocks...)
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
