package descent

import (
	"math"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
)

// Cost estimates coordinate descent with the rows in memory, which is memory-bound. Narrow rows may
// need the matrix of the interior point method and 30 values per row. Each output is a separate
// problem.
func Cost(shape datasets.Shape) datasets.Cost {
	n, d, k := float64(shape.Rows), float64(shape.Cols), float64(max(shape.Outputs, 1))
	numbers := n*min(shape.Entries()*1.5, d) + 11*n + 2*n*k + 3*d*k
	flops, matrix := passes*denseFlops*n*shape.Entries()*k, 0.0
	if d <= solve.MaxInteriorColumns {
		numbers += 30*n + d*(d+512)
		matrix = n * d * d * k
	}
	if shape.NonZeros > 0 {
		sparseFlops := nearFlops + farFlops*math.Log2(max(1, d/nearWeights))
		flops, matrix = passes*sparseFlops*n*shape.Entries()*k, 0
	}
	return datasets.Cost{Flops: flops + matrix, OutputWidth: max(shape.Outputs, 1), Bytes: design.Float64Bytes(numbers)}
}

// LogisticCost is Cost for logistic regression, whose steps and gap evaluations need exponentials
// and logarithms.
func LogisticCost(shape datasets.Shape) datasets.Cost {
	const step, look = 17_000, 15_000 // flops per row; measured
	cost, n := Cost(shape), float64(shape.Rows)
	steps := step * passes * n
	cost.Flops += steps + look*n

	return cost
}

// Measured at the default C and tolerance: passes of coordinate descent, and the cost per entry in
// GEMM flops.
const (
	passes     = 20
	denseFlops = 16
	// Per sparse entry if the weights fit into cache, and the increase per doubling of their
	// number.
	nearFlops, farFlops = 120, 60
	nearWeights         = 1 << 18
)
