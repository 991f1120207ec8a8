package sweep

import (
	"runtime"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/pipeline/internal/rows"
	"github.com/bochner-ml/bochner/transformer"
)

// bytes estimates what the mapped rows of a candidate take, where they take most.
func (s *sweep) bytes(p Candidate) int64 {
	most, shape := held(s.shape), s.shape
	for _, step := range p.Steps {
		most = max(most, featureBytes(step, shape))
		shape = shape.After(rows.CostOf(step.Fitter, shape))
	}
	return most
}

// cachedBytes estimates what the rows take that serve all folds: a family's last step is mapped in tiles.
func (s *sweep) cachedBytes(p Candidate) int64 {
	if isFamilyStep(p) {
		p.Steps = p.Steps[:len(p.Steps)-1]
	}
	return s.bytes(p)
}

// atOnce is how many tasks go on at once: one for each core, fewer where they would together take
// more than twice the memory.
func (s *sweep) atOnce() int {
	most := int64(1)
	for _, p := range s.Pipelines {
		if p.Estimator != nil {
			most = max(most, s.taskBytes(p))
		}
	}
	return int(min(max(2*s.Memory/most, 1), int64(runtime.GOMAXPROCS(0))))
}

// taskBytes estimates what a task holds: its fold's rows, these mapped, and perhaps a copy of that.
func (s *sweep) taskBytes(p Candidate) int64 {
	return held(s.shape) + 2*min(s.cachedBytes(p), s.Memory)
}

// featureBytes estimates what the features take that a step makes of rows.
func featureBytes(step rows.Spec, shape datasets.Shape) int64 {
	if f, ok := step.Fitter.(transformer.FitTransformer); ok {
		return f.FeatureBytes(shape.Rows, shape.Cols)
	}
	return held(shape.After(rows.CostOf(step.Fitter, shape)))
}

// held is what rows of a shape take: of sparse ones the entries that are not 0, with their columns.
func held(shape datasets.Shape) int64 {
	number := int64(8)
	if shape.Filled > 0 {
		number = 12
	}
	return int64(float64(number) * float64(shape.Rows) * shape.Entries())
}

// familyBytes estimates what the features of the widest map of a family take.
func familyBytes(family []*node, shape datasets.Shape) int64 {
	members, _, _ := family[0].step.Fitter.(transformer.FamilyFitter).FamilyCost(shape, stepsOf(family))
	widest := 0
	for k, m := range members {
		if m.Width > members[widest].Width {
			widest = k
		}
	}
	step := family[widest].step
	if _, ok := step.Fitter.(transformer.FitTransformer); ok {
		return featureBytes(step, shape)
	}
	return int64(12 * float64(shape.Rows) * shape.After(rows.CostOf(step.Fitter, shape)).Entries())
}

// of returns the shape with another number of rows.
func of(shape datasets.Shape, rows int) datasets.Shape {
	shape.Rows = rows
	return shape
}

func rowsOfFold(fold datasets.Fold) int { return len(fold.Train) + len(fold.Test) }
