package auto

import (
	"cmp"
	"context"
	"math"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// Schedule of the search, as fractions of the budget unless stated otherwise. A final fit is the
// fit of a selected candidate to all rows.
const (
	maxFinalShare   = 0.45 // maximum time of the final fit of a recipe; slower recipes are skipped
	widthShare      = 0.7  // time reserved for wider maps, if the leader is narrow
	maxMemberShare  = 0.1  // maximum final fit of an ensemble member for which time is reserved,
	maxMembersShare = 0.3  // and of the leader and all members together

	// Fractions of the time left that final fits may use. The cost of exact kernels is known more
	// precisely.
	exactShare         = 0.9
	lastShare          = 0.6  // with a map
	widerShare         = 0.6  // with a wider map, or of an ensemble
	slightlyWiderShare = 0.95 // with a slightly wider map, once there is a model
	keepShare          = 0.05 // after a round, to have a model
	keepLimit          = 0.08 // at which the fit after a round is canceled

	minRetryShare = 0.03 // minimum time left for another attempt of a final fit
	// Iterations of a final fit stop early by this fraction, to leave time for the remaining work.
	softMargin     = 0.06
	overrunFactor  = 1.05 // when a final fit is canceled
	patienceFactor = 3    // a trial may take this factor of its estimated time,
	minWaitShare   = 0.08 // or at least this fraction of the budget,
	firstWaitShare = 0.5  // or this one before the first model, without which the search has no result
	canceledFactor = 2    // a canceled trial counts as taking this factor of its time limit
	growthFactor   = 1.5  // factor of the time per row of trials with more rows, because solvers iterate more
	// Unmeasured work is assumed to take this fraction of the time of matrix products of the same
	// flops.
	unmeasuredFraction = 0.5
)

// roundEnds contains the fractions of the budget at which the rounds end. The rest is for the final
// fit.
var roundEnds = []float64{0.2, 0.45, 0.65, 0.9}

// timed reports whether the budget is a time, not a number of candidates.
func (r *run) timed() bool { return r.options.Candidates == 0 }

// secondsLeft returns the seconds left of the budget.
func (r *run) secondsLeft() float64 { return (r.options.Budget - time.Since(r.began)).Seconds() }

// hardDeadline returns the time at which a final fit is canceled, in seconds since the start. It is
// slightly after the end of the budget.
func (r *run) hardDeadline() float64 { return overrunFactor * r.options.Budget.Seconds() }

// withDeadline returns a context that ends when the search is stopped and, if there is a model already, at
// the given time after the start of the search.
func (r *run) withDeadline(ctx context.Context, end float64) (context.Context, context.CancelFunc) {
	deadline := func() {}
	if r.timed() && r.incumbent != nil {
		ctx, deadline = context.WithDeadline(ctx, r.began.Add(seconds(end)))
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-r.options.Stop: // never, if nil
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(); deadline() }
}

// seconds converts a time, of at most a century.
func seconds(v float64) time.Duration {
	const century = 100 * 365.25 * 24 * 3600
	return time.Duration(min(v, century) * float64(time.Second))
}

// stopped reports whether the caller has stopped the search.
func (r *run) stopped() bool {
	select {
	case <-r.options.Stop: // never, if nil
		return r.options.Stop != nil
	default:
		return false
	}
}

// Cost of an additional penalty on an existing map, as a fraction of a fit: of ridge regression on
// sparse rows, whose iterations serve all penalties; of an exact kernel, whose values do; and of
// Newton's method on dense features, whose passes serve all penalties and folds.
const sparseFurther, exactFurther, newtonFurther = 0.1, 0.2, 0.15

// trialWork estimates the flops of a trial of points of one recipe. Only ratios between trials of
// one kind matter, because [run.trialPace] is measured.
func (r *run) trialWork(points []point, list []pipeline.Pipeline, shape datasets.Shape,
	folds []datasets.Fold) (sum float64) {
	kind := r.table[points[0].recipe]
	fold, fits := shape, 0.0
	for k, f := range folds {
		if fold.Rows = len(f.Train); k == 0 || !sameTraining(f, folds[k-1]) { // see mergeFolds
			fits++
		}
	}
	type key struct{ size, gamma int }
	solved := map[point]bool{}
	mapped := map[key]bool{}
	for i, p := range points {
		own, at := list[i].Cost(fold).Flops, key{p.size, p.gamma}
		if p.target = ""; solved[p] && !kind.sparse() { // another right-hand side
			continue
		}
		solved[p] = true
		first := !mapped[at]
		mapped[at] = true
		switch ridge := kind.iterates; {
		case ridge && !kind.sparse() && first: // one pass over the rows for all folds
			sum += list[i].Cost(shape).Flops
		case ridge && !kind.sparse():
			width := float64(cmp.Or(kind.sizeOf(p.size), shape.Cols))
			sum += fits * width * width * width / 3
		case ridge && !first:
			sum += sparseFurther * fits * own
		case kind.mapping.exact && !first:
			sum += exactFurther * fits * own
		case kind.late && !kind.sparse() && first:
			sum += own * (1 + newtonFurther*(fits-1))
		case kind.late && !kind.sparse():
			sum += newtonFurther * fits * own
		default:
			sum += fits * own
		}
	}
	return sum
}

// expected returns the estimated time of a trial of points of one recipe on the given rows, by the
// times of earlier trials, including the learning of its representation.
func (r *run) expected(ctx context.Context, rows int, points []point) (float64, error) {
	list := make([]pipeline.Pipeline, len(points))
	for i, p := range points {
		var err error
		if list[i], err = r.viewPipeline(ctx, p); err != nil {
			return 0, err
		}
	}
	kind := r.table[points[0].recipe]
	sum := 0.0
	on := r.views.ready(viewKey{kind.representation.name, rows, points[0].effort})
	if on == nil {
		var err error
		if on, sum, err = r.estimateView(ctx, kind.representation, rows, points[0].effort); err != nil {
			return 0, err
		}
	}
	folds := 0
	for _, part := range on.parts {
		sum += r.trialPace(kind) * r.trialWork(points, list, part.data.Shape(), part.folds)
		folds += len(part.folds)
	}
	return sum + minFitSeconds*float64(len(points)*folds), nil
}

// estimateView returns a view with the same shape as that of a representation not computed yet, and
// the estimated seconds to learn the representation.
func (r *run) estimateView(ctx context.Context, p representation, rows, effort int) (*view, float64, error) {
	cleaned, err := r.viewOf(ctx, p.unlearned(), rows, 0)
	if err != nil || p.learn.name == "" {
		return cleaned, 0, err
	}
	if r.views.knows(r.learnedKey(cleaned, p, rows, effort)) {
		return cleaned, 0, nil
	}
	step, err := r.learner(p, effort)
	if err != nil {
		return nil, 0, err
	}
	shape := cleaned.parts[0].data.Shape()
	work := 0.0
	if r.lessonRows != nil && !cleaned.supervised {
		shape.Rows = r.data.Rows()
		work = costOf(step, shape)
	} else {
		for _, part := range cleaned.parts {
			for k, f := range part.folds {
				if shape.Rows = len(f.Train); k == 0 || !cleaned.supervised {
					work += costOf(step, shape)
				}
			}
		}
	}
	return cleaned, work * r.paceOf(p.learn.name), nil
}

// costOf returns the cost of fitting a step, 0 if undeclared.
func costOf(step transformer.Fitter, shape datasets.Shape) float64 {
	if c, ok := step.(datasets.CostEstimator); ok {
		return c.Cost(shape).Flops
	}
	return 0
}

// expectedFit estimates the seconds of a fit to all rows, including the learning of its
// representation.
func (r *run) expectedFit(ctx context.Context, p point) (float64, error) {
	learning, rest, err := r.fitWork(ctx, p, r.data.Rows())
	kind := r.table[p.recipe]
	if r.views.knows(viewKey{kind.familyName(), 0, p.effort}) {
		learning = 0
	}
	return learning*r.paceOf(kind.learn.name) + r.expectedRest(kind, rest), err
}

// expectedRest estimates the time of a fit to all rows without representation learning: by the last
// fit of its kind, or by a throughput between that of its smaller trials and that of matrix
// products. The additional work of a wider map is estimated by a throughput closer to that of the
// fit, because its constant part, reading the rows, does not grow.
func (r *run) expectedRest(k recipe, flops float64) float64 {
	between := func(own float64) float64 { return math.Sqrt(own * r.paceOf(anyWork)) }
	own, ok := r.paceKnown(fitOf(k))
	switch {
	case !ok && k.mapping.exact: // estimates for exact kernels suit large fits
		return flops * r.paceOf(anyWork) / unmeasuredFraction
	case !ok && k.sparse(): // the number of iterations grows with the rows
		return flops * r.paceOf(kindOf(k))
	case !ok:
		return flops * between(r.paceOf(kindOf(k)))
	}
	before := r.lastFit(k)
	if more := flops - before.flops; !k.sparse() && more > 0 {
		return before.seconds + more*math.Sqrt(own*between(own))
	}
	return flops * own
}

// shapeRows is the number of rows from which the nonzeros of all are estimated.
const shapeRows = 100

// fitWork estimates the work of a fit to the given rows: of learning, and of the rest.
func (r *run) fitWork(ctx context.Context, p point, rows int) (learning, rest float64, err error) {
	kind := r.table[p.recipe]
	whole, err := r.pipelineOf(ctx, p)
	if err != nil {
		return 0, 0, err
	}
	shape := r.data.Shape()
	if hasText(r.data) { // the number of terms is known after a fit only
		if whole, err = r.viewPipeline(ctx, p); err != nil {
			return 0, 0, err
		}
		some, err := r.clean(ctx, kind.representation, r.first(shapeRows))
		if err != nil {
			return 0, 0, err
		}
		shape = some.Shape()
	}
	shape.Rows = rows
	if kind.learn.name != "" {
		step, err := r.learner(kind.representation, p.effort)
		if err != nil {
			return 0, 0, err
		}
		learning = costOf(step, shape)
	}
	if rest = whole.Cost(shape).Flops; !hasText(r.data) {
		rest = max(rest-learning, 0)
	}
	return learning, rest, nil
}

// learnFitPace updates the throughput by the seconds of a fit.
func (r *run) learnFitPace(p point, rows int, took float64) {
	_, rest, err := r.fitWork(context.Background(), p, rows)
	if err == nil && r.timed() {
		kind := r.table[p.recipe]
		r.noteFit(kind, rest, took)
	}
}

// minFitSeconds is the minimum time of a fit in seconds.
const minFitSeconds = 0.0005

// learnPace updates the throughput by the time of a trial.
func (r *run) learnPace(t trial) {
	if !r.timed() {
		return
	}
	work, folds := 0.0, 0
	for _, part := range t.on.parts {
		work += r.trialWork(t.points, t.list, part.data.Shape(), part.folds)
		folds += len(part.folds)
	}
	took := t.took - minFitSeconds*float64(len(t.list)*folds)
	r.notePace(kindOf(r.table[t.points[0].recipe]), work, took)
}

// measureSpeed measures the throughput of matrix products. Only the maximum so far counts, because
// other fits may run concurrently.
func (r *run) measureSpeed() {
	if !r.timed() {
		return
	}
	r.noteSpeed(kern.MeasureFlops())
}
