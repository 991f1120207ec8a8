package pipeline

import (
	"maps"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/transformer"
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
		besideTime(&cost, s.nextCost(all.next, fold, cols, 0))
	}
	s.rowlessCost(&cost, rowless, nil)
	for _, setting := range s.settings {
		cost.Bytes = max(cost.Bytes, s.held(setting))
	}
	cost.Bytes *= int64(s.atOnce())
	cost.Width = 1
	return cost, slices.Sorted(maps.Keys(s.shared))
}

// besideTime adds work that comes after other work.
func besideTime(sum *datasets.Cost, c datasets.Cost) {
	sum.Flops += c.Flops
	sum.Bytes = max(sum.Bytes, c.Bytes)
}

// nextCost is what branches that begin at the same place cost on one fold, whose rows depth steps
// have mapped to cols columns.
func (s *sweep) nextCost(next []*branch, fold datasets.Fold, cols, depth int) (sum datasets.Cost) {
	families, others := s.families(next, 1)
	for _, family := range families {
		besideTime(&sum, s.familyCost(family, cols, []datasets.Fold{fold}))
	}
	for _, nest := range nests(others) {
		besideTime(&sum, s.nestCost(nest, fold, cols, depth))
	}
	return sum
}

// nestCost is what branches cost on one fold whose maps are parts of the first one's.
func (s *sweep) nestCost(nest []*branch, fold datasets.Fold, cols, depth int) datasets.Cost {
	n := len(fold.Train) + len(fold.Test)
	if len(nest) == 1 {
		return s.branchCost(nest[0], fold, cols, depth)
	}
	var sum datasets.Cost
	if featureBytes(nest[0].step, n, cols) > s.memory {
		for _, b := range nest {
			besideTime(&sum, s.branchCost(b, fold, cols, depth))
		}
		return sum
	}
	s.share("grids")
	besideTime(&sum, costOf(nest[0].step.Fitter, n, cols))
	for _, b := range nest {
		besideTime(&sum, s.belowCost(b, fold, cols, depth))
	}
	return sum
}

// featureBytes estimates what the features take that a step makes of n rows.
func featureBytes(step Step, n, cols int) int64 {
	if f, ok := step.Fitter.(transformer.FitTransformer); ok {
		return f.FeatureBytes(n, cols)
	}
	if width := costOf(step.Fitter, n, cols).Width; width >= 0 {
		cols = width
	}
	return 8 * int64(n) * int64(cols)
}

// branchCost is what the settings of a branch cost on one fold.
func (s *sweep) branchCost(b *branch, fold datasets.Fold, cols, depth int) datasets.Cost {
	train, n := len(fold.Train), len(fold.Train)+len(fold.Test)
	sum := datasets.Cost{}
	if len(b.settings) == 1 || featureBytes(b.step, n, cols) > s.memory {
		for _, i := range b.settings {
			p := s.settings[i]
			p.Steps, p.Name = p.Steps[depth:], p.path()
			besideTime(&sum, p.Cost(train, cols))
			besideTime(&sum, Chain{Steps: p.Steps}.Cost(n-train, cols))
		}
		return sum
	}
	besideTime(&sum, costOf(b.step.Fitter, n, cols))
	besideTime(&sum, s.belowCost(b, fold, cols, depth))
	return sum
}

// belowCost is what the settings of a branch cost on one fold, whose rows its step has mapped from
// cols columns.
func (s *sweep) belowCost(b *branch, fold datasets.Fold, cols, depth int) (sum datasets.Cost) {
	n := len(fold.Train) + len(fold.Test)
	if width := costOf(b.step.Fitter, n, cols).Width; width >= 0 {
		cols = width
	}
	if len(b.settings) > 1 {
		s.share("prefix")
	}
	if len(b.ends) > 0 {
		if len(b.ends) > 1 {
			s.share("features")
		}
		besideTime(&sum, s.estimatorsCost(b.ends, n, cols, []datasets.Fold{fold}))
	}
	besideTime(&sum, s.nextCost(b.next, fold, cols, depth+1))
	return sum
}

// rowlessCost adds what the settings below b cost, whose steps serve all folds at once.
func (s *sweep) rowlessCost(sum *datasets.Cost, b *branch, steps []Step) {
	if len(b.ends) > 0 {
		besideTime(sum, s.leafCost(steps, b.ends))
	}
	families, others := s.families(b.next, len(s.folds))
	for _, family := range families {
		prefix := Chain{Steps: steps}.Cost(s.rows, s.cols)
		if len(steps) > 0 {
			s.share("prefix")
		}
		besideTime(sum, prefix)
		besideTime(sum, s.familyCost(family, prefix.Width, s.folds))
	}
	for _, n := range others {
		s.rowlessCost(sum, n, append(slices.Clone(steps), n.step))
	}
}

// familyCost is what a family costs on rows of cols columns. Its features are mapped twice: for what
// is learned and for what is predicted.
func (s *sweep) familyCost(family []*branch, cols int, folds []datasets.Fold) datasets.Cost {
	n := 0
	for _, fold := range folds {
		n = max(n, len(fold.Train)+len(fold.Test))
	}
	related, sum := family[0].step.Fitter.(transformer.Kin).FamilyCost(n, cols, specs(family))
	sum.Flops *= 2
	settings := members(family)
	list := make([]estimator.FamilySetting, len(settings))
	maps := 0
	for k, m := range related {
		list[k] = estimator.FamilySetting{Estimator: s.settings[settings[k]].Estimator, Map: m.Map, Width: m.Width}
		maps = max(maps, m.Map+1)
	}
	if maps > 1 {
		s.share("projection")
	}
	if coster, ok := s.settings[settings[0]].Estimator.(interface {
		FamilyCost(rows int, folds []datasets.Fold, settings []estimator.FamilySetting) (datasets.Cost, []string)
	}); ok {
		cost, names := coster.FamilyCost(n, folds, list)
		besideTime(&sum, cost)
		s.share(names...)
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
