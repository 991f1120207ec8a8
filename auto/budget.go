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

// Schedule of the search, in fractions of the budget unless stated otherwise.
const (
	maxLast     = 0.45 // that the last fit of one recipe may take, for it to be tried
	maxWidth    = 0.7  // that is kept for wider and wider maps, where these are what is lacking
	maxMember   = 0.1  // that the last fit of a member of an ensemble may take, for time to be kept for it,
	maxTogether = 0.3  // and those of the leader and all members

	// of the time that is left, that a last fit with an exact kernel may take, of which much is
	// known beforehand,
	exactShare = 0.9
	lastShare  = 0.6  // one with a map,
	widerShare = 0.6  // and one more with a wider map, or that of an ensemble
	againShare = 0.95 // or with one that is a little wider: where that takes too long there is a model already,
	keepShare  = 0.05 // and one after a round, so that there is a model,
	keepLimit  = 0.08 // which is given up after so much of it

	minTry = 0.03 // of the budget, for which one more last fit is worth a try
	// of the budget, for what comes behind the iterations of a last fit, which end so much before
	// it is given up
	forTheRest = 0.06
	overrun    = 1.05 // when a last fit is given up
	patience   = 3    // times as long as was foreseen is waited for a trial,
	minWait    = 0.08 // but so much of the budget at least,
	firstWait  = 0.5  // or so much for the first model, without which the search has no result
	tooLong    = 2    // times as long as it was waited for it is what was given up thought to take
	prudence   = 1.5  // times as long as it was with fewer rows a trial is thought to take: iterations are more
	// of the time of products of matrices of as many flops is what work of which nothing is known
	// is thought to take
	optimism = 0.5
)

// roundEnds are the shares of the budget by which the rounds are over. The rest is for the last fit.
var roundEnds = []float64{0.2, 0.45, 0.65, 0.85}

// timed reports whether time is the bound, and not candidates.
func (r *run) timed() bool { return r.options.Candidates == 0 }

// left is the time that is left of the budget.
func (r *run) left() float64 { return (r.options.Budget - time.Since(r.began)).Seconds() }

// lastMoment is when a last fit is given up, in seconds since the search began: somewhat after the budget has ended.
func (r *run) lastMoment() float64 { return overrun * r.options.Budget.Seconds() }

// until returns a context that ends when the search is stopped and, if there is a model already, at
// the given time after the start of the search.
func (r *run) until(ctx context.Context, end float64) (context.Context, context.CancelFunc) {
	deadline := func() {}
	if r.timed() && r.incumbent != nil {
		ctx, deadline = context.WithDeadline(ctx, r.began.Add(seconds(end)))
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-r.options.Stop: // never, where it is nil
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(); deadline() }
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

// Cost of an additional penalty on an existing map, as a fraction of a fit: of ridge regression on
// sparse rows, whose iterations serve all penalties; of an exact kernel, whose values do; and of
// Newton's method on dense features, whose passes serve all penalties and folds.
const sparseFurther, exactFurther, newtonFurther = 0.1, 0.2, 0.15

// trialWork returns about how many operations the fits of points of one recipe to rows of a shape take. Only ratios
// between trials of one kind count: [run.trialPace] is measured.
func (r *run) trialWork(points []point, list []pipeline.Pipeline, shape datasets.Shape,
	folds []datasets.Fold) (sum float64) {
	kind := r.table[points[0].recipe]
	fold, fits := shape, 0.0
	for k, f := range folds {
		if fold.Rows = len(f.Train); k == 0 || &f.Train[0] != &folds[k-1].Train[0] { // see fewer
			fits++
		}
	}
	type key struct{ size, gamma int }
	mapped := map[key]bool{}
	for i, p := range points {
		own, at := list[i].Cost(fold).Flops, key{p.size, p.gamma}
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
		if list[i], err = r.onView(ctx, p); err != nil {
			return 0, err
		}
	}
	kind := r.table[points[0].recipe]
	sum := 0.0
	on := r.views.ready(viewKey{kind.representation.name, rows, points[0].effort})
	if on == nil {
		var err error
		if on, sum, err = r.foreseen(ctx, kind.representation, rows, points[0].effort); err != nil {
			return 0, err
		}
	}
	folds := 0
	for _, part := range on.parts {
		sum += r.trialPace(kind) * r.trialWork(points, list, part.data.Shape(), part.folds)
		folds += len(part.folds)
	}
	return sum + perFit*float64(len(points)*folds), nil
}

// foreseen is the view of a representation that is still to be made, as far as costs go, and how long it will take
// to learn it.
func (r *run) foreseen(ctx context.Context, p representation, rows, effort int) (*view, float64, error) {
	cleaned, err := r.viewOf(ctx, p.unlearned(), rows, 0)
	if err != nil || p.learn.name == "" {
		return cleaned, 0, err
	}
	if r.views.knows(r.learnedKey(p, rows, effort)) {
		return cleaned, 0, nil
	}
	step, err := r.learner(p, effort)
	if err != nil {
		return nil, 0, err
	}
	whole := cleaned.parts[0]
	shape := whole.data.Shape()
	work := 0.0
	if r.lessonRows != nil {
		shape.Rows = r.data.Rows()
		work = costOf(step, shape)
	} else {
		for _, f := range whole.folds {
			shape.Rows = len(f.Train)
			work += costOf(step, shape)
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

// expectedFit is how long one fit to all rows will take, with what its representation has to learn for it.
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
	between := func(own float64) float64 { return math.Sqrt(own * r.paceOf(everything)) }
	own, ok := r.paceKnown(fitOf(k))
	switch {
	case !ok && k.mapping.exact: // its estimates are of large fits
		return flops * r.paceOf(everything) / optimism
	case !ok && k.sparse(): // iterations, whose number grows with the rows
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

// fitWork estimates the work of a fit to the given rows: of learning, and of the rest.
func (r *run) fitWork(ctx context.Context, p point, rows int) (learning, rest float64, err error) {
	kind := r.table[p.recipe]
	whole, err := r.pipelineOf(ctx, p)
	if err != nil {
		return 0, 0, err
	}
	shape := r.data.Shape()
	shape.Rows = rows
	if kind.learn.name != "" {
		step, err := r.learner(kind.representation, p.effort)
		if err != nil {
			return 0, 0, err
		}
		learning = costOf(step, shape)
	}
	rest = max(whole.Cost(shape).Flops-learning, 0)
	return learning, rest, nil
}

// learnFitPace takes in how long a fit took.
func (r *run) learnFitPace(p point, rows int, took float64) {
	_, rest, err := r.fitWork(context.Background(), p, rows)
	if err == nil && r.timed() {
		kind := r.table[p.recipe]
		r.noteFit(kind, rest, took)
	}
}

// perFit is how many seconds a fit takes at least, whatever it does.
const perFit = 0.0005

// learnPace takes in how long a trial took.
func (r *run) learnPace(t trial) {
	if !r.timed() {
		return
	}
	work, folds := 0.0, 0
	for _, part := range t.on.parts {
		work += r.trialWork(t.points, t.list, part.data.Shape(), part.folds)
		folds += len(part.folds)
	}
	took := t.took - perFit*float64(len(t.list)*folds)
	r.notePace(kindOf(r.table[t.points[0].recipe]), work, took)
}

// measureSpeed makes a first guess of the pace, by products of matrices: the best so far, for
// others may be at work as well.
func (r *run) measureSpeed() {
	if !r.timed() {
		return
	}
	r.noteSpeed(kern.MeasureFlops())
}
