package joint

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/descent"
	"github.com/bochner-ml/bochner/estimator/internal/lasso"
	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// descentBatch is one call of FitByDescent.
type descentBatch struct {
	Batch
	firstError
	candidates  []PenalizedLoss
	paths       [][]int     // candidates that differ only in C, ascending
	warmStarted atomic.Bool // whether a warm start was used
	sums        foldSums    // nil if folds share none
}

// FitByDescent fits candidates on rows without maps. It prepares the training rows of a fold once
// for all candidates that use coordinate descent. Candidates with equal keys form a path in
// ascending C; each solution warm-starts the next. Paths of squared errors with many candidates share
// the sums of products of all rows.
func FitByDescent(ctx context.Context, b Batch, list []PenalizedLoss) (shared []string, err error) {
	s := &descentBatch{Batch: b, candidates: list}
	s.paths = paths(list, b.SharedKeys(), func(p PenalizedLoss) (float64, error) { return p.C, p.Invalid })
	s.sums = s.sumAll(ctx)
	kern.Parallel(len(b.Folds), 1, func(lo, hi int) {
		for f := lo; f < hi; f++ {
			s.fitFold(ctx, f)
		}
	})
	if s.warmStarted.Load() {
		shared = []string{"path"}
	}
	if s.sums != nil {
		shared = append(shared, "folds")
	}
	return shared, cmp.Or(s.failed, ctxerr.Check(ctx))
}

// fitFold fits every path on one fold.
func (s *descentBatch) fitFold(ctx context.Context, f int) {
	if s.stopped() || ctx.Err() != nil {
		return // avoid copying the rows of a fold
	}
	if !slices.ContainsFunc(s.paths, func(path []int) bool { return s.lastIncluded(path, f) >= 0 }) {
		return
	}
	d := &descentFold{descentBatch: s, number: f}
	var rest [][]int // paths that need the training rows
	for _, path := range s.paths {
		if !d.followSums(ctx, path[:s.lastIncluded(path, f)+1]) {
			rest = append(rest, path)
		}
	}
	if len(rest) == 0 {
		return
	}
	fold := s.Folds[f]
	d.split = &Split{design.Select(s.Data, fold.Train), rowblock.Select(s.Data.X, fold.Test)}
	for _, path := range rest {
		included := path[:s.lastIncluded(path, f)+1]
		if s.candidates[path[0]].Path != nil && !s.candidates[path[0]].Independent {
			d.followPath(ctx, included, len(path))
		} else {
			d.fitPath(ctx, included)
		}
	}
}

// descentFold is the work on one fold.
type descentFold struct {
	*descentBatch
	number int
	split  *Split
	inputs descent.Rows            // of the training rows, prepared on first use
	train  map[bool]*lasso.Problem // of the training rows, by whether they are centered
}

// fitPath solves the candidates of a path with warm starts.
func (d *descentFold) fitPath(ctx context.Context, path []int) {
	var from []solve.DualResult
	for _, i := range path {
		if d.stopped() || ctx.Err() != nil {
			return
		}
		start := time.Now()
		s := d.candidates[i]
		results, l, err := d.solve(ctx, s, from)
		if err == nil && results == nil {
			d.fail(d.fitOne(i, d.number, d.split))
			continue
		}
		out := Result{Test: d.split.Test}
		if err == nil {
			if from != nil {
				d.warmStarted.Store(true)
			}
			from = results
			var m solve.Linear
			if m, err = descent.Model(d.inputs, results, s.Descent(l).Tol); err == nil {
				out.Model, out.Classes = &m, l.Classes
			}
		}
		out.Err, out.Seconds = err, time.Since(start).Seconds()
		d.fail(d.yield(i, d.number, out))
	}
}

// followPath solves the candidates of a path that keeps its state. The bits of an outcome depend on the
// number of all candidates of the path, included or not.
func (d *descentFold) followPath(ctx context.Context, path []int, all int) {
	var next Next
	var l *design.Labels
	for k, i := range path {
		if d.stopped() || ctx.Err() != nil {
			return
		}
		start, s, out := time.Now(), d.candidates[i], Result{Test: d.split.Test}
		if out.Err = s.Invalid; out.Err == nil && next == nil {
			l, next, out.Err = s.begin(ctx, d.split.Train, all)
		}
		if out.Err == nil {
			var m solve.Linear
			if m, out.Err = next(ctx, s.C); out.Err == nil {
				out.Model, out.Classes = &m, l.Classes
			}
			d.warmStarted.CompareAndSwap(false, k > 0)
		}
		out.Seconds = time.Since(start).Seconds()
		d.fail(d.yield(i, d.number, out))
	}
}

// begin starts a path of a number of candidates on rows.
func (p PenalizedLoss) begin(ctx context.Context, data datasets.Set, candidates int) (*design.Labels, Next, error) {
	r, err := design.FromSet(data)
	if err != nil {
		return nil, nil, err
	}
	l, err := p.Labels(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	next, err := p.Path(ctx, r, l, candidates)
	return l, next, err
}

// solve returns the solution of a candidate, nil if it does not use coordinate descent.
func (d *descentFold) solve(ctx context.Context, s PenalizedLoss, from []solve.DualResult) ([]solve.DualResult,
	*design.Labels, error) {
	if s.Invalid != nil || s.Independent {
		return nil, nil, s.Invalid
	}
	r, err := design.FromSet(d.split.Train)
	if err != nil {
		return nil, nil, err
	}
	l, err := s.Labels(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	if s.UsesDescent == nil || !s.UsesDescent(r, l) {
		return nil, nil, nil
	}
	if d.inputs == nil {
		if d.inputs, err = descent.NewRows(ctx, r); err != nil {
			return nil, nil, err
		}
	}
	results, err := s.Descent(l).Descend(ctx, d.inputs, from)
	return results, l, err
}
