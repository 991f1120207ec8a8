// Package sweep fits the candidates of a search, which are pipelines, on all folds and shares
// common work.
//
// The candidates form two trees by their steps: candidates with equal leading steps share the nodes
// of these steps. The tree of data-independent steps is processed once for all folds, the other
// tree once for each fold. The diagram shows the stages from the rows to the models, with the names
// of shared work in the result:
//
//	rows of the search
//	│
//	├─ data-independent steps (transformer.DataIndependent)               once for all folds      prefix, features
//	│
//	└─ for each fold                                                      tasks, concurrently
//	   │
//	   ├─ equal steps                                                     fitted, applied once    prefix
//	   ├─ equal first stages (transformer.TwoStageFitter)                 fitted once             prefix
//	   │
//	   ├─ last steps of one family (transformer.FamilyFitter)
//	   │    dense:  tiles of all maps, read by the estimators             one product             projection
//	   │    sparse: the widest map, whose leading columns are the others  mapped once             grids
//	   │
//	   └─ estimators of one type on the same rows (share.BatchFitter)
//	        sums of products of nested widths, penalties and folds        one pass               columns, alpha, folds
//	        regularization paths, kernel values, leave-one-out            one pass               features, rows
//
// Sharing that would exceed the memory limit is replaced by separate fits (unshared.go). The
// predictions of a candidate do not depend on the other candidates, bit for bit.
//
// The files: run.go divides the work into tasks; tree.go, group.go and family.go find common work;
// descent.go walks the tree of a fold; derive.go, tiles.go and wide.go share first stages and
// features; batch.go and leave_one_out.go call the FitBatch of estimators, implemented in
// internal/batch; fold.go maps and predicts the rows of a fold; memory.go bounds the memory.
package sweep

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/guard"
	"github.com/bochner-ml/bochner/internal/share"
	"github.com/bochner-ml/bochner/pipeline/internal/rows"
	"github.com/bochner-ml/bochner/transformer"
)

// Candidate is a pipeline: a sequence of steps and an estimator.
type Candidate struct {
	Steps     []rows.Spec
	Name      string // name of the estimator
	Estimator estimator.Estimator
	Float32   bool  // whether the last step computes float32 features
	Err       error // reason why the candidate is invalid, or nil
}

// Job describes the candidates, rows and folds of a sweep.
type Job struct {
	// Batch contains the rows, their folds, the included fits, and the callback for outcomes.
	share.Batch
	Pipelines []Candidate // replace the candidates of Batch
	Memory    int64       // memory limit of mapped rows, in bytes
	// Fit fits a candidate to data, which its first done steps have mapped already. If next is not
	// nil, it replaces the following step.
	Fit func(ctx context.Context, candidate, done int, next transformer.Fitter, data datasets.Set) (estimator.Predictor,
		error)
	// Inside returns the children of a step; ok is false if it has none.
	Inside func(step transformer.Fitter) (Children, bool)
	// Predict returns all requested outputs of a predictor.
	Predict func(ctx context.Context, fitted estimator.Predictor, X mat.Matrix) (estimator.Prediction, error)
}

// sweep is the state of a run of a job.
type sweep struct {
	Job
	shape   datasets.Shape
	workers int // maximum number of concurrent tasks
	inner   int // maximum number of concurrent folds of a task
	cancel  context.CancelCauseFunc

	mu     sync.Mutex
	shared map[string]bool
}

// parallel calls f for 0, …, n−1 with at most workers concurrent calls, until ctx is done.
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
	var others guard.Group
	for range min(workers, n) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
}

// deliver passes an outcome to Yield, one at a time, and cancels the sweep if Yield returns an
// error. Outcomes of canceled candidates are discarded.
func (s *sweep) deliver(ctx context.Context, candidate, fold int, out share.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil || !s.Includes(candidate, fold) {
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

// wants reports whether any of the candidates is included on fold f.
func (s *sweep) wants(candidates []int, f int) bool {
	return slices.ContainsFunc(candidates, func(i int) bool { return s.Includes(i, f) })
}

// wantsAny reports whether any of the candidates is included on any fold.
func (s *sweep) wantsAny(candidates []int) bool {
	for f := range s.Folds {
		if s.wants(candidates, f) {
			return true
		}
	}
	return false
}
