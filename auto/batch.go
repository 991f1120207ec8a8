package auto

import (
	"context"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// among is the estimator that a search over a list of pipelines has: which of them is its one parameter.
// Fitted as a batch it hands on what each predicts.
type among struct {
	list []pipeline.Pipeline
	at   int
	said func(candidate, fold int, out estimator.Outcome)
}

var _ estimator.BatchFitter = among{}

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
func (a among) FitBatch(ctx context.Context, b estimator.Batch) ([]string, error) {
	if b.Yield != nil {
		yield := b.Yield
		b.Yield = func(candidate, fold int, out estimator.Outcome) error {
			a.said(candidate, fold, out)
			return yield(candidate, fold, out)
		}
	}
	return a.list[0].FitBatch(ctx, unwrapped(b))
}

// BatchCost is that of the pipelines.
func (a among) BatchCost(b estimator.Batch) (datasets.Cost, []string, error) {
	return a.list[0].BatchCost(unwrapped(b))
}

// unwrapped returns a batch of pipelines.
func unwrapped(b estimator.Batch) estimator.Batch {
	list := make([]estimator.Candidate, len(b.Candidates))
	for i, c := range b.Candidates {
		own := c.Estimator.(among)
		list[i].Estimator = own.list[own.at]
	}
	b.Candidates = list
	return b
}
