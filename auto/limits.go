package auto

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/learning/searchloop"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
)

// cost is that of the predictions of a model, measured on this host.
type cost struct {
	perRow float64 // seconds, the larger of those in batches of one row and of many
	bytes  float64 // size of the model file
}

func (c cost) times(v float64) cost { return cost{c.perRow * v, c.bytes * v} }

func (c cost) String() string {
	return fmt.Sprintf("%s per row, %.3g MB", time.Duration(c.perRow*1e9).Round(10*time.Nanosecond), c.bytes/1e6)
}

// counter counts bytes: a model may be as large as the rows.
type counter struct{ n int }

func (c *counter) Write(p []byte) (int, error) { c.n += len(p); return len(p), nil }

// timedRows is the number of rows of the larger batch, and of fits whose models are measured.
const timedRows = 1000

// measure measures a model on the first rows.
func (r *run) measure(ctx context.Context, model estimator.Predictor) (c cost, err error) {
	file, err := modelfile.New(model)
	if err != nil {
		return c, err
	}
	var size counter
	if err := file.Write(&size); err != nil {
		return c, err
	}
	c.bytes = float64(size.n)
	part := r.first(timedRows)
	for _, batch := range []int{1, part.Rows()} {
		const times = 9
		var took []float64
		for k := range times {
			at := make([]int, batch)
			for i := range at {
				at[i] = (k + i) % part.Rows()
			}
			rows, began := part.Select(at), time.Now()
			if _, err := file.Predict(ctx, rows); err != nil {
				return c, err
			}
			took = append(took, time.Since(began).Seconds()/float64(batch))
		}
		slices.Sort(took)
		c.perRow = max(c.perRow, took[times/2]) // the median: other programs run too
	}
	return c, nil
}

// minLimitedSize is the size of the narrowest map of which the half is tried to meet a limit.
const minLimitedSize = 32

// limited reports whether there is a limit of the cost of predictions.
func (r *run) limited() bool { return r.options.MaxPredictTime > 0 || r.options.MaxSize > 0 }

// ratio returns the larger ratio of a cost to its limit, at most 1 if it meets both.
func (r *run) ratio(c cost) (out float64) {
	if limit := r.options.MaxPredictTime; limit > 0 {
		out = c.perRow / limit.Seconds()
	}
	if limit := r.options.MaxSize; limit > 0 {
		out = max(out, c.bytes/float64(limit))
	}
	return out
}

// predictCost measures the cost of a point by a fit to few rows: maps do not depend on their number, and the cost of
// exact kernels is proportional to it.
func (r *run) predictCost(ctx context.Context, p point) (c cost, err error) {
	if c, ok := r.costs[p]; ok {
		return c, nil
	}
	kind, rows := r.table[p.recipe], timedRows
	if kind.step.name == "nystroem" {
		rows = max(rows, kind.sizeOf(p.size))
	}
	rows = min(rows, r.data.Rows())
	var model estimator.Predictor
	spec, err := r.fittingOf(ctx, p, false)
	if err == nil {
		model, err = spec.Fit(ctx, r.first(rows))
	}
	if err == nil {
		c, err = r.measure(ctx, model)
	}
	if kind.mapping.exact() {
		c = c.times(float64(r.data.Rows()) / float64(rows))
	}
	if err == nil {
		r.costs[p] = c
	}
	return c, err
}

// costRatio estimates the cost of an ensemble with maps of a scale, relative to the limits. Wider maps cost at most in
// proportion.
func (r *run) costRatio(ctx context.Context, e ensemble, scale float64) (float64, error) {
	var sum cost
	for _, m := range e.members {
		if !r.limited() {
			break
		}
		c, err := r.predictCost(ctx, r.scaled(m.point, min(scale, 1)))
		if err != nil {
			return 0, err
		}
		if kind := r.table[m.recipe]; scale > 1 && kind.sizeOf(m.size) > 0 {
			c = c.times(scale)
		}
		sum.perRow, sum.bytes = sum.perRow+c.perRow, sum.bytes+c.bytes
	}
	return r.ratio(sum), nil
}

// withinLimits replaces the best candidates by those that meet the limits, evaluated on the rows of the leader: with
// narrower maps where necessary. Only the best recipes and linear ones are measured.
func (r *run) withinLimits(ctx context.Context) error {
	if !r.limited() {
		return nil
	}
	on, list := r.leader.on, r.ranked()
	r.best, r.leader = map[int]scored{}, scored{}
	for k, s := range list {
		for p := s.point; k < promoted || r.table[p.recipe].plain(); p.size /= 2 {
			c, err := r.predictCost(ctx, p)
			if err := ctxerr.Check(ctx); err != nil {
				return err
			}
			switch {
			case err == nil && r.ratio(c) <= 1 && p == s.point:
				r.updateBest([]scored{s})
			case err == nil && r.ratio(c) <= 1:
				if _, err := r.try(ctx, on, len(r.rounds), []point{p}); err != nil && !errors.Is(err, searchloop.ErrEnded) {
					return err
				}
			case err == nil && r.table[p.recipe].sizeOf(p.size) > 0 && p.size >= minLimitedSize:
				continue
			}
			break
		}
	}
	return nil
}

// unfit reports whether a candidate does not meet the limits or was not measured.
func (r *run) unfit(p point) bool {
	c, known := r.costs[p]
	return r.limited() && (!known || r.ratio(c) > 1)
}

// exceeds reports whether a model exceeds a limit.
func (r *run) exceeds(f *fitted) bool { return r.limited() && r.ratio(f.cost) > 1 }

// measureFitted measures a model if there are limits. The cost of one that exceeds them replaces the estimate of the
// candidate, or corrects those of ensembles, so that the next choice is another one.
func (r *run) measureFitted(ctx context.Context, f *fitted) (err error) {
	if !r.limited() {
		return nil
	}
	if f.cost, err = r.measure(ctx, f.model); err != nil || !r.exceeds(f) || f.rows < r.data.Rows() {
		return err
	}
	if len(f.members) == 1 {
		r.costs[r.scaled(f.members[0].point, f.scale)] = f.cost
		return nil
	}
	estimate, err := r.costRatio(ctx, f.ensemble, f.scale)
	r.correction = max(r.correction, r.ratio(f.cost)/estimate)
	return err
}

// meetLimits replaces a model that exceeds a limit by a fit of the candidate whose predictions cost least.
func (r *run) meetLimits(ctx context.Context) error {
	for r.exceeds(r.incumbent) {
		list := slices.DeleteFunc(slices.Clone(r.log), func(s scored) bool { return r.costs[s.point] == cost{} })
		if r.Stopped() || len(list) == 0 {
			return ErrNoModel
		}
		least := slices.MinFunc(list, func(a, b scored) int {
			return cmp.Or(cmp.Compare(r.ratio(r.costs[a.point]), r.ratio(r.costs[b.point])), r.rank(a, b))
		})
		name, c := r.table[least.recipe].String(), r.costs[least.point]
		if r.ratio(c) > 1 {
			return fmt.Errorf("no model meets the limits: the closest is %s with %v; raise MaxPredictTime or MaxSize", name, c)
		}
		_, err := r.fit(ctx, single(least), 1, r.data.Rows(), r.hardDeadline())
		if errors.Is(err, searchloop.ErrEnded) && ctx.Err() == nil && !r.Stopped() {
			err = fmt.Errorf("no model that meets the limits could be fitted in time: %s needs %v; raise Budget", name, c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
