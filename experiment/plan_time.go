package experiment

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/experiment/internal/dataload"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// planSample is the measured time of the search and the final fit on a sample of rows.
type planSample struct {
	Rows    int     `json:"rows"`
	Seconds float64 `json:"seconds"`
}

// Sizes and limits of the samples of a plan.
const (
	firstSample   = 250             // rows
	sampleEnough  = time.Second     // after which no larger sample is measured, except for minSamples
	minSamples    = 3               // of which the first includes the start of the program
	sampleLimit   = 8 * time.Second // for all samples
	maxSampleGrid = 12              // candidates that are measured
)

// errEnough stops the scan of a source after the sample.
var errEnough = errors.New("enough rows")

// timeSamples measures the search and the final fit on samples of doubling size, and returns the
// shared work of the candidates. It returns no samples if the smallest cannot be fitted in time.
func timeSamples(ctx context.Context, spec Spec, parts *dataload.Parts, all, candidates int) (samples []planSample,
	shared []string, err error) {
	limited, cancel := context.WithTimeout(ctx, sampleLimit)
	defer cancel()
	for n := firstSample; ; n *= 2 {
		n = min(n, all)
		set, err := sampleOf(limited, parts.Train, n, all)
		if err != nil || set.Rows() == 0 {
			break
		}
		began := time.Now()
		together, err := tryOut(limited, spec, parts.Task, set, candidates)
		if err != nil {
			break // a run reports the error if it applies to all rows
		}
		// Larger samples may be tried individually.
		shared = slices.Compact(slices.Sorted(slices.Values(append(shared, together...))))
		took := time.Since(began)
		samples = append(samples, planSample{set.Rows(), took.Seconds()})
		if samplesSuffice(samples) || n == all || set.Rows() < n {
			break
		}
	}
	return samples, append([]string{}, shared...), ctxerr.Check(ctx)
}

// samplesSuffice reports whether no larger sample is required. A single slow sample of few rows does not
// show the growth of the time with the rows, and includes costs that do not grow.
func samplesSuffice(samples []planSample) bool {
	return len(samples) >= minSamples && samples[len(samples)-1].Seconds > sampleEnough.Seconds()
}

// overhead returns the seconds of the passes over the file.
func overhead(spec Spec, parts *dataload.Parts, opening time.Duration) float64 {
	passes := 1.0
	if _, held := datasets.InMemory(parts.Train); !held && spec.Data.Dataset == "" {
		passes = 2
	}
	return passes * opening.Seconds()
}

// minPower and maxPower bound the power of the rows by which the time grows.
const minPower, maxPower = 0.5, 2.5

// growth returns the power of the rows by which the time grows, and whether the samples show it.
func growth(samples []planSample) (power float64, known bool) {
	k := len(samples)
	if k < minSamples { // the first fit of a program is slower
		return 1, false
	}
	from := max(1, k-3) // the power grows with the rows
	x, y := make([]float64, k-from), make([]float64, k-from)
	for i, s := range samples[from:] {
		x[i], y[i] = math.Log(float64(s.Rows)), math.Log(s.Seconds)
	}
	_, power = stat.LinearRegression(x, y, nil, false)
	return min(max(power, minPower), maxPower), true
}

// extrapolated returns the time of the last sample for the given number of rows, by a power law.
func extrapolated(samples []planSample, rows int, power float64) float64 {
	last := samples[len(samples)-1]
	return last.Seconds * math.Pow(float64(rows)/float64(last.Rows), power)
}

// tryOut runs the search, the fit and the predictions on a sample. It draws a random subset of many
// candidates. It returns their shared work.
func tryOut(ctx context.Context, spec Spec, task datasets.Task, set datasets.Set, candidates int) (shared []string,
	err error) {
	var model estimator.Predictor
	if spec.Search == nil {
		model, err = finalPipeline(spec, spec.Pipeline, set.Shape(), false).Fit(ctx, set)
	} else {
		search := spec.GridSearch(set.Groups != nil, task)
		search.RefitEstimator = finalOf(spec, set.Shape(), false)
		if candidates > maxSampleGrid {
			search.Random = maxSampleGrid
		}
		var found *gridsearch.Result
		if found, err = search.Run(ctx, set); err == nil {
			model, shared = found.Model, found.Shared
		}
	}
	if err != nil {
		return nil, err
	}
	_, err = model.Predict(ctx, set.X)
	return shared, err
}

// sampleOf returns n rows: evenly spaced if they are in memory, else the first of the file.
func sampleOf(ctx context.Context, source datasets.Source, n, all int) (out datasets.Set, err error) {
	if set, ok := datasets.InMemory(source); ok {
		return set.Select(rowblock.EvenlySpaced(min(all, set.Rows()), min(n, set.Rows()))), nil
	}
	var blocks []datasets.Set
	left := n
	err = source.Blocks(ctx, func(block datasets.Set) error {
		take := min(left, block.Rows())
		blocks = append(blocks, block.Select(rowblock.EvenlySpaced(take, take))) // a copy, for the block is the reader's
		if left -= take; left <= 0 {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return out, err
	}
	return datasets.Set{}.Append(blocks...)
}
