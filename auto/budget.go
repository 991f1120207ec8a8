package auto

import (
	"context"
	"slices"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/pipeline"
)

// timed reports whether time is the bound, and not candidates.
func (r *run) timed() bool { return r.options.Candidates == 0 }

// left is the time that is left of the budget.
func (r *run) left() float64 { return (r.options.Budget - time.Since(r.began)).Seconds() }

// within is the context of a trial, which ends when the search is stopped or has no more time but for the
// last fit.
func (r *run) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	if r.timed() && r.incumbent != nil {
		var end context.CancelFunc
		ctx, end = context.WithDeadline(ctx, r.began.Add(r.options.Budget-seconds(r.reserve)))
		before := cancel
		cancel = func() { end(); before() }
	}
	ctx, end := r.untilStopped(ctx)
	return ctx, func() { end(); cancel() }
}

// untilStopped is a context that ends when the search is stopped.
func (r *run) untilStopped(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	if r.options.Stop == nil {
		return ctx, cancel
	}
	done := make(chan struct{})
	go func() {
		select {
		case <-r.options.Stop:
			cancel()
		case <-done:
		}
	}()
	return ctx, func() { close(done); cancel() }
}

func seconds(v float64) time.Duration { return time.Duration(v * float64(time.Second)) }

// stopped reports whether the caller has stopped the search.
func (r *run) stopped() bool {
	select {
	case <-r.options.Stop: // never, where it is nil
		return r.options.Stop != nil
	default:
		return false
	}
}

// batchOf is what a trial asks for.
func batchOf(list []pipeline.Pipeline, shape datasets.Shape, folds []datasets.Fold) (among, estimator.Batch) {
	b := estimator.Batch{Shape: shape, Folds: folds}
	for i := range list {
		b.Candidates = append(b.Candidates, estimator.Candidate{Estimator: among{list: list, at: i}})
	}
	return among{list: list}, b
}

// flops is what a trial takes, 0 where that cannot be told.
func flops(list []pipeline.Pipeline, shape datasets.Shape, folds []datasets.Fold) float64 {
	spec, b := batchOf(list, shape, folds)
	cost, _, err := spec.BatchCost(b)
	if err != nil {
		return 0
	}
	return cost.Flops
}

// expected is how long a trial of points on so many rows will take, by how long those before took.
func (r *run) expected(ctx context.Context, rows int, points []point) (float64, error) {
	_, folds, err := r.partAndFolds(rows)
	if err != nil {
		return 0, err
	}
	list := make([]pipeline.Pipeline, len(points))
	for i, p := range points {
		if list[i], err = r.pipelineOf(ctx, p); err != nil {
			return 0, err
		}
	}
	shape := r.data.Shape()
	shape.Rows = min(rows, shape.Rows)
	return r.paceOf(points)*flops(list, shape, folds) + perFit*float64(len(points)*len(folds)), nil
}

// expectedFit is how long one fit to all rows will take.
func (r *run) expectedFit(ctx context.Context, p point) (float64, error) {
	spec, err := r.pipelineOf(ctx, p)
	if err != nil {
		return 0, err
	}
	return r.paceOf([]point{p}) * spec.Cost(r.data.Shape()).Flops, nil
}

// kindOf is what a pace is known for: what is learned, the map, and the model.
func (r *run) kindOf(p point) string {
	kind := r.table[p.recipe]
	return kind.family + " " + kind.mapping.name + " " + kind.head.name
}

// pace is how long a kind of work has taken, beside what it was estimated to be.
type pace struct{ seconds, flops float64 }

// everything is the kind of all work.
const everything = ""

// perFit is how many seconds a fit takes at least, whatever it does.
const perFit = 0.001

// paceOf is how many seconds the slowest kind among points takes for a flop of its estimated cost; of a kind that was
// not tried yet what all work has taken.
func (r *run) paceOf(points []point) float64 {
	slowest := 0.0
	for _, p := range points {
		own, ok := r.pace[r.kindOf(p)]
		if !ok {
			own = r.pace[everything]
		}
		slowest = max(slowest, own.seconds/own.flops)
	}
	return slowest
}

// learnPace takes in how long a trial took.
func (r *run) learnPace(points []point, list []pipeline.Pipeline, shape datasets.Shape, folds []datasets.Fold, took float64) {
	if !r.timed() {
		return
	}
	work := flops(list, shape, folds)
	if work == 0 {
		return
	}
	took = max(took-perFit*float64(len(list)*len(folds)), 0)
	kinds := []string{everything}
	for _, p := range points {
		kinds = append(kinds, r.kindOf(p))
	}
	slices.Sort(kinds)
	for _, kind := range slices.Compact(kinds) {
		own := r.pace[kind]
		r.pace[kind] = pace{own.seconds/2 + took, own.flops/2 + work} // what was long ago counts less
	}
}

// measureSpeed makes a first guess of the pace, by products of matrices.
func (r *run) measureSpeed() {
	if r.timed() {
		const slower = 3 // than such products, mapping and all
		speed := gridsearch.Speed()
		r.pace[everything] = pace{slower, speed}
	}
}
