package auto

import (
	"context"
	"errors"
)

// keepModel fits the leader to all rows, so that there is a model of it whatever happens, where that
// takes little of the time that is left.
func (r *run) keepModel(ctx context.Context) error {
	if r.timed() {
		took, err := r.expectedFit(ctx, r.leader.point)
		if err != nil || took > 0.05*r.left() {
			return err
		}
	}
	return r.refit(ctx, r.leader, r.leader.size, r.data.Rows())
}

// finish fits the leader to all rows, then with a wider map where the time allows, or an ensemble where that
// helps.
func (r *run) finish(ctx context.Context) error {
	done, err := r.fitEnsemble(ctx)
	if !done && err == nil && r.ended != EndedStopped {
		err = r.fitLeader(ctx)
	}
	if errors.Is(err, errEnded) && ctx.Err() == nil {
		if r.stopped() {
			r.ended = EndedStopped
		}
		return nil
	}
	return err
}

func (r *run) fitLeader(ctx context.Context) error {
	whole, in := r.data.Rows(), r.incumbent
	if in.point != r.leader.point || in.rows != whole {
		if err := r.refit(ctx, r.leader, r.leader.size, whole); err != nil {
			return err
		}
	}
	size, err := r.widest(ctx, r.leader.point, 0.6*r.left())
	if err != nil || size == r.incumbent.size {
		return err
	}
	return r.refit(ctx, r.leader, size, whole)
}

// widest is the largest size of a point's map, doubled time and again, with which a fit to all rows is expected
// to take no longer than the limit: its own size at least.
func (r *run) widest(ctx context.Context, p point, limit float64) (int, error) {
	for r.timed() && r.table[p.recipe].sizeOf(p.size) > 0 {
		wider := p
		wider.size = r.sizeWithin(moreSize * p.size)
		took, err := r.expectedFit(ctx, wider)
		if err != nil {
			return 0, err
		}
		if wider.size <= p.size || took > limit {
			break
		}
		p = wider
	}
	return p.size, nil
}
