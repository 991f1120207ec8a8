package meta

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/spec/specs"
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

// fitInner fits the distinct ones of the inner estimators of the candidates, and yields for each
// candidate what outer makes of the outcome. Outcomes of FitOne, which includes the wrapper, are
// yielded as they are.
func fitInner(ctx context.Context, b batch.Job, inner []batch.Candidate,
	outer func(candidate, fold int, out batch.Outcome) batch.Outcome) (shared []string, err error) {
	of, distinct := deduplicate(inner)
	users := make([][]int, len(distinct))
	for i, k := range of {
		users[k] = append(users[k], i)
	}
	part := b
	part.Candidates = make([]batch.Candidate, len(distinct))
	for k, i := range distinct {
		part.Candidates[k] = inner[i]
	}
	part.Include = func(k, fold int) bool {
		return slices.ContainsFunc(users[k], func(i int) bool { return b.Includes(i, fold) })
	}
	var mu sync.Mutex
	whole := map[[2]int]batch.Outcome{} // outcomes of FitOne
	if b.FitOne != nil {
		part.FitOne = func(ctx context.Context, k, fold int) (out batch.Outcome) {
			for _, i := range users[k] {
				if b.Includes(i, fold) {
					out = b.FitOne(ctx, i, fold)
					mu.Lock()
					whole[[2]int{i, fold}] = out
					mu.Unlock()
				}
			}
			return out
		}
	}
	part.Yield = func(k, fold int, out batch.Outcome) error {
		out.Seconds /= float64(len(users[k]))
		for _, i := range users[k] {
			mu.Lock()
			own, done := whole[[2]int{i, fold}]
			mu.Unlock()
			if !done {
				own = outer(i, fold, out)
			}
			if b.Includes(i, fold) {
				if err := b.Yield(i, fold, own); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return estimator.FitBatch(ctx, part)
}

// fitDistinct fits the distinct candidates of a batch and returns the outcomes of each candidate by
// fold. Err is errNeedsPipeline for candidates that must be fitted with their whole pipeline.
func fitDistinct(ctx context.Context, b batch.Job) (out [][]batch.Outcome, shared []string, err error) {
	if b.FitOne = nil; b.Maps != nil {
		b.FitOne = func(context.Context, int, int) batch.Outcome { return batch.Outcome{Err: errNeedsPipeline} }
	}
	out = make([][]batch.Outcome, len(b.Candidates))
	for i := range out {
		out[i] = make([]batch.Outcome, len(b.Folds))
	}
	b.Yield = func(i, fold int, o batch.Outcome) error {
		out[i][fold] = o
		return nil
	}
	shared, err = fitInner(ctx, b, b.Candidates, func(_, _ int, o batch.Outcome) batch.Outcome { return o })
	return out, shared, err
}

var errNeedsPipeline = errors.New("to be fitted with its whole pipeline")

// deduplicate returns the indices of the distinct candidates, and for each candidate its position
// among them.
func deduplicate(candidates []batch.Candidate) (of, distinct []int) {
	values := make([]any, len(candidates))
	for i, c := range candidates {
		values[i] = c
	}
	of = specs.Keys(values)
	for i, first := range of {
		if of[i] = of[first]; first == i {
			of[i], distinct = len(distinct), append(distinct, i)
		}
	}
	return of, distinct
}
