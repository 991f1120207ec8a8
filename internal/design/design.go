// Package design is the one way to read rows of any kind. [Rows] are a set in memory, some rows of one,
// or a stream; dense in double or single precision, or sparse; read as blocks in their order, as often as
// a solver likes. [Labels] are their targets, classes and weights. The products that learning makes with
// rows, whatever their kind, are here too, in the order of summation that all solvers share.
package design

import (
	"context"
	"errors"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/rowblock"
	"github.com/bochner-ml/bochner/single"
	"github.com/bochner-ml/bochner/sparse"
)

// Rows is training data as the solvers read it: consecutive blocks, as often as they like. The X of
// a block is a *mat.Dense, a *single.Dense or a *sparse.CSR.
type Rows struct {
	Schema      datasets.Schema
	N           int // -1 where only reading would tell
	Cols        int
	Sparse      bool          // whether the first block is
	Float32     bool          // likewise
	Set         *datasets.Set // where all rows are in memory
	Float32Rows *Rows         // the same rows in single precision, nil where there are none
	Each        func(ctx context.Context, yield func(first int, block datasets.Set) error) error
}

// SparseBlock is the number of rows of a block of sparse rows in memory.
const SparseBlock = 1 << 17

// FromSet reads a set in memory.
func FromSet(data datasets.Set) (*Rows, error) {
	n, d := data.Rows(), data.Cols()
	if n == 0 || d == 0 {
		return nil, fmt.Errorf("%w: %d rows, %d columns", datasets.ErrEmpty, n, d)
	}
	if err := AllNumeric(data.Schema); err != nil {
		return nil, err
	}
	r := &Rows{Schema: data.Schema, N: n, Cols: d, Set: &data}
	size := rowblock.Size
	if _, r.Sparse = data.X.(*sparse.CSR); r.Sparse {
		size = SparseBlock
	}
	data.X = Native(data.X)
	_, r.Float32 = data.X.(*single.Dense)
	r.Each = eachBlock(n, size, func(lo, hi int) datasets.Set { return data.Slice(lo, hi) })
	for name, length := range map[string]int{"Y": len(data.Y), "Weights": len(data.Weights)} {
		if length != 0 && length != n {
			return nil, fmt.Errorf("%d rows in X, %d in %s", n, length, name)
		}
	}
	if data.Targets != nil && data.Targets.RawMatrix().Rows != n {
		return nil, fmt.Errorf("%d rows in X, %d in Targets", n, data.Targets.RawMatrix().Rows)
	}
	return r, nil
}

// AllNumeric refuses columns whose numbers are codes of categories: a linear model of them means nothing.
func AllNumeric(schema datasets.Schema) error {
	for _, c := range schema.Columns {
		if c.Kind == datasets.Categorical {
			return fmt.Errorf("column %s is categorical, wanted numbers; encode it before with onehot or ordinal", c.Name)
		}
	}
	return nil
}

// errStop ends a pass over blocks early.
var errStop = errors.New("enough")

// FromSource reads a source.
func FromSource(ctx context.Context, src datasets.Source) (*Rows, error) {
	n, d := src.Dims()
	if n == 0 || d == 0 {
		return nil, fmt.Errorf("%w: %d rows, %d columns", datasets.ErrEmpty, n, d)
	}
	if err := AllNumeric(src.Schema()); err != nil {
		return nil, err
	}
	r := &Rows{Schema: src.Schema(), N: n, Cols: d}
	if both, ok := src.(datasets.Float32Source); ok {
		rounded, err := FromSource(ctx, both.Rounded())
		if err != nil {
			return nil, err
		}
		r.Float32Rows = rounded
	}
	r.Each = func(ctx context.Context, yield func(int, datasets.Set) error) error {
		first := 0
		return src.Blocks(ctx, func(block datasets.Set) error {
			if err := ctxerr.Check(ctx); err != nil {
				return err
			}
			if block.Rows() == 0 {
				return nil
			}
			if block.Cols() != d {
				return fmt.Errorf("row %d: %d columns, wanted %d", first, block.Cols(), d)
			}
			block.X = Native(block.X)
			at := first
			first += block.Rows()
			return yield(at, block)
		})
	}
	err := r.Each(ctx, func(_ int, block datasets.Set) error {
		_, r.Sparse = block.X.(*sparse.CSR)
		_, r.Float32 = block.X.(*single.Dense)
		return errStop
	})
	if err != nil && err != errStop {
		return nil, err
	}
	return r, nil
}

// EachExpected reads rows that had n rows before, and fails where they have another number now.
func (r *Rows) EachExpected(ctx context.Context, n int, yield func(first int, block datasets.Set) error) error {
	seen := 0
	err := r.Each(ctx, func(first int, block datasets.Set) error {
		if seen = first + block.Rows(); seen > n {
			return fmt.Errorf("%d rows when read before, %d or more now", n, seen)
		}
		return yield(first, block)
	})
	if err == nil && seen < n {
		err = fmt.Errorf("%d rows when read before, %d now", n, seen)
	}
	return err
}

// WithRowCount returns rows that fail where they have not the n rows they had before.
func (r *Rows) WithRowCount(n int) *Rows {
	out := *r
	out.Each = func(ctx context.Context, yield func(int, datasets.Set) error) error {
		return r.EachExpected(ctx, n, yield)
	}
	return &out
}

// InMemory returns the rows with all of them in memory.
func (r *Rows) InMemory(ctx context.Context) (*Rows, error) {
	if r.Set != nil {
		return r, nil
	}
	var blocks []datasets.Set
	err := r.Each(ctx, func(_ int, block datasets.Set) error {
		blocks = append(blocks, copyBlock(block))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r.concat(blocks)
}

// copyBlock returns a block of its own, for those of a stream are used again.
func copyBlock(block datasets.Set) datasets.Set {
	all := make([]int, block.Rows())
	for i := range all {
		all[i] = i
	}
	return block.Select(all)
}

// concat returns the rows of all blocks, in memory.
func (r *Rows) concat(blocks []datasets.Set) (*Rows, error) {
	set, err := datasets.Concat(blocks...)
	if err != nil {
		return nil, err
	}
	set.Schema = r.Schema
	return FromSet(set)
}

// ToFloat64 returns the rows in double precision.
func (r *Rows) ToFloat64() *Rows {
	out := *r
	out.Float32, out.Set, out.Float32Rows = false, nil, nil
	out.Each = func(ctx context.Context, yield func(int, datasets.Set) error) error {
		return r.Each(ctx, func(first int, block datasets.Set) error {
			return WithFloat64(block.X, func(X mat.Matrix) error {
				block.X = X
				return yield(first, block)
			})
		})
	}
	return &out
}

// ChunkRows is the number of sparse rows that are a piece of work.
const ChunkRows = 1024

// Shape is that of the rows, which have so many outputs.
func (r *Rows) Shape(n, outputs int) datasets.Shape {
	out := datasets.Shape{Rows: max(n, 0), Cols: r.Cols, Outputs: outputs}
	if r.Set != nil {
		out.Filled = r.Set.Shape().Filled
	} else if r.Sparse {
		out.Filled = float64(min(r.Cols, 100)) // the rows are not counted before they are read
	}
	return out
}

// TargetCount is how many numbers each row is to have predicted.
func (r *Rows) TargetCount() int {
	if r.Set != nil {
		return r.Set.Shape().Outputs
	}
	return max(len(r.Schema.Targets), 1)
}

// FromSelection reads some rows of a set in memory, a block at a time.
func FromSelection(data datasets.Set, list []int) *Rows {
	r := &Rows{Schema: data.Schema, N: len(list), Cols: data.Cols()}
	r.Each = eachBlock(len(list), rowblock.Size, func(lo, hi int) datasets.Set { return Select(data, list[lo:hi]) })
	return r
}

// eachBlock yields n rows in memory, so many at once.
func eachBlock(n, size int, block func(lo, hi int) datasets.Set) func(ctx context.Context, yield func(int, datasets.Set) error) error {
	return func(ctx context.Context, yield func(int, datasets.Set) error) error {
		for lo := 0; lo < n; lo += size {
			if err := ctxerr.Check(ctx); err != nil {
				return err
			}
			if err := yield(lo, block(lo, min(lo+size, n))); err != nil {
				return err
			}
		}
		return nil
	}
}

// Select is data.Select without a copy of rows that follow each other.
func Select(data datasets.Set, list []int) datasets.Set {
	for k, i := range list {
		if i != list[0]+k {
			return data.Select(list)
		}
	}
	if len(list) == 0 {
		return data.Select(list)
	}
	return data.Slice(list[0], list[0]+len(list))
}
