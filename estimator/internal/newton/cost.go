package newton

import (
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
)

// TypicalPasses is the typical number of passes of a fit; coupledTypicalPasses that of a fit with a
// preconditioner per class.
const TypicalPasses, coupledTypicalPasses = 25, 60

// TypicalFlops estimates the work of all passes of a fit.
func TypicalFlops(shape datasets.Shape) float64 { return TypicalPasses * design.PassFlops(shape) }

// Cost estimates the cost of Newton's method: weight vectors per output, a few values per row and
// output, partial sums, and a preconditioner.
func Cost(shape datasets.Shape) datasets.Cost {
	n, d, k := float64(shape.Rows), float64(shape.Cols), float64(max(shape.Outputs, 1))
	const vectors = 14
	numbers := 3*n + n*k + vectors*(d+1)*k
	if shape.NonZeros > 0 {
		numbers += min(n, design.SparseBlock) * k
	} else {
		numbers += solve.FusedProductFloats(d, k)
	}
	flops := TypicalFlops(shape)
	cost := datasets.Cost{Flops: flops, OutputWidth: max(shape.Outputs, 1), Float32: true}
	widest := maxFactorColumns
	if shape.NonZeros > 0 {
		widest = MaxSparseFactorColumns
	}
	if shape.Cols <= widest {
		cost.Flops += 2 * (min(n, 4*d)*d*d + d*d*d/3)
		numbers += 2 * d * d
	}
	cost.Bytes = design.Float64Bytes(numbers)
	return cost
}

// LogisticCost is Cost for logistic regression. Multiclass problems may need a matrix and a float32
// factor per class.
func LogisticCost(shape datasets.Shape) datasets.Cost {
	cost := Cost(shape)
	n, d, k := float64(shape.Rows), float64(shape.Cols), float64(shape.Outputs)
	if shape.NonZeros == 0 && shouldCouple(n, d, k) {
		cost.Bytes += design.Float64Bytes((1.5*k + 3) * d * d)
		const renewals = 3 // of the class factors, included in coupledTypicalPasses
		cost.Flops += renewals * coupledFlops(min(n, coupledRowsPerColumn*k*d), d,
			k) * float64(TypicalPasses) / coupledTypicalPasses
	}
	return cost
}

// ShapeExceedsFactorLimit is [ExceedsFactorLimit] of a shape.
func ShapeExceedsFactorLimit(shape datasets.Shape) bool {
	return shape.NonZeros > 0 && shape.Cols > MaxSparseFactorColumns
}

// ExceedsFactorLimit reports whether sparse rows have too many columns for a factored
// preconditioner.
func ExceedsFactorLimit(r *design.Rows) bool { return r.Sparse && r.Cols > MaxSparseFactorColumns }
