package kernelridge

import (
	"context"
	"math"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/pairwise"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
	"github.com/bochner-ml/bochner/kernel"
)

// Spec is the specification of a kernel ridge regression.
type Spec struct {
	Kernel         kernel.Name
	Gamma          kernel.Gamma
	Alpha          float64
	Nu, Shape      float64
	Exponent       float64
	Degree         int
	Coef0          float64
	Intercept      bool
	Solver         string // auto, cholesky or cg
	Preconditioner string // rpcholesky or none
	Rank           int    // of the preconditioner, 0 for automatic
	Tol            float64
	MaxIter        int
	Seed           uint64
}

// shape returns the parameters of the kernel.
func (s Spec) shape() spectral.Shape {
	return spectral.Shape{Nu: s.Nu, Alpha: s.Shape, Exponent: s.Exponent, Degree: s.Degree, Coef0: s.Coef0}
}

// LearnsGamma reports whether γ depends on the rows.
func (s Spec) LearnsGamma() bool { return s.Gamma.Rule() != "" && !s.Kernel.IsOwn() }

// maxFactorRows is the largest number of rows for which auto factorizes the matrix.
const maxFactorRows = 4096

// SolverFor returns the solver for the given number of rows.
func (s Spec) SolverFor(rows int) string {
	switch {
	case s.Solver != "auto":
		return s.Solver
	case rows <= maxFactorRows || !UnitDiagonal(s.Kernel):
		return "cholesky"
	}
	return "cg"
}

// UnitDiagonal reports whether k(x, x) is 1 but for rows of zeros, to which cg is tuned.
func UnitDiagonal(name kernel.Name) bool { return name != kernel.Polynomial && !name.IsOwn() }

// rank returns the maximum rank of the preconditioner and a stopping rule, given the trace of the
// residual of K. A larger rank saves steps but costs pivotFlops·rows·rank². It stops at 0.6 of the
// estimated cost of the remaining steps, entryFlops·rows²/2 each.
func (s Spec) rank(rows int) (limit int, stop func(rank int, residualTrace float64) bool) {
	switch {
	case s.Preconditioner == "none":
		return 0, nil
	case s.Rank > 0:
		return min(s.Rank, rows), nil
	}
	n := float64(rows)
	minRank := 3 * math.Sqrt(n)
	return min(rows, int(maxRank(n))), func(rank int, residualTrace float64) bool {
		r := float64(rank)
		return r >= minRank && pivotFlops*r*r >= 0.6*entryFlops/2*n*s.steps(rows, r, residualTrace/n)
	}
}

// maxRank bounds the low-rank factor by 5·10⁷ values or 7·√rows columns.
func maxRank(rows float64) float64 {
	return max(7*math.Sqrt(rows), min(16*math.Sqrt(rows), 5e7/rows))
}

// cacheBytes returns the memory for tiles of the given number of rows; estimates have no context.
func cacheBytes(ctx context.Context, rows int) int64 {
	return min(CacheBytes(rows), memory.Budget(ctx)/3*2)
}

// Measured costs in GEMM flops, by CPU time.
const (
	valueFlops  = 100 // kernel value in float64, without the products of its distance
	checkShare  = 1.6 // ratio for a kernel value and the products with it
	singleShare = 1.2 // ratio for a float32 kernel value written to new memory
	entryFlops  = 16  // cost of accessing a tile entry for one column
	panelFlops  = 30  // for several columns, with packing for both directions
	factorFlops = 22  // cost of accessing an entry of the float32 low-rank factor
	pivotFlops  = 1.8 // factor of rows·rank² for pivots and Gram matrix
	doubleShare = 1.6 // ratio of the last two in float64
	solveFlops  = 60  // of an entry of a factor in single precision, in all that is done to a solution
	checkFlops  = 350 // entry of a float64 factor, with three residual checks
	writeFlops  = 50  // float64 kernel value written to new memory

	choleskyShare = 1.25 // of n³/3, for a factor
	outputShare   = 0.08 // of solveFlops, for each solution but the first
	checkShares   = 0.04 // of checkFlops
)

// steps estimates the CG steps. With rest the share of the trace of K that the preconditioner
// misses, the eigenvalues of the residual reach about 2·rows·rest/rank. They decay to 0 for smooth
// kernels and to bulk·rest for nonsmooth ones; the penalty is added:
//
//	steps = rate·ln(1/tol)·sqrt(1 + 2·rows·rest/rank / (alpha + bulk·rest))
//
// The formula was fitted to 50 fits of 5,000 to 41,157 rows of four data sets, with α from 1e-4 to
// 1 and tol from 1e-4 to 1e-6. Given the true rest it is within a factor of 1.5 for nearly all α ≥
// 0.01. For smaller α, nearly duplicate rows and early float32 stalls can take 5 times as many
// steps. For a prior estimate of rest see [Spec.typicalResidual].
func (s Spec) steps(rows int, rank, residual float64) float64 {
	const rate = 0.42
	bulk := 0.0
	if s.nonSmooth() {
		bulk = 0.1
	}
	eigenvalue := 2 * float64(rows) * residual / max(rank, 1)
	n := rate * math.Log(1/min(s.Tol, 0.1)) * math.Sqrt(1+eigenvalue/(s.Alpha+bulk*residual))
	return min(max(n, 2), float64(rows))
}

// nonSmooth reports whether the kernel is not differentiable at 0, so that its eigenvalues decay
// slowly.
func (s Spec) nonSmooth() bool {
	for _, summand := range s.Kernel.Summands() {
		for _, t := range summand.Product {
			if (Spec{Kernel: t.Kernel, Exponent: t.Exponent, Nu: t.Nu}).nonSmooth() {
				return true
			}
		}
	}
	return s.Kernel == "exponential" || s.Kernel == kernel.PoweredExponential && s.Exponent < 2 ||
		s.Kernel == "laplacian" || s.Kernel == "matern" && s.Nu < 1
}

// typicalResidual estimates the share of the trace of K that a preconditioner of a rank misses,
// with γ near the scale rule. On the data sets of steps, 1,000 columns left 0.12 to 0.31 for
// nonsmooth kernels. For the Gaussian kernel they left 4e-5 with dependent inputs and 0.02 to 0.04
// with independent ones. The estimate lies in between.
func (s Spec) typicalResidual(rank float64) float64 {
	switch {
	case s.Preconditioner == "none":
		return 1
	case s.nonSmooth():
		return min(1, 0.2*math.Pow(1000/rank, 0.3))
	}
	return min(1, 0.012*math.Pow(1000/rank, 1.5))
}

// typicalRank estimates the rank of the preconditioner and its residual share.
func (s Spec) typicalRank(rows int) (rank, residual float64) {
	limit, stop := s.rank(rows)
	rank = float64(limit)
	if stop != nil {
		const step = 64
		for r := step; r < limit; r += step {
			if stop(r, float64(rows)*s.typicalResidual(float64(r))) {
				rank = float64(r)
				break
			}
		}
	}
	return rank, s.typicalResidual(rank)
}

// valueCost returns the cost of a kernel value, with or without cached distances.
func (s Spec) valueCost(shape datasets.Shape, shared bool) float64 {
	if shared {
		return valueFlops
	}
	k, err := kernelOf(string(s.Kernel), s.shape())
	if err == nil && (k.Metric >= pairwise.L1 && k.Metric <= pairwise.Chi2 || k.Metric >= pairwise.Columns) {
		return 8*shape.Entries() + valueFlops
	}
	return 2*shape.Entries() + valueFlops
}

// tileEntries returns the number of entries in the tiles on and below the diagonal.
func tileEntries(n float64) float64 { return n * (n + min(n, tileRows)) / 2 }

// Cost estimates a fit to rows of a shape.
func (s Spec) Cost(shape datasets.Shape) datasets.Cost {
	if s.SolverFor(shape.Rows) == "cg" {
		return s.cgCost(shape)
	}
	n, t := float64(shape.Rows), float64(max(shape.Outputs, 1))
	cost := datasets.Cost{Passes: 1, OutputWidth: max(shape.Outputs, 1)}
	cost.Flops = tileEntries(n)*(s.valueCost(shape,
		false)+writeFlops) + choleskyShare*n*n*n/3 + checkFlops*n*n*(1+checkShares*(t-1))
	cost.Bytes = design.Float64Bytes(s.rowNumbers(shape) + n*n)
	return cost
}

// rowNumbers returns the float64 values of prepared rows and their solution.
func (s Spec) rowNumbers(shape datasets.Shape) float64 {
	n, t := float64(shape.Rows), float64(max(shape.Outputs, 1))
	return 2.5*n*shape.Entries() + 10*n*t
}

// BatchBytes returns the memory of [Training.SolveAll] for the given number of penalties.
func (s Spec) BatchBytes(shape datasets.Shape, penalties int) int64 {
	n, t, p := float64(shape.Rows), float64(max(shape.Outputs, 1)), float64(penalties)
	if s.SolverFor(shape.Rows) == "cholesky" {
		batch := min(p, max(2, maxBatchFactorBytes/(4*n*n)))
		return design.Float64Bytes(s.rowNumbers(shape) + 10*n*t*batch + 2*n*n + n*n/2*batch)
	}
	batch := min(p*t, maxBatchColumns)
	limit, _ := s.rank(shape.Rows)
	r := float64(limit)
	return design.Float64Bytes(s.rowNumbers(shape)+10*n*batch+n*r+(2+batch/t)*r*r) + cacheBytes(context.Background(), shape.Rows)
}

// cgCost estimates conjugate gradients for one penalty.
func (s Spec) cgCost(shape datasets.Shape) datasets.Cost {
	n, t := float64(shape.Rows), float64(max(shape.Outputs, 1))
	values := n * n / 2 * s.valueCost(shape, false)
	rank, residual := s.typicalRank(shape.Rows)
	steps := min(s.steps(shape.Rows, rank, residual), float64(s.MaxIter))
	precision, checks := 1.0, 1.0
	if s.Alpha < solve.MinFloat32Penalty*n {
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
	if part := float64(cacheBytes(context.Background(), shape.Rows)) / float64(CacheBytes(shape.Rows)); part < 1 {
		step += (1 - part) * singleShare * values
	}
	return datasets.Cost{Passes: 1, OutputWidth: int(t), Bytes: s.BatchBytes(shape, 1),
		Flops: pivotFlops*precision*n*rank*rank + n*rank*s.valueCost(shape,
			false) + rank*rank*rank/3 + (checks*checkShare+singleShare)*values + steps*step}
}

// LeaveOneOutBytes returns the memory of leave-one-out: a factor and the diagonal of its inverse.
func (s Spec) LeaveOneOutBytes(shape datasets.Shape) int64 {
	n := float64(shape.Rows)
	return s.Cost(shape).Bytes + design.Float64Bytes(2*n*n)
}
