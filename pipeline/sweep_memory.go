package pipeline

import (
	"runtime"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/pipeline/internal/rows"
	"github.com/bochner-ml/bochner/transformer"
)

// bytes estimates the maximum memory of the mapped rows of a candidate over its steps.
func (s *sweep) bytes(p candidate) int64 {
	largest, shape := rowsBytes(s.Shape), s.Shape
	for _, step := range p.steps {
		largest = max(largest, featureBytes(step, shape))
		shape = shape.After(rows.CostOf(step.Fitter, shape))
	}
	return largest
}

// cachedBytes estimates the memory of rows that are cached for all folds. The last step of a family
// is mapped in tiles instead.
func (s *sweep) cachedBytes(p candidate) int64 {
	if isFamilyStep(p) {
		p.steps = p.steps[:len(p.steps)-1]
	}
	return s.bytes(p)
}

// taskCount returns the number of concurrent tasks: one per core, fewer if they would exceed twice
// the memory limit.
func (s *sweep) taskCount() int {
	if s.LeaveOneOut { // the features of one task may use the whole limit
		return 1
	}
	largest := int64(1)
	for _, p := range s.pipelines {
		if p.Estimator != nil {
			largest = max(largest, s.taskBytes(p))
		}
	}
	return int(min(max(2*s.Memory/largest, 1), int64(runtime.GOMAXPROCS(0))))
}

// taskBytes estimates the memory of a task: the rows of its fold, their features, and possibly a
// copy.
func (s *sweep) taskBytes(p candidate) int64 {
	return rowsBytes(s.Shape) + 2*min(s.cachedBytes(p), s.Memory)
}

// featureBytes estimates the memory of the output of a step.
func featureBytes(step rows.Spec, shape datasets.Shape) int64 {
	if f, ok := step.Fitter.(transformer.Binning); ok {
		return f.FeatureBytes(shape.Rows, shape.Cols)
	}
	return rowsBytes(shape.After(rows.CostOf(step.Fitter, shape)))
}

// rowsBytes returns the memory of rows of a shape, as float64 values or sparse entries.
func rowsBytes(shape datasets.Shape) int64 {
	number := int64(8)
	if shape.NonZeros > 0 {
		number = 12
	}
	return int64(float64(number) * float64(shape.Rows) * shape.Entries())
}

// familyBytes estimates the memory of the features of the widest map of a family.
func familyBytes(family []*node, shape datasets.Shape) int64 {
	members := family[0].step.Fitter.(transformer.FamilyFitter).FamilyMembers(shape, stepsOf(family))
	widest := 0
	for k, m := range members {
		if m.Width > members[widest].Width {
			widest = k
		}
	}
	step := family[widest].step
	if _, ok := step.Fitter.(transformer.Binning); ok {
		return featureBytes(step, shape)
	}
	return int64(12 * float64(shape.Rows) * shape.After(rows.CostOf(step.Fitter, shape)).Entries())
}

// plan returns the approximate memory of run in addition to the rows. Steps and estimators without
// a cost count as free.
func (s *sweep) plan() int64 {
	largest := int64(0)
	if s.LeaveOneOut {
		for _, c := range s.pipelines {
			if c.err == nil {
				mapping := rows.Cost(c.steps, s.Shape)
				list := []batch.Candidate{{Estimator: c.Estimator}}
				largest = max(largest, mapping.Bytes+s.estimatorBytes(list, s.Shape.After(mapping), s.Folds, true))
			}
		}
		return largest
	}
	all, independent := s.trees()
	for _, c := range s.pipelines {
		largest = max(largest, s.taskBytes(c))
	}
	for _, fold := range s.Folds {
		shape := s.Shape
		shape.Rows = len(fold.Train) + len(fold.Test)
		largest = max(largest, s.nodeBytes(all, shape, []datasets.Fold{fold}))
	}
	largest = max(largest, s.nodeBytes(independent, s.Shape, s.Folds))
	return largest * int64(s.taskCount())
}

// nodeBytes returns the maximum memory of any fit below a node on rows of a shape.
func (s *sweep) nodeBytes(b *node, shape datasets.Shape, folds []datasets.Fold) (largest int64) {
	if len(b.leaves) > 0 {
		largest = s.estimatorBytes(s.estimators(b.leaves), shape, folds, false)
	}
	families, others := s.families(b.next, len(folds))
	for _, family := range families {
		list := s.estimators(candidatesOf(family))
		setMaps(list, family[0].step.Fitter.(transformer.FamilyFitter).FamilyMembers(shape, familySpecs(family)))
		largest = max(largest, s.estimatorBytes(list, shape, folds, false))
	}
	for _, n := range others {
		cost := rows.CostOf(n.step.Fitter, shape)
		largest = max(largest, cost.Bytes, s.nodeBytes(n, shape.After(cost), folds))
	}
	return largest
}

// estimatorBytes returns the memory of fitting estimators together.
func (s *sweep) estimatorBytes(list []batch.Candidate, shape datasets.Shape, folds []datasets.Fold,
	leaveOneOut bool) int64 {
	b := batch.Job{Shape: shape, Folds: folds, Candidates: list, LeaveOneOut: leaveOneOut}
	if bytes, err := estimator.PlanBatch(b); err == nil {
		return bytes
	}
	return b.MaxFitBytes()
}
