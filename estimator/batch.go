package estimator

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/estimator/internal/joint"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/guard"
)

// FitBatch fits the candidates of a job by type: together by the FitBatch of a [batch.Fitter], else
// separately, j.Workers fits at a time as far as j.Memory allows. On a stream, candidates share the
// passes of a [PassEstimator]; others must be a [BlockEstimator].
func FitBatch(ctx context.Context, j batch.Job) (shared []string, err error) {
	if j.Stream != nil {
		return fitStream(ctx, j)
	}
	for _, part := range byType(j) {
		fitter, ok := part.Candidates[0].Estimator.(batch.Fitter)
		var names []string
		if ok || j.LeaveOneOut {
			err = part.CheckTags()
		}
		switch {
		case err != nil:
		case ok:
			err = guard.Do(fitter, "FitBatch", func() (err error) {
				names, err = fitter.FitBatch(ctx, part)
				return err
			})
		default:
			err = FitSeparately(ctx, part)
		}
		if shared = append(shared, names...); err != nil {
			return shared, err
		}
	}
	return shared, ctxerr.Check(ctx)
}

// PlanBatch returns the maximum memory of the parts of [FitBatch] in bytes, or an error if a part is
// not supported.
func PlanBatch(j batch.Job) (largest int64, err error) {
	for _, part := range byType(j) {
		if err := part.CheckTags(); err != nil {
			return 0, err
		}
		var bytes int64
		if fitter, ok := part.Candidates[0].Estimator.(batch.Fitter); !ok {
			bytes = part.MaxFitBytes()
		} else if bytes, err = fitter.PlanBatch(part); err != nil {
			return 0, err
		}
		largest = max(largest, bytes)
	}
	return largest, nil
}

// byType divides a job by the types of its candidates, in order of first appearance.
func byType(j batch.Job) (parts []batch.Job) {
	var types []reflect.Type
	groups := map[reflect.Type][]int{}
	for i, c := range j.Candidates {
		t := reflect.TypeOf(c.Estimator)
		if groups[t] == nil {
			types = append(types, t)
		}
		groups[t] = append(groups[t], i)
	}
	if len(types) == 1 {
		return []batch.Job{j}
	}
	for _, t := range types {
		parts = append(parts, j.Select(groups[t]))
	}
	return parts
}

// FitSeparately fits every included candidate to each fold without sharing, concurrently as far as
// Workers and Memory allow. It returns when all of its fits have ended.
func FitSeparately(parent context.Context, j batch.Job) (failed error) {
	type fit struct {
		candidate, fold int
		bytes           int64
		out             batch.Outcome
	}
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	var todo []fit
	for i := range j.Candidates {
		for f := range j.Folds {
			if j.Includes(i, f) {
				todo = append(todo, fit{candidate: i, fold: f, bytes: j.FitBytes(i)})
			}
		}
	}
	ended := make(chan fit)
	bytes, limit := int64(0), j.MemoryLimit()
	for running := 0; ; {
		for len(todo) > 0 && running < max(j.Workers, 1) && ctx.Err() == nil {
			f := todo[0]
			if running > 0 && f.bytes > limit-bytes {
				break
			}
			go func() {
				f.out = FitOne(ctx, j, f.candidate, f.fold)
				ended <- f
			}()
			todo, running, bytes = todo[1:], running+1, bytes+f.bytes
		}
		if running == 0 {
			return cmp.Or(failed, ctxerr.Check(parent))
		}
		f := <-ended
		running, bytes = running-1, bytes-f.bytes
		if failed != nil || ctx.Err() != nil && f.out.Err != nil {
			continue // an effect of the cancellation
		}
		if err := j.Yield(f.candidate, f.fold, f.out); err != nil && parent.Err() == nil { // else keep finished fits
			failed = err
			cancel()
		}
	}
}

// FitOne fits one candidate of a job on one fold without sharing: by j.FitOne if it is set.
func FitOne(ctx context.Context, j batch.Job, candidate, fold int) batch.Outcome {
	if j.FitOne != nil {
		return j.FitOne(ctx, candidate, fold)
	}
	rows := j.Folds[fold]
	return fitSplit(ctx, j, candidate, fold, joint.Split{Train: design.Select(j.Data, rows.Train),
		Test: rowblock.Select(j.Data.X, rows.Test)})
}

// fitSplit fits a candidate to the training rows of a fold and predicts its test rows.
func fitSplit(ctx context.Context, j batch.Job, candidate, fold int, rows joint.Split) (out batch.Outcome) {
	start, spec := time.Now(), j.Candidates[candidate].Estimator.(Estimator)
	fitted, err := guard.Call(spec, "Fit", func() (Predictor, error) { return spec.Fit(ctx, rows.Train) })
	if err != nil {
		out.Err = rows.Train.Locate(err, 0)
	} else {
		out.Prediction, err = predictFor(ctx, j, fitted, rows.Test)
		out.Err = j.Data.AtRows(err, j.Folds[fold].Test)
		var r Reporter
		if As(fitted, &r) {
			out.Report = r.Report()
		}
	}
	out.Seconds = time.Since(start).Seconds()
	return out
}

// linearModel is a fitted model whose prediction follows from scores that are linear in the inputs.
type linearModel interface {
	Predictor
	weights() *linear
	read(scores *mat.Dense, err error, want Request) (Prediction, error)
}

// linearRegression returns the model of a solution.
func linearRegression(m linear, _ []string) Predictor { return &FittedLinear{m} }

// fitJointly fits a job of estimators with a name by a function of package joint. fitted returns
// the result of Fit for a solution.
func fitJointly[C any](ctx context.Context, j batch.Job, name string, fitted func(linear, []string) Predictor,
	fit func(context.Context, joint.Batch, []C) ([]string, error), candidates []C) (shared []string, err error) {
	return fit(ctx, joint.New(ctx, j, name, func(r joint.Result) (_ Prediction, err error) {
		scores := r.Scores
		if r.Model != nil {
			m := newLinear(*r.Model)
			scores, err = m.scores(ctx, r.Test)
		} else if !kern.AllFinite(scores.RawMatrix().Data) {
			err = errTooLarge
		}
		return fitted(linear{}, r.Classes).(linearModel).read(scores, err, Request{})
	}, func(candidate, fold int, rows joint.Split) batch.Outcome {
		return fitSplit(ctx, j, candidate, fold, rows)
	}), candidates)
}

// specsOf is batch.Specs with the name of the estimator in its error.
func specsOf[S Estimator](j batch.Job, name string) ([]S, error) {
	specs, err := batch.Specs[S](j)
	if err != nil {
		return nil, fmt.Errorf("estimator: %s: %w", name, err)
	}
	return specs, nil
}
