package design

import (
	"math"

	"github.com/bochner-ml/bochner/datasets"
)

// A pass over rows in memory waits for them: to read an entry, of dense rows and of sparse ones, is so many flops of other work. They
// are measured.
const (
	denseReadFlops   = 27
	extraOutputFlops = 4.5 // for each output but the first
	SparseReadFlops  = 250
)

// PassFlops is what a pass costs that makes two products with each entry for each output.
func PassFlops(shape datasets.Shape) float64 {
	waiting := float64(denseReadFlops)
	if shape.Filled > 0 {
		waiting = SparseReadFlops
	}
	return float64(shape.Rows) * shape.Entries() * (waiting + extraOutputFlops*float64(max(shape.Outputs, 1)-1))
}

// Float64Bytes returns so many numbers of eight bytes, as many as can be counted.
func Float64Bytes(numbers float64) int64 { return int64(min(8*numbers, math.MaxInt64/2)) }
