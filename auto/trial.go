package auto

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/pipeline"
)

// scored is an evaluated candidate.
type scored struct {
	point
	round int
	on    int       // number of rows for cross-validation
	folds []float64 // score of each fold
	mean  float64
	// spread is the standard deviation over the folds by the root of their number. It is the unit of the
	// margins of the search, which compares candidates on the same folds; see [run.stdError] for the error.
	spread  float64
	seconds float64 // of all its fits, with its part of shared work
	failed  string

	// output contains the out-of-fold predictions of the test rows of one fold after the other, each
	// with its outputs: targets, or probabilities or scores of classes. It is nil if they are not stored,
	// see [run.storedCandidates].
	output  []float32
	outputs int
}

// errEnded ends a search whose time is over or that was stopped.
var errEnded = errors.New("ended")

// try evaluates points of one recipe on the first rows of the order. It may be called concurrently.
func (r *run) try(ctx context.Context, rows, round int, points []point) ([]scored, error) {
	t, err := r.trialOf(ctx, rows, points)
	if err != nil {
		return nil, err
	}
	out, noted := r.notes.find(t.key, len(points), t.folds)
	if !noted {
		if out, err = r.score(ctx, &t); err != nil {
			return nil, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range out {
		out[i].point, out[i].round, out[i].on = points[i], round, t.rows
		r.seen[evaluation{points[i], t.rows}] = true
	}
	r.tried += len(points)
	r.log = append(r.log, out...)
	r.updateBest(out)
	if noted {
		r.resumed += len(points)
		return out, nil
	}
	r.learnPace(t)
	if t.canceled {
		return out, nil // it may succeed with more time, so the journal does not record it
	}
	return out, r.notes.write(t.key, out)
}

// trial is a set of points of one recipe to evaluate together.
type trial struct {
	points []point
	list   []pipeline.Pipeline // pipelines after the representation
	key    string              // key in the journal
	rows   int
	folds  []datasets.Fold

	on       *view
	took     float64 // seconds after the representation; if canceled, an estimate
	canceled bool    // whether it was canceled
}

// trialLimit returns the time limit of a trial, a multiple of its estimated time.
func (r *run) trialLimit(ctx context.Context, t trial) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.timed() || r.incumbent == nil && r.tried > 0 { // the second attempt at a first model has no limit
		return math.MaxInt64
	}
	foreseen, err := r.expected(ctx, t.rows, t.points)
	if err != nil {
		return math.MaxInt64
	}
	least := minWaitShare
	if r.incumbent == nil {
		least = firstWaitShare
	}
	return seconds(max(patienceFactor*foreseen, least*r.options.Budget.Seconds()))
}

func (r *run) trialOf(ctx context.Context, rows int, points []point) (trial, error) {
	part, folds, err := r.partAndFolds(rows)
	t := trial{points: points, rows: part.Rows(), folds: folds}
	if err != nil {
		return t, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var whole []pipeline.Pipeline
	for _, p := range points {
		one, err := r.pipelineOf(ctx, p)
		own, wrong := r.viewPipeline(ctx, p)
		if err = errors.Join(err, wrong); err != nil {
			return t, err
		}
		whole, t.list = append(whole, one), append(t.list, own)
	}
	t.key = trialKey(rows, whole)
	return t, nil
}

// score evaluates the pipelines of a trial on the parts of the view of their representation.
func (r *run) score(ctx context.Context, t *trial) (out []scored, err error) {
	ctx, cancel := r.withDeadline(ctx, r.options.Budget.Seconds()-r.reserve) // the rest is reserved for the final fit
	defer cancel()
	outer := ctx
	kind := r.table[t.points[0].recipe]
	t.on, err = r.viewOf(ctx, kind.representation, t.rows, t.points[0].effort)
	switch {
	case ctx.Err() != nil:
		return nil, errEnded
	case err != nil:
		t.on = &view{}
		return failures(t.points, len(t.folds), err), nil
	}
	limit := r.trialLimit(ctx, *t)
	ctx, end := context.WithTimeout(ctx, limit)
	defer end()
	began := time.Now()
	out = make([]scored, len(t.points))
	output := make([][]estimator.Prediction, len(t.points))
	for i := range out {
		out[i].point, out[i].folds = t.points[i], make([]float64, len(t.folds))
		output[i] = make([]estimator.Prediction, len(t.folds))
	}
	for _, part := range t.on.parts {
		err := r.scorePart(ctx, part, t.list, out, output)
		if err != nil && outer.Err() == nil {
			t.took, t.canceled = canceledFactor*limit.Seconds(), true
			return failures(t.points, len(t.folds), fmt.Errorf("given up after %.3g s, which was more than foreseen",
				limit.Seconds())), nil
		}
		if err != nil {
			return nil, err
		}
	}
	times := r.timesDivided(t.rows)
	for i := range out {
		out[i].mean, out[i].spread = meanAndSpread(out[i].folds, times)
	}
	for _, i := range r.storedCandidates(out) {
		out[i].output, out[i].outputs = joinFolds(output[i])
	}
	t.took = time.Since(began).Seconds()
	return out, nil
}

// meanAndSpread returns the mean of the fold scores and its spread, NaN if a fold has no score.
// Repetitions do not add independent rows.
func meanAndSpread(folds []float64, times int) (mean, spread float64) {
	n := float64(len(folds))
	for _, v := range folds {
		mean += v / n
	}
	for _, v := range folds {
		spread += (v - mean) * (v - mean) / n
	}
	return mean, math.Sqrt(spread / n * float64(times))
}

// failures returns the results of points that all failed.
func failures(points []point, folds int, err error) []scored {
	out := make([]scored, len(points))
	for i := range out {
		out[i] = scored{folds: slices.Repeat([]float64{math.NaN()}, folds), mean: math.NaN(), spread: math.NaN(),
			failed: err.Error()}
	}
	return out
}

// storedCandidates returns the indices of the candidates of a trial whose predictions are stored for ensembles:
// the best one, for regression the best few.
func (r *run) storedCandidates(out []scored) []int {
	const few = 4
	if r.classes > 0 {
		if best := r.bestOf(out); best >= 0 {
			return []int{best}
		}
		return nil
	}
	order := slices.DeleteFunc(indices(len(out)), func(i int) bool { return math.IsNaN(out[i].mean) })
	slices.SortStableFunc(order, func(a, b int) int { return r.compare(out[a], out[b]) })
	return order[:min(len(order), few)]
}

// joinFolds concatenates the predictions of the folds, nil if one has none.
func joinFolds(output []estimator.Prediction) (out []float32, outputs int) {
	for _, p := range output {
		m := outputsOf(p)
		if m == nil {
			return nil, 0
		}
		var rows int
		rows, outputs = m.Dims()
		for i := range rows {
			for j := range outputs {
				out = append(out, float32(m.At(i, j)))
			}
		}
	}
	return out, outputs
}

// outputsOf returns the numeric outputs of a model, nil if there are none.
func outputsOf(p estimator.Prediction) mat.Matrix {
	switch {
	case p.Probabilities != nil:
		return p.Probabilities
	case p.Scores != nil:
		return p.Scores
	case p.Targets != nil:
		return p.Targets
	case p.Values != nil:
		return mat.NewDense(len(p.Values), 1, p.Values)
	}
	return nil
}
