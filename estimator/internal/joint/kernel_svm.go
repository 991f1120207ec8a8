package joint

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/kernelridge"
	"github.com/bochner-ml/bochner/estimator/internal/kernelsvm"
	"github.com/bochner-ml/bochner/estimator/internal/smo"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
)

// KernelSVM is a kernel support vector machine candidate.
type KernelSVM struct {
	kernelsvm.Spec
	Invalid error // validation error of the candidate
	Labels  func(ctx context.Context, r *design.Rows) (*design.Labels, error)
}

// kernelSVMBatch is one call of FitKernelSVMs.
type kernelSVMBatch struct {
	Batch
	firstError
	candidates []KernelSVM
	paths      [][]int // candidates that differ only in C, ascending
}

// FitKernelSVMs fits kernel support vector machines on rows without maps. Candidates with equal keys form a
// path in ascending C: they share kernel values of training and test rows, and each solution warm-starts the
// next. Up to the number of rows of [kernelsvm.Spec.Whole], all kernel values are computed once for all folds
// with the same kernel and γ, from distances that are computed once for all γ. A path always starts at its
// beginning, so results do not depend on what is included. Folds and γ run concurrently.
func FitKernelSVMs(ctx context.Context, b Batch, candidates []KernelSVM) (shared []string, err error) {
	s := &kernelSVMBatch{Batch: b, candidates: candidates, paths: kernelSVMPaths(candidates, b.SharedKeys())}
	if err := ctxerr.Check(ctx); err != nil {
		return nil, err
	}
	parts := s.parts(b.Data.X)
	kern.Parallel(len(parts), 1, func(lo, hi int) {
		for _, folds := range parts[lo:hi] {
			if !s.stopped() {
				s.fail(s.fitPart(ctx, folds))
			}
		}
	})
	for _, path := range s.paths {
		if len(path) > 1 {
			shared = []string{"path"}
		}
	}
	return shared, cmp.Or(s.failed, ctxerr.Check(ctx))
}

// parts returns the folds whose rows share kernel matrices: all, or each fold separately if its matrices are not
// whole, if the rows of all are many more, or if one of them is not finite, which is an error of its folds
// only.
func (s *kernelSVMBatch) parts(X mat.Matrix) (parts [][]int) {
	every, sum, whole := make([]int, len(s.Folds)), 0, true
	for f, fold := range s.Folds {
		parts, every[f] = append(parts, []int{f}), f
		n := len(fold.Train) + len(fold.Test)
		sum, whole = sum+n*n, whole && s.whole(n)
	}
	if !whole || len(every) < 2 {
		return parts
	}
	rows, _ := s.rows(every)
	if n := len(rows); s.whole(n) && n*n <= sum &&
		(X == nil || datasets.Set{X: rowblock.Select(X, rows)}.CheckFinite() == nil) {
		return [][]int{every}
	}
	return parts
}

// whole reports whether all candidates compute all kernel values of the given number of rows.
func (s *kernelSVMBatch) whole(rows int) bool {
	return !slices.ContainsFunc(s.candidates, func(c KernelSVM) bool { return !c.Whole(rows) })
}

// rows returns the rows of folds, ascending, and the position of each.
func (s *kernelSVMBatch) rows(folds []int) (rows []int, position map[int]int) {
	for _, f := range folds {
		rows = append(append(rows, s.Folds[f].Train...), s.Folds[f].Test...)
	}
	slices.Sort(rows)
	rows = slices.Compact(rows)
	position = make(map[int]int, len(rows))
	for p, i := range rows {
		position[i] = p
	}
	return rows, position
}

// kernelSVMPaths returns the candidates that differ only in C, by ascending C.
func kernelSVMPaths(candidates []KernelSVM, keys []int) [][]int {
	return paths(candidates, keys, func(c KernelSVM) (float64, error) { return c.C, c.Invalid })
}

// kernelSVMPath is a path on a fold.
type kernelSVMPath struct {
	candidates []int
	fold       int
	kernel     *kernelridge.Rows
	spec       kernelsvm.Spec // of the first candidate
	labels     *design.Labels
	err        error
	seconds    float64
}

// kernelSVMUnit are paths on a fold with the same kernel matrix.
type kernelSVMUnit struct {
	paths  []*kernelSVMPath
	matrix *kernelSVMMatrix
}

// kernelSVMMatrix is the matrix of units, which the first of them makes.
type kernelSVMMatrix struct {
	units   atomic.Int32 // that have not ended
	once    sync.Once
	matrix  *smo.Matrix
	err     error
	seconds float64
}

// fitPart fits every path on folds that share rows.
func (s *kernelSVMBatch) fitPart(ctx context.Context, folds []int) error {
	rows, position := s.rows(folds)
	var list []*kernelSVMPath
	for _, f := range folds {
		var train datasets.Set
		var testErr error
		for _, path := range s.paths {
			last := s.lastIncluded(path, f)
			if last < 0 {
				continue
			}
			if err := ctxerr.Check(ctx); err != nil {
				return err
			}
			if train.X == nil {
				train = design.Select(s.Data, s.Folds[f].Train)
				test := s.Folds[f].Test
				testErr = s.Data.AtRows(datasets.Set{X: rowblock.Select(s.Data.X, test)}.CheckFinite(), test)
			}
			p := &kernelSVMPath{candidates: path[:last+1], fold: f}
			start := time.Now()
			p.err = cmp.Or(s.prepare(ctx, p, train), testErr)
			p.seconds = time.Since(start).Seconds()
			list = append(list, p)
		}
	}
	if len(list) == 0 {
		return nil
	}
	set := design.Select(s.Data, rows)
	var shared *kernelsvm.Matrices
	units, matrices := kernelSVMUnits(list)
	if s.whole(len(rows)) {
		live, err := kernelsvm.Live(len(rows), min(matrices, runtime.GOMAXPROCS(0)))
		for _, p := range list {
			p.err = cmp.Or(p.err, err)
		}
		shared = kernelsvm.NewMatrices(set, live)
	}
	kern.Parallel(len(units), 1, func(lo, hi int) {
		for _, u := range units[lo:hi] {
			if !s.stopped() && ctx.Err() == nil {
				s.fail(s.fitUnit(ctx, u, set, shared, position))
			}
			if m := u.matrix; m.units.Add(-1) == 0 && m.matrix != nil && shared != nil {
				shared.Release(m.matrix)
			}
		}
	})
	return nil
}

// prepare reads the training rows of a path.
func (s *kernelSVMBatch) prepare(ctx context.Context, p *kernelSVMPath, train datasets.Set) error {
	c := s.candidates[p.candidates[0]]
	if c.Invalid != nil {
		return c.Invalid
	}
	r, err := design.FromSet(train)
	if err != nil {
		return err
	}
	if p.labels, err = c.Labels(ctx, r); err != nil {
		return err
	}
	shape := r.Shape(r.N, p.labels.Outputs())
	if !c.Whole(shape.Rows) {
		if err := memory.Check(c.Cost(shape).Bytes); err != nil {
			return err
		}
	}
	p.spec = c.Spec
	if p.kernel, err = c.Resolve(ctx, train); err != nil {
		return err
	}
	return kernelsvm.CheckOwn(ctx, p.kernel, p.labels)
}

// kernelSVMUnits returns the units of paths and the number of their matrices. The units of a matrix follow each
// other.
func kernelSVMUnits(list []*kernelSVMPath) (units []*kernelSVMUnit, matrices int) {
	var kernels [][]*kernelSVMUnit
	for _, p := range list {
		at := slices.IndexFunc(kernels, func(same []*kernelSVMUnit) bool { return same[0].paths[0].sameKernel(p) })
		if at < 0 {
			at = len(kernels)
			kernels = append(kernels, nil)
		}
		same := kernels[at]
		if last := len(same) - 1; last >= 0 && same[last].paths[0].fold == p.fold {
			same[last].paths = append(same[last].paths, p)
			continue
		}
		u := &kernelSVMUnit{paths: []*kernelSVMPath{p}, matrix: &kernelSVMMatrix{}}
		if len(same) > 0 {
			u.matrix = same[0].matrix
		}
		u.matrix.units.Add(1)
		kernels[at] = append(same, u)
	}
	return slices.Concat(kernels...), len(kernels)
}

// sameKernel reports whether two paths have the same kernel matrix, or none.
func (p *kernelSVMPath) sameKernel(other *kernelSVMPath) bool {
	if p.err != nil || other.err != nil {
		return p.err != nil && other.err != nil
	}
	return p.spec.Kernel == other.spec.Kernel && p.spec.Shape == other.spec.Shape &&
		slices.Equal(p.kernel.Gamma, other.kernel.Gamma)
}

// fitUnit fits paths with the same kernel on a fold.
func (s *kernelSVMBatch) fitUnit(ctx context.Context, u *kernelSVMUnit, set datasets.Set, shared *kernelsvm.Matrices,
	position map[int]int) error {
	m := u.matrix
	m.once.Do(func() {
		start := time.Now()
		switch p := u.paths[0]; {
		case p.err != nil:
		case shared != nil:
			m.matrix, m.err = shared.Matrix(ctx, p.kernel)
		default:
			var all *kernelridge.Rows
			if all, m.err = p.kernel.With(ctx, set); m.err == nil {
				m.matrix, m.err = s.candidates[p.candidates[0]].Matrix(all, all.X)
			}
		}
		m.seconds = time.Since(start).Seconds() / float64(m.units.Load())
	})
	for _, p := range u.paths {
		p.err = cmp.Or(p.err, m.err)
		p.seconds += m.seconds / float64(len(u.paths))
		if err := s.fitPath(ctx, p, m.matrix, position); err != nil {
			return err
		}
	}
	return nil
}

// fitPath solves the candidates of a path and yields their scores.
func (s *kernelSVMBatch) fitPath(ctx context.Context, p *kernelSVMPath, m *smo.Matrix, position map[int]int) error {
	fold, start, err := s.Folds[p.fold], time.Now(), p.err
	var t *kernelsvm.Training
	if err == nil {
		t, err = kernelsvm.NewTraining(m, p.labels, positions(fold.Train, position))
	}
	seconds := (p.seconds + time.Since(start).Seconds()) / float64(len(p.candidates))
	var from kernelsvm.Solution
	for _, i := range p.candidates {
		start, out := time.Now(), Result{Err: err}
		if p.labels != nil {
			out.Classes = p.labels.Classes
		}
		if err == nil {
			var solution kernelsvm.Solution
			if solution, out.Err = t.Solve(ctx, s.candidates[i].Spec, from); out.Err == nil {
				from, out.Report = solution, t.Report(s.candidates[i].Spec, solution)
				out.Scores = t.Scores(solution, positions(fold.Test, position))
				if name := p.spec.Kernel; name.IsOwn() && !kern.AllFinite(out.Scores.RawMatrix().Data) {
					out.Err = kernelsvm.NotFiniteError(name)
				}
			}
		}
		if ctx.Err() != nil {
			return ctxerr.Check(ctx)
		}
		if !s.Includes(i, p.fold) {
			continue
		}
		out.Seconds = seconds + time.Since(start).Seconds()
		if err := s.yield(i, p.fold, out); err != nil {
			return err
		}
	}
	return nil
}

// positions returns the position of each row.
func positions(rows []int, position map[int]int) []int {
	out := make([]int, len(rows))
	for k, i := range rows {
		out[k] = position[i]
	}
	return out
}

// FitKernelSVMsBytes estimates the peak memory of [FitKernelSVMs].
func FitKernelSVMsBytes(b batch.Job, candidates []KernelSVM) (largest int64) {
	shape := b.Shape
	s := &kernelSVMBatch{Batch: Batch{Job: b}, candidates: candidates, paths: kernelSVMPaths(candidates, b.SharedKeys())}
	for _, folds := range s.parts(nil) {
		fold := s.Folds[folds[0]]
		shape.Rows = len(fold.Train) + len(fold.Test)
		if len(folds) > 1 {
			rows, _ := s.rows(folds)
			shape.Rows = len(rows)
		}
		part := int64(0)
		for _, c := range candidates {
			part = max(part, c.Cost(shape).Bytes)
		}
		if part *= int64(min(len(b.Folds)*len(s.paths), runtime.GOMAXPROCS(0))); s.whole(shape.Rows) {
			part += kernelsvm.MatricesBytes(shape.Rows, 0)
		}
		largest = max(largest, part)
	}
	return largest
}
