package joint

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/estimator/internal/leastsquares"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// FitMappedRidges fits ridge regressions on related maps, with one pass over the rows for all sums
// and one for predictions. Rows are partitioned so that each fold trains on a union of parts.
func FitMappedRidges(ctx context.Context, b Batch, candidates []Ridge) ([]string, error) {
	s := &mappedRidges{Batch: b, candidates: candidates, shared: map[string]bool{}}
	single := s.plan(b.Data.Rows())
	for len(s.groups) > 0 {
		n := s.groupsInMemory()
		failed, err := s.fit(s.groups[:n])
		if err != nil {
			return nil, err
		}
		single = append(single, failed...)
		s.groups = s.groups[n:]
	}
	for _, i := range single {
		for fold := range b.Folds {
			if err := s.fitOne(i, fold, nil); err != nil {
				return nil, err
			}
		}
	}
	return slices.Sorted(maps.Keys(s.shared)), nil
}

// plan groups the candidates and returns those to be fitted independently.
func (s *mappedRidges) plan(rows int) (single []int) {
	parts, trains, ok := s.partition()
	s.parts, s.trains = parts, trains
	s.minTrainRows = rows
	for _, fold := range s.Folds {
		s.minTrainRows = min(s.minTrainRows, len(fold.Train))
	}
	_, inSingle := s.Maps.(batch.Float32Maps)
	keys := s.SharedKeys()
	for i, candidate := range s.candidates {
		f := s.Candidates[i]
		if !ok || candidate.Independent || candidate.Invalid != nil || s.bytes(&ridgeGroup{width: f.Width}) > s.MemoryLimit() ||
			candidate.SharedSolverFor(s.minTrainRows, f.Width, false) != "cholesky" {
			single = append(single, i)
			continue
		}
		at := slices.IndexFunc(s.groups, func(g *ridgeGroup) bool {
			return g.which == f.Map && g.inFloat32 == (f.Float32 && inSingle) && keys[g.members[0]] == keys[i]
		})
		if at < 0 {
			at = len(s.groups)
			s.groups = append(s.groups, &ridgeGroup{which: f.Map, inFloat32: f.Float32 && inSingle,
				models: make([][]fittedModel, len(s.Folds))})
		}
		g := s.groups[at]
		g.members, g.width = append(g.members, i), max(g.width, f.Width)
	}
	s.groups = slices.DeleteFunc(s.groups, func(g *ridgeGroup) bool { // all results known
		for _, i := range g.members {
			for fold := range s.Folds {
				if s.Includes(i, fold) {
					return false
				}
			}
		}
		return true
	})
	for _, g := range s.groups {
		for _, i := range g.members {
			if w := s.Candidates[i].Width; w < g.width {
				g.secondWidth = max(g.secondWidth, w)
			}
		}
	}
	return single
}

// groupsInMemory returns the number of groups whose sums fit into memory.
func (s *mappedRidges) groupsInMemory() int {
	for n := range s.groups {
		if s.bytes(s.groups[:n+1]...) > s.MemoryLimit() {
			return max(n, 1)
		}
	}
	return len(s.groups)
}

// fit fits some groups jointly. It returns the candidates whose sums failed.
func (s *mappedRidges) fit(groups []*ridgeGroup) (single []int, err error) {
	if err := s.sum(groups); err != nil {
		if s.ctx.Err() != nil {
			return nil, ctxerr.Check(s.ctx)
		}
		for _, g := range groups {
			single = append(single, g.members...)
		}
		return single, nil // each fit reports its own error
	}
	if err := s.solve(groups); err != nil {
		return nil, err
	}
	s.spareMoments = nil
	for _, g := range groups {
		if err := s.refine(g); err != nil {
			return nil, err
		}
	}
	return nil, s.predict(groups)
}

// sum computes the sums of every part for each group. The first parts determine the shift and the
// precision and are added serially, the rest in parallel.
func (s *mappedRidges) sum(groups []*ridgeGroup) error {
	start := time.Now()
	for _, g := range groups {
		g.sums, g.problems = make([]*leastsquares.Moments, len(s.parts)), make([]*leastsquares.Problem, len(s.parts))
		for p := range s.parts {
			var err error
			if g.problems[p], err = s.candidates[g.members[0]].Problem(nil); err != nil {
				return err
			}
		}
	}
	first := 0
	for ; first < len(s.parts) && (first == 0 || slices.ContainsFunc(groups, (*ridgeGroup).precisionUnknown)); first++ {
		if err := s.addPart(groups, first); err != nil {
			return err
		}
		widened := s.widenGroups(groups, first)
		for q := 0; q <= first && len(widened) > 0; q++ {
			if err := s.addPart(widened, q); err != nil {
				return err
			}
		}
	}
	err := runParallel(len(s.parts)-first, func(k int) error { return s.addPart(groups, first+k) })
	for _, g := range groups {
		g.seconds = time.Since(start).Seconds() / float64(len(groups))
	}
	return err
}

// precisionUnknown reports whether the precision of the sums is still to be decided.
func (g *ridgeGroup) precisionUnknown() bool { return g.inFloat32 && !g.precisionKnown }

// addPart adds a part to the groups.
func (s *mappedRidges) addPart(groups []*ridgeGroup, p int) error {
	list, rows := s.parts[p], s.chunkRows()
	for lo := 0; lo < len(list); lo += rows {
		block := s.Data.Select(list[lo:min(lo+rows, len(list))])
		err := s.each(groups, block.X, func(k int, Z mat.Matrix) error {
			return groups[k].add(s.ctx, p, Z, block)
		})
		if err != nil {
			return block.Locate(err, 0)
		}
	}
	return nil
}

// widenGroups returns the groups whose float32 sums of parts 0 to p show that float64 sums are
// needed for the smallest alpha. It sets widen and clears their sums.
func (s *mappedRidges) widenGroups(groups []*ridgeGroup, p int) (list []*ridgeGroup) {
	rows := 0
	for _, part := range s.parts[:p+1] {
		rows += len(part)
	}
	for _, g := range groups {
		if !g.inFloat32 || g.precisionKnown || rows < leastsquares.ProbeRows(g.width) {
			continue
		}
		g.precisionKnown = true
		minAlpha := math.Inf(1)
		for _, i := range g.members {
			minAlpha = min(minAlpha, s.alpha(i))
		}
		first := g.sums[0]
		if p > 0 {
			first = &leastsquares.Moments{}
			first.SetSum(g.sums[0], g.sums[:p+1])
		}
		if first.NeedsFloat64(s.ctx, minAlpha, s.minTrainRows) {
			g.widen = true
			clear(g.sums)
			list = append(list, g)
		}
	}
	return list
}

// alpha returns the penalty of a candidate on the unscaled map: with Z = c·Ψ, ridge with alpha on Z
// is ridge with alpha/c² on Ψ, with weights c·w.
func (s *mappedRidges) alpha(candidate int) float64 {
	c := s.Candidates[candidate].Scale
	return s.candidates[candidate].Alpha / (c * c)
}

// solve fits all members on every fold, in parallel. It starts with the last groups: with ascending
// γ they are the best conditioned, need no refinement, and release the memory of their parts.
func (s *mappedRidges) solve(groups []*ridgeGroup) error {
	todo := make([][]int, len(groups)*len(s.Folds))
	last := len(groups) - 1
	for k, g := range groups {
		s.noteShared(g)
		for fold := range s.Folds {
			at := (last-k)*len(s.Folds) + fold
			for _, i := range g.members {
				if s.Includes(i, fold) {
					todo[at] = append(todo[at], i)
				}
			}
		}
	}
	return runParallel(len(todo), func(at int) error {
		return s.solveFold(groups[last-at/len(s.Folds)], at%len(s.Folds), todo[at])
	})
}

// solveFold fits members of a group on a fold.
func (s *mappedRidges) solveFold(g *ridgeGroup, fold int, todo []int) error {
	var wide *leastsquares.Moments
	needed := true // nothing to release yet
	defer func() { s.releaseSums(g, wide, needed) }()
	if len(todo) == 0 {
		return nil
	}
	start, failed := time.Now(), error(nil)
	wide, needed = s.trainSums(g, fold), false
	if wide.Weight == 0 {
		failed = errors.New("every weight is 0")
	}
	if check := s.candidates[g.members[0]].Check; failed == nil && check != nil {
		failed = check(s.Folds[fold].Train)
	}
	seconds := time.Since(start).Seconds()/float64(len(todo)) + g.seconds/float64(len(g.members)*len(s.Folds))
	models := make([]fittedModel, len(todo))
	for k, i := range todo {
		models[k] = fittedModel{candidate: i, width: s.Candidates[i].Width, err: failed, seconds: seconds}
	}
	g.models[fold] = models
	if failed != nil {
		return nil
	}
	var err error
	needed, err = s.paths(g, models, wide)
	return err
}

// noteShared records what the candidates of a group share.
func (s *mappedRidges) noteShared(g *ridgeGroup) {
	widths := map[int]int{}
	for _, i := range g.members {
		widths[s.Candidates[i].Width]++
	}
	largest := slices.Max(slices.Collect(maps.Values(widths)))
	for name, is := range map[string]bool{"columns": len(widths) > 1, "alpha": largest > 1, "folds": len(s.Folds) > 1,
		"features": len(g.members) > 1} {
		if is {
			s.shared[name] = true
		}
	}
}

// paths fits candidates on the same sums, one regularization path per width.
func (s *mappedRidges) paths(g *ridgeGroup, models []fittedModel, wide *leastsquares.Moments) (needed bool, err error) {
	return s.eachWidth(g, models, wide, func(p *leastsquares.Path, list []*fittedModel) {
		alphas := make([]float64, len(list))
		for k, m := range list {
			m.alpha = s.alpha(m.candidate)
			alphas[k] = m.alpha
		}
		weights, needsRefinement := p.Solve(alphas)
		for k, m := range list {
			m.weights, m.needsRefinement = weights[k], needsRefinement[k]
			if m.weights != nil && s.Candidates[m.candidate].Float32 && p.RoundingVisible(m.weights, g.inFloat32) {
				m.weights, m.needsRefinement = nil, false
			}
			if m.weights != nil {
				m.finish(p)
			}
		}
	})
}

// predict scores the test rows of every fold for all its models, in parallel. Candidates without
// scores are then fitted independently.
func (s *mappedRidges) predict(groups []*ridgeGroup) error {
	unscored := make([][]int, len(s.Folds))
	err := runParallel(len(s.Folds), func(fold int) error {
		start := time.Now()
		count, err := s.score(groups, fold)
		if err != nil {
			return err
		}
		seconds := time.Since(start).Seconds() / float64(max(count, 1))
		for _, g := range groups {
			for k := range g.models[fold] {
				m := &g.models[fold][k]
				if m.unscored() {
					unscored[fold] = append(unscored[fold], m.candidate)
				} else if err := s.yieldModel(m, fold, seconds); err != nil {
					return err
				}
			}
			g.models[fold] = nil
		}
		return nil
	})
	if err != nil {
		return err
	}
	for fold, list := range unscored {
		for _, i := range list {
			if err := s.fitOne(i, fold, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// score computes the scores of a fold's models and returns the number of models with scores.
func (s *mappedRidges) score(groups []*ridgeGroup, fold int) (count int, err error) {
	test := s.Folds[fold].Test
	blocks := make([][]*scoreBlock, len(groups))
	var active []*ridgeGroup
	var owners []int
	for k, g := range groups {
		if blocks[k] = scoreBlocks(g.models[fold], len(test)); blocks[k] != nil {
			active, owners = append(active, g), append(owners, k)
			for _, b := range blocks[k] {
				count += len(b.models)
			}
		}
	}
	if len(active) == 0 {
		return 0, nil
	}
	rows := s.chunkRows()
	for lo := 0; lo < len(test); lo += rows {
		hi := min(lo+rows, len(test))
		X := rowblock.Select(s.Data.X, test[lo:hi])
		err := s.each(active, X, func(k int, Z mat.Matrix) error {
			for _, b := range blocks[owners[k]] {
				b.score(Z, lo)
			}
			return nil
		})
		if err != nil {
			return 0, s.Data.AtRows(err, test[lo:hi])
		}
	}
	for k := range groups {
		for _, b := range blocks[k] {
			b.spread()
		}
	}
	return count, nil
}

// unscored reports whether a fitted model has no finite scores.
func (m *fittedModel) unscored() bool {
	return m.err == nil && (m.scores == nil || !kern.AllFinite(m.scores.RawMatrix().Data))
}

// yieldModel yields the predictions of a model.
func (s *mappedRidges) yieldModel(m *fittedModel, fold int, seconds float64) error {
	out := Result{Scores: m.scores, Report: m.report, Seconds: m.seconds + seconds, Err: m.err}
	m.scores, m.weights = nil, nil
	return s.yield(m.candidate, fold, out)
}
