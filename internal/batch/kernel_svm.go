package batch

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/kernelsvm"
	"github.com/bochner-ml/bochner/internal/memory"
	"github.com/bochner-ml/bochner/internal/rowblock"
)

// KernelSVM is a kernel support vector machine candidate.
type KernelSVM struct {
	kernelsvm.Spec
	Key     string // equal for candidates that differ only in C
	Invalid error  // validation error of the candidate
	Labels  func(ctx context.Context, r *design.Rows) (*design.Labels, error)
}

// kernelSVMBatch is one call of FitKernelSVMs.
type kernelSVMBatch struct {
	Batch
	candidates []KernelSVM
	paths      [][]int    // candidates that differ only in C, ascending
	mu         sync.Mutex // guards failed
	failed     error
}

// FitKernelSVMs fits kernel support vector machines on rows without maps. Candidates with equal keys form a path in
// ascending C: they share kernel values of training and test rows, and each solution warm-starts the next. Paths with
// the same kernel and γ share kernel rows. A path always starts at its beginning, so results do not depend on what is
// included. Folds run concurrently.
func FitKernelSVMs(ctx context.Context, b Batch, candidates []KernelSVM) (shared []string, err error) {
	s := &kernelSVMBatch{Batch: b, candidates: candidates, paths: kernelSVMPaths(candidates)}
	kern.Parallel(len(b.Folds), 1, func(lo, hi int) {
		for f := lo; f < hi; f++ {
			s.fail(s.fitFold(ctx, f))
		}
	})
	for _, path := range s.paths {
		if len(path) > 1 {
			shared = []string{"path"}
		}
	}
	return shared, cmp.Or(s.failed, ctxerr.Check(ctx))
}

// kernelSVMPaths returns the candidates that differ only in C, by ascending C. An invalid candidate
// forms its own path. Paths with the same kernel are adjacent.
func kernelSVMPaths(candidates []KernelSVM) (paths [][]int) {
	byKey := map[string]int{}
	for i, c := range candidates {
		at, known := byKey[c.Key]
		if !known || c.Invalid != nil {
			at = len(paths)
			paths = append(paths, nil)
			if c.Invalid == nil {
				byKey[c.Key] = at
			}
		}
		paths[at] = append(paths[at], i)
	}
	for _, path := range paths {
		slices.SortStableFunc(path, func(i, j int) int { return cmp.Compare(candidates[i].C, candidates[j].C) })
	}
	kernel := func(path []int) string { s := candidates[path[0]]; return fmt.Sprint(s.Kernel, s.Gamma, s.Nu, s.Shape) }
	slices.SortStableFunc(paths, func(a, b []int) int { return cmp.Compare(kernel(a), kernel(b)) })
	return paths
}

// fail records the first error.
func (s *kernelSVMBatch) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = cmp.Or(s.failed, err)
}

func (s *kernelSVMBatch) stopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed != nil
}

// fitFold fits every path on one fold.
func (s *kernelSVMBatch) fitFold(ctx context.Context, f int) error {
	var split *Split
	var t *kernelsvm.Training
	for _, path := range s.paths {
		last := len(path) - 1
		for ; last >= 0 && !s.Include(path[last], f); last-- {
		}
		if last < 0 {
			continue
		}
		if s.stopped() || ctx.Err() != nil {
			return ctxerr.Check(ctx)
		}
		if split == nil {
			fold := s.Folds[f]
			split = &Split{design.Select(s.Data, fold.Train), rowblock.Select(s.Data.X, fold.Test)}
		}
		var err error
		if t, err = s.fitPath(ctx, path[:last+1], f, split, t); err != nil {
			return err
		}
	}
	return nil
}

// fitPath solves the candidates of a path and yields their scores.
func (s *kernelSVMBatch) fitPath(ctx context.Context, path []int, f int, split *Split, previous *kernelsvm.Training) (
	*kernelsvm.Training, error) {
	start := time.Now()
	t, classes, err := s.training(ctx, s.candidates[path[0]], split.Train, previous)
	if err == nil {
		err = s.Data.AtRows(datasets.Set{X: split.Test}.CheckFinite(), s.Folds[f].Test)
	}
	results := make([]Result, len(path))
	solutions := make([]kernelsvm.Solution, len(path))
	var from kernelsvm.Solution
	for p, i := range path {
		out := &results[p]
		out.Err, out.Classes = err, classes
		if err == nil {
			if solutions[p], out.Err = t.Solve(ctx, s.candidates[i].Spec, from); out.Err == nil {
				from, out.Report = solutions[p], t.Report(s.candidates[i].Spec, solutions[p])
			}
		}
		out.Seconds = time.Since(start).Seconds()
		start = time.Now()
	}
	var scores []*mat.Dense
	if err == nil {
		scores, err = t.Scores(ctx, design.Native(split.Test), solutions)
	}
	if ctx.Err() != nil {
		return t, ctxerr.Check(ctx)
	}
	seconds := time.Since(start).Seconds() / float64(len(path))
	for p, i := range path {
		out := results[p]
		if out.Seconds += seconds; out.Err == nil {
			if out.Err = err; err == nil {
				out.Scores = scores[p]
			}
		}
		if !s.Include(i, f) {
			continue
		}
		if err := s.Yield(i, f, out); err != nil {
			return t, err
		}
	}
	return t, nil
}

// training prepares rows for the candidates of a path.
func (s *kernelSVMBatch) training(ctx context.Context, c KernelSVM, train datasets.Set, previous *kernelsvm.Training) (
	*kernelsvm.Training, []string, error) {
	if c.Invalid != nil {
		return nil, nil, c.Invalid
	}
	r, err := design.FromSet(train)
	if err != nil {
		return nil, nil, err
	}
	l, err := c.Labels(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	if err := memory.Check(c.Cost(r.Shape(r.N, l.Outputs())).Bytes); err != nil {
		return nil, nil, err
	}
	t, err := kernelsvm.NewTraining(ctx, c.Spec, r, l, previous)
	return t, l.Classes, err
}

// FitKernelSVMsBytes estimates the peak memory of [FitKernelSVMs] for a shape.
func FitKernelSVMsBytes(b Batch, shape datasets.Shape, candidates []KernelSVM) (largest int64) {
	for _, path := range kernelSVMPaths(candidates) {
		for _, fold := range b.Folds {
			one := shape
			one.Rows = len(fold.Train)
			scores := 8 * int64(shape.Rows) * int64(max(shape.Outputs, 1)) * int64(len(path))
			largest = max(largest, candidates[path[0]].Cost(one).Bytes+scores)
		}
	}
	return largest * int64(min(len(b.Folds), runtime.GOMAXPROCS(0)))
}
