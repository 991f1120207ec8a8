package solve

import (
	"context"
	"math"

	"github.com/bochner-ml/bochner/internal/kern"
)

// CholeskyFloat32 overwrites v with (LLᵀ)⁻¹v for the lower triangle L. It scales columns to equal
// magnitude, which avoids float32 underflow. If ctx is done, v is undefined.
func CholeskyFloat32(ctx context.Context, lower kern.View[float32], v kern.View[float64]) {
	n, t := v.Rows, v.Cols
	size := make([]float64, t)
	for i := range n {
		for j, x := range v.Row(i) {
			size[j] = max(size[j], math.Abs(x))
		}
	}
	rounded := kern.Dense(n, t, t, make([]float32, n*t))
	for i := range n {
		for j, x := range v.Row(i) {
			if size[j] > 0 {
				rounded.Set(i, j, float32(x/size[j]))
			}
		}
	}
	if kern.SolveCholesky(ctx, lower, rounded) != nil {
		return
	}
	for i := range n {
		for j, x := range rounded.Row(i) {
			v.Set(i, j, float64(x)*size[j])
		}
	}
}
