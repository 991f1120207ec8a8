package rows

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/pipeline/internal/place"
)

// firstRows returns a copy of the first maxRows rows of src, limited to its first block.
func firstRows(ctx context.Context, src datasets.Source, maxRows int) (datasets.Set, error) {
	enough := errors.New("enough")
	var first datasets.Set
	err := src.Blocks(ctx, func(block datasets.Set) error {
		if block.Rows() == 0 {
			return nil
		}
		first = block.Select(Range(0, min(block.Rows(), maxRows)))
		return enough
	})
	switch {
	case errors.Is(err, enough):
		return first, nil
	case err != nil:
		return first, err
	}
	return first, fmt.Errorf("datasets: %w: no rows", datasets.ErrEmpty)
}

// peekedSource is a source whose first block is cached, so that inspecting it before a fit does not
// reopen the source. It detects that the rows have changed.
type peekedSource struct {
	datasets.Source
	first datasets.Set
	total atomic.Int64 // number of rows of a full pass; 0 before the first one
}

func peek(ctx context.Context, src datasets.Source) (*peekedSource, error) {
	first, err := firstRows(ctx, src, math.MaxInt)
	return &peekedSource{Source: src, first: first}, err
}

func (p *peekedSource) Blocks(ctx context.Context, yield func(block datasets.Set) error) error {
	if err := ctxerr.Check(ctx); err != nil {
		return err
	}
	if err := yield(p.first); err != nil {
		return err
	}
	total := 0
	err := p.Source.Blocks(ctx, func(block datasets.Set) error {
		begins := total == 0
		total += block.Rows()
		if !begins || block.Rows() == 0 {
			return yield(block)
		}
		if block.Rows() != p.first.Rows() {
			return errChanged
		}
		return nil
	})
	if err == nil && !p.total.CompareAndSwap(0, int64(total)) && p.total.Load() != int64(total) {
		err = errChanged
	}
	return err
}

var errChanged = errors.New("the data changed while they were being read")

// tileBytes is the maximum size of a tile of mapped rows.
const tileBytes = 64 << 20

// tileRows returns the number of rows of a tile of the given width.
func tileRows(width int) int { return max(64, tileBytes/8/max(width, 1)) }

// mappedSource is a source whose rows are mapped by a step as they are read.
type mappedSource struct {
	base   datasets.Source
	step   *Step
	schema datasets.Schema
	tiles  *sync.Pool
}

// Mapped returns the output of a step as a source, which maps the rows in every pass.
func Mapped(base datasets.Source, s *Step) datasets.Source {
	return mappedSource{base: base, step: s, schema: Describe(s.Fitted, base.Schema()),
		tiles: &sync.Pool{New: func() any { return new(Tile) }}}
}

func (m mappedSource) Schema() datasets.Schema { return m.schema }

func (m mappedSource) Dims() (n, cols int) {
	n, _ = m.base.Dims()
	return n, m.step.Width
}

func (m mappedSource) Blocks(ctx context.Context, yield func(block datasets.Set) error) error {
	t := m.tiles.Get().(*Tile)
	defer m.tiles.Put(t)
	limit, first, start := tileRows(m.step.Width), 0, firstRow(m.base)
	return m.base.Blocks(ctx, func(block datasets.Set) error {
		for lo := 0; lo < block.Rows(); lo += limit {
			part := block.Slice(lo, min(lo+limit, block.Rows()))
			Z, err := m.step.at(start+first).ApplyTile(ctx, t, part.X)
			if err != nil {
				return place.Upstream(Explain(err, part, m.base.Schema(), first))
			}
			first += part.Rows()
			part.X, part.Schema = Z, m.schema
			if err := yield(part); err != nil {
				return err
			}
		}
		return nil
	})
}

// Block is a source of the block that a pass adds.
type Block struct {
	Set     datasets.Set
	First   int             // index of its first row in the fit, which determines the fold of training rows
	Columns datasets.Schema // of every block
	Width   int             // number of columns
}

// Schema returns the columns of every block.
func (b *Block) Schema() datasets.Schema { return b.Columns }

// Dims returns the number of rows and columns.
func (b *Block) Dims() (n, cols int) { return b.Set.Rows(), b.Width }

// Blocks yields the block.
func (b *Block) Blocks(_ context.Context, yield func(block datasets.Set) error) error {
	return yield(b.Set)
}

// firstRow returns the index of the first row of src in the fit, which is positive for later blocks of a pass.
func firstRow(src datasets.Source) int {
	switch s := src.(type) {
	case mappedSource:
		return firstRow(s.base)
	case columnSubset:
		return firstRow(s.base)
	case *Block:
		return s.First
	}
	return 0
}

// columnSubset is a source with a subset of the columns of another source.
type columnSubset struct {
	base   datasets.Source
	index  []int
	schema datasets.Schema
}

func (s columnSubset) Schema() datasets.Schema { return s.schema }

func (s columnSubset) Dims() (n, cols int) {
	n, _ = s.base.Dims()
	return n, len(s.index)
}

func (s columnSubset) Blocks(ctx context.Context, yield func(block datasets.Set) error) error {
	var p rowblock.Picker
	return s.base.Blocks(ctx, func(block datasets.Set) error {
		block.X, block.Schema = p.Columns(block.X, s.index), s.schema
		return yield(block)
	})
}
