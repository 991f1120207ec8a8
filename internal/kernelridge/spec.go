package kernelridge

import (
	"math"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/memory"
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

// Cost estimates a fit to rows of a shape.
func (s Spec) Cost(shape datasets.Shape) datasets.Cost {
	n, t := float64(shape.Rows), float64(max(shape.Outputs, 1))
	value := 2*shape.Entries() + 30 // flops of a kernel value
	held := 2.5*n*shape.Entries() + 10*n*t
	cost := datasets.Cost{Width: max(shape.Outputs, 1)}
	if s.Way(shape.Rows) == "cholesky" {
		cost.Flops = 2*n*n*value + n*n*n/3 + 6*n*n*t
		cost.Bytes = design.Bytes(held + n*n)
		return cost
	}
	const steps, checks = 50, 3
	most, _ := s.rank(shape.Rows)
	rank := float64(most)
	once := n * n / 2 * value
	cost.Flops = 2*n*rank*rank + n*rank*value + 2*checks*once + steps*t*(4*n*n+8*n*rank)
	cache := cacheBytes(shape.Rows)
	if cache < CacheBytes(shape.Rows) {
		cost.Flops += steps * once
	}
	cost.Bytes = design.Bytes(held+n*rank+3*rank*rank) + cache
	return cost
}
