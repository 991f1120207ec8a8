package newton

import (
	"math"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
)

// Passes is about how many a fit by Newton's method takes.
const Passes = 25

// Cost is that of Newton's method: vectors of weights for each output, a few numbers for each row
// and output, partial sums, and a preconditioner.
func Cost(shape datasets.Shape) datasets.Cost {
	n, d, k := float64(shape.Rows), float64(shape.Cols), float64(max(shape.Outputs, 1))
	const vectors = 14
	numbers := 3*n + n*k + vectors*(d+1)*k
	if shape.Filled > 0 {
		numbers += min(n, design.SparseBlock) * k
	} else {
		numbers += partialSums(shape)
	}
	cost := datasets.Cost{Flops: Passes * design.PassFlops(shape), Width: max(shape.Outputs, 1)}
	widest := widestFactor
	if shape.Filled > 0 {
		widest = WidestSparseFactor
	}
	if shape.Cols <= widest {
		cost.Flops += 2 * (min(n, 4*d)*d*d + d*d*d/3)
		numbers += 2 * d * d
	}
	cost.Bytes = design.Bytes(numbers)
	return cost
}

// partialSums is how many numbers the sums of a block of dense rows take.
func partialSums(shape datasets.Shape) float64 {
	size := float64(shape.Cols+1) * float64(max(shape.Outputs, 1))
	n := min(shape.Rows, datasets.BlockRows)
	return math.Ceil(float64(n)/float64(partialRows(shape.Cols, size))) * size
}

// WideShape reports what [rows.wide] does of the rows themselves.
func WideShape(shape datasets.Shape) bool {
	return shape.Filled > 0 && shape.Cols > WidestSparseFactor
}

// Wide reports whether rows are sparse and of more columns than a preconditioner is made for.
func Wide(r *design.Rows) bool { return r.Sparse && r.Cols > WidestSparseFactor }
