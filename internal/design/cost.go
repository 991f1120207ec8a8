package design

import (
	"math"

	"github.com/bochner-ml/bochner/datasets"
)

// Measured cost of reading an entry, in GEMM flops. A pass over rows in memory is memory-bound.
const (
	denseReadFlops   = 27
	extraOutputFlops = 4.5 // per entry and output after the first
	SparseReadFlops  = 250
)

// PassFlops estimates the cost of a pass that multiplies each entry twice per output (XW and XᵀS).
func PassFlops(shape datasets.Shape) float64 {
	waiting := float64(denseReadFlops)
	if shape.NonZeros > 0 {
		waiting = SparseReadFlops
	}
	return float64(shape.Rows) * shape.Entries() * (waiting + extraOutputFlops*float64(max(shape.Outputs, 1)-1))
}

// Float64Bytes returns the bytes of n float64 values, capped to avoid overflow.
func Float64Bytes(numbers float64) int64 { return int64(min(8*numbers, math.MaxInt64/2)) }
