package experiment

import (
	"context"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/profile"
)

// described is rows that are described as they are read for something else.
type described struct {
	datasets.Source
	pass datasets.Pass
}

// Blocks reads the rows.
func (d *described) Blocks(ctx context.Context, yield func(block datasets.Set) error) error {
	_, cols := d.Dims()
	d.pass = profile.Start(d.Schema(), cols)
	return d.Source.Blocks(ctx, func(block datasets.Set) error {
		if err := d.pass.Add(ctx, block); err != nil {
			return err
		}
		return yield(block)
	})
}

// describe notes what the training rows look like, which have been read for the scores.
func (r *run) describe(ctx context.Context, read *described) error {
	p, err := profile.Finish(ctx, read.pass)
	if err == nil {
		r.result.Profile = &p
	}
	return err
}
