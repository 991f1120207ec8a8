package auto

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/learning/metricinput"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
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

// outcome is what the evaluation of a candidate gives. The journal records it.
type outcome struct {
	Folds   []float64 // score of each fold
	Seconds float64   // of all its fits, with its part of shared work
	Failed  string
	// Output contains the predictions of the test rows of one fold after the other. It has no values if it is not
	// stored, see [run.storedCandidates].
	Output estimator.Prediction
}

// errEnded ends a search whose time is over or that was stopped.
var errEnded = errors.New("ended")

// trial is a set of points of one recipe to evaluate together.
type trial struct {
	points   []point
	list     []pipeline.Pipeline // pipelines on the preprocessed rows
	rows     int
	took     float64 // seconds after the representation; if canceled, an estimate
	canceled bool    // whether it was canceled
}

// try evaluates points of one recipe on the first rows of the order. It may be called concurrently.
func (r *run) try(ctx context.Context, rows, round int, points []point) ([]scored, error) {
	d, err := r.divide(rows)
	if err != nil {
		return nil, err
	}
	t := trial{points: points, rows: d.data.Rows()}
	whole := make([]pipeline.Pipeline, len(points))
	for i, p := range points {
		if whole[i], err = r.pipelineOf(ctx, p, asSpec); err != nil {
			return nil, err
		}
	}
	key := trialKey(rows, whole)
	found, noted := r.notes.find(key, len(points), d)
	if !noted {
		if found, err = r.evaluate(ctx, d, &t); err != nil {
			return nil, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]scored, len(points))
	for i, o := range found {
		out[i] = scored{point: points[i], outcome: o, round: round, on: t.rows}
		out[i].mean, out[i].spread = meanAndSpread(o.Folds, d.times)
		r.seen[evaluation{points[i], t.rows}] = true
	}
	if !noted {
		stored := r.storedCandidates(out)
		for i := range out {
			if !slices.Contains(stored, i) {
				out[i].Output, found[i].Output = estimator.Prediction{}, estimator.Prediction{}
			}
		}
	}
	r.tried += len(points)
	r.log = append(r.log, out...)
	r.updateBest(out)
	switch {
	case noted:
		r.resumed += len(points)
	case !t.canceled: // it may succeed with more time, so the journal does not record it
		err = r.notes.write(key, found)
		fallthrough
	default:
		r.learnPace(t, d)
	}
	return out, err
}

// evaluate fits the pipelines of a trial and scores their predictions.
func (r *run) evaluate(ctx context.Context, d *division, t *trial) ([]outcome, error) {
	reserve := r.options.Budget.Seconds() - r.reserve // the rest is reserved for the final fit
	outer, cancel := r.withDeadline(ctx, reserve)
	defer cancel()
	out, predictions := make([]outcome, len(t.points)), make([][]estimator.Prediction, len(t.points))
	for i := range out {
		predictions[i] = make([]estimator.Prediction, len(d.folds))
	}
	fail := func(err error) []outcome {
		for i := range out {
			out[i] = outcome{Folds: slices.Repeat([]float64{math.NaN()}, len(d.scores)), Failed: err.Error()}
		}
		return out
	}
	rows, err := r.cleanedRows(outer, r.table[t.points[0].recipe].representation, d)
	t.list = make([]pipeline.Pipeline, len(t.points))
	for i, p := range t.points {
		if err == nil {
			t.list[i], err = r.pipelineOf(outer, p, inTrial)
		}
	}
	limit := r.trialLimit(ctx, *t)
	limited, end := context.WithTimeout(outer, limit)
	defer end()
	began := time.Now()
	if err == nil {
		err = r.fitTogether(limited, rows, d.folds, t.list, out, predictions)
	}
	switch {
	case outer.Err() != nil:
		return nil, errEnded
	case limited.Err() != nil:
		t.took, t.canceled = canceledFactor*limit.Seconds(), true
		return fail(fmt.Errorf("given up after %.3g s, which was more than foreseen", limit.Seconds())), nil
	case err != nil:
		return fail(err), nil
	}
	for i := range out {
		if out[i].Failed == "" {
			out[i].Folds, err = r.scoresOf(d, func(k int) estimator.Prediction {
				return rowsOf(predictions[i][d.scores[k].fold], d.scores[k].at)
			})
			if err != nil {
				out[i].Failed = err.Error()
			}
			for _, p := range predictions[i] {
				out[i].Output = out[i].Output.Append(p, d.tested)
			}
		}
		if out[i].Failed != "" {
			out[i].Folds, out[i].Output = slices.Repeat([]float64{math.NaN()}, len(d.scores)), estimator.Prediction{}
		}
	}
	t.took = time.Since(began).Seconds()
	return out, nil
}

// fitTogether fits a list of pipelines on folds of the same rows, and stores their predictions.
func (r *run) fitTogether(ctx context.Context, rows datasets.Set, folds []datasets.Fold, list []pipeline.Pipeline,
	out []outcome, predictions [][]estimator.Prediction) error {
	j := batch.Job{Data: rows, Shape: rows.Shape(), Folds: folds, Candidates: batch.Candidates(list...)}
	j.Yield = func(i, fold int, o batch.Outcome) error {
		out[i].Seconds += o.Seconds
		if predictions[i][fold] = o.Prediction; o.Err != nil && out[i].Failed == "" {
			out[i].Failed = fmt.Sprintf("fold %d: %v", fold, rows.Locate(o.Err, 0))
		}
		r.report(PhaseSearch)
		return ctxerr.Check(ctx)
	}
	for i := range j.Candidates {
		need := j.FitBytes(i)
		if limit := r.options.Memory; limit > 0 && need > limit {
			return fmt.Errorf("a candidate needs about %s, and the memory limit is %s", memory.Size(need), memory.Size(limit))
		}
		if err := memory.Check(need); err != nil {
			return err
		}
	}
	_, err := estimator.FitBatch(ctx, j)
	return err
}

// scoresOf returns the scores of predictions, by the number of the score.
func (r *run) scoresOf(d *division, predictions func(k int) estimator.Prediction) ([]float64, error) {
	out := make([]float64, len(d.scores))
	for k := range d.scores {
		in := metricinput.AddPredictions(metricinput.FromRows(d.data, d.rows(k), r.metric.Task), predictions(k))
		if !r.metric.Requires.SatisfiedBy(in) {
			return nil, fmt.Errorf("score %s needs %s, which the model does not give", r.metric.Name, r.metric.Requires)
		}
		var err error
		if out[k], err = r.metric.Score(in); err != nil {
			return nil, fmt.Errorf("fold %d: %w", k, err)
		}
	}
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
