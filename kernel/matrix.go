package kernel

import (
	"context"
	"errors"

	"gonum.org/v1/gonum/mat"
)

// matrixer is a step with an exact kernel.
type matrixer interface {
	// KernelMatrix returns k(x_i, y_j) of the rows of X and Y; see [Matrix].
	KernelMatrix(ctx context.Context, X, Y mat.Matrix) (*mat.Dense, error)
}

// Matrix returns the kernel matrix of a step with an exact kernel, such as estimator.KernelRidge or
// KernelSVM, without a fit: k(x_i, y_j) of row i of X and row j of Y, the rows of X if Y is nil. A rule of
// γ is evaluated on the rows of X.
//
// It returns an error for rows of different length, entries that are not finite or outside of the domain
// of the kernel, and [Precomputed].
func Matrix(ctx context.Context, spec matrixer, X, Y mat.Matrix) (*mat.Dense, error) {
	if spec == nil || X == nil {
		return nil, errors.New("kernel: matrix: must have a step with a kernel, and rows")
	}
	if Y == nil {
		Y = X
	}
	return spec.KernelMatrix(ctx, X, Y)
}
