package auto

import (
	"context"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/rowblock"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// indexedPipelines is an estimator whose only parameter is the index of a pipeline in a list. A
// search over the index fits all pipelines as one batch and passes their predictions to output.
type indexedPipelines struct {
	list   []pipeline.Pipeline
	at     int
	output func(candidate, fold int, out batch.Outcome)
}

var _ batch.Fitter = indexedPipelines{}

// Params declares the index.
func (a *indexedPipelines) Params(l *param.List) {
	l.Int(&a.at, "at", "number of the pipeline", param.Between(0, float64(len(a.list)-1)))
}

func (a indexedPipelines) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	return a.list[a.at].Fit(ctx, data)
}

// Cost returns the cost of the pipeline.
func (a indexedPipelines) Cost(shape datasets.Shape) datasets.Cost { return a.list[a.at].Cost(shape) }

// FitBatch fits the pipelines as one batch.
func (a indexedPipelines) FitBatch(ctx context.Context, b batch.Job) ([]string, error) {
	if b.Yield != nil {
		yield := b.Yield
		b.Yield = func(candidate, fold int, out batch.Outcome) error {
			a.output(candidate, fold, out)
			return yield(candidate, fold, out)
		}
	}
	return a.list[0].FitBatch(ctx, unwrapped(b))
}

// PlanBatch returns the memory of the pipelines as one batch.
func (a indexedPipelines) PlanBatch(b batch.Job) (int64, error) {
	return a.list[0].PlanBatch(unwrapped(b))
}

// unwrapped returns the batch of the pipelines, with folds merged by [mergeFolds].
func unwrapped(b batch.Job) batch.Job {
	list := make([]batch.Candidate, len(b.Candidates))
	for i, c := range b.Candidates {
		own := c.Estimator.(indexedPipelines)
		list[i].Estimator = own.list[own.at]
	}
	b.Candidates = list
	return mergeFolds(b)
}

// sameTraining reports whether two folds share their training rows. Those of folds in the order of time
// only begin with the same row.
func sameTraining(a, b datasets.Fold) bool {
	return len(a.Train) > 0 && len(a.Train) == len(b.Train) && &a.Train[0] == &b.Train[0]
}

// mergeFolds merges folds with the same training rows into one. Its predictions are split into
// those of the original folds; see [splitTestRows].
func mergeFolds(b batch.Job) batch.Job {
	first := slices.IndexFunc(b.Folds, func(f datasets.Fold) bool { return !sameTraining(f, b.Folds[0]) })
	if len(b.Folds) < 2 || first >= 0 {
		return b
	}
	parts := b.Folds
	one := datasets.Fold{Train: parts[0].Train}
	for _, f := range parts {
		one.Test = append(one.Test, f.Test...)
	}
	slices.Sort(one.Test)
	b.Folds = []datasets.Fold{one}
	if want := b.Include; want != nil {
		b.Include = func(candidate, _ int) bool {
			return slices.ContainsFunc(indices(len(parts)), func(k int) bool { return want(candidate, k) })
		}
	}
	if yield := b.Yield; yield != nil {
		b.Yield = func(candidate, _ int, out batch.Outcome) error {
			for k, f := range parts {
				part := out
				part.Seconds /= float64(len(parts))
				if out.Err == nil {
					part.Prediction = estimator.Prediction(ofRows(out.Prediction, one.Test, f.Test))
				}
				if err := yield(candidate, k, part); err != nil {
					return err
				}
			}
			return nil
		}
	}
	return b
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
