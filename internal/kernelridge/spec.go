package kernelridge

import (
	"math"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/memory"
	"github.com/bochner-ml/bochner/internal/pairwise"
	"github.com/bochner-ml/bochner/kernel"
)

// Spec is a kernel ridge regression: what to solve, and how.
type Spec struct {
	Kernel         string
	Gamma          kernel.Gamma
	Alpha          float64
	Nu, Shape      float64
	Intercept      bool
	Solver         string // auto, cholesky or cg
	Preconditioner string // rpcholesky or none
	Rank           int    // of the preconditioner, 0 for one that suits the rows
	Tol            float64
	MaxIter        int
	Seed           uint64
}

// maxFactorRows is the number of rows up to which the whole matrix is factorised.
const maxFactorRows = 4096

// SolverFor returns the solver for so many rows.
func (s Spec) SolverFor(rows int) string {
	switch {
	case s.Solver != "auto":
		return s.Solver
	case rows <= maxFactorRows:
		return "cholesky"
	}
	return "cg"
}

// rank returns the largest rank that the preconditioner may have, and from which one on it is enough, rest being the trace
// of what is left of K: more columns save steps, and cost pivotFlops·rows·rank², which may be 0.6 of the steps that are
// left, entryFlops·rows²/2 each.
func (s Spec) rank(rows int) (most int, enough func(rank int, rest float64) bool) {
	switch {
	case s.Preconditioner == "none":
		return 0, nil
	case s.Rank > 0:
		return min(s.Rank, rows), nil
	}
	n := float64(rows)
	least := 3 * math.Sqrt(n)
	return min(rows, int(maxRank(n))), func(rank int, rest float64) bool {
		r := float64(rank)
		return r >= least && pivotFlops*r*r >= 0.6*entryFlops/2*n*s.steps(rows, r, rest/n)
	}
}

// maxRank bounds the factor of low rank by 5·10⁷ numbers, or 7·√rows columns.
func maxRank(rows float64) float64 {
	return max(7*math.Sqrt(rows), min(16*math.Sqrt(rows), 5e7/rows))
}

// cacheBytes is the memory that tiles of so many rows may take.
func cacheBytes(rows int) int64 { return min(CacheBytes(rows), memory.Available()/3) }

// What things cost, in flops of a product of large matrices, by processor time.
const (
	valueFlops  = 100 // of a kernel value in double precision, beside the products of its distance
	checkShare  = 1.6 // of that, for a kernel value and the products by it
	singleShare = 1.2 // of that, for a kernel value in single precision, written to fresh memory
	entryFlops  = 16  // of reading an entry of a tile for a column
	panelFlops  = 30  // for several, for which both ways it is packed
	factorFlops = 22  // of reading an entry of the factor of low rank in single precision
	pivotFlops  = 1.8 // of rows·rank², for pivots and the Gram matrix of that factor
	doubleShare = 1.6 // of the last two, in double precision
	solveFlops  = 60  // of an entry of a factor in single precision, in all that is done to a solution
	checkFlops  = 350 // of one in double precision, with the usual three checks of the residual
	writeFlops  = 50  // of a kernel value that is written to fresh memory in double precision

	choleskyShare = 1.25 // of n³/3, for a factor
	outputShare   = 0.08 // of solveFlops, for each solution but the first
	checkShares   = 0.04 // of checkFlops
)

// steps forecasts those of cg. With rest the part of the trace of K that the preconditioner does not know, the eigenvalues
// of what it leaves go up to about 2·rows·rest/rank, as [Spec.rank] has it. With smooth kernels they go down to nothing, with
// rough ones to some bulk·rest, and the penalty is added to all:
//
//	steps = rate·ln(1/tol)·sqrt(1 + 2·rows·rest/rank / (alpha + bulk·rest))
//
// The formula was fitted to 50 fits of 5,000 to 41,157 rows of four sets with α from 1e-4 to 1 and tol 1e-4 to 1e-6. Given the
// rest that a fit finds, it is within a factor of 1.5 of nearly all with α ≥ 0.01. Below that, rows that nearly coincide
// and rounds that single precision ends early take up to 5 times as many. What rest will be depends on the rows, see
// [Spec.typicalResidual].
func (s Spec) steps(rows int, rank, rest float64) float64 {
	const rate = 0.42
	bulk := 0.0
	if s.nonSmooth() {
		bulk = 0.1
	}
	left := 2 * float64(rows) * rest / max(rank, 1)
	n := rate * math.Log(1/min(s.Tol, 0.1)) * math.Sqrt(1+left/(s.Alpha+bulk*rest))
	return min(max(n, 2), float64(rows))
}

// nonSmooth reports whether the kernel has a kink where rows meet, so that its eigenvalues fall slowly.
func (s Spec) nonSmooth() bool {
	return s.Kernel == "exponential" || s.Kernel == "laplacian" || s.Kernel == "matern" && s.Nu < 1
}

// typicalResidual is the part of the trace of K that a preconditioner of a rank usually leaves, at a γ of about scale. On the
// same sets as the formula of steps, 1,000 columns left .12 to .31 of rough kernels, and of the gaussian one 4e-5 where
// inputs depend on each other and .02 to .04 where they are independent: nobody knows before, and what is in between stands
// for all.
func (s Spec) typicalResidual(rank float64) float64 {
	switch {
	case s.Preconditioner == "none":
		return 1
	case s.nonSmooth():
		return min(1, 0.2*math.Pow(1000/rank, 0.3))
	}
	return min(1, 0.012*math.Pow(1000/rank, 1.5))
}

// typicalRank is the rank that the preconditioner comes to have where its rest is usual, and that rest.
func (s Spec) typicalRank(rows int) (rank, rest float64) {
	most, enough := s.rank(rows)
	rank = float64(most)
	if enough != nil {
		const step = 64
		for r := step; r < most; r += step {
			if enough(r, float64(rows)*s.typicalResidual(float64(r))) {
				rank = float64(r)
				break
			}
		}
	}
	return rank, s.typicalResidual(rank)
}

// valueCost is what a kernel value costs, and where distances are shared what it costs when these are there.
func (s Spec) valueCost(shape datasets.Shape, shared bool) float64 {
	if shared {
		return valueFlops
	}
	if k, err := kernelOf(s.Kernel, s.Nu, s.Shape); err == nil && k.Metric != pairwise.Squared {
		return 8*shape.Entries() + valueFlops
	}
	return 2*shape.Entries() + valueFlops
}

// tileEntries is how many entries the tiles of a kernel matrix of so many rows have that are on the diagonal and below.
func tileEntries(n float64) float64 { return n * (n + min(n, tileRows)) / 2 }

// Cost estimates a fit to rows of a shape.
func (s Spec) Cost(shape datasets.Shape) datasets.Cost {
	if s.SolverFor(shape.Rows) == "cg" {
		return s.cgCost(shape)
	}
	n, t := float64(shape.Rows), float64(max(shape.Outputs, 1))
	cost := datasets.Cost{Passes: 1, OutputWidth: max(shape.Outputs, 1)}
	cost.Flops = tileEntries(n)*(s.valueCost(shape, false)+writeFlops) + choleskyShare*n*n*n/3 + checkFlops*n*n*(1+checkShares*(t-1))
	cost.Bytes = design.Float64Bytes(s.rowNumbers(shape) + n*n)
	return cost
}

// rowNumbers is how many numbers rows take, prepared, and their solution.
func (s Spec) rowNumbers(shape datasets.Shape) float64 {
	n, t := float64(shape.Rows), float64(max(shape.Outputs, 1))
	return 2.5*n*shape.Entries() + 10*n*t
}

// BatchBytes returns the memory of solving for the given number of penalties by [Training.SolveAll].
func (s Spec) BatchBytes(shape datasets.Shape, penalties int) int64 {
	n, t, p := float64(shape.Rows), float64(max(shape.Outputs, 1)), float64(penalties)
	if s.SolverFor(shape.Rows) == "cholesky" {
		together := min(p, max(2, maxBatchFactorBytes/(4*n*n)))
		return design.Float64Bytes(s.rowNumbers(shape) + 10*n*t*together + 2*n*n + n*n/2*together)
	}
	together := min(p*t, maxBatchColumns)
	most, _ := s.rank(shape.Rows)
	largest := float64(most)
	return design.Float64Bytes(s.rowNumbers(shape)+10*n*together+n*largest+(2+together/t)*largest*largest) + cacheBytes(shape.Rows)
}

// cgCost is the cost of conjugate gradients for one penalty.
func (s Spec) cgCost(shape datasets.Shape) datasets.Cost {
	n, t := float64(shape.Rows), float64(max(shape.Outputs, 1))
	values := n * n / 2 * s.valueCost(shape, false)
	rank, rest := s.typicalRank(shape.Rows)
	steps := min(s.steps(shape.Rows, rank, rest), float64(s.MaxIter))
	precision, checks := 1.0, 1.0
	if s.Alpha < minFloat32Penalty*n {
		precision = doubleShare
	}
	switch {
	case float32Suffices(s.Tol, s.Alpha, shape.Rows):
		checks = 0
	case s.Tol <= 1e-5:
		checks = 2
	}
	entry := float64(entryFlops)
	if t > 1 {
		entry = panelFlops
	}
	step := n*n/2*(entry+(t-1)*2) + 2*n*rank*(factorFlops*precision+(t-1)*2)
	if part := float64(cacheBytes(shape.Rows)) / float64(CacheBytes(shape.Rows)); part < 1 {
		step += (1 - part) * singleShare * values
	}
	return datasets.Cost{Passes: 1, OutputWidth: int(t), Bytes: s.BatchBytes(shape, 1),
		Flops: pivotFlops*precision*n*rank*rank + n*rank*s.valueCost(shape, false) + rank*rank*rank/3 + (checks*checkShare+singleShare)*values + steps*step}
}

// LeaveOneOutBytes returns the memory of leaving one out: a factor and the diagonal of its inverse.
func (s Spec) LeaveOneOutBytes(shape datasets.Shape) int64 {
	n := float64(shape.Rows)
	return s.Cost(shape).Bytes + design.Float64Bytes(2*n*n)
}
