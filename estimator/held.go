package estimator

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/param"
)

// What estimators that hold others have in common: batches of the models within, whatever these are.

var errNoModel = errors.New("there is no model to wrap")

// checkHeld reports a wrapper without a model, and what is wrong with either.
func checkHeld(spec any, of Estimator) error {
	if of == nil {
		return errNoModel
	}
	return param.CheckFit(spec)
}

// fitHeld fits the candidates of a batch, which are of any types, those of one type by its own FitBatch where
// it has one and else each by itself. It yields as a FitBatch does.
func fitHeld(ctx context.Context, b Batch) (shared []string, err error) {
	for _, same := range byType(b.Candidates) {
		part := b.only(same)
		if fitter, ok := part.Candidates[0].Estimator.(BatchFitter); ok {
			names, err := fitter.FitBatch(ctx, part)
			if shared = append(shared, names...); err != nil {
				return shared, err
			}
			continue
		}
		if b.OneOut {
			return shared, errNotOneOut
		}
		if err := fitEach(ctx, part); err != nil {
			return shared, err
		}
	}
	return shared, ctx.Err()
}

// costHeld is the BatchCost of fitHeld.
func costHeld(b Batch) (sum datasets.Cost, shared []string, err error) {
	for _, same := range byType(b.Candidates) {
		part := b.only(same)
		cost, names := datasets.Cost{}, []string(nil)
		fitter, ok := part.Candidates[0].Estimator.(BatchFitter)
		switch {
		case ok:
			if cost, names, err = fitter.BatchCost(part); err != nil {
				return sum, nil, err
			}
		case b.OneOut:
			return sum, nil, errNotOneOut
		case b.Mapped():
			return sum, nil, errNotMapped
		default:
			cost = loneCost(part)
		}
		sum.Flops += cost.Flops
		sum.Bytes = max(sum.Bytes, cost.Bytes)
		shared = append(shared, names...)
	}
	return sum, shared, nil
}

// byType returns the numbers of the candidates of each type, in order.
func byType(candidates []Candidate) (groups [][]int) {
	at := map[reflect.Type]int{}
	for i, c := range candidates {
		t := reflect.TypeOf(c.Estimator)
		g, ok := at[t]
		if !ok {
			g = len(groups)
			at[t], groups = g, append(groups, nil)
		}
		groups[g] = append(groups[g], i)
	}
	return groups
}

// only is the batch of some of its candidates.
func (b Batch) only(which []int) Batch {
	out := b
	out.Candidates = make([]Candidate, len(which))
	for k, i := range which {
		out.Candidates[k] = b.Candidates[i]
	}
	out.Wanted = func(k, fold int) bool { return b.Wants(which[k], fold) }
	if b.Lone != nil {
		out.Lone = func(ctx context.Context, k, fold int) Outcome { return b.Lone(ctx, which[k], fold) }
	}
	if b.Yield != nil {
		out.Yield = func(k, fold int, o Outcome) error { return b.Yield(which[k], fold, o) }
	}
	return out
}

// onFold is the batch on one of its folds.
func (b Batch) onFold(fold int) Batch {
	out := b
	out.Folds = b.Folds[fold : fold+1 : fold+1]
	out.Wanted = func(k, _ int) bool { return b.Wants(k, fold) }
	if b.Lone != nil {
		out.Lone = func(ctx context.Context, k, _ int) Outcome { return b.Lone(ctx, k, fold) }
	}
	if b.Yield != nil {
		out.Yield = func(k, _ int, o Outcome) error { return b.Yield(k, fold, o) }
	}
	return out
}

// fitEach fits every candidate of a batch to each fold by itself.
func fitEach(ctx context.Context, b Batch) error {
	for f := range b.Folds {
		for i := range b.Candidates {
			if !b.Wants(i, f) {
				continue
			}
			if err := b.Yield(i, f, b.alone(ctx, i, f)); err != nil {
				return err
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
	}
	return nil
}

// alone fits one candidate to one fold by itself.
func (b Batch) alone(ctx context.Context, candidate, fold int) (out Outcome) {
	if b.Lone != nil {
		return b.Lone(ctx, candidate, fold)
	}
	start, rows := time.Now(), b.Folds[fold]
	fitted, err := b.Candidates[candidate].Fit(ctx, b.Data.Select(rows.Train))
	if err != nil {
		return Outcome{Err: err}
	}
	out.Prediction, err = Predict(ctx, fitted, datasets.SelectRows(b.Data.X, rows.Test))
	out.Err = b.Data.AtRows(err, rows.Test)
	var r Reporter
	if As(fitted, &r) {
		out.Report = r.Report()
	}
	out.Seconds = time.Since(start).Seconds()
	return out
}

// refuse yields an error for every fold on which a candidate is wanted.
func (b Batch) refuse(candidate int, err error) error {
	for f := range b.Folds {
		if b.Wants(candidate, f) {
			if failed := b.Yield(candidate, f, Outcome{Err: err}); failed != nil {
				return failed
			}
		}
	}
	return nil
}

// gathered fits the candidates of a batch, equal ones once, and returns what each predicts for each fold. The
// Err of those that could only be fitted with their whole pipeline is errAlone.
func gathered(ctx context.Context, b Batch) (out [][]Outcome, shared []string, err error) {
	of, distinct := unrepeated(b.Candidates)
	part := b.only(distinct)
	part.Wanted = func(k, fold int) bool {
		for i, d := range of {
			if d == k && b.Wants(i, fold) {
				return true
			}
		}
		return false
	}
	if b.Maps != nil {
		part.Lone = func(context.Context, int, int) Outcome { return Outcome{Err: errAlone} }
	}
	found := make([][]Outcome, len(distinct))
	for k := range found {
		found[k] = make([]Outcome, len(b.Folds))
	}
	var mu sync.Mutex
	part.Yield = func(k, fold int, o Outcome) error {
		mu.Lock()
		defer mu.Unlock()
		found[k][fold] = o
		return nil
	}
	shared, err = fitHeld(ctx, part)
	out = make([][]Outcome, len(of))
	for i, k := range of {
		out[i] = found[k]
	}
	return out, shared, err
}

var errAlone = errors.New("to be fitted with its whole pipeline")

// unrepeated returns the numbers of the distinct candidates, and which of these each candidate is.
func unrepeated(candidates []Candidate) (of, distinct []int) {
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
