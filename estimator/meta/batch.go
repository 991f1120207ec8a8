package meta

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/guard"
	"github.com/bochner-ml/bochner/internal/rowblock"
	"github.com/bochner-ml/bochner/internal/share"
)

// fitBatch fits the candidates of a batch by type: by FitBatch if the type has one, else
// individually.
func fitBatch(ctx context.Context, b share.Batch) (shared []string, err error) {
	for _, same := range byType(b) {
		part := subBatch(b, same)
		if fitter, ok := part.Candidates[0].Estimator.(share.BatchFitter); ok {
			names, err := fitter.FitBatch(ctx, part)
			if shared = append(shared, names...); err != nil {
				return shared, err
			}
			continue
		}
		if b.LeaveOneOut {
			return shared, share.ErrNoLeaveOneOut
		}
		if err := fitIndividually(ctx, part); err != nil {
			return shared, err
		}
	}
	return shared, ctxerr.Check(ctx)
}

// planBatch returns the maximum memory of the batches of fitBatch in bytes.
func planBatch(b share.Batch) (most int64, err error) {
	for _, same := range byType(b) {
		part, bytes := subBatch(b, same), int64(0)
		fitter, ok := part.Candidates[0].Estimator.(share.BatchFitter)
		switch {
		case ok:
			if bytes, err = fitter.PlanBatch(part); err != nil {
				return 0, err
			}
		case b.LeaveOneOut:
			return 0, share.ErrNoLeaveOneOut
		case b.HasMaps():
			return 0, share.ErrNoSharedMaps
		default:
			bytes = part.MaxFitBytes()
		}
		most = max(most, bytes)
	}
	return most, nil
}

// byType groups the indices of the candidates by type, in order.
func byType(b share.Batch) [][]int {
	groups, _ := groupBy(b, func(i int) (any, error) { return reflect.TypeOf(b.Candidates[i].Estimator), nil })
	return groups
}

// groupBy groups the indices of the candidates by key, in order of first appearance. If key returns
// an error, the candidate is yielded with it.
func groupBy(b share.Batch, key func(candidate int) (any, error)) (groups [][]int, err error) {
	at := map[any]int{}
	for i := range b.Candidates {
		k, wrong := key(i)
		if wrong != nil {
			if err := yieldError(b, i, wrong); err != nil {
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
func innerCandidates(candidates []share.Candidate, of func(share.Candidate) estimator.Estimator) []share.Candidate {
	out := slices.Clone(candidates)
	for i, c := range candidates {
		out[i].Estimator = of(c)
	}
	return out
}

// subBatch returns b restricted to the given candidates.
func subBatch(b share.Batch, which []int) share.Batch {
	out := b
	out.Candidates = make([]share.Candidate, len(which))
	for k, i := range which {
		out.Candidates[k] = b.Candidates[i]
	}
	out.Include = func(k, fold int) bool { return b.Includes(which[k], fold) }
	if b.FitOne != nil {
		out.FitOne = func(ctx context.Context, k, fold int) share.Outcome { return b.FitOne(ctx, which[k], fold) }
	}
	if b.Yield != nil {
		out.Yield = func(k, fold int, o share.Outcome) error { return b.Yield(which[k], fold, o) }
	}
	return out
}

// foldBatch returns b restricted to one fold.
func foldBatch(b share.Batch, fold int) share.Batch {
	out := b
	out.Folds = b.Folds[fold : fold+1 : fold+1]
	out.Include = func(k, _ int) bool { return b.Includes(k, fold) }
	if b.FitOne != nil {
		out.FitOne = func(ctx context.Context, k, _ int) share.Outcome { return b.FitOne(ctx, k, fold) }
	}
	if b.Yield != nil {
		out.Yield = func(k, _ int, o share.Outcome) error { return b.Yield(k, fold, o) }
	}
	return out
}

// includesFold reports whether any candidate is fitted on a fold.
func includesFold(b share.Batch, fold int) bool {
	for i := range b.Candidates {
		if b.Includes(i, fold) {
			return true
		}
	}
	return false
}

// fitIndividually fits every candidate of a batch to each fold without sharing.
func fitIndividually(ctx context.Context, b share.Batch) error {
	for f := range b.Folds {
		for i := range b.Candidates {
			if !b.Includes(i, f) {
				continue
			}
			if err := b.Yield(i, f, fitOne(ctx, b, i, f)); err != nil {
				return err
			}
			if err := ctxerr.Check(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// fitOne fits one candidate to one fold without sharing.
func fitOne(ctx context.Context, b share.Batch, candidate, fold int) (out share.Outcome) {
	if b.FitOne != nil {
		return b.FitOne(ctx, candidate, fold)
	}
	start, rows := time.Now(), b.Folds[fold]
	spec := b.Candidates[candidate].Estimator.(estimator.Estimator)
	fitted, err := guard.Call(spec, "Fit", func() (estimator.Predictor, error) {
		return spec.Fit(ctx, b.Data.Select(rows.Train))
	})
	if err != nil {
		return share.Outcome{Err: err}
	}
	predicted, err := estimator.Predict(ctx, fitted, rowblock.Select(b.Data.X, rows.Test), estimator.Request{})
	out.Prediction = share.Prediction(predicted)
	out.Err = b.Data.AtRows(err, rows.Test)
	var r estimator.Reporter
	if estimator.As(fitted, &r) {
		out.Report = share.Report(r.Report())
	}
	out.Seconds = time.Since(start).Seconds()
	return out
}

// yieldError yields an error for every included fold of a candidate.
func yieldError(b share.Batch, candidate int, err error) error {
	for f := range b.Folds {
		if b.Includes(candidate, f) {
			if failed := b.Yield(candidate, f, share.Outcome{Err: err}); failed != nil {
				return failed
			}
		}
	}
	return nil
}

// fitDistinct fits the distinct candidates of a batch and returns the outcomes of each candidate by
// fold. Err is errNeedsPipeline for candidates that must be fitted with their whole pipeline.
func fitDistinct(ctx context.Context, b share.Batch) (out [][]share.Outcome, shared []string, err error) {
	of, distinct := deduplicate(b.Candidates)
	part := subBatch(b, distinct)
	part.Include = func(k, fold int) bool {
		for i, d := range of {
			if d == k && b.Includes(i, fold) {
				return true
			}
		}
		return false
	}
	if b.Maps != nil {
		part.FitOne = func(context.Context, int, int) share.Outcome { return share.Outcome{Err: errNeedsPipeline} }
	}
	found := make([][]share.Outcome, len(distinct))
	for k := range found {
		found[k] = make([]share.Outcome, len(b.Folds))
	}
	var mu sync.Mutex
	part.Yield = func(k, fold int, o share.Outcome) error {
		mu.Lock()
		defer mu.Unlock()
		found[k][fold] = o
		return nil
	}
	shared, err = fitBatch(ctx, part)
	out = make([][]share.Outcome, len(of))
	for i, k := range of {
		out[i] = found[k]
	}
	return out, shared, err
}

var errNeedsPipeline = errors.New("to be fitted with its whole pipeline")

// deduplicate returns the indices of the distinct candidates, and for each candidate its position
// among them.
func deduplicate(candidates []share.Candidate) (of, distinct []int) {
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
