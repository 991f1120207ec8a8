// Package sweep fits many pipelines on many folds together. Candidates are a tree: those that begin with
// equal steps share these, fitted and applied; last steps of one feature family share their draws; and
// estimators behind the same rows are fitted as a batch of their own.
package sweep

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/pipeline/internal/place"
	"github.com/bochner-ml/bochner/pipeline/internal/rows"
)

// Candidate is a pipeline: steps, to be fitted one after the other, before an estimator.
type Candidate struct {
	Steps     []rows.Spec
	Name      string // of the estimator
	Estimator estimator.Estimator
	Float32   bool  // whether the features of its last step are wanted in single precision
	Err       error // why it cannot be fitted
}

// Job is candidates to be fitted on the folds of some rows.
type Job struct {
	// Batch has the rows, their folds, what is wanted, and where outcomes go.
	estimator.Batch
	Pipelines []Candidate // instead of the candidates of Batch
	Memory    int64       // bytes that mapped rows may take
	// Fit fits a candidate but for its first steps, which have mapped the rows already.
	Fit func(ctx context.Context, candidate, done int, data datasets.Set) (estimator.Predictor, error)
	// Predict returns all that a predictor says.
	Predict func(ctx context.Context, fitted estimator.Predictor, X mat.Matrix) (estimator.Prediction, error)
	// CostOf is what Fit costs.
	CostOf func(candidate, done int, shape datasets.Shape) datasets.Cost
}

// Run fits every candidate that is wanted on every fold, or, with OneOut, to all rows but each. It returns
// the names of what was shared and the first error of Yield.
func Run(ctx context.Context, job Job) (shared []string, err error) {
	if err := checkFolds(job.Folds, job.Data.Rows()); err != nil {
		return nil, place.Here(err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := newSweep(job)
	s.rows, s.cols, s.shape, s.cancel = job.Data.Rows(), job.Data.Cols(), job.Data.Shape(), cancel
	if job.OneOut {
		s.runOneOut(ctx)
	} else {
		s.run(ctx)
	}
	return slices.Sorted(maps.Keys(s.shared)), context.Cause(ctx)
}

func newSweep(job Job) *sweep {
	return &sweep{Job: job, rows: job.Shape.Rows, cols: job.Shape.Cols, shape: job.Shape, shared: map[string]bool{}}
}

func checkFolds(folds []datasets.Fold, n int) error {
	for f, fold := range folds {
		if len(fold.Train) == 0 || len(fold.Test) == 0 {
			return fmt.Errorf("fold %d has %d rows to train on and %d to test on", f, len(fold.Train), len(fold.Test))
		}
		for _, i := range slices.Concat(fold.Train, fold.Test) {
			if i < 0 || i >= n {
				return fmt.Errorf("fold %d has row %d of %d", f, i, n)
			}
		}
	}
	return nil
}

// sweep is one run of a job.
type sweep struct {
	Job
	rows, cols int // of the data
	shape      datasets.Shape
	workers    int // how many tasks go on at once
	inner      int // how many folds one task may work on at once
	cancel     context.CancelCauseFunc

	mu     sync.Mutex
	shared map[string]bool
}

// run divides the work into tasks and does them.
func (s *sweep) run(ctx context.Context) {
	all, rowless := s.trees(func(i int, err error) {
		for f := range s.Folds {
			s.deliver(ctx, i, f, estimator.Outcome{Err: place.Here(err)})
		}
	})
	var tasks []func()
	s.rowlessTasks(ctx, rowless, nil, &tasks)
	families, others := s.families(all.next, 1)
	for f := range s.Folds {
		for _, family := range families {
			tasks = append(tasks, func() { s.familyOfFold(ctx, family, s.foldRows(f), 0) })
		}
		for _, top := range sparseFamilies(others) {
			tasks = append(tasks, func() { s.sparseFamily(ctx, top, s.foldRows(f), 0) })
		}
	}
	s.workers = s.atOnce()
	s.inner = max(1, s.workers/max(len(tasks), 1))
	parallel(ctx, s.workers, len(tasks), func(i int) { tasks[i]() })
}

// rowlessTasks makes a task of every end of the tree, and of every family, which serve all folds.
func (s *sweep) rowlessTasks(ctx context.Context, b *node, steps []rows.Spec, tasks *[]func()) {
	if len(b.ends) > 0 {
		*tasks = append(*tasks, func() { s.everyFold(ctx, steps, b.ends) })
	}
	families, others := s.families(b.next, len(s.Folds))
	for _, family := range families {
		*tasks = append(*tasks, func() { s.familyOfAllFolds(ctx, family, steps) })
	}
	for _, n := range others {
		s.rowlessTasks(ctx, n, append(slices.Clone(steps), n.step), tasks)
	}
}

// trees divides the candidates into those whose steps serve all folds at once and the others, each as
// a tree. It hands specs that cannot be fitted to refuse.
func (s *sweep) trees(refuse func(i int, err error)) (all, rowless *node) {
	all, rowless = &node{}, &node{}
	for i, p := range s.Pipelines {
		if p.Err != nil {
			refuse(i, p.Err)
			continue
		}
		if len(p.Steps) == 0 || rows.FitWithoutRows(p.Steps) && s.cachedBytes(p) <= s.Memory {
			rowless.add(i, p.Steps)
		} else {
			all.add(i, p.Steps)
		}
	}
	return all, rowless
}

// parallel calls f for 0 … n−1, at most workers at once, until the context ends.
func parallel(ctx context.Context, workers, n int, f func(i int)) {
	var next atomic.Int64
	work := func() {
		for ctx.Err() == nil {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			f(i)
		}
	}
	var others sync.WaitGroup
	for range min(workers, n) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
}

// deliver hands a result to the caller, one at a time, and ends the sweep where the caller wants that.
// What a cancelled candidate says is of no interest.
func (s *sweep) deliver(ctx context.Context, candidate, fold int, out estimator.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil || !s.Wants(candidate, fold) {
		return
	}
	if err := s.Yield(candidate, fold, out); err != nil {
		s.cancel(err)
	}
}

func (s *sweep) share(names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		s.shared[name] = true
	}
}

// wants reports whether any of the candidates is wanted on fold f.
func (s *sweep) wants(candidates []int, f int) bool {
	return slices.ContainsFunc(candidates, func(i int) bool { return s.Wants(i, f) })
}

// wantsAny reports whether any of the candidates is wanted on any fold.
func (s *sweep) wantsAny(candidates []int) bool {
	for f := range s.Folds {
		if s.wants(candidates, f) {
			return true
		}
	}
	return false
}
