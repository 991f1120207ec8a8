package meta

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/estimator"
)

// groupBy groups the indices of the candidates by key, in order of first appearance. If key returns
// an error, the candidate is yielded with it.
func groupBy(b batch.Job, key func(candidate int) (any, error)) (groups [][]int, err error) {
	at := map[any]int{}
	for i := range b.Candidates {
		k, wrong := key(i)
		if wrong != nil {
			if err := b.YieldError(i, wrong); err != nil {
				return nil, err
			}
			continue
		}
		g, ok := at[k]
		if !ok {
			g = len(groups)
			at[k], groups = g, append(groups, nil)
		}
		groups[g] = append(groups[g], i)
	}
	return groups, nil
}

// innerCandidates returns the candidates with their estimators replaced by the inner ones.
func innerCandidates(candidates []batch.Candidate, of func(batch.Candidate) estimator.Estimator) []batch.Candidate {
	out := slices.Clone(candidates)
	for i, c := range candidates {
		out[i].Estimator = of(c)
	}
	return out
}

// fitDistinct fits the distinct candidates of a batch and returns the outcomes of each candidate by
// fold. Err is errNeedsPipeline for candidates that must be fitted with their whole pipeline.
func fitDistinct(ctx context.Context, b batch.Job) (out [][]batch.Outcome, shared []string, err error) {
	of, distinct := deduplicate(b.Candidates)
	part := b.Select(distinct)
	part.Include = func(k, fold int) bool {
		for i, d := range of {
			if d == k && b.Includes(i, fold) {
				return true
			}
		}
		return false
	}
	if part.FitOne = nil; b.Maps != nil {
		part.FitOne = func(context.Context, int, int) batch.Outcome { return batch.Outcome{Err: errNeedsPipeline} }
	}
	found := make([][]batch.Outcome, len(distinct))
	for k := range found {
		found[k] = make([]batch.Outcome, len(b.Folds))
	}
	var mu sync.Mutex
	part.Yield = func(k, fold int, o batch.Outcome) error {
		mu.Lock()
		defer mu.Unlock()
		found[k][fold] = o
		return nil
	}
	shared, err = estimator.FitBatch(ctx, part)
	out = make([][]batch.Outcome, len(of))
	for i, k := range of {
		out[i] = found[k]
	}
	return out, shared, err
}

var errNeedsPipeline = errors.New("to be fitted with its whole pipeline")

// deduplicate returns the indices of the distinct candidates, and for each candidate its position
// among them.
func deduplicate(candidates []batch.Candidate) (of, distinct []int) {
	of = make([]int, len(candidates))
next:
	for i, c := range candidates {
		for k, d := range distinct {
			if reflect.DeepEqual(candidates[d], c) {
				of[i] = k
				continue next
			}
		}
		of[i], distinct = len(distinct), append(distinct, i)
	}
	return of, distinct
}
