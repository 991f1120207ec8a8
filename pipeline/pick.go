package pipeline

import (
	"context"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/pipeline/internal/pick"
)

// columns returns the rows with only the named columns, nil for all.
func (r rows) columns(index []int) rows {
	if index == nil {
		return r
	}
	r.sample = new(pick.Picker).Columns(r.sample, index)
	if r.src != nil {
		r.src = narrowed{base: r.src, index: index, schema: pick.Schema(r.src.Schema(), index)}
		return r
	}
	r.set.X = new(pick.Picker).Columns(r.set.X, index)
	r.set.Schema = pick.Schema(r.set.Schema, index)
	return r
}

// narrowed is a source with only some columns of another.
type narrowed struct {
	base   datasets.Source
	index  []int
	schema datasets.Schema
}

func (s narrowed) Schema() datasets.Schema { return s.schema }

func (s narrowed) Dims() (n, cols int) {
	n, _ = s.base.Dims()
	return n, len(s.index)
}

func (s narrowed) Blocks(ctx context.Context, yield func(block datasets.Set) error) error {
	var p pick.Picker
	return s.base.Blocks(ctx, func(block datasets.Set) error {
		block.X, block.Schema = p.Columns(block.X, s.index), s.schema
		return yield(block)
	})
}
