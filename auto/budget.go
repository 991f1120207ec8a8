package auto

import (
	"cmp"
	"context"
	"math"
	"sync"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/transformer"
)

// Schedule of the search, as fractions of the budget unless stated otherwise. A final fit is the
// fit of a selected candidate to all rows.
const (
	maxFinalShare  = 0.45 // maximum time of the final fit of a recipe; slower recipes are skipped
	finalShare     = 0.7  // of the time left that a final fit may use, and reserved for it if the leader is narrow,
	keepShare      = 0.05 // and one after a round, to have a model
	softMargin     = 0.06 // for the work after the iterations of a final fit, which stop early by it
	overrunFactor  = 1.05 // when a final fit is canceled
	patienceFactor = 3    // a trial may take this factor of its estimated time,
	minWaitShare   = 0.08 // or at least this fraction of the budget,
	firstWaitShare = 0.5  // or this one before the first model, without which the search has no result
	// Unmeasured work is assumed to take this fraction of the time of matrix products of the same flops.
	unmeasuredFraction = 0.5
	// cost of another penalty on a map, and of another fold, as a fraction of a fit, if fits share work
	furtherPoint = 0.15
	// minFitSeconds is the minimum time of a fit in seconds.
	minFitSeconds = 0.0005
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

// deadline returns the given time after the start of the search, zero for never: without a time budget, and before
// there is a model.
func (r *run) deadline(end float64) (at time.Time) {
	if r.timed() && r.incumbent != nil {
		at = r.began.Add(seconds(end))
	}
	return at
}

// seconds converts a time, of at most a century.
func seconds(v float64) time.Duration {
	const century = 100 * 365.25 * 24 * 3600
	return time.Duration(min(v, century) * float64(time.Second))
}

// spent returns the used part of the budget, in seconds since the start or in candidates.
func (r *run) spent() float64 {
	if r.timed() {
		return time.Since(r.began).Seconds()
	}
	return float64(r.claimed)
}

// affordable reports whether points of one recipe fit into a part of the budget, in seconds or in candidates.
func (r *run) affordable(ctx context.Context, points []point, rows int, budget float64) (bool, error) {
	if !r.timed() || len(points) == 0 {
		return float64(len(points)) <= budget, nil
	}
	took, err := r.expected(ctx, rows, points)
	return took <= budget, err
}

// pace is the measured time of some work and its estimated flops.
type pace struct{ seconds, flops float64 }

// anyWork is the kind of all unmeasured work.
const anyWork = ""

// paces contains the measured time per flop of each kind of work: of trials, of final fits and of learning.
type paces struct {
	mu   sync.Mutex
	pace map[string]pace
}

// kindOf returns the kind of the trials of a recipe: its map and its model.
func kindOf(k recipe) string { return k.mapping.name + " " + k.head.name }

// fitOf returns the kind of the final fits of a recipe.
func fitOf(k recipe) string { return "fit " + kindOf(k) }

// paceOf returns the seconds per estimated flop of a kind of work, or those of matrix products if
// the kind has not been measured.
func (r *paces) paceOf(kind string) (pace float64, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	own, known := r.pace[kind]
	if !known {
		own = r.pace[anyWork]
	}
	return own.seconds / own.flops, known
}

// notePace adds a measurement. Earlier measurements have exponentially decreasing weights.
func (r *paces) notePace(kind string, flops, took float64) {
	if flops <= 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	own := r.pace[kind]
	r.pace[kind] = pace{own.seconds/2 + max(took, 0), own.flops/2 + flops}
}

// measureSpeed measures the throughput of matrix products. Only the maximum so far counts, because
// other fits may run concurrently.
func (r *run) measureSpeed() {
	if !r.timed() {
		return
	}
	speed := kern.MeasureFlops()
	r.paces.mu.Lock()
	defer r.paces.mu.Unlock()
	if speed > r.pace[anyWork].flops {
		r.pace[anyWork] = pace{unmeasuredFraction, speed}
	}
}

// trialWork estimates the flops of a trial of points of one recipe after the representation. Fits of one map share
// work, and transforms of the target are right-hand sides of one system. Only ratios between trials of one kind matter,
// because the pace is measured.
func (r *run) trialWork(ctx context.Context, points []point, folds []datasets.Fold) (sum float64, err error) {
	kind := r.table[points[0].recipe]
	fits := float64(len(folds))
	if !kind.mapping.exact() && !kind.sparse() {
		fits = 1 + furtherPoint*(fits-1)
	}
	mapped, solved := map[point]bool{}, map[point]bool{}
	for _, p := range points {
		p.target = ""
		if solved[p] && !kind.sparse() {
			continue
		}
		solved[p] = true
		own, err := r.fitWork(ctx, p, len(folds[len(folds)-1].Train))
		if err != nil {
			return 0, err
		}
		if p.penalty = 0; mapped[p] && (!kind.sparse() || kind.iterates) {
			sum += furtherPoint * own * float64(len(folds))
		} else {
			sum += own * fits
		}
		mapped[p] = true
	}
	return sum, nil
}

// expected returns the estimated time of a trial of points of one recipe on the given rows, by the
// times of earlier trials, including the learning of its representation.
func (r *run) expected(ctx context.Context, rows int, points []point) (float64, error) {
	d, err := r.divide(rows)
	if err != nil {
		return 0, err
	}
	kind := r.table[points[0].recipe]
	learning, err := r.expectedLearning(ctx, r.representationOf(points[0]), len(d.folds[len(d.folds)-1].Train), len(d.folds))
	if err != nil {
		return 0, err
	}
	flops, err := r.trialWork(ctx, points, d.folds)
	own, _ := r.paceOf(kindOf(kind))
	return learning + own*flops + minFitSeconds*float64(len(points)*len(d.folds)), err
}

// expectedLearning estimates the seconds of fits of the learned step of a representation to the given rows, 0 if it is
// known. If no fold tests on the rows that it is learned from, there is one fit for all folds.
func (r *run) expectedLearning(ctx context.Context, p representation, rows, fits int) (float64, error) {
	step, err := r.learnStep(p)
	if step == nil || err != nil {
		return 0, err
	}
	shape, err := r.shapeOf(ctx, p)
	if err != nil {
		return 0, err
	}
	chain, err := r.cleaner(ctx, p)
	if err == nil && r.lessonRows != nil && !supervised(chain) {
		rows, fits = r.data.Rows(), 1
	}
	r.memo.mu.Lock()
	_, known := r.memo.values[learnedFromAll(p)]
	r.memo.mu.Unlock()
	if shape.Rows = rows; known && rows == r.data.Rows() {
		return 0, err
	}
	pace, _ := r.paceOf("learn " + p.name)
	return pace * float64(fits) * costOf(step, shape), err
}

// costOf returns the cost of fitting a step, 0 if undeclared.
func costOf(step transformer.Fitter, shape datasets.Shape) float64 {
	if c, ok := step.(datasets.CostEstimator); ok {
		return c.Cost(shape).Flops
	}
	return 0
}

// expectedFit estimates the seconds of a fit to all rows and of later ones, including the learning of its
// representation. Without an earlier fit, the throughput is between that of the smaller trials and that of matrix
// products, for exact kernels the latter; on sparse maps, the number of iterations grows with the rows.
func (r *run) expectedFit(ctx context.Context, p point) (float64, error) {
	kind := r.table[p.recipe]
	flops, later, err := r.workWithLater(ctx, p)
	if err != nil {
		return 0, err
	}
	own, known := r.paceOf(fitOf(kind))
	if !known {
		fast := own
		if own, _ = r.paceOf(kindOf(kind)); !kind.sparse() {
			own = math.Sqrt(own * fast)
		}
		if kind.mapping.exact() { // its declared cost suits large fits
			own = fast / unmeasuredFraction
		}
	}
	learning, err := r.expectedLearning(ctx, r.representationOf(p), r.data.Rows(), 1)
	return own*(flops+later) + learning, err
}

// workWithLater estimates the flops of a fit to all rows after the representation, and of later ones.
func (r *run) workWithLater(ctx context.Context, p point) (flops, later float64, err error) {
	flops, err = r.fitWork(ctx, p, r.data.Rows())
	for _, rows := range r.options.LaterFits {
		own, wrong := r.fitWork(ctx, p, rows)
		later, err = later+own, cmp.Or(err, wrong)
	}
	return flops, later, err
}

// fitWork estimates the flops of a fit to the given rows after the representation.
func (r *run) fitWork(ctx context.Context, p point, rows int) (float64, error) {
	own, err := r.mapAndModel(ctx, p)
	if err != nil {
		return 0, err
	}
	shape, err := r.shapeOf(ctx, r.table[p.recipe].representation)
	shape.Rows = rows
	return own.Cost(shape).Flops, err
}

// learnPace updates the throughput by the seconds of a trial after its representation.
func (r *run) learnPace(t *trial, took float64) {
	if flops, err := r.trialWork(context.Background(), t.points, t.folds); err == nil && r.timed() && !t.began.IsZero() {
		r.notePace(kindOf(r.table[t.points[0].recipe]), flops, took-minFitSeconds*float64(len(t.list)*len(t.folds)))
	}
}

// trialLimit returns the time limit of a trial, a multiple of its estimated time; 0 if there is none.
func (r *run) trialLimit(ctx context.Context, t *trial) time.Duration {
	r.Lock()
	defer r.Unlock()
	if !r.timed() || r.incumbent == nil && r.tried > 0 { // the second attempt at a first model has no limit
		return 0
	}
	foreseen, err := r.expected(ctx, t.out[0].on, t.points)
	if err != nil {
		return 0
	}
	least := minWaitShare
	if r.incumbent == nil {
		least = firstWaitShare
	}
	return seconds(max(patienceFactor*foreseen, least*r.options.Budget.Seconds()))
}
