package auto

import (
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

// counter counts bytes.
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
func (r *run) predictCost(ctx context.Context, p point) (cost, error) {
	if c, ok := r.costs[p]; ok {
		return c, nil
	}
	kind, rows := r.table[p.recipe], timedRows
	if kind.step.name == "nystroem" {
		rows = max(rows, kind.sizeOf(p.size))
	}
	rows = min(rows, r.data.Rows())
	spec, err := r.fittingOf(ctx, p, false)
	if err != nil {
		return cost{}, err
	}
	model, err := spec.Fit(ctx, r.first(rows))
	if err != nil {
		return cost{}, err
	}
	c, err := r.measure(ctx, model)
	if kind.mapping.exact() {
		c = c.times(float64(r.data.Rows()) / float64(rows))
	}
	if err == nil {
		r.costs[p] = c
		r.noteCost(kind.String(), c)
	}
	return c, err
}

// noteCost updates the closest of the costs that exceed a limit.
func (r *run) noteCost(name string, c cost) {
	if r.closest == "" || r.ratio(c) < r.closestRatio {
		r.closest, r.closestRatio = fmt.Sprintf("%s with %v", name, c), r.ratio(c)
	}
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
	if r.leader.Scores == nil {
		return r.tooExpensive()
	}
	return nil
}

// tooExpensive returns the error of a search without a model within the limits.
func (r *run) tooExpensive() error {
	return fmt.Errorf("no model meets the limits: the closest is %s; raise MaxPredictTime or MaxSize", r.closest)
}

// unfit reports whether a candidate does not meet the limits or was not measured.
func (r *run) unfit(p point) bool {
	c, known := r.costs[p]
	return r.limited() && (!known || r.ratio(c) > 1)
}

// modelExceeds measures the current model and reports whether it exceeds a limit. The following estimates are
// larger by its excess.
func (r *run) modelExceeds(ctx context.Context) (bool, error) {
	in := r.incumbent
	if !r.limited() || in == nil {
		return false, nil
	}
	c, err := r.measure(ctx, in.model)
	if err != nil {
		return false, err
	}
	if in.cost = c; r.ratio(c) <= 1 {
		return false, nil
	}
	r.correction *= r.ratio(c)
	r.noteCost(r.entryOfEnsemble(in.ensemble, in.scale).Recipe, c)
	return true, nil
}

// checkLimits returns an error if the current model exceeds a limit.
func (r *run) checkLimits(ctx context.Context) error {
	if over, err := r.modelExceeds(ctx); !over || err != nil {
		return err
	}
	return r.tooExpensive()
}
