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

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/learning/metricinput"
	"github.com/bochner-ml/bochner/internal/learning/searchloop"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/journal"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
	"github.com/bochner-ml/bochner/pipeline"
)

// scored is an evaluated candidate.
type scored struct {
	point
	outcome
	round int
	on    int // number of rows for cross-validation
	mean  float64
	// spread is the standard deviation over the folds by the root of their number. It is the unit of the
	// margins of the search, which compares candidates on the same folds; see [run.stdError] for the error.
	spread float64
}

// outcome is what the evaluation of a candidate gives.
type outcome struct {
	Folds   []float64 // score of each fold
	Seconds float64   // of all its fits, with its part of shared work
	Failed  string
	// Output contains the predictions of the test rows of one fold after the other. It has no values if it is not
	// stored, see [run.storedCandidates].
	Output estimator.Prediction
}

// trial is a set of points of one recipe to evaluate together.
type trial struct {
	*run
	*division
	points []point
	round  int
	rows   datasets.Set           // preprocessed
	list   []pipeline.Pipeline    // pipelines on these rows; nil if the outcomes are from the journal
	keys   []string               // of the points, in the journal
	fits   [][]searchloop.Outcome // of each point on each fold
	began  time.Time              // after the representation
	limit  time.Duration          // of the time since then
	took   float64                // seconds since then; if canceled, an estimate
	out    []scored
}

// propose returns the evaluation of points of one recipe on the first rows of the order.
func (r *run) propose(rows, round int, points []point) (*trial, *searchloop.Proposal, error) {
	d, err := r.divide(rows)
	r.claimed += len(points)
	t := &trial{run: r, division: d, points: points, round: round, keys: make([]string, len(points)),
		fits: make([][]searchloop.Outcome, len(points))}
	// the rest of the time is reserved for the final fit
	return t, &searchloop.Proposal{Until: r.deadline(r.options.Budget.Seconds() - r.reserve), Job: t.job, Record: t.record,
		Done: t.done}, err
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

// job takes the outcomes from the journal, or prepares the rows and the pipelines.
func (t *trial) job(ctx context.Context) (j batch.Job, limit time.Duration, err error) {
	missing := false
	for i, p := range t.points {
		spec, err := t.pipelineOf(ctx, p, asSpec)
		if err != nil {
			return j, 0, err
		}
		t.keys[i] = journal.Sum(func(h hash.Hash) {
			fmt.Fprintln(h, t.data.Rows())
			journal.Spec(h, spec)
		})
		t.fits[i] = make([]searchloop.Outcome, len(t.folds))
		for k := range t.folds {
			var ok bool
			t.fits[i][k], ok = t.Recorded(searchloop.Fit{Key: t.keys[i], Fold: k})
			missing = missing || !ok
		}
	}
	if !missing {
		return j, 0, nil
	}
	t.list = make([]pipeline.Pipeline, len(t.points))
	if t.rows, err = t.cleanedRows(ctx, t.table[t.points[0].recipe].representation, t.division); err != nil {
		return j, 0, err
	}
	for i, p := range t.points {
		if t.list[i], err = t.pipelineOf(ctx, p, inTrial); err != nil {
			return j, 0, err
		}
	}
	j = batch.Job{Data: t.rows, Shape: t.rows.Shape(), Folds: t.folds, Candidates: batch.Candidates(t.list...)}
	if number, _, bytes := t.TooLarge(j); number > 0 {
		return j, 0, fmt.Errorf("a candidate needs about %s, and the memory limit is %s", memory.Size(bytes),
			memory.Size(t.Memory))
	}
	t.limit, t.began = t.trialLimit(ctx, t), time.Now()
	return j, t.limit, nil
}

// record scores the predictions of a pipeline for a fold.
func (t *trial) record(i, fold int, o batch.Outcome) (err error) {
	f := searchloop.Outcome{Done: true, Seconds: o.Seconds, Output: o.Prediction}
	if o.Err != nil {
		f.Failed = fmt.Sprintf("fold %d: %v", fold, t.rows.Locate(o.Err, 0))
	}
	for k, part := range t.scores {
		if part.fold == fold && f.Failed == "" {
			score, err := t.scoreOf(t.division, k, rowsOf(o.Prediction, part.at))
			if f.Scores = append(f.Scores, score); err != nil {
				f.Failed = err.Error()
			}
		}
	}
	t.fits[i][fold] = f
	t.report(PhaseSearch)
	return nil
}

// done stores the outcomes of the trial. Its error ends the search.
func (t *trial) done(_ []string, err error) error {
	noted, canceled := t.list == nil && err == nil, errors.Is(err, searchloop.ErrLimit)
	switch {
	case errors.Is(err, searchloop.ErrEnded), ctxerr.Is(err):
		return err
	case canceled:
		t.took = canceledFactor * t.limit.Seconds()
		err = fmt.Errorf("given up after %.3g s, which was more than foreseen", t.limit.Seconds())
	case err == nil:
		t.took = time.Since(t.began).Seconds()
	}
	t.out = make([]scored, len(t.points))
	for i := range t.out {
		if err != nil {
			t.fits[i] = slices.Repeat([]searchloop.Outcome{{Done: true, Failed: err.Error()}}, len(t.folds))
		}
		t.out[i] = scored{point: t.points[i], outcome: t.outcomeOf(t.fits[i]), round: t.round, on: t.data.Rows()}
		t.out[i].mean, t.out[i].spread = meanAndSpread(t.out[i].Folds, t.times)
		t.seen[evaluation{t.points[i], t.data.Rows()}] = true
	}
	t.tried += len(t.points)
	if noted {
		t.resumed += len(t.points)
	} else if err = t.write(canceled); err != nil {
		return err
	}
	t.log = append(t.log, t.out...)
	t.updateBest(t.out)
	if !noted {
		t.learnPace(t)
	}
	return nil
}

// write drops the predictions that are not stored and writes the fits to the journal, unless the trial was canceled: it
// may succeed with more time.
func (t *trial) write(canceled bool) error {
	stored := t.storedCandidates(t.out)
	for i, fits := range t.fits {
		for k := range fits {
			if !slices.Contains(stored, i) {
				fits[k].Output, t.out[i].Output = estimator.Prediction{}, estimator.Prediction{}
			}
			if !canceled {
				if err := t.Write(searchloop.Fit{Key: t.keys[i], Fold: k}, fits[k]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// outcomeOf returns the outcome of a candidate by its fits to the folds.
func (t *trial) outcomeOf(fits []searchloop.Outcome) (o outcome) {
	for _, f := range fits {
		o.Seconds += f.Seconds
		o.Failed = cmp.Or(o.Failed, f.Failed)
		o.Folds, o.Output = append(o.Folds, f.Scores...), o.Output.Append(f.Output, t.tested)
	}
	if o.Failed != "" {
		o.Folds, o.Output = slices.Repeat([]float64{math.NaN()}, len(t.scores)), estimator.Prediction{}
	}
	return o
}

// rowsOf returns the predictions of some rows.
func rowsOf(p estimator.Prediction, at []int) (out estimator.Prediction) {
	vectors, matrices := p.Parts()
	to, toMatrices := out.Parts()
	for k, v := range vectors {
		for _, i := range at {
			if *v != nil {
				*to[k] = append(*to[k], (*v)[i])
			}
		}
	}
	for k, m := range matrices {
		if *m != nil {
			*toMatrices[k] = rowblock.Select(*m, at).(*mat.Dense)
		}
	}
	return out
}

// scoresOf returns the scores of predictions, by the number of the score.
func (r *run) scoresOf(d *division, predictions func(k int) estimator.Prediction) (out []float64, err error) {
	for k := range d.scores {
		score, wrong := r.scoreOf(d, k, predictions(k))
		out, err = append(out, score), cmp.Or(err, wrong)
	}
	return out, err
}

// scoreOf returns score k of predictions.
func (r *run) scoreOf(d *division, k int, p estimator.Prediction) (float64, error) {
	in := metricinput.AddPredictions(metricinput.FromRows(d.data, d.rows(k), r.metric.Task), p)
	if !r.metric.Requires.SatisfiedBy(in) {
		return math.NaN(), fmt.Errorf("score %s needs %s, which the model does not give", r.metric.Name, r.metric.Requires)
	}
	score, err := r.metric.Score(in)
	if err != nil {
		err = fmt.Errorf("fold %d: %w", k, err)
	}
	return score, err
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
	order := slices.DeleteFunc(indices(len(out)), func(i int) bool { return math.IsNaN(out[i].mean) })
	slices.SortStableFunc(order, func(a, b int) int { return r.compare(out[a], out[b]) })
	return order[:min(len(order), most)]
}
