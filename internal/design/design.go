// Package design reads training rows and makes the products with them that all solvers share.
//
// [Rows] is a set in memory, a selection of its rows, or a stream. Rows are dense float64, dense
// float32 or sparse, and are read in consecutive blocks, in any number of passes. [Labels] are
// their targets, classes and weights. Products have a fixed order of summation.
package design

import (
	"context"
	"errors"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/spec/suggest"
	"github.com/bochner-ml/bochner/matrices"
)

// Rows is training data, read as consecutive blocks in any number of passes. The X of a block is a
// *mat.Dense, a *matrices.Dense32 or a *matrices.CSR.
type Rows struct {
	Schema      datasets.Schema
	N           int // number of rows, -1 if unknown before the first pass
	Cols        int
	Several     int           // number of targets of the first block, 0 for a single one or none
	Sparse      bool          // whether the first block is sparse
	Float32     bool          // whether the first block is float32
	Set         *datasets.Set // nil unless all rows are in memory
	Float32Rows *Rows         // the same rows in float32, nil if unavailable
	Each        func(ctx context.Context, yield func(first int, block datasets.Set) error) error
}

// SparseBlock is the number of rows in a block of sparse rows in memory.
const SparseBlock = 1 << 17

// FromSet returns the rows of a set in memory.
func FromSet(data datasets.Set) (*Rows, error) {
	n, d := data.Rows(), data.Cols()
	if n == 0 || d == 0 {
		return nil, fmt.Errorf("%w: %d rows, %d columns", datasets.ErrEmpty, n, d)
	}
	if err := AllNumeric(data.Schema); err != nil {
		return nil, err
	}
	r := &Rows{Schema: data.Schema, N: n, Cols: d, Set: &data, Several: severalTargets(data)}
	size := rowblock.Size
	if _, r.Sparse = data.X.(*matrices.CSR); r.Sparse {
		size = SparseBlock
	}
	data.X = Native(data.X)
	_, r.Float32 = data.X.(*matrices.Dense32)
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

func severalTargets(block datasets.Set) int {
	if block.Targets == nil {
		return 0
	}
	return block.Targets.RawMatrix().Cols
}

// AllNumeric returns an error if a column is categorical.
func AllNumeric(schema datasets.Schema) error {
	for _, c := range schema.Columns {
		if c.Kind != datasets.Numeric {
			return fmt.Errorf("column %s must be numeric, got %s; encode it with %s first", c.Name, c.Kind,
				suggest.Encoders(c.Kind.String(), len(c.Categories)))
		}
	}
	return nil
}

// errStop ends a pass early.
var errStop = errors.New("enough")

// FromSource returns the rows of a source.
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
		rounded, err := FromSource(ctx, both.Float32())
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
				return fmt.Errorf("row %d: must have %d columns, got %d", first, d, block.Cols())
			}
			block.X = Native(block.X)
			at := first
			first += block.Rows()
			return yield(at, block)
		})
	}
	err := r.Each(ctx, func(_ int, block datasets.Set) error {
		r.Several = severalTargets(block)
		_, r.Sparse = block.X.(*matrices.CSR)
		_, r.Float32 = block.X.(*matrices.Dense32)
		return errStop
	})
	if err != nil && err != errStop {
		return nil, err
	}
	return r, nil
}

// EachExpected is r.Each for rows that had n rows in an earlier pass. It fails if their number has
// changed.
func (r *Rows) EachExpected(ctx context.Context, n int, yield func(first int, block datasets.Set) error) error {
	seen := 0
	err := r.Each(ctx, func(first int, block datasets.Set) error {
		if seen = first + block.Rows(); seen > n {
			return fmt.Errorf("%d rows in the first pass, at least %d in this one", n, seen)
		}
		return yield(first, block)
	})
	if err == nil && seen < n {
		err = fmt.Errorf("%d rows in the first pass, %d in this one", n, seen)
	}
	return err
}

// WithRowCount returns r with an Each that fails unless there are n rows.
func (r *Rows) WithRowCount(n int) *Rows {
	out := *r
	out.Each = func(ctx context.Context, yield func(int, datasets.Set) error) error {
		return r.EachExpected(ctx, n, yield)
	}
	return &out
}

// InMemory returns the rows in memory, copied if necessary.
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

// copyBlock copies a block, because streams reuse the memory of their blocks.
func copyBlock(block datasets.Set) datasets.Set {
	all := make([]int, block.Rows())
	for i := range all {
		all[i] = i
	}
	return block.Select(all)
}

// concat returns all blocks as rows in memory.
func (r *Rows) concat(blocks []datasets.Set) (*Rows, error) {
	set, err := datasets.Set{}.Append(blocks...)
	if err != nil {
		return nil, err
	}
	set.Schema = r.Schema
	return FromSet(set)
}

// ToFloat64 returns the rows converted to float64.
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

// ChunkRows is the number of sparse rows per parallel task.
const ChunkRows = 1024

// Shape returns the shape of n rows with the given number of outputs.
func (r *Rows) Shape(n, outputs int) datasets.Shape {
	out := datasets.Shape{Rows: max(n, 0), Cols: r.Cols, Outputs: outputs}
	if r.Set != nil {
		out.NonZeros = r.Set.Shape().NonZeros
	} else if r.Sparse {
		out.NonZeros = float64(min(r.Cols, 100)) // the entries are unknown before the first pass
	}
	return out
}

// TargetCount returns the number of targets per row.
func (r *Rows) TargetCount() int {
	if r.Set != nil {
		return r.Set.Shape().Outputs
	}
	return max(len(r.Schema.Targets), 1)
}

// FromSelection returns the listed rows of a set in memory. They are copied block by block.
func FromSelection(data datasets.Set, list []int) *Rows {
	r := &Rows{Schema: data.Schema, N: len(list), Cols: data.Cols()}
	r.Each = eachBlock(len(list), rowblock.Size, func(lo, hi int) datasets.Set { return Select(data, list[lo:hi]) })
	return r
}

// eachBlock returns an Each over n rows in memory in blocks of size rows.
func eachBlock(n, size int, block func(lo, hi int) datasets.Set) func(ctx context.Context,
	yield func(int, datasets.Set) error) error {
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

// Select is data.Select, but does not copy consecutive rows.
func Select(data datasets.Set, list []int) datasets.Set {
	for k, i := range list {
		if i != list[0]+k {
			return data.Select(list)
		}
	}
	if len(list) == 0 {
		return data.Select(list)
	}
	return data.Slice(list[0], list[0]+len(list)).NumberRows(list[0])
}
