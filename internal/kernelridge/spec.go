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

// fewRows is the number of rows up to which the whole matrix is factorised.
const fewRows = 4096

// Way returns the solver for so many rows.
func (s Spec) Way(rows int) string {
	switch {
	case s.Solver != "auto":
		return s.Solver
	case rows <= fewRows:
		return "cholesky"
	}
	return "cg"
}

// rank returns the largest rank that the preconditioner may have, and from which one on it is enough. A column takes
// rows·rank flops more for each that there is, and saves steps of rows² each. With rest the trace of what is left of K, the
// largest eigenvalue that is left is about 2·rest/rank, and the steps are as the root of how often it has alpha.
func (s Spec) rank(rows int) (most int, enough func(rank int, rest float64) bool) {
	switch {
	case s.Preconditioner == "none":
		return 0, nil
	case s.Rank > 0:
		return min(s.Rank, rows), nil
	}
	n := float64(rows)
	least := 3 * math.Sqrt(n)
	return min(rows, int(mostRank(n))), func(rank int, rest float64) bool {
		r := float64(rank)
		steps := 7 * math.Sqrt(1+2*rest/(r*s.Alpha))
		return r >= least && r*r >= 5*n*steps
	}
}

// mostRank bounds the factor of low rank by 5·10⁷ numbers, or 7·√rows columns.
func mostRank(rows float64) float64 {
	return max(7*math.Sqrt(rows), min(16*math.Sqrt(rows), 5e7/rows))
}

// cacheBytes is the memory that tiles of so many rows may take.
func cacheBytes(rows int) int64 { return min(CacheBytes(rows), memory.Available()/3) }

// What things cost, in flops of a product of large matrices.
const (
	valueFlops  = 100 // of a kernel value in double precision, beside the products of its distance
	entryFlops  = 12  // of reading an entry of a tile for a column, or for several
	solveFlops  = 60  // of an entry of a factor, in all that is done to a solution
	usualSteps  = 25
	usualChecks = 3 // of the residual
)

// value is what a kernel value costs, and where distances are shared what it costs when these are there.
func (s Spec) value(shape datasets.Shape, shared bool) float64 {
	if shared {
		return valueFlops
	}
	if k, err := kernelOf(s.Kernel, s.Nu, s.Shape); err == nil && k.Metric != pairwise.Squared {
		return 8*shape.Entries() + valueFlops
	}
	return 2*shape.Entries() + valueFlops
}

// Cost estimates a fit to rows of a shape.
func (s Spec) Cost(shape datasets.Shape) datasets.Cost {
	if s.Way(shape.Rows) == "cg" {
		return s.CostTogether(shape, 1, false)
	}
	n, t := float64(shape.Rows), float64(max(shape.Outputs, 1))
	cost := datasets.Cost{Width: max(shape.Outputs, 1)}
	cost.Flops = n*n/2*s.value(shape, false) + n*n*n/3 + usualChecks*solveFlops*n*n*t
	cost.Bytes = design.Bytes(s.rowNumbers(shape) + n*n)
	return cost
}

// rowNumbers is how many numbers rows take, prepared, and their solution.
func (s Spec) rowNumbers(shape datasets.Shape) float64 {
	n, t := float64(shape.Rows), float64(max(shape.Outputs, 1))
	return 2.5*n*shape.Entries() + 10*n*t
}

// CostTogether estimates solving for so many penalties by [Training.SolveAll]; shared says that there are distances already.
func (s Spec) CostTogether(shape datasets.Shape, penalties int, shared bool) datasets.Cost {
	n, t, p := float64(shape.Rows), float64(max(shape.Outputs, 1)), float64(penalties)
	cost := datasets.Cost{Width: max(shape.Outputs, 1)}
	values := n * n / 2 * s.value(shape, shared)
	if s.Way(shape.Rows) == "cholesky" {
		together := min(p, max(2, factorsTogether/(4*n*n)))
		cost.Flops = values + p*(n*n*n/6+solveFlops*n*n*t)
		cost.Bytes = design.Bytes(s.rowNumbers(shape) + 10*n*t*together + 2*n*n + n*n/2*together)
		return cost
	}
	most, _ := s.rank(shape.Rows)
	rank, columns := float64(most), p*t
	step := n*n/2*(entryFlops+max(0, columns-1)*2) + 4*n*rank*(4+columns)
	cost.Flops = 2*n*rank*rank + n*rank*s.value(shape, false) + p*rank*rank*rank/3 + usualChecks*values + usualSteps*step
	cache := cacheBytes(shape.Rows)
	if cache < CacheBytes(shape.Rows) {
		cost.Flops += usualSteps * values / 2
	}
	together := min(columns, columnsTogether)
	cost.Bytes = design.Bytes(s.rowNumbers(shape)+10*n*together+n*rank+(2+together/t)*rank*rank) + cache
	return cost
}

// ScoresCost is what the predictions of so many rows by models of so many columns in all cost.
func (s Spec) ScoresCost(shape datasets.Shape, rows, columns int) float64 {
	return float64(rows) * float64(shape.Rows) * (s.value(shape, false) + 2*float64(max(8, columns)))
}

// OneOutCost estimates leaving one out for so many penalties: a factor and the diagonal of its inverse for each.
func (s Spec) OneOutCost(shape datasets.Shape, penalties int) datasets.Cost {
	n, p := float64(shape.Rows), float64(penalties)
	cost := s.Cost(shape)
	cost.Flops = n*n/2*s.value(shape, false) + p*(n*n*n+usualChecks*solveFlops*n*n)
	cost.Bytes += design.Bytes(2 * n * n)
	return cost
}
