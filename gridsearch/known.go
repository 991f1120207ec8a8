package gridsearch

import (
	"context"

	"github.com/bochner-ml/bochner/estimator"
)

// forget lets go of what is known of all rows for a candidate that is scored on every fold now, or for the best of those before
// it, whichever is worse.
func (r *run) forget(candidate int) {
	if r.known[candidate] == nil {
		return
	}
	mean, whole := r.mean(candidate)
	if !whole {
		return
	}
	worse := candidate
	if finite(mean) {
		most, _ := r.mean(max(r.knownBest, 0))
		if r.knownBest < 0 || r.scorer.metrics[0].Better(mean, most) || mean == most && candidate < r.knownBest {
			worse, r.knownBest = r.knownBest, candidate
		}
	}
	delete(r.known, worse)
}

// mean is the mean score of a candidate over all folds, if it is scored on every one.
func (r *run) mean(candidate int) (mean float64, whole bool) {
	for _, o := range r.outcomes[candidate] {
		if !o.done {
			return 0, false
		}
		mean += o.scores[0]
	}
	return mean / float64(len(r.folds)), true
}

// knowing returns the spec of a candidate with what its batch knows of all rows, or the spec where that knows nothing. What a
// run before this one knew is found out again by the same batch, so that a search ends with the same bits wherever it was stopped.
func (r *run) knowing(ctx context.Context, candidate int, spec estimator.Estimator) (estimator.Estimator, error) {
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
