package descent

import (
	"math"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/solve"
)

// Cost is that of some passes with the rows in memory, for which a core waits; on index rows there
// are fewer, and it waits longer. Narrow rows may want the matrix of the interior point method, and 30
// numbers a row. Each output has a problem of its own.
func Cost(shape datasets.Shape) datasets.Cost {
	n, d, k := float64(shape.Rows), float64(shape.Cols), float64(max(shape.Outputs, 1))
	numbers := n*min(shape.Entries()*1.5, d) + 11*n + 2*n*k + 3*d*k
	flops, matrix := passes*denseFlops*n*shape.Entries()*k, 0.0
	if d <= solve.MaxInteriorColumns {
		numbers += 30*n + d*(d+512)
		matrix = n * d * d * k
	}
	if shape.Filled > 0 {
		sparseFlops := nearFlops + farFlops*math.Log2(max(1, d/nearWeights))
		flops, matrix = passes*sparseFlops*n*shape.Entries()*k, 0
	}
	return datasets.Cost{Flops: flops + matrix, OutputWidth: max(shape.Outputs, 1), Bytes: design.Float64Bytes(numbers)}
}

// LogisticCost is that of logistic regression, where a step of a row takes exponentials and logarithms, and so does a row in a
// look at the gap.
func LogisticCost(shape datasets.Shape) datasets.Cost {
	const step, look = 17_000, 15_000 // flops of a row; measured
	cost, n := Cost(shape), float64(shape.Rows)
	steps := step * passes * n
	cost.Flops += steps + look*n

	return cost
}

// What was measured at the usual C and tolerance: the passes that coordinate descent takes, and what an entry costs in one,
// in flops of a product of large matrices. A sparse one waits for the weight that it is multiplied with.
const (
	passes     = 20
	denseFlops = 16
	// Of a sparse row where the weights fit a cache, and more each time that there are twice as many.
	nearFlops, farFlops = 120, 60
	nearWeights         = 1 << 18
)
