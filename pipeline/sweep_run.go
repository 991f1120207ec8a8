package pipeline

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/pipeline/internal/place"
	"github.com/bochner-ml/bochner/pipeline/internal/rows"
)

// fit fits every included candidate on every fold, or with leave-one-out. It returns the names of
// what was shared, and the first error of Yield.
func (s *sweep) fit(parent context.Context) (shared []string, err error) {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	if s.cancel = cancel; s.LeaveOneOut {
		s.runLeaveOneOut(ctx)
	} else {
		s.run(ctx)
	}
	return slices.Sorted(maps.Keys(s.shared)), cmp.Or(ctxerr.Check(parent), context.Cause(ctx))
}

// run divides the work into tasks and executes them.
func (s *sweep) run(ctx context.Context) {
	all, independent := s.trees(func(i int, err error) {
		for f := range s.Folds {
			s.deliver(ctx, i, f, batch.Outcome{Err: place.Here(err)})
		}
	})
	var tasks []func()
	s.independentTasks(ctx, independent, nil, &tasks)
	families, others := s.families(all.next, 1)
	for f := range s.Folds {
		for _, family := range families {
			tasks = append(tasks, func() { s.familyOfFold(ctx, family, s.foldRows(f), 0) })
		}
		for _, top := range s.groups(others) {
			tasks = append(tasks, func() { s.group(ctx, top, s.foldRows(f), 0) })
		}
	}
	s.workers = s.taskCount()
	s.inner = max(1, s.workers/max(len(tasks), 1))
	parallel(ctx, s.workers, len(tasks), func(i int) { tasks[i]() })
}

// independentTasks appends a task for every leaf and every family of the tree of data-independent
// steps.
func (s *sweep) independentTasks(ctx context.Context, b *node, steps []rows.Spec, tasks *[]func()) {
	if len(b.leaves) > 0 {
		*tasks = append(*tasks, func() { s.fitAllFolds(ctx, steps, b.leaves) })
	}
	families, others := s.families(b.next, len(s.Folds))
	for _, family := range families {
		*tasks = append(*tasks, func() { s.familyOfAllFolds(ctx, family, steps) })
	}
	for _, n := range others {
		s.independentTasks(ctx, n, append(slices.Clone(steps), n.step), tasks)
	}
}

// trees arranges the candidates in two trees: those with data-independent steps, which are fitted
// once for all folds, and the others. It calls refuse for invalid candidates.
func (s *sweep) trees(refuse func(i int, err error)) (all, independent *node) {
	all, independent = &node{}, &node{}
	for i, p := range s.pipelines {
		if p.err != nil {
			refuse(i, p.err)
			continue
		}
		if len(p.steps) == 0 || rows.FitWithoutRows(p.steps) && s.cachedBytes(p) <= s.Memory {
			independent.add(i, p.steps)
		} else {
			all.add(i, p.steps)
		}
	}
	return all, independent
}
