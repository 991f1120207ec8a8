package pipeline_test

import (
	"context"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// repeated is a source that gives the same block many times.
type repeated struct {
	block datasets.Set
	times int
}

func (r repeated) Schema() datasets.Schema { return r.block.Schema }
func (r repeated) Dims() (int, int)        { return r.times * r.block.Rows(), r.block.Cols() }

func (r repeated) Blocks(ctx context.Context, yield func(datasets.Set) error) error {
	for range r.times {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := yield(r.block); err != nil {
			return err
		}
	}
	return nil
}

// TestRidgeFitMemoryDoesNotGrowWithRows checks that the allocations of a ridge fit do not grow with
// the rows: each additional row costs a small part of the size of its features.
func TestRidgeFitMemoryDoesNotGrowWithRows(t *testing.T) {
	if underRace {
		t.Skip("the race detector empties pools at random")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection empties pools
	const features = 128
	block := numbers(rowblock.Size, 1)
	for _, precision := range []string{pipeline.Float64, pipeline.Float32} {
		p := pipeline.Steps(transformer.NewStandardize(), fourier(features)).Then(estimator.NewRidge())
		p.Precision = precision
		allocated := func(times int) float64 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, err := p.FitSource(ctx, repeated{block, times}); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			return float64(after.TotalAlloc - before.TotalAlloc)
		}
		allocated(2) // fills pools
		few, many := allocated(4), allocated(160)
		perRow := (many - few) / (156 * rowblock.Size)
		if perRow > 0.05*8*features {
			t.Errorf("%s: %.1f bytes for each further row, its features have %d", precision, perRow, 8*features)
		}
	}
}
