// Package joint fits many candidates on many folds of the same rows. It shares sums of products,
// mapped rows and warm starts among them.
//
// Candidates are plain specifications, such as [Ridge] and [PenalizedLoss]; results are weights or
// scores, which package estimator interprets. Each kind of job has a function: [FitRidges],
// [FitMappedRidges], [RidgesLeaveOneOut], [FitKernelRidges], [FitKernelSVMs], [FitByDescent] and
// [FitByNewton].
package joint

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/solve"
	"github.com/bochner-ml/bochner/model"
)

// Batch is a job whose Yield may be called concurrently. The candidates are also passed separately,
// as plain specifications.
type Batch struct {
	batch.Job
	ctx     context.Context
	name    string // of the estimator
	predict func(Result) (model.Prediction, error)
}

// New returns a batch of a job of estimators with a name; predict returns the prediction of a result
// for the test rows.
func New(ctx context.Context, j batch.Job, name string, predict func(Result) (model.Prediction, error)) Batch {
	var mu sync.Mutex
	var failed error
	yield := j.Yield
	j.Yield = func(candidate, fold int, out batch.Outcome) error {
		mu.Lock()
		defer mu.Unlock()
		if failed == nil && ctx.Err() == nil {
			failed = yield(candidate, fold, out)
		}
		return cmp.Or(failed, ctxerr.Check(ctx))
	}
	return Batch{j, ctx, name, predict}
}

// Split contains the training and test rows of a fold.
type Split struct {
	Train datasets.Set
	Test  mat.Matrix
}

// Result is a candidate fitted on a fold: a model with the test rows, or their scores.
type Result struct {
	Model   *solve.Linear
	Test    mat.Matrix
	Scores  *mat.Dense
	Report  model.Report // set with Scores
	Classes []string     // if determined by the training rows
	Seconds float64      // including a share of the shared work
	Err     error        // why there is no model or no scores
}

// yield yields a result if it is included. An error ends the batch.
func (b Batch) yield(candidate, fold int, r Result) error {
	if !b.Includes(candidate, fold) {
		return ctxerr.Check(b.ctx)
	}
	start := time.Now()
	var out batch.Outcome
	if r.Err != nil {
		out.Err = fmt.Errorf("estimator: %s: %w", b.name, r.Err)
	} else {
		out.Prediction, out.Err = b.predict(r)
		out.Err = b.Data.AtRows(out.Err, b.Folds[fold].Test)
		if out.Report = r.Report; r.Model != nil {
			out.Report = r.Model.Report
		}
	}
	out.Seconds = r.Seconds + time.Since(start).Seconds()
	return b.Yield(candidate, fold, out)
}

// fitOne fits a candidate on a fold independently and yields its outcome, if included.
func (b Batch) fitOne(candidate, fold int) error {
	if !b.Includes(candidate, fold) {
		return ctxerr.Check(b.ctx)
	}
	return b.Yield(candidate, fold, b.FitOne(b.ctx, candidate, fold))
}

// eachDense calls yield with dense features.
func (b Batch) eachDense(ctx context.Context, X mat.Matrix, which []int,
	yield func(which int, Z *mat.Dense) error) error {
	widths := b.Maps.Widths()
	return b.Maps.Each(ctx, X, which, func(i int, Z mat.Matrix) error {
		d, ok := Z.(*mat.Dense)
		if !ok {
			d = mat.DenseCopyOf(Z)
		}
		if _, cols := d.Dims(); cols != widths[i] {
			return fmt.Errorf("map %d must have %d features, got %d", i, widths[i], cols)
		}
		return yield(i, d)
	})
}
