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
	"github.com/bochner-ml/bochner/internal/rowblock"
	"github.com/bochner-ml/bochner/internal/share"
)

// fitBatch fits the candidates of a batch, which are of any types, those of one type by its own FitBatch where
// it has one and else each by itself. It yields as a FitBatch does.
func fitBatch(ctx context.Context, b share.Batch) (shared []string, err error) {
	for _, same := range byType(b) {
		part := only(b, same)
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
		if err := fitEach(ctx, part); err != nil {
			return shared, err
		}
	}
	return shared, ctxerr.Check(ctx)
}

// planBatch is the PlanBatch of fitBatch.
func planBatch(b share.Batch) (most int64, err error) {
	for _, same := range byType(b) {
		part, bytes := only(b, same), int64(0)
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

// byType returns the numbers of the candidates of each type, in order.
func byType(b share.Batch) [][]int {
	groups, _ := grouped(b, func(i int) (any, error) { return reflect.TypeOf(b.Candidates[i].Estimator), nil })
	return groups
}

// grouped returns the numbers of the candidates whose key is the same, which are fitted together, in the order in
// which the keys appear. A candidate whose key is an error is yielded with it.
func grouped(b share.Batch, key func(candidate int) (any, error)) (groups [][]int, err error) {
	at := map[any]int{}
	for i := range b.Candidates {
		k, wrong := key(i)
		if wrong != nil {
			if err := refuse(b, i, wrong); err != nil {
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

// withModels are candidates with models in place of the specs that hold them.
func withModels(candidates []share.Candidate, of func(share.Candidate) estimator.Estimator) []share.Candidate {
	out := slices.Clone(candidates)
	for i, c := range candidates {
		out[i].Estimator = of(c)
	}
	return out
}

// only is the batch of some of its candidates.
func only(b share.Batch, which []int) share.Batch {
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

// onFold is the batch on one of its folds.
func onFold(b share.Batch, fold int) share.Batch {
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

// wantsFold reports whether any candidate is wanted on a fold.
func wantsFold(b share.Batch, fold int) bool {
	for i := range b.Candidates {
		if b.Includes(i, fold) {
			return true
		}
	}
	return false
}

// fitEach fits every candidate of a batch to each fold by itself.
func fitEach(ctx context.Context, b share.Batch) error {
	for f := range b.Folds {
		for i := range b.Candidates {
			if !b.Includes(i, f) {
				continue
			}
			if err := b.Yield(i, f, alone(ctx, b, i, f)); err != nil {
				return err
			}
			if err := ctxerr.Check(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// alone fits one candidate to one fold by itself.
func alone(ctx context.Context, b share.Batch, candidate, fold int) (out share.Outcome) {
	if b.FitOne != nil {
		return b.FitOne(ctx, candidate, fold)
	}
	start, rows := time.Now(), b.Folds[fold]
	fitted, err := b.Candidates[candidate].Estimator.(estimator.Estimator).Fit(ctx, b.Data.Select(rows.Train))
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

// refuse yields an error for every fold on which a candidate is wanted.
func refuse(b share.Batch, candidate int, err error) error {
	for f := range b.Folds {
		if b.Includes(candidate, f) {
			if failed := b.Yield(candidate, f, share.Outcome{Err: err}); failed != nil {
				return failed
			}
		}
	}
	return nil
}

// gathered fits the candidates of a batch, equal ones once, and returns what each predicts for each fold. The
// Err of those that could only be fitted with their whole pipeline is errAlone.
func gathered(ctx context.Context, b share.Batch) (out [][]share.Outcome, shared []string, err error) {
	of, distinct := unrepeated(b.Candidates)
	part := only(b, distinct)
	part.Include = func(k, fold int) bool {
		for i, d := range of {
			if d == k && b.Includes(i, fold) {
				return true
			}
		}
		return false
	}
	if b.Maps != nil {
		part.FitOne = func(context.Context, int, int) share.Outcome { return share.Outcome{Err: errAlone} }
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

var errAlone = errors.New("to be fitted with its whole pipeline")

// unrepeated returns the numbers of the distinct candidates, and which of these each candidate is.
func unrepeated(candidates []share.Candidate) (of, distinct []int) {
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
