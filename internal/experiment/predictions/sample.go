package predictions

import (
	"context"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/metrics"
)

// mostCompared is how many rows of a clustering are looked at by metrics without a truth: half as many at least, where there are
// more, and the same ones whether the rows are in memory or not.
const mostCompared = 20_000

// sample is every row whose number is a multiple of stride.
type sample struct {
	blocks []datasets.Set
	at     []int // numbers of the rows
	rows   int   // that have been seen
	stride int   // a power of two
}

// add takes the rows of a block that are of the sample, and takes every other row out of one that is too large.
func (s *sample) add(block datasets.Set) {
	s.stride = max(s.stride, 1)
	var taken []int
	for i := range block.Rows() {
		if (s.rows+i)%s.stride == 0 {
			taken = append(taken, i)
			s.at = append(s.at, s.rows+i)
		}
	}
	s.rows += block.Rows()
	if len(taken) > 0 {
		s.blocks = append(s.blocks, datasets.Set{X: block.X, Schema: block.Schema, Weights: block.Weights}.Select(taken))
	}
	for len(s.at) > mostCompared {
		s.thin()
	}
}

// thin doubles the stride.
func (s *sample) thin() {
	s.stride *= 2
	var at []int
	first, blocks := 0, s.blocks[:0]
	for _, block := range s.blocks {
		var kept []int
		for i := range block.Rows() {
			if number := s.at[first+i]; number%s.stride == 0 {
				kept = append(kept, i)
				at = append(at, number)
			}
		}
		first += block.Rows()
		if len(kept) > 0 {
			blocks = append(blocks, block.Select(kept))
		}
	}
	s.at, s.blocks = at, blocks
}

// input is what metrics without a truth compare: the rows of the sample, and the clusters of these among those predicted.
func (s *sample) input(predicted []float64) (metrics.Input, error) {
	if len(s.blocks) == 0 {
		return metrics.Input{}, nil
	}
	all, err := datasets.ReadAll(context.Background(), s)
	if err != nil {
		return metrics.Input{}, err
	}
	clusters := make([]float64, len(s.at))
	for k, i := range s.at {
		clusters[k] = predicted[i]
	}
	return metrics.Input{Predicted: clusters, Rows: metrics.Standardised(all), Weights: all.Weights}, nil
}

// Schema, Dims and Blocks make a source of the sample.
func (s *sample) Schema() datasets.Schema { return s.blocks[0].Schema }

// Dims returns the number of rows and columns.
func (s *sample) Dims() (rows, cols int) { return len(s.at), s.blocks[0].Cols() }

// Blocks hands out the rows.
func (s *sample) Blocks(ctx context.Context, yield func(block datasets.Set) error) error {
	for _, block := range s.blocks {
		if err := yield(block); err != nil {
			return err
		}
	}
	return ctxerr.Check(ctx)
}
