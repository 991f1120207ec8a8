package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
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
	inner     int // maximum number of concurrent separate fits of a task on all folds
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
		c := candidate{spec, named(spec.Steps), spec.check()}
		if c.err == nil && j.LeaveOneOut {
			if c.err = c.canLeaveOneOut(); c.err == nil && s.bytes(c) > s.Memory {
				c.err = fmt.Errorf("leave-one-out needs %d bytes of features, memory allows %d; use k-fold "+
					"cross-validation or increase memory", s.bytes(c), s.Memory)
			}
		}
		s.pipelines = append(s.pipelines, c)
	}
	return s, nil
}

// fit fits every included candidate on every fold, or with leave-one-out. It returns the names of
// what was shared, and the first error of Yield.
func (s *sweep) fit(parent context.Context) (shared []string, err error) {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	s.cancel = cancel
	for i, p := range s.pipelines {
		for f := range s.Folds {
			if p.err != nil {
				s.deliver(ctx, i, f, batch.Outcome{Err: place.Here(p.err)})
			}
		}
	}
	all, independent := s.trees()
	tasks := s.independentTasks(ctx, independent, nil)
	for f := range s.Folds {
		for _, work := range s.below(all, 1) {
			tasks = append(tasks, func() { work(ctx, s.whole().onFold(f)) })
		}
	}
	s.workers = s.taskCount()
	s.inner = max(1, s.workers/max(len(tasks), 1))
	parallel(ctx, s.workers, len(tasks), func(i int) { tasks[i]() })
	return slices.Sorted(maps.Keys(s.shared)), cmp.Or(ctxerr.Check(parent), context.Cause(ctx))
}

// trees arranges the valid candidates in two trees: those with data-independent steps, which are
// fitted once for all folds, and the others.
func (s *sweep) trees() (all, independent *node) {
	all, independent = &node{}, &node{}
	for i, p := range s.pipelines {
		switch {
		case p.err != nil:
		case s.LeaveOneOut || len(p.steps) == 0 || rows.FitWithoutRows(p.steps) && s.cachedBytes(p) <= s.Memory:
			independent.add(i, p.steps)
		default:
			all.add(i, p.steps)
		}
	}
	return all, independent
}

// independentTasks returns a task for every leaf and every family of the tree of data-independent
// steps. Each maps the rows of all folds by the steps.
func (s *sweep) independentTasks(ctx context.Context, b *node, steps []rows.Spec) (tasks []func()) {
	add := func(candidates []int, fit func(d foldRows)) {
		tasks = append(tasks, func() {
			if s.wants(candidates, s.whole()) {
				if d, ok := s.mapOnce(ctx, steps, candidates); ok {
					fit(d)
				}
			}
		})
	}
	if len(b.leaves) > 0 {
		add(b.leaves, func(d foldRows) { s.fitEstimators(ctx, b.leaves, nil, d) })
	}
	families, others := s.families(b.next, len(s.Folds))
	for _, family := range families {
		add(candidatesOf(family), func(d foldRows) { s.family(ctx, family, d) })
	}
	for _, n := range others {
		tasks = append(tasks, s.independentTasks(ctx, n, append(slices.Clone(steps), n.step))...)
	}
	return tasks
}

// mapOnce returns all rows mapped by the data-independent steps of candidates. If that fails or
// exceeds the memory, it delivers the outcomes and ok is false.
func (s *sweep) mapOnce(ctx context.Context, steps []rows.Spec, candidates []int) (d foldRows, ok bool) {
	start := time.Now()
	d = s.whole()
	if p := s.pipelines[candidates[0]]; len(steps) == len(p.steps) && s.bytes(p) > s.Memory {
		s.fitUnshared(ctx, candidates, d)
		return d, false
	}
	r, err := rows.Of(s.Data, s.Memory)
	if err != nil {
		err = place.Here(err)
	} else if _, r, err = rows.FitSteps(ctx, steps, r, func(int) rows.Cache { return rows.Cached }); err == nil {
		d.set, err = r.Gather(ctx)
	}
	if err != nil {
		s.deliverError(ctx, candidates, d, err)
		return d, false
	}
	d.depth, d.seconds = len(steps), time.Since(start).Seconds()/float64(len(candidates)*max(len(s.Folds), 1))
	if d.depth > 0 && len(candidates)*len(s.Folds) > 1 {
		s.share("prefix")
	}
	return d, true
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

// wants reports whether any of the candidates is included on any fold of d.
func (s *sweep) wants(candidates []int, d foldRows) bool {
	for f := range d.folds {
		if slices.ContainsFunc(candidates, func(i int) bool { return s.Includes(i, d.first+f) }) {
			return true
		}
	}
	return false
}
