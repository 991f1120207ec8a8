package pipeline

import (
	"maps"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
)

// SweepCost estimates what [Pipeline.Sweep] of data with cols columns costs, and returns the names
// of what it would share. Steps and estimators that do not tell their cost are taken for free.
func (p Pipeline) SweepCost(cols int, folds []datasets.Fold, settings []estimator.Estimator) (cost datasets.Cost, shared []string) {
	s := &sweep{cols: cols, folds: folds, memory: p.memory(), shared: map[string]bool{}}
	for _, fold := range folds {
		s.rows = max(s.rows, len(fold.Train)+len(fold.Test))
	}
	for _, e := range settings {
		if setting, ok := e.(Pipeline); ok {
			s.settings = append(s.settings, setting)
		}
	}
	all, rowless := s.plant(func(int, error) {})
	for _, fold := range folds {
		n := len(fold.Train) + len(fold.Test)
		for _, b := range all.next {
			besideTime(&cost, s.branchCost(b, n, cols, 0))
		}
	}
	rowless.leaves(nil, func(steps []Step, ends []int) { besideTime(&cost, s.leafCost(steps, ends)) })
	for _, setting := range s.settings {
		held := 2 * min(s.bytes(setting), s.memory)
		cost.Bytes = max(cost.Bytes, held)
	}
	cost.Bytes *= int64(s.workers())
	cost.Width = 1
	return cost, slices.Sorted(maps.Keys(s.shared))
}

// besideTime adds work that comes after other work.
func besideTime(sum *datasets.Cost, c datasets.Cost) {
	sum.Flops += c.Flops
	sum.Bytes = max(sum.Bytes, c.Bytes)
}

// branchCost is what the settings of a branch cost on n rows of one fold.
func (s *sweep) branchCost(b *branch, n, cols, depth int) datasets.Cost {
	step := costOf(b.step.Fitter, n, cols)
	width := step.Width
	if width < 0 {
		width = cols
	}
	sum := datasets.Cost{}
	if len(b.settings) == 1 || 8*int64(n)*int64(width) > s.memory {
		for _, i := range b.settings {
			p := s.settings[i]
			p.Steps, p.Name = p.Steps[depth:], p.path()
			besideTime(&sum, p.Cost(n, cols))
		}
		return sum
	}
	s.share("prefix")
	besideTime(&sum, step)
	if len(b.ends) > 0 {
		if len(b.ends) > 1 {
			s.share("features")
		}
		besideTime(&sum, s.estimatorsCost(b.ends, n, width, s.folds[:1]))
	}
	for _, next := range b.next {
		besideTime(&sum, s.branchCost(next, n, width, depth+1))
	}
	return sum
}

// leafCost is what settings with the same steps, which serve all folds at once, cost on all folds.
func (s *sweep) leafCost(steps []Step, ends []int) datasets.Cost {
	sum := Chain{Steps: steps}.Cost(s.rows, s.cols)
	if len(steps) > 0 && len(ends)*len(s.folds) > 1 {
		s.share("prefix", "features")
	}
	width := s.settings[ends[0]].widthAfter(s.rows, s.cols)
	besideTime(&sum, s.estimatorsCost(ends, s.rows, width, s.folds))
	return sum
}

// estimatorsCost is what the estimators of the settings cost on rows of the given width.
func (s *sweep) estimatorsCost(settings []int, n, width int, folds []datasets.Fold) (sum datasets.Cost) {
	s.byKind(settings, func(same []int) {
		specs := make([]estimator.Estimator, len(same))
		for k, i := range same {
			specs[k] = s.settings[i].Estimator
		}
		if sweeper, ok := specs[0].(interface {
			SweepCost(cols int, folds []datasets.Fold, settings []estimator.Estimator) (datasets.Cost, []string)
		}); ok {
			cost, names := sweeper.SweepCost(width, folds, specs)
			besideTime(&sum, cost)
			s.share(names...)
			return
		}
		for _, e := range specs {
			for _, fold := range folds {
				besideTime(&sum, costOf(e, len(fold.Train), width))
			}
		}
	})
	return sum
}
