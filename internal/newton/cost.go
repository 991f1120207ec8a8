package newton

import (
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
)

// TypicalPasses is about how many a fit by Newton's method takes, and coupledPasses about the most of classes that may get matrices of
// their own.
const TypicalPasses, coupledTypicalPasses = 25, 60

// TypicalFlops are those of all passes of a fit.
func TypicalFlops(shape datasets.Shape) float64 { return TypicalPasses * design.PassFlops(shape) }

// Cost is that of Newton's method: vectors of weights for each output, a few numbers for each row
// and output, partial sums, and a preconditioner.
func Cost(shape datasets.Shape) datasets.Cost {
	n, d, k := float64(shape.Rows), float64(shape.Cols), float64(max(shape.Outputs, 1))
	const vectors = 14
	numbers := 3*n + n*k + vectors*(d+1)*k
	if shape.Filled > 0 {
		numbers += min(n, design.SparseBlock) * k
	} else {
		numbers += design.FusedProductFloats(d, k)
	}
	flops := TypicalFlops(shape)
	cost := datasets.Cost{Flops: flops, OutputWidth: max(shape.Outputs, 1)}
	widest := maxFactorColumns
	if shape.Filled > 0 {
		widest = MaxSparseFactorColumns
	}
	if shape.Cols <= widest {
		cost.Flops += 2 * (min(n, 4*d)*d*d + d*d*d/3)
		numbers += 2 * d * d
	}
	cost.Bytes = design.Float64Bytes(numbers)
	return cost
}

// LogisticCost is Cost of logistic regression, of which several classes may get matrices of their own: sums, factors in single
// precision, and the rows of a few matrices while these are made.
func LogisticCost(shape datasets.Shape) datasets.Cost {
	cost := Cost(shape)
	n, d, k := float64(shape.Rows), float64(shape.Cols), float64(shape.Outputs)
	if shape.Filled == 0 && shouldCouple(n, d, k) {
		cost.Bytes += design.Float64Bytes((1.5*k + 3) * d * d)
		const renewals = 3 // of their matrices, where there are coupledPasses
		cost.Flops += renewals * coupledFlops(min(n, coupledRowsPerColumn*k*d), d, k) * float64(TypicalPasses) / coupledTypicalPasses
	}
	return cost
}

// ShapeExceedsFactorLimit reports what [rows.wide] does of the rows themselves.
func ShapeExceedsFactorLimit(shape datasets.Shape) bool {
	return shape.Filled > 0 && shape.Cols > MaxSparseFactorColumns
}

// ExceedsFactorLimit reports whether rows are sparse and of more columns than a preconditioner is made for.
func ExceedsFactorLimit(r *design.Rows) bool { return r.Sparse && r.Cols > MaxSparseFactorColumns }
