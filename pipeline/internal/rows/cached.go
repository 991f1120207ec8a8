package rows

import (
	"context"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/transformer"
)

// BytesOf returns the memory of a sample row.
func BytesOf(sample mat.Matrix) int64 {
	if m, ok := sample.(*matrices.CSR); ok {
		if _, shared := m.Shared(); shared {
			return 8 + 4*int64(m.NNZ())
		}
		return 8 + 12*int64(m.NNZ())
	}
	_, w := sample.Dims()
	return 8 * int64(w)
}

// MapAll maps all rows of X. Dense features are computed block by block, so that cancellation is
// prompt.
func MapAll(ctx context.Context, s *Step, X mat.Matrix) (mat.Matrix, error) {
	n, _ := X.Dims()
	if !s.Dense {
		return s.at(0).Apply(ctx, nil, X)
	}
	if s.Float32 {
		var t Tile
		out := matrices.NewDense32(n, s.Width, nil)
		return out, eachBlock(ctx, n, func(lo, hi int) error {
			return s.at(lo).applySingle(ctx, out.Slice(lo, hi), &t, rowblock.Slice(X, lo, hi))
		})
	}
	out := mat.NewDense(n, s.Width, nil)
	return out, eachBlock(ctx, n, func(lo, hi int) error {
		_, err := s.at(lo).Apply(ctx, out.Slice(lo, hi, 0, s.Width).(*mat.Dense), rowblock.Slice(X, lo, hi))
		return err
	})
}

// MapCached is MapAll for rows to be cached for the next steps. If these accept sparse rows and
// nearly all entries are 0, as for one-hot encoded columns, the result is stored as sparse rows.
func (s *Step) MapCached(ctx context.Context, X mat.Matrix, next ...transformer.Fitter) (mat.Matrix, error) {
	n, _ := X.Dims()
	if !s.Dense || s.Float32 || n < sparsitySample || slices.ContainsFunc(next,
		func(step transformer.Fitter) bool { return !datasets.TagsOf(step).SparseInvariant }) {
		return MapAll(ctx, s, X)
	}
	indices := make([]int, sparsitySample)
	for i := range indices {
		indices[i] = i * (n / sparsitySample)
	}
	var t Tile
	sample, err := s.Apply(ctx, t.Shape(sparsitySample, s.Width), rowblock.Select(X, indices))
	if err != nil || sparseRatio*matrices.CSRFromDense(sample).NNZ() > sparsitySample*s.Width {
		return MapAll(ctx, s, X)
	}
	var blocks []*matrices.CSR
	err = eachBlock(ctx, n, func(lo, hi int) error {
		Z, err := s.at(lo).Apply(ctx, t.Shape(hi-lo, s.Width), rowblock.Slice(X, lo, hi))
		if err == nil {
			blocks = append(blocks, matrices.CSRFromDense(Z))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return blocks[0].Append(blocks[1:]...), nil
}

// Rows are cached sparse if at most 1/sparseRatio of the entries of a sample of rows are nonzero.
const (
	sparseRatio    = 5
	sparsitySample = 256
)

// eachBlock calls f for consecutive blocks of n rows until ctx is done.
func eachBlock(ctx context.Context, n int, f func(lo, hi int) error) error {
	for lo := 0; lo < n; lo += rowblock.Size {
		if err := ctxerr.Check(ctx); err != nil {
			return err
		}
		if err := f(lo, min(lo+rowblock.Size, n)); err != nil {
			return err
		}
	}
	return nil
}
