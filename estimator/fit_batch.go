package estimator

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/batch"
	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/guard"
	"github.com/bochner-ml/bochner/internal/share"
)

// plainBatch returns b as a batch of package internal/batch, without Yield and FitOne.
func plainBatch(b share.Batch) batch.Batch {
	out := batch.Batch{Data: b.Data, Folds: b.Folds, GCV: b.GCV, Memory: b.MemoryLimit(), Include: b.Includes,
		Features: make([]batch.Features, len(b.Candidates))}
	if b.Maps != nil {
		out.Maps = b.Maps
	}
	for i, c := range b.Candidates {
		out.Features[i] = batch.Features{Map: c.Map, Width: c.Width, Scale: c.Scale, Float32: c.Float32}
	}
	return out
}

// outcomes yields the outcomes of a batch, never concurrently.
type outcomes struct {
	share.Batch
	ctx    context.Context
	name   string                                     // of the estimator
	fitted func(m linear, classes []string) Predictor // converts the solution of a candidate to the result of its Fit
	mu     sync.Mutex
	failed error // of Yield
}

// fitPlain fits a batch by a function of package internal/batch.
func fitPlain[C any](ctx context.Context, b share.Batch, name string, fitted func(linear, []string) Predictor,
	fit func(context.Context, batch.Batch, []C) ([]string, error), candidates []C) (shared []string, err error) {
	o := &outcomes{Batch: b, ctx: ctx, name: name, fitted: fitted}
	plain := plainBatch(b)
	plain.Yield, plain.FitOne = o.emitResult, o.fitSingle
	return fit(ctx, plain, candidates)
}

// emit yields an outcome unless Yield has failed.
func (o *outcomes) emit(candidate, fold int, out share.Outcome) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failed == nil && o.ctx.Err() == nil {
		o.failed = o.Yield(candidate, fold, out)
	}
	return cmp.Or(o.failed, ctxerr.Check(o.ctx))
}

// emitResult yields the outcome of a result.
func (o *outcomes) emitResult(candidate, fold int, r batch.Result) error {
	if !o.Includes(candidate, fold) {
		return ctxerr.Check(o.ctx)
	}
	start := time.Now()
	var out share.Outcome
	switch {
	case r.Err != nil:
		out.Err = fmt.Errorf("estimator: %s: %w", o.name, r.Err)
	case r.Scores != nil:
		// The scores are predictions already: a model that passes them on makes the rest of them.
		_, t := r.Scores.Dims()
		out = o.predict(o.fitted(identityModel(t), r.Classes), r.Scores, fold)
		out.Report = r.Report
	default:
		out = o.predict(o.fitted(newLinear(*r.Model), r.Classes), r.Test, fold)
	}
	out.Seconds = r.Seconds + time.Since(start).Seconds()
	return o.emit(candidate, fold, out)
}

// fitSingle fits a candidate to a fold without sharing.
func (o *outcomes) fitSingle(ctx context.Context, candidate, fold int, rows *batch.Split) error {
	if !o.Includes(candidate, fold) {
		return ctxerr.Check(ctx)
	}
	if rows == nil {
		return o.emit(candidate, fold, o.FitOne(ctx, candidate, fold))
	}
	start := time.Now()
	var out share.Outcome
	spec := o.Candidates[candidate].Estimator.(Estimator)
	if fitted, err := guard.Call(spec, "Fit", func() (Predictor, error) { return spec.Fit(ctx, rows.Train) }); err != nil {
		out.Err = err
	} else {
		out = o.predict(fitted, rows.Test, fold)
	}
	out.Seconds = time.Since(start).Seconds()
	return o.emit(candidate, fold, out)
}

// predict returns the prediction of a model for the test rows of a fold.
func (o *outcomes) predict(fitted Predictor, test mat.Matrix, fold int) (out share.Outcome) {
	predicted, err := Predict(o.ctx, fitted, test, Request{})
	out.Prediction = share.Prediction(predicted)
	out.Err = o.Data.AtRows(err, o.Folds[fold].Test)
	if r, ok := fitted.(Reporter); ok {
		out.Report = share.Report(r.Report())
	}
	return out
}

// identityModel returns a model whose t scores equal its t inputs.
func identityModel(t int) linear {
	m := linear{coef: mat.NewDense(t, t, nil), intercept: make([]float64, t)}
	for i := range t {
		m.coef.Set(i, i, 1)
	}
	return m
}

// specsOf is share.Specs with the name of the estimator in its error.
func specsOf[S Estimator](b share.Batch, name string) ([]S, error) {
	specs, err := share.Specs[S](b)
	if err != nil {
		return nil, fmt.Errorf("estimator: %s: %w", name, err)
	}
	return specs, nil
}
