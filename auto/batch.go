package auto

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/learning/metricinput"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
	"github.com/bochner-ml/bochner/pipeline"
)

// scorePart evaluates a list of pipelines on the folds of a part together, and stores their predictions
// and scores.
func (r *run) scorePart(ctx context.Context, part viewPart, list []pipeline.Pipeline, out []scored,
	output [][]estimator.Prediction) error {
	j := batch.Job{Data: part.data, Shape: part.data.Shape(), Folds: mergeFolds(part.folds),
		Candidates: batch.Candidates(list...)}
	for i := range out {
		for _, number := range part.numbers {
			out[i].folds[number] = math.NaN()
		}
	}
	j.Yield = func(i, fold int, o batch.Outcome) error {
		out[i].seconds += o.Seconds
		for k, f := range part.folds {
			merged := len(j.Folds) < len(part.folds)
			if !merged && k != fold {
				continue
			}
			p, err := o.Prediction, o.Err
			if merged && err == nil {
				p = ofRows(p, j.Folds[0].Test, f.Test)
			}
			number := part.numbers[k]
			if output[i][number] = p; err == nil {
				in := metricinput.AddPredictions(metricinput.FromRows(part.data, f.Test, r.metric.Task), p)
				if !r.metric.Requires.SatisfiedBy(in) {
					return fmt.Errorf("score %s needs %s, which the model does not give", r.metric.Name, r.metric.Requires)
				}
				if out[i].folds[number], err = r.metric.Score(in); err != nil {
					out[i].folds[number] = math.NaN()
				}
			}
			if err != nil && out[i].failed == "" {
				out[i].failed = fmt.Sprintf("fold %d: %v", k, part.data.Locate(err, 0))
			}
		}
		r.report(PhaseSearch)
		return ctxerr.Check(ctx)
	}
	err := r.checkMemory(j)
	if err == nil {
		_, err = estimator.FitBatch(ctx, j)
	}
	if ctx.Err() != nil {
		return errEnded
	}
	for i := range out {
		if err != nil { // of all of them
			out[i].failed = err.Error()
			for _, number := range part.numbers {
				out[i].folds[number] = math.NaN()
			}
		}
	}
	return nil
}

// checkMemory returns an error if a candidate needs more than the available memory, or that of the
// options.
func (r *run) checkMemory(j batch.Job) error {
	for i := range j.Candidates {
		need := j.FitBytes(i)
		if limit := r.options.Memory; limit > 0 && need > limit {
			return fmt.Errorf("a candidate needs about %s, and the memory limit is %s", memory.Size(need), memory.Size(limit))
		}
		if err := memory.Check(need); err != nil {
			return err
		}
	}
	return nil
}

// sameTraining reports whether two folds share their training rows. Those of folds in the order of time
// only begin with the same row.
func sameTraining(a, b datasets.Fold) bool {
	return len(a.Train) > 0 && len(a.Train) == len(b.Train) && &a.Train[0] == &b.Train[0]
}

// mergeFolds returns one fold with all test rows if the folds have the same training rows, else the
// folds. See [splitTestRows].
func mergeFolds(folds []datasets.Fold) []datasets.Fold {
	first := slices.IndexFunc(folds, func(f datasets.Fold) bool { return !sameTraining(f, folds[0]) })
	if len(folds) < 2 || first >= 0 {
		return folds
	}
	one := datasets.Fold{Train: folds[0].Train}
	for _, f := range folds {
		one.Test = append(one.Test, f.Test...)
	}
	slices.Sort(one.Test)
	return []datasets.Fold{one}
}

// ofRows returns the predictions of some of all rows. Both lists are ascending.
func ofRows(p estimator.Prediction, all, some []int) estimator.Prediction {
	at := make([]int, len(some))
	for i, row := range some {
		at[i], _ = slices.BinarySearch(all, row)
	}
	list := func(v []float64) []float64 {
		if v == nil {
			return nil
		}
		out := make([]float64, len(at))
		for i, k := range at {
			out[i] = v[k]
		}
		return out
	}
	table := func(m *mat.Dense) *mat.Dense {
		if m == nil {
			return nil
		}
		return rowblock.Select(m, at).(*mat.Dense)
	}
	return estimator.Prediction{Values: list(p.Values), Std: list(p.Std), Targets: table(p.Targets),
		Scores:     table(p.Scores),
		StdTargets: table(p.StdTargets), Probabilities: table(p.Probabilities)}
}
