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
		if err != nil || took > 0.1*r.left() {
			return err
		}
	}
	return r.refit(ctx, r.leader, r.leader.size, r.data.Rows())
}

// finish fits the leader to all rows, with a wider map where the time allows, or an ensemble where that helps.
func (r *run) finish(ctx context.Context) error {
	if done, err := r.fitEnsemble(ctx); done || err != nil || r.ended == EndedStopped {
		return err
	}
	size, err := r.widest(ctx, r.leader.point, 0.5*r.left())
	if err != nil {
		return err
	}
	if r.leader.point == r.incumbent.point && r.leader.size == size && r.incumbent.rows == r.data.Rows() {
		return nil
	}
	err = r.refit(ctx, r.leader, size, r.data.Rows())
	if errors.Is(err, errEnded) && ctx.Err() == nil {
		r.ended = EndedStopped
		return nil
	}
	return err
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
