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
	"slices"
	"sync"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/model"
)

// Batch is a job whose Yield may be called concurrently. The candidates are also passed separately,
// as plain specifications.
type Batch struct {
	batch.Job
	ctx     context.Context
	name    string // of the estimator
	predict func(Result) (model.Prediction, error)
	fit     func(candidate, fold int, rows Split) batch.Outcome
}

// New returns a batch of a job of estimators with a name; predict returns the prediction of a result
// for the test rows, fit the outcome of a separate fit to rows.
func New(ctx context.Context, j batch.Job, name string, predict func(Result) (model.Prediction, error),
	fit func(candidate, fold int, rows Split) batch.Outcome) Batch {
	var first firstError
	yield := j.Yield
	j.Yield = func(candidate, fold int, out batch.Outcome) error {
		first.mu.Lock()
		defer first.mu.Unlock()
		if first.failed == nil && ctx.Err() == nil {
			first.failed = yield(candidate, fold, out)
		}
		return cmp.Or(first.failed, ctxerr.Check(ctx))
	}
	return Batch{j, ctx, name, predict, fit}
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

// fitOne fits a candidate on a fold independently, to rows unless they are nil, and yields its outcome, if
// included.
func (b Batch) fitOne(candidate, fold int, rows *Split) error {
	switch {
	case !b.Includes(candidate, fold):
		return ctxerr.Check(b.ctx)
	case rows != nil:
		return b.Yield(candidate, fold, b.fit(candidate, fold, *rows))
	}
	return b.Yield(candidate, fold, b.FitOne(b.ctx, candidate, fold))
}

// want returns the members included on a fold.
func (b Batch) want(members []int, fold int) (list []int) {
	for _, i := range members {
		if b.Includes(i, fold) {
			list = append(list, i)
		}
	}
	return list
}

// lastIncluded returns the position of the last included candidate of a path, -1 for none.
func (b Batch) lastIncluded(path []int, fold int) int {
	last := len(path) - 1
	for last >= 0 && !b.Includes(path[last], fold) {
		last--
	}
	return last
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

// firstError is the first error of concurrent work.
type firstError struct {
	mu     sync.Mutex
	failed error
}

func (f *firstError) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failed = cmp.Or(f.failed, err)
}

func (f *firstError) stopped() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed != nil
}

// paths groups candidates with equal keys, by ascending value. An invalid candidate is a separate path.
func paths[C any](candidates []C, keys []int, value func(C) (v float64, invalid error)) (paths [][]int) {
	byKey := map[int]int{}
	for i, c := range candidates {
		_, invalid := value(c)
		at, known := byKey[keys[i]]
		if !known || invalid != nil {
			at = len(paths)
			if paths = append(paths, nil); invalid == nil {
				byKey[keys[i]] = at
			}
		}
		paths[at] = append(paths[at], i)
	}
	for _, path := range paths {
		slices.SortStableFunc(path, func(i, j int) int {
			a, _ := value(candidates[i])
			b, _ := value(candidates[j])
			return cmp.Compare(a, b)
		})
	}
	return paths
}
