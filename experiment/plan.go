package experiment

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/experiment/internal/dataload"
	"github.com/bochner-ml/bochner/experiment/internal/validate"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
	"github.com/bochner-ml/bochner/pipeline"
)

// Plan is the estimated work, time and memory of a run.
type Plan struct {
	Name       string      `json:"name"`
	Task       string      `json:"task"`
	Rows       result.Rows `json:"rows"`
	Features   int         `json:"features_in"`
	Stream     bool        `json:"stream"` // whether the rows are streamed
	Candidates int         `json:"candidates"`
	Folds      int         `json:"folds"`             // 0 without a search
	Fits       int         `json:"fits"`              // including the final fit
	AtMost     bool        `json:"at_most,omitempty"` // whether the search may end with fewer candidates
	Shared     []string    `json:"shared"`
	// Seconds is the estimated time of the run without its report; 0 if no sample could be fitted.
	Seconds float64      `json:"seconds"`
	Samples []planSample `json:"samples,omitempty"` // basis of the estimate: Rows and Seconds
	// The time is between SecondsLow and SecondsHigh, both Seconds unless Unknown names what the
	// samples do not show.
	SecondsLow  float64  `json:"seconds_low"`
	SecondsHigh float64  `json:"seconds_high"`
	Unknown     []string `json:"unknown"`

	Bytes     int64      `json:"bytes"`      // peak size of the matrices
	Peak      int64      `json:"peak_bytes"` // estimated peak of the process
	Available int64      `json:"available_bytes"`
	Steps     []planStep `json:"steps"` // Name, Width, Guess and Bytes
	Warnings  []string   `json:"warnings"`
}

// NewPlan estimates the time and memory of a run. The shape of the data determines the number of
// fits and the memory. The time is extrapolated from fits to samples of the rows, see [Plan].Samples.
func NewPlan(ctx context.Context, spec Spec) (Plan, error) {
	began := time.Now()
	end, err := connect(ctx, &spec)
	if err != nil {
		return Plan{}, err
	}
	defer end()
	parts, err := dataload.Open(ctx, spec)
	if err != nil {
		return Plan{}, err
	}
	opening := time.Since(began)
	if err := validate.All(ctx, spec, parts); err != nil {
		return Plan{}, err
	}
	train, count, err := outlines(ctx, spec, parts)
	if err != nil {
		return Plan{}, err
	}
	p := Plan{
		Name: spec.Name, Task: string(parts.Task), Rows: count, Features: train.Cols(),
		Stream:     dataload.Streams(ctx, spec, parts.Train),
		Candidates: 1, Fits: 1, Available: memory.Available(), Shared: []string{}, Unknown: []string{},
		Warnings: append([]string{}, parts.Warnings...),
	}
	if err := spec.CheckLevel(train.Shape()).Err(); err != nil {
		return Plan{}, err
	}
	final := finalPipeline(spec, spec.Pipeline, train.Shape(), p.Stream)
	shape := train.Shape()
	if parts.Task.Unsupervised() {
		shape = train.WithoutTargets().Shape()
	}
	shape.Streamed = p.Stream
	p.Steps, p.Bytes = memoryOfFit(final, shape, count)
	if p.Refusal() != nil {
		return p, nil
	}
	var search gridsearch.Plan
	if spec.Search != nil {
		if search, err = planOfSearch(spec, train, parts.Task); err != nil {
			return Plan{}, err
		}
		p.AtMost = search.MayStopEarly
		p.Candidates, p.Folds, p.Fits = search.Candidates, search.Folds, search.Fits+1
		if !p.Stream { // a streamed search limits its concurrent candidates to the available memory
			p.Bytes = max(p.Bytes, search.Bytes)
		}
	}
	if !p.Stream {
		p.Bytes += 2 * dataload.Memory(spec, parts.Train) // the rows, and their parts
	}
	p.Peak = memory.Most(p.Bytes)
	if err := ctxerr.Check(ctx); err != nil {
		return Plan{}, err
	}
	if p.Refusal() != nil {
		return p, nil
	}
	p.Samples, p.Shared, err = timeSamples(ctx, spec, parts, count.Train, p.Candidates)
	inMemory := p.Shared
	if p.Stream && !byPasses(ctx, spec.Pipeline, parts.Train) {
		p.Shared = []string{} // the samples are in memory
	}
	if len(p.Samples) > 0 {
		p.setSeconds(spec, inMemory, overhead(spec, parts, opening))
	}
	return p, err
}

// setSeconds extrapolates the time of the samples to all rows and candidates, and reports what the samples do
// not show. sampled is the work that the candidates of the samples share. The time excludes the report.
func (p *Plan) setSeconds(spec Spec, sampled []string, overhead float64) {
	total := func(power, times float64) float64 {
		seconds := extrapolated(p.Samples, p.Rows.Train, power) * times
		if spec.Search != nil && spec.Search.Budget > 0 {
			seconds = min(seconds, time.Duration(spec.Search.Budget).Seconds())
		}
		return seconds + overhead
	}
	power, known := growth(p.Samples)
	low, high := power, power
	rows := p.Samples[len(p.Samples)-1].Rows
	if !known && rows < p.Rows.Train {
		low, high = minPower, maxPower
		p.Unknown = append(p.Unknown, fmt.Sprintf("the growth of the time: only %d of %d rows could be measured", rows,
			p.Rows.Train))
	}
	all := max(1, float64(p.Candidates)/maxSampleGrid)
	fewest := all
	between := func(kind string) bool { return kind != "folds" } // whether candidates share it
	switch {
	case slices.ContainsFunc(p.Shared, between) && all > 1:
		fewest = 1
		p.Unknown = append(p.Unknown, fmt.Sprintf("how much work the other candidates share: %d of %d were measured",
			maxSampleGrid, p.Candidates))
	case slices.ContainsFunc(sampled, between) && len(p.Shared) == 0:
		p.Unknown = append(p.Unknown, "how much longer a streamed search takes: the candidates of the samples share work")
	}
	p.Seconds, p.SecondsLow, p.SecondsHigh = total(power, all), total(low, fewest), total(high, all)
}

// byPasses reports whether a pipeline is fitted in passes over a source, which candidates can
// share.
func byPasses(ctx context.Context, p pipeline.Pipeline, source datasets.Source) bool {
	_, cols := source.Dims()
	_, err := p.Start(ctx, source.Schema(), cols)
	return !errors.Is(err, datasets.ErrNoPasses)
}

// outlines returns a placeholder with the shape of the training rows, and the numbers of rows.
func outlines(ctx context.Context, spec Spec, parts *dataload.Parts) (train datasets.Set, count result.Rows,
	err error) {
	if train, err = dataload.Outline(ctx, parts.Train, spec.Search != nil); err != nil {
		return train, count, err
	}
	count.Train = train.Rows()
	switch share := spec.Data.Split.Test; {
	case parts.Test != nil:
		test, err := dataload.Outline(ctx, parts.Test, false)
		if err != nil {
			return train, count, err
		}
		count.Test = test.Rows()
	case share > 0:
		count.Test = int(math.Ceil(share * float64(count.Train)))
		count.Train -= count.Test
		train = dataload.Head(train, count.Train)
	}
	if entries, sparse := dataload.Entries(spec, count.Train, train.Cols()); sparse {
		train.X = dataload.SparseOutline(count.Train, train.Cols(), entries)
	}
	return train, count, nil
}

// Refusal returns an error if the run cannot fit in memory, else nil.
func (p Plan) Refusal() error { return checkMemory(p.Bytes, p.Available, p.Stream, p.Folds > 0) }
