package joint

import (
	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/internal/design"
)

// FitByNewtonBytes estimates the peak memory of [FitByNewton].
func FitByNewtonBytes(b batch.Job) (largest int64) {
	shape := b.Shape
	folds, n, t, widest := float64(len(b.Folds)), float64(shape.Rows), float64(max(shape.Outputs, 1)), 0
	numbers := map[int]float64{}
	for _, s := range b.Candidates {
		d := float64(s.Width)
		widest = max(widest, s.Width)
		numbers[s.Map] += n*folds*t + 3*d*d + 14*d*t
	}
	for _, m := range numbers {
		largest = max(largest, design.Float64Bytes(m+2*n*folds))
	}
	features, _ := cacheBytes(max(shape.Rows, 0), widest)
	return largest + features
}
