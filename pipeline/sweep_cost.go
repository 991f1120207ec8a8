package pipeline

import (
	"maps"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/transformer"
)

// BatchCost takes batches on rows as they are, and leaving one out where the estimator does and no step
// learns from the rows. Steps and estimators that do not tell their cost are taken for free.
func (p Pipeline) BatchCost(b estimator.Batch) (cost datasets.Cost, shared []string, err error) {
	switch {
	case b.Mapped():
		return cost, nil, here(errMapped)
	case b.OneOut:
		return cost, []string{"rows"}, p.leavesOneOut(b)
	}
	shape, folds := b.Shape, b.Folds
	s := p.newSweep(b)
	s.rows, s.cols, s.shape = shape.Rows, shape.Cols, shape
	for _, c := range b.Candidates {
		if setting, ok := c.Estimator.(Pipeline); ok {
			s.settings = append(s.settings, setting)
		}
	}
	all, rowless := s.plant(func(int, error) {})
	for _, fold := range folds {
		besideTime(&cost, s.nextCost(all.next, fold, shape, 0))
	}
	s.rowlessCost(&cost, rowless, nil)
	for _, setting := range s.settings {
		cost.Bytes = max(cost.Bytes, s.held(setting))
	}
	cost.Bytes *= int64(s.atOnce())
	cost.Width = max(shape.Outputs, 1)
	return cost, slices.Sorted(maps.Keys(s.shared)), nil
}

// besideTime adds work that comes after other work.
func besideTime(sum *datasets.Cost, c datasets.Cost) {
	sum.Flops += c.Flops
	sum.Bytes = max(sum.Bytes, c.Bytes)
}

// nextCost is what branches that begin at the same place cost on one fold, whose rows depth steps
// have mapped to that shape.
func (s *sweep) nextCost(next []*branch, fold datasets.Fold, shape datasets.Shape, depth int) (sum datasets.Cost) {
	families, others := s.families(next, 1)
	for _, family := range families {
		besideTime(&sum, s.familyCost(family, of(shape, rowsOfFold(fold)), []datasets.Fold{fold}))
	}
	for _, family := range relatives(others) {
		besideTime(&sum, s.relativesCost(family, fold, shape, depth))
	}
	return sum
}

// relativesCost is what branches cost on one fold whose sparse maps are of one family.
func (s *sweep) relativesCost(family []*branch, fold datasets.Fold, shape datasets.Shape, depth int) datasets.Cost {
	shape = of(shape, rowsOfFold(fold))
	if len(family) == 1 {
		return s.branchCost(family[0], fold, shape, depth)
	}
	if familyBytes(family, shape) > s.memory {
		var sum datasets.Cost
		for _, b := range family {
			besideTime(&sum, s.branchCost(b, fold, shape, depth))
		}
		return sum
	}
	_, sum, names := family[0].step.Fitter.(transformer.FamilyFitter).FamilyCost(shape, stepsOf(family))
	s.share(names...)
	for _, b := range family {
		besideTime(&sum, s.belowCost(b, fold, shape, depth))
	}
	return sum
}

// featureBytes estimates what the features take that a step makes of rows.
func featureBytes(step Step, shape datasets.Shape) int64 {
	if f, ok := step.Fitter.(transformer.FitTransformer); ok {
		return f.FeatureBytes(shape.Rows, shape.Cols)
	}
	mapped := shape.After(costOf(step.Fitter, shape))
	return 8 * int64(mapped.Rows) * int64(mapped.Cols)
}

// of returns the shape with another number of rows.
func of(shape datasets.Shape, rows int) datasets.Shape {
	shape.Rows = rows
	return shape
}

func rowsOfFold(fold datasets.Fold) int { return len(fold.Train) + len(fold.Test) }

// branchCost is what the settings of a branch cost on one fold.
func (s *sweep) branchCost(b *branch, fold datasets.Fold, shape datasets.Shape, depth int) datasets.Cost {
	train, test := of(shape, len(fold.Train)), of(shape, len(fold.Test))
	shape = of(shape, rowsOfFold(fold))
	sum := datasets.Cost{}
	if len(b.settings) == 1 || featureBytes(b.step, shape) > s.memory {
		for _, i := range b.settings {
			p := s.settings[i]
			p.Steps, p.Name = p.Steps[depth:], p.path()
			besideTime(&sum, p.Cost(train))
			besideTime(&sum, Chain{Steps: p.Steps}.Cost(test))
		}
		return sum
	}
	besideTime(&sum, costOf(b.step.Fitter, shape))
	besideTime(&sum, s.belowCost(b, fold, shape, depth))
	return sum
}

// belowCost is what the settings of a branch cost on one fold, whose rows its step has mapped from
// those of a shape.
func (s *sweep) belowCost(b *branch, fold datasets.Fold, shape datasets.Shape, depth int) (sum datasets.Cost) {
	shape = of(shape, rowsOfFold(fold))
	shape = shape.After(costOf(b.step.Fitter, shape))
	if len(b.settings) > 1 {
		s.share("prefix")
	}
	if len(b.ends) > 0 {
		if len(b.ends) > 1 {
			s.share("features")
		}
		besideTime(&sum, s.estimatorsCost(b.ends, shape, []datasets.Fold{fold}))
	}
	besideTime(&sum, s.nextCost(b.next, fold, shape, depth+1))
	return sum
}

// rowlessCost adds what the settings below b cost, whose steps serve all folds at once.
func (s *sweep) rowlessCost(sum *datasets.Cost, b *branch, steps []Step) {
	if len(b.ends) > 0 {
		besideTime(sum, s.leafCost(steps, b.ends))
	}
	families, others := s.families(b.next, len(s.folds))
	for _, family := range families {
		prefix := Chain{Steps: steps}.Cost(s.shape)
		if len(steps) > 0 {
			s.share("prefix")
		}
		besideTime(sum, prefix)
		besideTime(sum, s.familyCost(family, s.shape.After(prefix), s.folds))
	}
	for _, n := range others {
		s.rowlessCost(sum, n, append(slices.Clone(steps), n.step))
	}
}

// familyCost is what a family costs on rows of a shape. Its features are mapped twice: for what is
// learned and for what is predicted.
func (s *sweep) familyCost(family []*branch, shape datasets.Shape, folds []datasets.Fold) datasets.Cost {
	related, sum, names := family[0].step.Fitter.(transformer.FamilyFitter).FamilyCost(shape, specs(family))
	sum.Flops *= 2
	s.share(names...)
	settings := members(family)
	list := s.candidates(settings)
	for k, m := range related {
		list[k].Map, list[k].Width = m.Map, m.Width
	}
	if fitter, ok := list[0].Estimator.(estimator.BatchFitter); ok {
		if cost, names, err := fitter.BatchCost(estimator.Batch{Shape: shape, Folds: folds, Candidates: list}); err == nil {
			besideTime(&sum, cost)
			s.share(names...)
		}
	}
	return sum
}

// leafCost is what settings with the same steps, which serve all folds at once, cost on all folds.
func (s *sweep) leafCost(steps []Step, ends []int) datasets.Cost {
	sum := Chain{Steps: steps}.Cost(s.shape)
	if len(steps) > 0 && len(ends)*len(s.folds) > 1 {
		s.share("prefix", "features")
	}
	besideTime(&sum, s.estimatorsCost(ends, s.shape.After(sum), s.folds))
	return sum
}

// estimatorsCost is what the estimators of the settings cost on rows of a shape.
func (s *sweep) estimatorsCost(settings []int, shape datasets.Shape, folds []datasets.Fold) (sum datasets.Cost) {
	s.byKind(settings, func(same []int) {
		list := s.candidates(same)
		if fitter, ok := list[0].Estimator.(estimator.BatchFitter); ok {
			if cost, names, err := fitter.BatchCost(estimator.Batch{Shape: shape, Folds: folds, Candidates: list}); err == nil {
				besideTime(&sum, cost)
				s.share(names...)
				return
			}
		}
		for _, c := range list {
			for _, fold := range folds {
				besideTime(&sum, costOf(c.Estimator, of(shape, len(fold.Train))))
			}
		}
	})
	return sum
}
