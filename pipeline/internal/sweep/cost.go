package sweep

import (
	"maps"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/pipeline/internal/rows"
	"github.com/bochner-ml/bochner/transformer"
)

// Cost estimates what Run costs, and returns the names of what it would share. Steps and estimators that
// do not tell their cost are taken for free.
func Cost(job Job) (cost datasets.Cost, shared []string) {
	s := newSweep(job)
	if job.OneOut {
		return s.oneOutCost()
	}
	all, rowless := s.trees(func(int, error) {})
	for _, fold := range s.Folds {
		besideTime(&cost, s.nextCost(all.next, fold, s.shape, 0))
	}
	s.rowlessCost(&cost, rowless, nil)
	for _, c := range s.Pipelines {
		cost.Bytes = max(cost.Bytes, s.taskBytes(c))
	}
	cost.Bytes *= int64(s.atOnce())
	cost.Width = max(s.shape.Outputs, 1)
	return cost, slices.Sorted(maps.Keys(s.shared))
}

// besideTime adds work that comes after other work.
func besideTime(sum *datasets.Cost, c datasets.Cost) { *sum = sum.With(c) }

// nextCost is what nodes that begin at the same place cost on one fold, whose rows depth steps
// have mapped to that shape.
func (s *sweep) nextCost(next []*node, fold datasets.Fold, shape datasets.Shape, depth int) (sum datasets.Cost) {
	families, others := s.families(next, 1)
	for _, family := range families {
		besideTime(&sum, s.familyCost(family, of(shape, rowsOfFold(fold)), []datasets.Fold{fold}))
	}
	for _, group := range s.groups(others) {
		besideTime(&sum, s.groupCost(group, fold, shape, depth))
	}
	return sum
}

// sparseFamilyCost is what nodes cost on one fold whose sparse maps are of one family.
func (s *sweep) sparseFamilyCost(family []*node, fold datasets.Fold, shape datasets.Shape, depth int) datasets.Cost {
	shape = of(shape, rowsOfFold(fold))
	if familyBytes(family, shape) > s.Memory {
		var sum datasets.Cost
		for _, b := range family {
			besideTime(&sum, s.nodeCost(b, fold, shape, depth))
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

// nodeCost is what the candidates of a node cost on one fold.
func (s *sweep) nodeCost(b *node, fold datasets.Fold, shape datasets.Shape, depth int) datasets.Cost {
	shape = of(shape, rowsOfFold(fold))
	if s.goesAlone(b, shape) {
		return s.loneCost(b.candidates, fold, shape, depth)
	}
	sum := rows.CostOf(b.step.Fitter, of(shape, len(fold.Train)))
	besideTime(&sum, rows.MapCost([]rows.Spec{b.step}, of(shape, len(fold.Test))))
	sum.Bytes = rows.CostOf(b.step.Fitter, shape).Bytes
	besideTime(&sum, s.belowCost(b, fold, shape, depth))
	return sum
}

// goesAlone reports whether the rows that the step of b maps are not shared.
func (s *sweep) goesAlone(b *node, shape datasets.Shape) bool {
	return len(b.candidates) == 1 || featureBytes(b.step, shape) > s.Memory
}

// loneCost is what candidates cost on one fold that share nothing after depth steps.
func (s *sweep) loneCost(candidates []int, fold datasets.Fold, shape datasets.Shape, depth int) (sum datasets.Cost) {
	for _, i := range candidates {
		besideTime(&sum, s.CostOf(i, depth, of(shape, len(fold.Train))))
		besideTime(&sum, rows.MapCost(s.Pipelines[i].Steps[depth:], of(shape, len(fold.Test))))
		besideTime(&sum, s.scoresCost(i, depth, of(shape, len(fold.Test))))
	}
	return sum
}

// scoresCost is what the predictions of a candidate for rows of a shape cost beside mapping them by the steps after so many.
func (s *sweep) scoresCost(i, depth int, shape datasets.Shape) datasets.Cost {
	c := s.Pipelines[i]
	mapped := shape.After(rows.Cost(c.Steps[depth:], shape))
	each := rows.CostOf(c.Estimator, mapped).Each
	return datasets.Cost{Flops: float64(shape.Rows) * (2*mapped.Entries()*float64(max(shape.Outputs, 1)) + each)}
}

// belowCost is what the candidates of a node cost on one fold, whose rows its step has mapped from
// those of a shape.
func (s *sweep) belowCost(b *node, fold datasets.Fold, shape datasets.Shape, depth int) (sum datasets.Cost) {
	shape = of(shape, rowsOfFold(fold))
	shape = shape.After(rows.CostOf(b.step.Fitter, shape))
	if len(b.candidates) > 1 {
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

// rowlessCost adds what the candidates below b cost, whose steps serve all folds at once.
func (s *sweep) rowlessCost(sum *datasets.Cost, b *node, steps []rows.Spec) {
	if len(b.ends) > 0 {
		besideTime(sum, s.leafCost(steps, b.ends))
	}
	families, others := s.families(b.next, len(s.Folds))
	for _, family := range families {
		prefix := rows.Cost(steps, s.shape)
		if len(steps) > 0 {
			s.share("prefix")
		}
		besideTime(sum, prefix)
		besideTime(sum, s.familyCost(family, s.shape.After(prefix), s.Folds))
	}
	for _, n := range others {
		s.rowlessCost(sum, n, append(slices.Clone(steps), n.step))
	}
}

// familyCost is what a family costs on rows of a shape. Features that serve several folds are mapped twice: for what is
// learned and for what is predicted.
func (s *sweep) familyCost(family []*node, shape datasets.Shape, folds []datasets.Fold) datasets.Cost {
	related, sum, names := family[0].step.Fitter.(transformer.FamilyFitter).FamilyCost(shape, specs(family))
	if len(folds) > 1 {
		sum = sum.Times(2)
	}
	s.share(names...)
	candidates := members(family)
	list := s.specsOf(candidates)
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

// leafCost is what candidates with the same steps, which serve all folds at once, cost on all folds.
func (s *sweep) leafCost(steps []rows.Spec, ends []int) datasets.Cost {
	sum := rows.Cost(steps, s.shape)
	if len(steps) > 0 && len(ends)*len(s.Folds) > 1 {
		s.share("prefix", "features")
	}
	besideTime(&sum, s.estimatorsCost(ends, s.shape.After(sum), s.Folds))
	return sum
}

// estimatorsCost is what the estimators of the candidates cost on rows of a shape.
func (s *sweep) estimatorsCost(candidates []int, shape datasets.Shape, folds []datasets.Fold) (sum datasets.Cost) {
	s.byKind(candidates, func(same []int) {
		list := s.specsOf(same)
		if fitter, ok := list[0].Estimator.(estimator.BatchFitter); ok {
			if cost, names, err := fitter.BatchCost(estimator.Batch{Shape: shape, Folds: folds, Candidates: list, OneOut: s.OneOut}); err == nil {
				besideTime(&sum, cost)
				s.share(names...)
				return
			}
		}
		for _, c := range list {
			for _, fold := range folds {
				besideTime(&sum, rows.CostOf(c.Estimator, of(shape, len(fold.Train))))
			}
		}
	})
	return sum
}
