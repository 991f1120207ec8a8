package gridsearch

import (
	"context"

	"github.com/bochner-ml/bochner/estimator"
)

// knowing returns the spec of a candidate with what its batch knows of all rows, or the spec where that knows nothing. What a
// run before this one knew is found out again by the same batch, so that a search ends with the same bits wherever it was stopped.
func (r *inMemory) knowing(ctx context.Context, candidate int, spec estimator.Estimator) (estimator.Estimator, error) {
	fitter, ok := r.search.Estimator.(estimator.BatchFitter)
	if !ok || !r.knows || !r.outcomes[candidate][0].known {
		return spec, nil
	}
	if known := r.known[candidate]; known != nil {
		return known, nil
	}
	b := r.filled()
	b.Wanted = func(i, fold int) bool { return i == candidate && fold == 0 }
	b.Yield = func(_, _ int, out estimator.Outcome) error {
		if out.Known != nil {
			spec = out.Known
		}
		return nil
	}
	_, err := fitter.FitBatch(ctx, b)
	return spec, err
}
