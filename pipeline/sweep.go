package pipeline

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/internal/runtime/guard"
	"github.com/bochner-ml/bochner/pipeline/internal/place"
	"github.com/bochner-ml/bochner/pipeline/internal/rows"
)

// candidate is a pipeline of a job.
type candidate struct {
	Pipeline
	steps []rows.Spec
	err   error // reason why the candidate is invalid, or nil
}

// sweep is the state of a job of pipelines, which it fits on all folds with common work shared.
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
//	   └─ estimators on the same rows (estimator.FitBatch)
//	        sums of products of nested widths, penalties and folds        one pass               columns, alpha, folds
//	        regularization paths, kernel values, leave-one-out            one pass               features, rows
//
// Sharing that would exceed the memory limit is replaced by separate fits. The predictions of a
// candidate do not depend on the other candidates, bit for bit.
type sweep struct {
	batch.Job // with the memory limit of mapped rows
	pipelines []candidate
	workers   int // maximum number of concurrent tasks
	inner     int // maximum number of concurrent folds of a task
	cancel    context.CancelCauseFunc

	mu     sync.Mutex
	shared map[string]bool
}

// newSweep returns the sweep of a job whose candidates are pipelines.
func (p Pipeline) newSweep(j batch.Job) (*sweep, error) {
	specs, err := batch.Specs[Pipeline](j)
	if err != nil || j.HasMaps() {
		return nil, place.Here(cmp.Or(err, errMapped))
	}
	s := &sweep{Job: j, shared: map[string]bool{}}
	s.Memory = p.memory()
	for _, spec := range specs {
		s.pipelines = append(s.pipelines, candidate{spec, named(spec.Steps), spec.check()})
	}
	return s, nil
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
func (s *sweep) deliver(ctx context.Context, candidate, fold int, out batch.Outcome) {
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
