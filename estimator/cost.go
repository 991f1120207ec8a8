package estimator

import (
	"math"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/memory"
	"github.com/bochner-ml/bochner/internal/solve"
)

// A pass over rows in memory waits for them: while it reads an entry, so many flops of a product of
// large matrices could be made, of dense rows and of sparse ones. They are measured.
const (
	waitingFlops       = 60
	sparseWaitingFlops = 250
)

// passes is about how many a fit by Newton's method takes.
const passes = 25

// passFlops is what a pass costs that makes two products with each entry for each output.
func passFlops(shape datasets.Shape) float64 {
	waiting := float64(waitingFlops)
	if shape.Filled > 0 {
		waiting = sparseWaitingFlops
	}
	return float64(shape.Rows) * shape.Entries() * (waiting + 4*float64(max(shape.Outputs, 1)-1))
}

// bytesOf returns so many numbers of eight bytes, as many as can be counted.
func bytesOf(numbers float64) int64 { return int64(min(8*numbers, math.MaxInt64/2)) }

// room refuses a fit that would hold more memory than there is. Every fit asks before it begins.
func room(spec datasets.Coster, shape datasets.Shape) error {
	return memory.Check(spec.Cost(shape).Bytes)
}

// wideShape reports what [rows.wide] does of the rows themselves.
func wideShape(shape datasets.Shape) bool {
	return shape.Filled > 0 && shape.Cols > widestSparseFactor
}

// newtonCost is that of Newton's method: vectors of weights for each output, a few numbers for each row
// and output, partial sums, and a preconditioner.
func newtonCost(shape datasets.Shape) datasets.Cost {
	n, d, k := float64(shape.Rows), float64(shape.Cols), float64(max(shape.Outputs, 1))
	const vectors = 14
	held := 3*n + n*k + vectors*(d+1)*k
	if shape.Filled > 0 {
		held += min(n, design.SparseBlock) * k
	} else {
		held += partialSums(shape)
	}
	cost := datasets.Cost{Flops: passes * passFlops(shape), Width: max(shape.Outputs, 1)}
	widest := widestFactor
	if shape.Filled > 0 {
		widest = widestSparseFactor
	}
	if shape.Cols <= widest {
		cost.Flops += 2 * (min(n, 4*d)*d*d + d*d*d/3)
		held += 2 * d * d
	}
	cost.Bytes = bytesOf(held)
	return cost
}

// partialSums is how many numbers the sums of a block of dense rows take.
func partialSums(shape datasets.Shape) float64 {
	size := float64(shape.Cols+1) * float64(max(shape.Outputs, 1))
	n := min(shape.Rows, datasets.BlockRows)
	return math.Ceil(float64(n)/float64(foldRows(shape.Cols, size))) * size
}

// descentCost is that of some passes with the rows in memory, for which a core waits; on index rows there
// are fewer, and it waits longer. Narrow rows may want the matrix of the interior point method, and 30
// numbers a row. Each output has a problem of its own.
func descentCost(shape datasets.Shape) datasets.Cost {
	n, d, k := float64(shape.Rows), float64(shape.Cols), float64(max(shape.Outputs, 1))
	numbers := n*min(shape.Entries()*1.5, d) + 11*n + 2*n*k + 3*d*k
	if d <= solve.WidestInterior {
		numbers += 30*n + d*(d+512)
	}
	return datasets.Cost{Flops: descentPasses * 80 * n * shape.Entries() * k, Width: max(shape.Outputs, 1), Bytes: bytesOf(numbers)}
}

// descentPasses is about how many passes coordinate descent takes at the usual C and tolerance.
const descentPasses = 40
