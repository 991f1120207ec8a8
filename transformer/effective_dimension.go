package transformer

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/kern"
)

// EffectiveDimension returns how many dimensions of a kernel's space a ridge regression makes use of:
//
//	d = tr K(K + alpha·I)⁻¹ = Σ λ_i/(λ_i + alpha)
//
// for the eigenvalues λ of the kernel matrix K of its n training rows, such as
// [FittedRFF.KernelMatrix] computes. To learn as well as the exact kernel does, a random map needs
// some multiple of d features. K of m rows drawn from n stands for all with alpha·m/n in place of
// alpha. alpha is the penalty of the regression on Z with Z·Z' ≈ K, as estimator.Ridge has it.
//
// Cost about 4m³/3 flops for m rows; meant for a sample of a few thousand. It fails where K is not
// square, symmetric and finite, or alpha not > 0, and with the error and the cause of ctx once it is done.
// (Zhang, Neural Computation 2005; Rudi & Rosasco, Generalization Properties of Learning with Random
// Features, NIPS 2017.)
func EffectiveDimension(ctx context.Context, K mat.Matrix, alpha float64) (float64, error) {
	n, cols := K.Dims()
	switch {
	case n != cols || n == 0:
		return 0, fmt.Errorf("transformer: effective dimension: matrix must be square, got %d×%d", n, cols)
	case !(alpha > 0) || math.IsInf(alpha, 0):
		return 0, fmt.Errorf("transformer: effective dimension: alpha must be a number > 0, got %v", alpha)
	}
	lower := kern.Dense(n, n, n, make([]float64, n*n))
	for i := range n {
		if err := ctxerr.Check(ctx); err != nil {
			return 0, err
		}
		for j := range i + 1 {
			v := K.At(i, j)
			if scale := max(math.Abs(K.At(i, i)), math.Abs(K.At(j, j))); !(math.Abs(v-K.At(j, i)) <= 1e-8*scale) {
				return 0, fmt.Errorf("transformer: effective dimension: matrix must be symmetric and finite, got %v in row %d, column %d and %v in the transposed position", v, i, j, K.At(j, i))
			}
			lower.Set(i, j, v)
		}
	}
	eigen, err := kern.NewEigen(ctx, lower, false)
	if err != nil {
		return 0, fmt.Errorf("transformer: effective dimension: %w", err)
	}
	d := 0.0
	for _, v := range eigen.Values {
		d += max(v, 0) / (max(v, 0) + alpha)
	}
	return d, nil
}
