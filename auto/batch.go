package auto

import (
	"context"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/rowblock"
	"github.com/bochner-ml/bochner/internal/share"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// among is the estimator that a search over a list of pipelines has: which of them is its one parameter.
// Fitted as a batch it hands on what each predicts.
type among struct {
	list   []pipeline.Pipeline
	at     int
	output func(candidate, fold int, out share.Outcome)
}

var _ share.BatchFitter = among{}

// Params declares the number of the pipeline.
func (a *among) Params(l *param.List) {
	l.Int(&a.at, "at", "number of the pipeline", param.Between(0, float64(len(a.list)-1)))
}

func (a among) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	return a.list[a.at].Fit(ctx, data)
}

// Cost is that of the pipeline.
func (a among) Cost(shape datasets.Shape) datasets.Cost { return a.list[a.at].Cost(shape) }

// FitBatch fits the pipelines as one batch.
func (a among) FitBatch(ctx context.Context, b share.Batch) ([]string, error) {
	if b.Yield != nil {
		yield := b.Yield
		b.Yield = func(candidate, fold int, out share.Outcome) error {
			a.output(candidate, fold, out)
			return yield(candidate, fold, out)
		}
	}
	return a.list[0].FitBatch(ctx, unwrapped(b))
}

// PlanBatch is that of the pipelines.
func (a among) PlanBatch(b share.Batch) (int64, error) { return a.list[0].PlanBatch(unwrapped(b)) }

// unwrapped returns a batch of pipelines. Folds with the same training rows are one fold of it, see [inParts].
func unwrapped(b share.Batch) share.Batch {
	list := make([]share.Candidate, len(b.Candidates))
	for i, c := range b.Candidates {
		own := c.Estimator.(among)
		list[i].Estimator = own.list[own.at]
	}
	b.Candidates = list
	return fewer(b)
}

// fewer returns a batch in which folds with the same training rows are one fold. What is predicted for its test rows is
// handed on part by part.
func fewer(b share.Batch) share.Batch {
	first := slices.IndexFunc(b.Folds, func(f datasets.Fold) bool {
		return len(f.Train) == 0 || &f.Train[0] != &b.Folds[0].Train[0]
	})
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
			return slices.ContainsFunc(numbered(len(parts)), func(k int) bool { return want(candidate, k) })
		}
	}
	if yield := b.Yield; yield != nil {
		b.Yield = func(candidate, _ int, out share.Outcome) error {
			for k, f := range parts {
				part := out
				part.Seconds /= float64(len(parts))
				if out.Err == nil {
					part.Prediction = share.Prediction(ofRows(estimator.Prediction(out.Prediction), one.Test, f.Test))
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

// ofRows returns what is predicted for some of the rows, both ascending.
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
