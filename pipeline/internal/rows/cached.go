package rows

import (
	"context"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/rowblock"
	"github.com/bochner-ml/bochner/single"
	"github.com/bochner-ml/bochner/sparse"
	"github.com/bochner-ml/bochner/transformer"
)

// BytesOf returns the memory of a sample row, in bytes.
func BytesOf(sample mat.Matrix) int64 {
	if m, ok := sample.(*sparse.CSR); ok {
		if _, shared := m.Shared(); shared {
			return 8 + 4*int64(m.NNZ())
		}
		return 8 + 12*int64(m.NNZ())
	}
	_, w := sample.Dims()
	return 8 * int64(w)
}

// MapAll maps all rows of X; dense features in blocks, with checks of the context.
func MapAll(ctx context.Context, s *Step, X mat.Matrix) (mat.Matrix, error) {
	n, _ := X.Dims()
	if !s.Dense {
		return s.at(0).Apply(ctx, nil, X)
	}
	if s.Float32 {
		var t Tile
		out := single.New(n, s.Width, nil)
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

// MapCached is MapAll for rows that are cached for steps that accept sparse rows as well as dense
// ones: if most of the output is 0, as for one-hot encoded columns, it is stored as a sparse
// matrix. The output format of the step itself does not change.
func (s *Step) MapCached(ctx context.Context, X mat.Matrix, next ...transformer.Fitter) (mat.Matrix, error) {
	n, _ := X.Dims()
	if !s.Dense || s.Float32 || n < thinSample || slices.ContainsFunc(next,
		func(step transformer.Fitter) bool { return !TakesSparse(step) }) {
		return MapAll(ctx, s, X)
	}
	some := make([]int, thinSample)
	for i := range some {
		some[i] = i * (n / thinSample)
	}
	var t Tile
	sample, err := s.Apply(ctx, t.Shape(thinSample, s.Width), rowblock.Select(X, some))
	if err != nil || thinness*sparse.FromDense(sample).NNZ() > thinSample*s.Width {
		return MapAll(ctx, s, X)
	}
	var blocks []*sparse.CSR
	err = eachBlock(ctx, n, func(lo, hi int) error {
		Z, err := s.at(lo).Apply(ctx, t.Shape(hi-lo, s.Width), rowblock.Slice(X, lo, hi))
		if err == nil {
			blocks = append(blocks, sparse.FromDense(Z))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return sparse.Concat(blocks), nil
}

// TakesSparse reports whether a step makes the same features of sparse rows as of dense ones, and no slower: rows that
// are cached for it alone are cached sparse where nearly all of their entries are 0.
func TakesSparse(step transformer.Fitter) bool {
	s, ok := step.(interface{ TakesSparse() bool })
	return ok && s.TakesSparse()
}

// Rows are cached sparse if at most this fraction of a sample is nonzero.
const (
	thinness   = 5
	thinSample = 256
)

// eachBlock calls f for the rows of a matrix, block by block, until ctx is done.
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
