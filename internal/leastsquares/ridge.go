package leastsquares

import (
	"math"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/rowblock"
)

// Widths up to which a Gram matrix is formed.
const (
	maxGramColumns       = 16384
	maxSparseGramColumns = 1024
	// maxSharedColumns is the one up to which candidates of a search share a Gram matrix, be steps less work or not, and up to
	// which a fit that steps through dense rows goes back to it where steps turn out to be more work.
	maxSharedColumns = 8192
)

// Ridge is a ridge regression: what to minimise, and how.
type Ridge struct {
	Alpha     float64
	Intercept bool
	Solver    string
	Tol       float64
	MaxIter   int
}

// SolverFor returns the solver for a shape.
func (s Ridge) SolverFor(n, d int, isSparse bool) string {
	switch {
	case s.Solver != "auto":
		return s.Solver
	case isSparse && d > maxSparseGramColumns, s.cgIsCheaper(n, d, isSparse), d > maxGramColumns && (n < 0 || n > maxGramColumns):
		return "cg"
	case n >= 0 && n < d:
		return "dual"
	}
	return "cholesky"
}

// SharedSolverFor returns the solver of a candidate among others, which have sums of products in common.
func (s Ridge) SharedSolverFor(n, d int, isSparse bool) string {
	way := s.SolverFor(n, d, isSparse)
	if way == "cg" && s.canFallBack(d, isSparse) {
		return "cholesky"
	}
	return way
}

// canFallBack reports whether steps through rows that turn out to be more work than a Gram matrix are left for that.
func (s Ridge) canFallBack(d int, isSparse bool) bool {
	return s.Solver == "auto" && !isSparse && d <= maxSharedColumns
}

// What a step, or another reading, takes for each number of dense rows, in operations as fast as those of a product of large
// matrices (measured): of rows that are mapped and read, and of those that a pipeline holds in memory, which it does of features
// in single precision up to heldBytes, with room to spare.
const (
	mappedFlops = 90
	cachedFlops = 45
	cachedBytes = 1 << 30
	// extraPasses is how many readings there are beside steps: for the means, and for residuals in double precision.
	extraPasses = 3
	// gramMargin is how much more work a Gram matrix is to be.
	gramMargin = 1.15
)

// estimateSteps is about how many steps preconditioned conjugate gradients take on centred rows whose squares have a sum (measured).
func (s Ridge) estimateSteps(trace float64) float64 {
	return min(float64(s.MaxIter), 8+0.14*math.Sqrt(trace/s.Alpha))
}

// stepBudget is how many steps on dense rows, whose squares have a sum, are less work than their Gram matrix and its factor.
func (s Ridge) stepBudget(n, d int, trace float64) float64 {
	D, step := float64(d), float64(mappedFlops)
	if 4*float64(n)*D <= cachedBytes {
		step = cachedFlops
	}
	return ((D+D*D/3/float64(n))/gramMargin - 2*float64(rankOf(d, s.Alpha, trace)) - extraPasses*mappedFlops) / step
}

// cgIsCheaper reports whether preconditioned conjugate gradients take less work than the Gram matrix and its factor, on rows that
// are about of length 1.
func (s Ridge) cgIsCheaper(n, d int, isSparse bool) bool {
	return (n >= d || n > maxSharedColumns) && s.usesNystroem(n, d, isSparse) && s.estimateSteps(float64(n)) < s.stepBudget(n, d, float64(n))
}

// UsesFloat32 reports whether most readings of rows of a shape can do with single precision.
func (s Ridge) UsesFloat32(shape datasets.Shape) bool {
	n, d, isSparse := shape.Rows, shape.Cols, shape.Filled > 0
	return s.usesNystroem(n, d, isSparse) && s.SolverFor(n, d, isSparse) == "cg"
}

// usesNystroem reports whether conjugate gradients on rows of a shape are preconditioned by more than the diagonal.
func (s Ridge) usesNystroem(n, d int, isSparse bool) bool {
	return !isSparse && s.Alpha > 0 && min(n, d) >= minPreconditionedSize
}

// stepsPerDigit is about how many steps of conjugate gradients make a digit of the solution; it was measured on random bins.
const stepsPerDigit = 8

// sparseStepFlops are those of an entry of sparse rows in a step, whose weights are mostly in the cache.
const sparseStepFlops = 70

// Cost is that of a fit whose targets are made of so many rows at a time. The targets of all rows are in memory
// where the solver reads them more than once.
func (s Ridge) Cost(shape datasets.Shape, coded float64) datasets.Cost {
	n, d, t := float64(shape.Rows), float64(shape.Cols), float64(max(shape.Outputs, 1))
	cost := datasets.Cost{OutputWidth: max(shape.Outputs, 1)}
	if shape.Filled == 0 {
		coded = min(coded, rowblock.Size)
	}
	numbers := 6*d*t + coded*t
	switch s.SolverFor(shape.Rows, shape.Cols, shape.Filled > 0) {
	case "dual":
		cost.Flops = n*n*d + n*n*n/3 + 2*n*n*t
		numbers += n*(n+d) + 3*n*t
	case "cg":
		if s.usesNystroem(shape.Rows, shape.Cols, shape.Filled > 0) {
			return s.preconditionedCost(shape, numbers)
		}
		steps := min(stepsPerDigit*math.Log10(1/min(max(s.Tol, 1e-16), 0.1)), float64(max(s.MaxIter, 1)))
		cost.Flops = steps * design.PassFlops(shape)
		if shape.Filled > 0 {
			cost.Flops = steps * sparseStepFlops * n * shape.Entries()
		}
		if t > 1 && shape.Filled > 0 {
			cost.Flops *= t // measured; all targets take the steps of the slowest, with one product of the rows for each
		}
		numbers += 6 * d
	default:
		cost.Passes = 1 // but for refining an ill-conditioned solution
		cost.Flops = n*d*d + d*d*d/3 + 2*d*t*(n+d)
		if shape.Filled > 0 {
			cost.Flops = n*design.SparseReadFlops*shape.Entries() + n*shape.Entries()*shape.Entries()*4 + d*d*d/3 + 2*d*t*d
		}
		numbers += 2 * d * d
	}
	cost.Bytes = design.Float64Bytes(numbers)
	return cost
}

// preconditionedCost is that of conjugate gradients with a preconditioner, for features whose rows are about of length 1.
// The passes in single precision count half.
func (s Ridge) preconditionedCost(shape datasets.Shape, numbers float64) datasets.Cost {
	n, d, t := float64(shape.Rows), float64(shape.Cols), float64(max(shape.Outputs, 1))
	rank := float64(rankOf(shape.Cols, s.Alpha, n))
	steps := s.estimateSteps(n)
	steady := n + rank*(d/2+2*rank+2*factorColumns) + sketchRows*(d+rank)/2 + design.FusedProductFloats(d, t) + 8*d*t
	if s.canFallBack(shape.Cols, false) {
		steady = max(steady, 2*d*d)
	}
	numbers += steady
	passes := steps * design.PassFlops(shape)
	return datasets.Cost{
		Flops:       passes + 4*steps*rank*d*t + 2*n*d*rank + 2*d*rank*rank + 2*n*d*t,
		Bytes:       design.Float64Bytes(numbers),
		OutputWidth: max(shape.Outputs, 1),
		Passes:      4 + int(steps/2),
	}
}
