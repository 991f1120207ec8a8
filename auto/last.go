package auto

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/metrics"
)

// keepModel fits the best candidate whose fit to all rows takes a small part of the time left, so
// that the search has a model if it is interrupted.
func (r *run) keepModel(ctx context.Context) error {
	s, size, err := r.bestAffordable(ctx, keepShare*r.secondsLeft(), keepShare*r.secondsLeft())
	if err != nil || s.folds == nil {
		return err
	}
	if in := r.incumbent; in.rows == r.data.Rows() {
		if own := r.best[in.recipe]; !r.ranksBefore(s, in.scored) || s.recipe != in.recipe && r.ranksBefore(own, s) {
			return nil // its recipe has better scores on as many rows
		}
	}
	if !r.timed() {
		return r.refit(ctx, s, size, r.data.Rows())
	}
	until := r.spent() + keepLimit*r.secondsLeft()
	err = r.refitUntil(ctx, s, size, r.data.Rows(), until, until)
	if errors.Is(err, errEnded) && ctx.Err() == nil && !r.stopped() {
		return nil // it exceeded its estimated time; the previous model stays
	}
	return err
}

// bestAffordable returns the best candidate whose fit to all rows is expected to take at most the
// limit, with a map of its size or else of a half or a quarter of it; the preferred one comes first. Its
// folds are nil if there is none. Exact kernels have a separate limit.
func (r *run) bestAffordable(ctx context.Context, limitMap, limitExact float64) (s scored, size int, err error) {
	if !r.timed() {
		s := r.preferred()
		return s, s.size, nil
	}
	var ranked []scored
	for _, s := range r.best {
		ranked = append(ranked, s)
	}
	slices.SortFunc(ranked, r.rank)
	ranked = append([]scored{r.preferred()}, ranked...)
	for _, s := range ranked {
		limit := limitMap
		if r.table[s.recipe].mapping.exact {
			limit = limitExact
		}
		for _, part := range []int{1, 2, 4} {
			p := s.point
			p.size /= part
			took, err := r.expectedFit(ctx, p)
			if err != nil || took <= limit {
				return s, p.size, err
			}
			if p.size == 0 {
				break
			}
		}
		if other, err := r.fasterEquivalent(ctx, s, limit); err != nil || other.folds != nil {
			return other, other.size, err
		}
	}
	return scored{}, 0, nil
}

// fasterEquivalent returns the best candidate of a recipe with an exact kernel that is within two standard
// errors of the best one and can be fitted within the limit. It has a larger penalty, which
// requires fewer iterations. Its folds are nil if there is none.
func (r *run) fasterEquivalent(ctx context.Context, best scored, limit float64) (out scored, err error) {
	if !r.table[best.recipe].mapping.exact {
		return out, nil
	}
	for _, s := range r.log {
		if s.recipe != best.recipe || s.on != best.on || math.IsNaN(s.mean) || !r.withinError(s, best, 2) ||
			out.folds != nil && !r.ranksBefore(s, out) {
			continue
		}
		took, err := r.expectedFit(ctx, s.point)
		if err != nil {
			return out, err
		}
		if took <= limit {
			out = s
		}
	}
	return out, nil
}

// finish fits an ensemble if it scores better, else the leader, with a wider map if time allows.
func (r *run) finish(ctx context.Context) error {
	done, err := r.fitEnsemble(ctx)
	if !done && err == nil && r.stopReason != StoppedByCaller {
		err = r.fitLeader(ctx)
	}
	if err == nil {
		err = r.decide(ctx)
	}
	if errors.Is(err, errEnded) && ctx.Err() == nil {
		if r.stopped() {
			r.stopReason = StoppedByCaller
		}
		return nil
	}
	return err
}

// decide chooses the threshold between two classes by the metric, if the metric depends on it and the
// time suffices for the fits to folds. Accuracy, for which the most probable class is best, needs none.
func (r *run) decide(ctx context.Context) error {
	const folds = 3
	in := r.incumbent
	if r.classes != 2 || r.metric.Requires != metrics.Predictions || r.metric.Name == "accuracy" || r.options.Exportable ||
		in.rows < r.data.Rows() || r.timed() && (folds+1)*r.finalTook > exactShare*r.secondsLeft() {
		return nil
	}
	limited, cancel := r.withDeadline(ctx, r.hardDeadline())
	defer cancel()
	spec, threshold := in.spec, meta.NewThreshold(in.spec.Estimator)
	threshold.Score, threshold.Folds = r.metric.Name, folds
	spec.Estimator = threshold
	model, err := spec.Fit(limited, r.data)
	switch {
	case ctx.Err() != nil:
		return ctxerr.Check(ctx)
	case limited.Err() != nil:
		return errEnded
	case err != nil: // such as a class without rows in a fold
		r.warnings = append(r.warnings, fmt.Sprintf("the decision threshold cannot be chosen by %s: %v", r.metric.Name, err))
		return nil
	}
	var fitted *meta.FittedThreshold
	if estimator.As(model, &fitted) {
		// its folds keep the order of the rows; of sorted rows they are unlike those of the search
		const times = 4
		if c, ok := fitted.Cutoff(); ok && !r.withinError(scored{mean: c.AtUsual}, in.scored, times) {
			return nil
		}
	}
	decided := *in
	decided.spec, decided.model = spec, model
	r.incumbent = &decided
	return nil
}

// fitLeader fits the best candidate that fits in the time left, first with a map of its size, then
// with the widest possible map. If a fit takes much longer than estimated, it is canceled and
// another one is tried.
func (r *run) fitLeader(ctx context.Context) error {
	for {
		s, size, err := r.bestAffordable(ctx, lastShare*r.secondsLeft(), exactShare*r.secondsLeft())
		if err != nil || s.folds == nil {
			return err
		}
		if in := r.incumbent; in.point == s.point && in.size >= size && in.rows == r.data.Rows() {
			return r.widen(ctx)
		}
		if !r.timed() {
			return r.refit(ctx, s, size, r.data.Rows())
		}
		if size, err = r.widestAtOnce(ctx, s, size); err != nil {
			return err
		}
		err = r.refit(ctx, s, size, r.data.Rows())
		if err == nil {
			return r.widen(ctx)
		}
		if !errors.Is(err, errEnded) || ctx.Err() != nil || r.stopped() ||
			r.secondsLeft() < minRetryShare*r.options.Budget.Seconds() {
			return err
		}
	}
}

// widestAtOnce returns the widest map that fits in the time left, if an earlier fit of sufficient
// size predicts its time; else the size of the scored map.
func (r *run) widestAtOnce(ctx context.Context, s scored, size int) (int, error) {
	known := 4.0
	if r.narrow(s) {
		known = 24
	}
	p := s.point
	p.size = size
	wide, err := r.widest(ctx, p, widerShare*r.secondsLeft())
	if err != nil || wide == size {
		return size, err
	}
	p.size = wide
	_, flops, err := r.fitWork(ctx, p, r.data.Rows())
	if err != nil || known*r.lastFit(r.table[s.recipe]).flops < flops {
		return size, err
	}
	return wide, nil
}

// widen refits the current model with the widest map that fits in the time left. The previous fit
// predicts the time of one that is not much wider.
func (r *run) widen(ctx context.Context) error {
	in := r.incumbent
	p := in.point
	p.size = in.size
	size, err := r.widest(ctx, p, widerShare*r.secondsLeft())
	if err != nil {
		return err
	}
	if size == in.size {
		if size, err = r.widest(ctx, p, slightlyWiderShare*r.secondsLeft()); err != nil || size == in.size ||
			size > sizeGrowth*in.size {
			return err
		}
	}
	return r.refit(ctx, in.scored, size, r.data.Rows())
}

// widest returns the largest size of the map of a point with which a fit to all rows is expected to
// take at most the limit. It doubles the size while possible, then multiplies it by 1.5. The size
// is at least that of the point.
func (r *run) widest(ctx context.Context, p point, limit float64) (int, error) {
	if !r.timed() || r.table[p.recipe].sizeOf(p.size) == 0 {
		return p.size, nil
	}
	for _, halves := range []int{2 * sizeGrowth, 3} {
		for {
			wider := p
			wider.size = r.sizeWithin(halves * p.size / 2)
			took, err := r.expectedFit(ctx, wider)
			if err != nil {
				return 0, err
			}
			if wider.size <= p.size || took > limit {
				break
			}
			p = wider
		}
	}
	return p.size, nil
}

// narrow reports whether a candidate has a dense map with few features relative to the rows: it
// benefits more from width than from a finer grid or an ensemble.
func (r *run) narrow(s scored) bool {
	const rows = 16 // for each feature
	kind := r.table[s.recipe]
	return r.timed() && !kind.sparse() && kind.sizeOf(s.size) > 0 && r.data.Rows() >= rows*s.size
}
