package kernel

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// EffectiveDimension returns the effective degrees of freedom of kernel ridge regression,
//
//	d = tr K(K + alpha·I)⁻¹ = Σ λ_i/(λ_i + alpha)
//
// where λ are the eigenvalues of the n×n kernel matrix K of the training rows, such as
// transformer.FittedRFF.KernelMatrix computes, and alpha is the penalty of estimator.Ridge on
// features Z with Z·Z' ≈ K. A random map needs a multiple of d features to reach the accuracy of the
// exact kernel. For K of a sample of m of n rows, pass alpha·m/n.
//
// Cost: about 4m³/3 flops for m rows. It returns an error if K is not square, symmetric and finite,
// if alpha is not > 0, and if ctx is canceled.
//
// Sources: Zhang, "Learning bounds for kernel regression using effective data dimensionality",
// Neural Computation 17, 2005; Rudi and Rosasco, "Generalization properties of learning with random
// features", NIPS 2017.
func EffectiveDimension(ctx context.Context, K mat.Matrix, alpha float64) (float64, error) {
	n, cols := K.Dims()
	switch {
	case n != cols || n == 0:
		return 0, fmt.Errorf("kernel: effective dimension: matrix must be square, got %d×%d", n, cols)
	case !(alpha > 0) || math.IsInf(alpha, 0):
		return 0, fmt.Errorf("kernel: effective dimension: alpha must be a number > 0, got %v", alpha)
	}
	lower := kern.Dense(n, n, n, make([]float64, n*n))
	for i := range n {
		if err := ctxerr.Check(ctx); err != nil {
			return 0, err
		}
		for j := range i + 1 {
			v := K.At(i, j)
			if scale := max(math.Abs(K.At(i, i)), math.Abs(K.At(j, j))); !(math.Abs(v-K.At(j, i)) <= 1e-8*scale) {
				return 0, fmt.Errorf("kernel: effective dimension: matrix must be symmetric and finite, "+
					"got %v in row %d, column %d and %v in the transposed position", v, i, j, K.At(j, i))
			}
			lower.Set(i, j, v)
		}
	}
	eigen, err := kern.NewEigen(ctx, lower, false)
	if err != nil {
		return 0, fmt.Errorf("kernel: effective dimension: %w", err)
	}
	d := 0.0
	for _, v := range eigen.Values {
		d += max(v, 0) / (max(v, 0) + alpha)
	}
	return d, nil
}
