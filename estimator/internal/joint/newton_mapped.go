package joint

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/guard"
)

// FitByNewton fits candidates on related maps by Newton's method. Candidates with equal keys are
// solved jointly if there are enough of them, otherwise sequentially on the same features.
func FitByNewton(ctx context.Context, f Batch, list []PenalizedLoss) ([]string, error) {
	s := &mappedNewton{Batch: f, candidates: list}
	var ok bool
	s.parts, s.trains, ok = f.partition()
	type mapKey struct{ which, shared int }
	groups, keys := map[mapKey][]int{}, f.SharedKeys()
	byMap := map[int][]mapKey{}
	for i, e := range f.Candidates {
		if !ok || list[i].Invalid != nil || list[i].Independent {
			for fold := range f.Folds {
				if err := s.fitOne(i, fold, nil); err != nil {
					return nil, err
				}
			}
			continue
		}
		key := mapKey{e.Map, keys[i]}
		if groups[key] == nil {
			byMap[e.Map] = append(byMap[e.Map], key)
		}
		groups[key] = append(groups[key], i)
	}
	shared := map[string]bool{}
	for _, which := range slices.Sorted(maps.Keys(byMap)) {
		var paths [][]int
		for _, key := range byMap[which] {
			path := groups[key]
			slices.SortStableFunc(path, func(a, b int) int {
				return cmp.Or(cmp.Compare(f.Candidates[a].Width, f.Candidates[b].Width),
					cmp.Compare(s.candidates[a].C, s.candidates[b].C))
			})
			paths = append(paths, path)
			shared["features"] = shared["features"] || len(path)*len(f.Folds) > 1
		}
		if err := s.fitMap(ctx, which, paths); err != nil {
			return nil, err
		}
	}
	maps.DeleteFunc(shared, func(_ string, is bool) bool { return !is })
	return slices.Sorted(maps.Keys(shared)), nil
}

// job is a path on a fold.
type job struct {
	path []int // up to the last included candidate
	fold int
}

// fitMap fits all paths on a map, joint problems first.
func (s *mappedNewton) fitMap(ctx context.Context, which int, paths [][]int) error {
	if !slices.ContainsFunc(slices.Concat(paths...), s.IncludesAny) {
		return nil
	}
	start := time.Now()
	m, err := s.prepare(ctx, which)
	if err != nil && ctx.Err() != nil {
		return ctxerr.Check(ctx)
	}
	seconds := time.Since(start).Seconds()
	var jobs []job
	for _, path := range paths {
		var list []*jointFit
		if err == nil {
			list = s.groupJoint(ctx, m, path)
		}
		if list == nil {
			for fold := range s.Folds {
				if n := s.lastIncluded(path, fold) + 1; n > 0 {
					jobs = append(jobs, job{path[:n], fold})
				}
			}
			continue
		}
		for _, u := range list {
			if !slices.ContainsFunc(u.members, s.IncludesAny) {
				continue
			}
			if err := u.solve(ctx, m); err != nil {
				return err
			}
		}
	}
	return runParallel(len(jobs), func(k int) error {
		j := jobs[k]
		return guard.Do(s.Maps, "Each", func() error {
			if err != nil { // each fit reports its own error
				return s.singles(ctx, j.path, j.fold)
			}
			return s.fitPath(ctx, m, j.path, j.fold, seconds/float64(len(jobs)*len(j.path)))
		})
	})
}

// fitPath solves candidates of the same kind on a fold, sequentially.
func (s *mappedNewton) fitPath(ctx context.Context, m *mappedRows, members []int, fold int, seconds float64) error {
	first := s.candidates[members[0]]
	l, err := s.labels(ctx, first, fold)
	if err != nil {
		return s.singles(ctx, members, fold)
	}
	task := first.Newton(l)
	models := make([]fittedModel, len(members))
	for k, i := range members {
		start := time.Now()
		one, f := s.candidates[i], s.Candidates[i]
		models[k] = fittedModel{candidate: i, width: f.Width}
		var solution solve.Linear
		if solution, models[k].err = task.SolveScaled(ctx, m.rows(s.trains[fold], f.Width), one.C, f.Scale, one.Tol,
			one.MaxIter); ctx.Err() != nil {
			return ctxerr.Check(ctx)
		}
		models[k].report, models[k].offset, models[k].weights = solution.Report, solution.Intercept, solution.Weights
		models[k].seconds = time.Since(start).Seconds() + seconds
	}
	return s.score(ctx, m, models, l.Classes, fold)
}
