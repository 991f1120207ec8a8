package kernelridge

import (
	"context"
	"errors"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/pairwise"
)

// CheckOwn returns an error if the kernel of the rows is that of the caller, and its matrix of X, some of the
// rows, is not finite, not symmetric or has negative eigenvalues. Cost: n³/3 flops for n rows.
func (r *Rows) CheckOwn(ctx context.Context, X mat.Matrix) error {
	if !r.Name.IsOwn() {
		return nil
	}
	f, err := r.Frame(X)
	if err != nil {
		return err
	}
	return pairwise.CheckOwn(ctx, r.Kernel, pairwise.NewRows[float64](f, X))
}

// NegativeWarning returns a warning for an error of CheckOwn that is not one of a support vector machine.
func NegativeWarning(err error) (warning string, ok bool) {
	if errors.Is(err, pairwise.ErrNegative) {
		return "the Gram matrix " + pairwise.ErrNegative.Error() + ": the machine is a stationary point, not a unique minimum", true
	}
	return "", false
}
