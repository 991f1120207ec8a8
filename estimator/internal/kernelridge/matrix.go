package kernelridge

import (
	"context"
	"errors"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/pairwise"
	"github.com/bochner-ml/bochner/kernel"
)

// KernelMatrix returns the kernel values of the rows of X and of Y, with the γ of X.
func (s Spec) KernelMatrix(ctx context.Context, X, Y mat.Matrix) (*mat.Dense, error) {
	if s.Kernel == kernel.Precomputed {
		return nil, errors.New("kernel: must be one that can be computed, got precomputed")
	}
	n, d := X.Dims()
	m, other := Y.Dims()
	if d != other || n == 0 || m == 0 {
		return nil, fmt.Errorf("kernel matrix: must have rows with the same columns, got %d×%d and %d×%d", n, d, m, other)
	}
	left, err := s.Resolve(ctx, datasets.Set{X: X})
	if err != nil {
		return nil, err
	}
	right, err := left.With(ctx, datasets.Set{X: Y})
	if err != nil {
		return nil, err
	}
	if right.largest-right.largest != 0 {
		return nil, design.NonFiniteError(0, datasets.Set{X: Y})
	}
	if err := checkDomain(right.Kernel, datasets.Set{X: right.X}); err != nil {
		return nil, err
	}
	left.largest = max(left.largest, right.largest)
	f, err := left.Frame(left.X)
	if err != nil {
		return nil, err
	}
	out := mat.NewDense(n, m, nil)
	return out, pairwise.Matrix(ctx, design.View(out), pairwise.NewRows[float64](f, left.X),
		pairwise.NewRows[float64](f, right.X), left.Kernel)
}
