package predictions

import (
	"context"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/metrics"
)

// maxCompared is the maximum number of rows for clustering metrics without true labels. The sample
// depends on row numbers only, so streamed and in-memory rows give the same one.
const maxCompared = 20_000

// sample contains the rows whose number is a multiple of stride.
type sample struct {
	blocks []datasets.Set
	at     []int // numbers of the rows
	rows   int   // rows seen
	stride int   // a power of two
}

// add adds the sampled rows of a block and doubles the stride if the sample is too large.
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
	for len(s.at) > maxCompared {
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

// input returns the sampled rows with their predicted clusters, for metrics without true labels.
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
	return metrics.Input{YPred: clusters, Weights: all.Weights}.WithRows(all), nil
}

// Schema, Dims and Blocks implement [datasets.Source].
func (s *sample) Schema() datasets.Schema { return s.blocks[0].Schema }

// Dims returns the number of rows and columns.
func (s *sample) Dims() (rows, cols int) { return len(s.at), s.blocks[0].Cols() }

// Blocks yields the sampled rows.
func (s *sample) Blocks(ctx context.Context, yield func(block datasets.Set) error) error {
	for _, block := range s.blocks {
		if err := yield(block); err != nil {
			return err
		}
	}
	return ctxerr.Check(ctx)
}
