package leastsquares

import (
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
)

// Widths up to which a Gram matrix is formed.
const (
	widestGram       = 16384
	widestSparseGram = 1024
)

// Ridge is a ridge regression: what to minimise, and how.
type Ridge struct {
	Alpha     float64
	Intercept bool
	Solver    string
	Tol       float64
	MaxIter   int
}

// Way returns the solver for a shape.
func (s Ridge) Way(n, d int, isSparse bool) string {
	switch {
	case s.Solver != "auto":
		return s.Solver
	case isSparse && d > widestSparseGram, d > widestGram && (n < 0 || n > widestGram):
		return "cg"
	case n >= 0 && n < d:
		return "dual"
	}
	return "cholesky"
}

// Cost is that of a fit whose targets are made of so many rows at a time. The targets of all rows are in memory
// where the solver reads them more than once.
func (s Ridge) Cost(shape datasets.Shape, coded float64) datasets.Cost {
	n, d, t := float64(shape.Rows), float64(shape.Cols), float64(max(shape.Outputs, 1))
	cost := datasets.Cost{Width: max(shape.Outputs, 1)}
	if shape.Filled == 0 {
		coded = min(coded, datasets.BlockRows)
	}
	numbers := 6*d*t + coded*t
	switch s.Way(shape.Rows, shape.Cols, shape.Filled > 0) {
	case "dual":
		cost.Flops = n*n*d + n*n*n/3 + 2*n*n*t
		numbers += n*(n+d) + 3*n*t
	case "cg":
		const steps = 100
		cost.Flops = steps * design.PassFlops(shape)
		numbers += 6 * d
	default:
		cost.Passes = 1 // but for refining an ill-conditioned solution
		cost.Flops = n*d*d + d*d*d/3 + 2*d*t*(n+d)
		if shape.Filled > 0 {
			cost.Flops = n*design.SparseWaitingFlops*shape.Entries() + n*shape.Entries()*shape.Entries()*4 + d*d*d/3 + 2*d*t*d
		}
		numbers += 2 * d * d
	}
	cost.Bytes = design.Bytes(numbers)
	return cost
}
