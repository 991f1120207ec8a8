package kernelridge

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/pairwise"
	"github.com/bochner-ml/bochner/kernel"
)

// negativeTol is the tolerance of negative eigenvalues of Gram matrices, relative to the mean of the diagonal.
const negativeTol = 1e-8

// errNegative is the cause of errors and warnings about negative eigenvalues.
var errNegative = errors.New("has an eigenvalue below −1e-8 of the mean of its diagonal")

// CheckOwn returns an error if the kernel of the rows is that of the caller, and its matrix of X, some of the
// rows, is not finite or has negative eigenvalues. Cost: n³/3 flops for n rows.
func (r *Rows) CheckOwn(ctx context.Context, X mat.Matrix) error {
	if !r.Name.IsOwn() {
		return nil
	}
	f, err := r.Frame(X)
	if err != nil {
		return err
	}
	x := pairwise.NewRows[float64](f, X)
	n := x.Len()
	lower := kern.Dense(n, n, n, make([]float64, n*n))
	if err := pairwise.Matrix(ctx, lower, x, x, r.Kernel); err != nil {
		return err
	}
	if !kern.AllFinite(lower.Data) {
		return fmt.Errorf("kernel %s has values that are not finite", r.Name)
	}
	largest, trace := 0.0, 0.0
	for _, v := range lower.Data {
		largest = max(largest, math.Abs(v))
	}
	for i := range n {
		trace += math.Abs(lower.At(i, i))
		for j := range i {
			if math.Abs(lower.At(i, j)-lower.At(j, i)) > pairwise.SymmetryTol*largest {
				return fmt.Errorf("kernel %s must be symmetric, got %v and %v for the same two rows", r.Name, lower.At(i, j),
					lower.At(j, i))
			}
		}
	}
	if largest == 0 {
		return nil
	}
	for i := range n {
		lower.Set(i, i, lower.At(i, i)+negativeTol*trace/float64(n))
	}
	_, ok, err := kern.Cholesky(ctx, lower)
	if err == nil && !ok {
		err = errNegative
	}
	return err
}

// refuseNegative turns an error of CheckOwn into that of a solver.
func refuseNegative(name kernel.Name, err error) error {
	if errors.Is(err, errNegative) {
		return fmt.Errorf("kernel %s must be positive definite: its Gram matrix %w; use kernel_svm or kernel_svr, or "+
			"add a multiple of the identity", name, errNegative)
	}
	return err
}

// NegativeWarning returns a warning for an error of CheckOwn that is not one of a support vector machine.
func NegativeWarning(err error) (warning string, ok bool) {
	if errors.Is(err, errNegative) {
		return "the Gram matrix " + errNegative.Error() + ": the machine is a stationary point, not a unique minimum", true
	}
	return "", false
}
