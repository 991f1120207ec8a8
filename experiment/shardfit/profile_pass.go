package shardfit

import (
	"context"
	"errors"
	"fmt"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/pass"
	"github.com/bochner-ml/bochner/model"
)

// profiledPass is the first pass of the pipeline, which also profiles the rows.
type profiledPass struct{ learned, seen datasets.Pass }

func (d *profiledPass) Add(ctx context.Context, block datasets.Set) error {
	return errors.Join(d.learned.Add(ctx, block), d.seen.Add(ctx, block))
}

func (d *profiledPass) Merge(ctx context.Context, other datasets.Pass) error {
	o, ok := other.(*profiledPass)
	if !ok {
		return fmt.Errorf("shardfit: a pass of type %T", other)
	}
	if err := d.learned.Merge(ctx, o.learned); err != nil {
		return err
	}
	return d.seen.Merge(ctx, o.seen)
}

func (d *profiledPass) Next(ctx context.Context) (datasets.Pass, error) { return d.learned.Next(ctx) }

func (d *profiledPass) State(s *model.State) {
	d.learned.State(s.Child("learned"))
	if s.Err() == nil {
		d.seen.State(s.Child("seen"))
	}
}

// learns returns the name of the part that a pass fits.
func learns(p datasets.Pass) string {
	if d, ok := p.(*profiledPass); ok {
		p = d.learned
	}
	name, _ := pass.Stage(p)
	return name
}
