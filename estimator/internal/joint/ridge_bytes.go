package joint

import (
	"runtime"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
)

// FitRidgesBytes estimates the peak memory of [FitRidges].
func FitRidgesBytes(b batch.Job, list []Ridge) (largest int64) {
	shape := b.Shape
	d, t, rows, joint := float64(shape.Cols), float64(max(shape.Outputs, 1)), 0, false
	for _, fold := range b.Folds {
		rows = max(rows, len(fold.Train)+len(fold.Test))
	}
	for _, s := range list {
		if !s.Independent && s.SharedSolverFor(rows/2, shape.Cols, shape.NonZeros > 0) == "cholesky" {
			joint = true
			continue
		}
		for _, fold := range b.Folds {
			one := shape
			one.Rows = len(fold.Train)
			largest = max(largest, s.Cost(one, 0).Bytes)
		}
	}
	if joint { // targets' share of the sums of each fold and of all rows
		largest = max(largest, design.Float64Bytes(4*d*d+float64(len(b.Folds)+4)*d*t+float64(rows)*t))
	}
	return largest
}

// FitMappedRidgesBytes estimates the peak memory of [FitMappedRidges], without the maps.
func FitMappedRidgesBytes(b batch.Job, list []Ridge) (bytes int64) {
	shape := b.Shape
	rows, t := shape.Rows, float64(max(shape.Outputs, 1))
	b.Memory, b.Include = 0, nil
	s := &mappedRidges{Batch: Batch{Job: b}, candidates: list, shared: map[string]bool{}}
	test := 0
	for _, fold := range b.Folds {
		test += len(fold.Test)
	}
	for _, i := range s.plan(rows) {
		for _, fold := range b.Folds {
			one := datasets.Shape{Rows: len(fold.Train), Cols: b.Candidates[i].Width, Outputs: shape.Outputs}
			bytes = max(bytes, list[i].Cost(one, 0).Bytes)
		}
	}
	widest := 0
	for _, g := range s.groups {
		bytes += design.Float64Bytes(float64(g.width) * t * float64(len(s.parts)+4))
		widest = max(widest, g.width)
	}
	bytes += s.bytes(s.groups...)
	// Each parallel part or fold needs its own tile of features and angles, and scores.
	cores := runtime.GOMAXPROCS(0)
	tiles, scored := min(cores, len(s.parts)), min(cores, len(b.Folds))
	bytes += design.Float64Bytes(float64(max(tiles-1, 0)) * 2 * float64(s.chunkRows()) * float64(widest))
	return bytes + design.Float64Bytes(float64(test)*t+2*float64(test*len(list)*scored)*t/float64(len(b.Folds)))
}

// bytes returns the memory of groups fitted at once: the sums of each part, and per core those of a
// fold, a leading submatrix, and a factor or the workspace of a band. Folds of the first group may
// retain theirs for refinement while its parts are still in memory; later groups reuse the memory
// of those parts.
func (s *mappedRidges) bytes(groups ...*ridgeGroup) (sum int64) {
	cores, largest := int64(runtime.GOMAXPROCS(0)), int64(0)
	for _, g := range groups {
		whole, corner := int64(g.width)*int64(g.width), int64(g.secondWidth)*int64(g.secondWidth)
		sum += 8 * whole * int64(len(s.parts))
		largest = max(largest, 8*(whole*(int64(len(s.Folds))+2*cores)+corner*(int64(len(s.Folds))+cores)))
	}
	return sum + largest
}
