package leastsquares

import (
	"math"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
)

// Largest numbers of columns for which a Gram matrix is formed.
const (
	maxGramColumns       = 16384
	maxSparseGramColumns = 1024
	// maxSharedColumns is the limit for candidates of a search to share a Gram matrix even if CG is
	// cheaper, and for dense CG fits to fall back to one.
	maxSharedColumns = 8192
)

// Ridge is the specification of a ridge regression.
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
	case isSparse && d > maxSparseGramColumns, s.cgIsCheaper(n, d, isSparse), d > maxGramColumns &&
		(n < 0 || n > maxGramColumns):
		return "cg"
	case n >= 0 && n < d:
		return "dual"
	}
	return "cholesky"
}

// SharedSolverFor returns the solver of a candidate that shares sums with others.
func (s Ridge) SharedSolverFor(n, d int, isSparse bool) string {
	way := s.SolverFor(n, d, isSparse)
	if way == "cg" && s.canFallBack(d, isSparse) {
		return "cholesky"
	}
	return way
}

// canFallBack reports whether a CG fit falls back to the Gram matrix if steps turn out to be more
// expensive.
func (s Ridge) canFallBack(d int, isSparse bool) bool {
	return s.Solver == "auto" && !isSparse && d <= maxSharedColumns
}

// Measured cost per value of dense rows in a pass, in GEMM flops: for rows that are mapped and
// read, and for rows that the pipeline caches as float32, which it does up to cachedBytes.
const (
	mappedFlops = 90
	cachedFlops = 45
	cachedBytes = 1 << 30
	// extraPasses compute means and float64 residuals.
	extraPasses = 3
	// gramMargin is the factor by which a Gram matrix must be more expensive.
	gramMargin = 1.15
)

// estimateSteps estimates the preconditioned CG steps on centered rows whose squared norms sum to
// trace (measured).
func (s Ridge) estimateSteps(trace float64) float64 {
	return min(float64(s.MaxIter), 8+0.14*math.Sqrt(trace/s.Alpha))
}

// stepBudget returns the number of dense CG steps that cost as much as the Gram matrix and its
// factor.
func (s Ridge) stepBudget(n, d int, trace float64) float64 {
	D, step := float64(d), float64(mappedFlops)
	if 4*float64(n)*D <= cachedBytes {
		step = cachedFlops
	}
	return ((D+D*D/3/float64(n))/gramMargin - 2*float64(rankOf(d, s.Alpha, trace)) - extraPasses*mappedFlops) / step
}

// cgIsCheaper reports whether preconditioned CG costs less than the Gram matrix and its factor, for
// rows of norm about 1.
func (s Ridge) cgIsCheaper(n, d int, isSparse bool) bool {
	return (n >= d || n > maxSharedColumns) && s.usesNystroem(n, d, isSparse) &&
		s.estimateSteps(float64(n)) < s.stepBudget(n, d, float64(n))
}

// usesNystroem reports whether CG on rows of a shape uses the Nyström preconditioner.
func (s Ridge) usesNystroem(n, d int, isSparse bool) bool {
	return !isSparse && s.Alpha > 0 && min(n, d) >= minPreconditionedSize
}

// stepsPerDigit estimates the CG steps per decimal digit (measured on random binning).
const stepsPerDigit = 8

// sparseStepFlops is the cost per sparse entry and step; weights are mostly cached.
const sparseStepFlops = 70

// Cost estimates a fit. coded is the number of rows whose targets are encoded at a time; solvers
// with several passes store the targets of all rows.
func (s Ridge) Cost(shape datasets.Shape, coded float64) datasets.Cost {
	n, d, t := float64(shape.Rows), float64(shape.Cols), float64(max(shape.Outputs, 1))
	cost := datasets.Cost{OutputWidth: max(shape.Outputs, 1)}
	if shape.NonZeros == 0 {
		coded = min(coded, rowblock.Size)
	}
	numbers := 6*d*t + coded*t
	switch s.SolverFor(shape.Rows, shape.Cols, shape.NonZeros > 0) {
	case "dual":
		cost.Flops = n*n*d + n*n*n/3 + 2*n*n*t
		numbers += n*(n+d) + 3*n*t
	case "cg":
		if s.usesNystroem(shape.Rows, shape.Cols, shape.NonZeros > 0) {
			return s.preconditionedCost(shape, numbers)
		}
		steps := min(stepsPerDigit*math.Log10(1/min(max(s.Tol, 1e-16), 0.1)), float64(max(s.MaxIter, 1)))
		cost.Flops = steps * design.PassFlops(shape)
		if shape.NonZeros > 0 {
			cost.Flops = steps * sparseStepFlops * n * shape.Entries()
		}
		if t > 1 && shape.NonZeros > 0 {
			cost.Flops *= t // measured: targets share the steps of the slowest, with one product each
		}
		numbers += 6 * d
	default:
		cost.Passes = 1 // plus refinement of ill-conditioned systems
		cost.Flops = n*d*d + d*d*d/3 + 2*d*t*(n+d)
		if shape.NonZeros > 0 {
			cost.Flops = n*design.SparseReadFlops*shape.Entries() + n*shape.Entries()*shape.Entries()*4 + d*d*d/3 + 2*d*t*d
		}
		numbers += 2 * d * d
	}
	cost.Bytes = design.Float64Bytes(numbers)
	return cost
}

// preconditionedCost estimates preconditioned CG for rows of norm about 1. Float32 passes count
// half.
func (s Ridge) preconditionedCost(shape datasets.Shape, numbers float64) datasets.Cost {
	n, d, t := float64(shape.Rows), float64(shape.Cols), float64(max(shape.Outputs, 1))
	rank := float64(rankOf(shape.Cols, s.Alpha, n))
	steps := s.estimateSteps(n)
	steady := n + rank*(d/2+2*rank+2*factorColumns) + sketchRows*(d+rank)/2 + solve.FusedProductFloats(d, t) + 8*d*t
	if s.canFallBack(shape.Cols, false) {
		steady = max(steady, 2*d*d)
	}
	numbers += steady
	passes := steps * design.PassFlops(shape)
	return datasets.Cost{
		Flops:       passes + 4*steps*rank*d*t + 2*n*d*rank + 2*d*rank*rank + 2*n*d*t,
		Bytes:       design.Float64Bytes(numbers),
		OutputWidth: max(shape.Outputs, 1),
		Float32:     true,
		Passes:      4 + int(steps/2),
	}
}
