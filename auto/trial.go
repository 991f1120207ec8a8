package auto

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash"
	"math"
	"slices"
	"time"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/learning/metricinput"
	"github.com/bochner-ml/bochner/internal/learning/searchloop"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/journal"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
	"github.com/bochner-ml/bochner/pipeline"
)

// scored is an evaluated candidate. Its Scores are those of [division.scores]. Its Output contains the predictions of
// [division.tests]; it has no values if it is not stored, see [run.storedCandidates].
type scored struct {
	point
	searchloop.Outcome
	round int
	on    int // number of rows for cross-validation
	mean  float64
	// spread is the standard deviation over the folds by the root of their number. It is the unit of the
	// margins of the search, which compares candidates on the same folds; see [run.stdError] for the error.
	spread float64
}

// trial is a set of points of one recipe to evaluate together.
type trial struct {
	*run
	*division
	out    []scored
	points []point
	fits   []searchloop.Fit    // of the points, in the journal
	list   []pipeline.Pipeline // nil if the outcomes are from the journal
	began  time.Time           // after the representation
	limit  time.Duration       // of the time since then
}

// propose returns the evaluation of points of one recipe on the first rows of the order.
func (r *run) propose(rows, round int, points []point) (*trial, *searchloop.Proposal, error) {
	d, err := r.divide(rows)
	if err != nil {
		return nil, nil, err
	}
	r.claimed += len(points)
	t, p := r.proposeOn(d, round, points, r.reserve)
	return t, p, nil
}

// proposeOn returns the evaluation of points of one recipe on the folds of a division, which leaves the given seconds
// of the budget.
func (r *run) proposeOn(d *division, round int, points []point, left float64) (*trial, *searchloop.Proposal) {
	t := &trial{run: r, division: d, points: points}
	for _, p := range points {
		t.out = append(t.out, scored{point: p, round: round, on: d.data.Rows()})
	}
	return t, &searchloop.Proposal{Until: r.deadline(r.options.Budget.Seconds() - left), Job: t.job, Record: t.record,
		Done: t.done}
}

// try evaluates points of one recipe on the first rows of the order.
func (r *run) try(ctx context.Context, rows, round int, points []point) ([]scored, error) {
	var t *trial
	err := r.Run(ctx, 1, func(int) (p *searchloop.Proposal, err error) {
		t, p, err = r.propose(rows, round, points)
		return p, err
	})
	return t.out, err
}

// job takes the outcomes from the journal, or prepares the pipelines.
func (t *trial) job(ctx context.Context) (j batch.Job, limit time.Duration, err error) {
	known := true
	for i, p := range t.points {
		spec, err := t.pipelineOf(ctx, p)
		if err != nil {
			return j, 0, err
		}
		t.fits = append(t.fits, searchloop.Fit{Key: journal.Sum(func(h hash.Hash) {
			if fmt.Fprintln(h, t.out[i].on); t.cut {
				fmt.Fprintln(h, "cut")
			}
			journal.Spec(h, spec)
		})})
		o, ok := t.Recorded(t.fits[i])
		known = known && ok && len(o.Scores) == len(t.scores)
		t.out[i].Outcome = o
	}
	if known {
		return j, 0, nil
	}
	for i, p := range t.points {
		one, err := t.fittingOf(ctx, p, true)
		if err != nil {
			return j, 0, err
		}
		t.list, t.out[i].Outcome = append(t.list, one), searchloop.Outcome{}
	}
	j = batch.Job{Data: t.division.data, Shape: t.division.data.Shape(), Folds: t.folds,
		Candidates: batch.Candidates(t.list...)}
	if number, _, bytes := t.TooLarge(j); number > 0 {
		return j, 0, fmt.Errorf("a candidate needs about %s, and the memory limit is %s", memory.Size(bytes),
			memory.Size(t.Memory))
	}
	t.limit, t.began = t.trialLimit(ctx, t), time.Now()
	return j, t.limit, nil
}

// record stores the predictions of a pipeline for a fold.
func (t *trial) record(i, fold int, o batch.Outcome) error {
	out := &t.out[i]
	if out.Seconds += o.Seconds; o.Err != nil && out.Failed == "" {
		out.Failed = fmt.Sprintf("fold %d: %v", fold, t.division.data.Locate(o.Err, 0))
	}
	out.Output.Put(o.Prediction, len(t.tests), func(k int) int { return t.starts[fold] + k })
	t.report("search")
	return nil
}

// done scores the predictions and stores the outcomes of the trial. Its error ends the search.
func (t *trial) done(_ []string, err error) error {
	took, canceled := time.Since(t.began).Seconds(), errors.Is(err, searchloop.ErrLimit)
	switch {
	case errors.Is(err, searchloop.ErrEnded), ctxerr.Is(err):
		return err
	case canceled:
		took = t.limit.Seconds()
		err = fmt.Errorf("given up after %.3g s, which was more than foreseen", t.limit.Seconds())
	}
	known := t.list == nil && err == nil
	for i := range t.out {
		o := &t.out[i]
		if err != nil {
			o.Failed = err.Error()
		}
		if !known && o.Failed == "" {
			scores, err := t.scoresOf(t.division, func(k int) (estimator.Prediction, error) {
				return rowsOf(o.Output, t.scores[k]), nil
			})
			if o.Scores = scores; err != nil {
				o.Failed = err.Error()
			}
		}
		if o.Failed != "" {
			o.Scores, o.Output = slices.Repeat([]float64{math.NaN()}, len(t.scores)), estimator.Prediction{}
		}
		o.mean, o.spread = meanAndSpread(o.Scores, t.times)
	}
	if !known {
		t.learnPace(t, took)
		stored := t.storedCandidates(t.out)
		for i := range t.out {
			if !slices.Contains(stored, i) {
				t.out[i].Output = estimator.Prediction{}
			}
			if !canceled && i < len(t.fits) { // it may succeed with more time
				if err := t.Write(t.fits[i], t.out[i].Outcome); err != nil {
					return err
				}
			}
		}
	}
	if t.cut {
		return nil
	}
	for _, o := range t.out {
		t.seen[evaluation{o.point, o.on}] = true
	}
	if t.tried += len(t.out); known {
		t.resumed += len(t.out)
	}
	t.log = append(t.log, t.out...)
	t.updateBest(t.out)
	return nil
}

// rowsOf returns the predictions of some rows, which ascend.
func rowsOf(p estimator.Prediction, rows []int) (out estimator.Prediction) {
	out.Put(p, len(rows), func(k int) int {
		if at, ok := slices.BinarySearch(rows, k); ok {
			return at
		}
		return -1
	})
	return out
}

// scoresOf returns the scores of predictions, by the number of the score.
func (r *run) scoresOf(d *division, predictions func(k int) (estimator.Prediction, error)) (out []float64, err error) {
	for k := range d.scores {
		score := math.NaN()
		p, wrong := predictions(k)
		if wrong == nil {
			in := metricinput.AddPredictions(metricinput.FromRows(d.data, d.rows(k), r.metric.Task), p)
			if score, wrong = r.metric.Score(in); wrong != nil {
				wrong = fmt.Errorf("fold %d: %w", k, wrong)
			}
		}
		out, err = append(out, score), cmp.Or(err, wrong)
	}
	return out, err
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

// storedCandidates returns the indices of the candidates of a trial whose predictions are stored for ensembles:
// the best one, for regression the best few.
func (r *run) storedCandidates(out []scored) []int {
	most := 1
	if r.classes == 0 {
		most = 4
	}
	order := indices(len(out))
	slices.SortStableFunc(order, func(a, b int) int { return r.compare(out[a], out[b]) })
	return order[:min(len(order), most)]
}
