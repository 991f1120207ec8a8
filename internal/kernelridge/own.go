package kernelridge

import (
	"context"
	"errors"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/landmarks"
	"github.com/bochner-ml/bochner/internal/pairwise"
)

// Landmarks returns the map of rows of positive weight of a set: of all of them, or of as many as most that randomly
// pivoted Cholesky selects. Inner products of its features are the kernel values of these rows.
func (s Spec) Landmarks(ctx context.Context, set datasets.Set, most int) (*Rows, *landmarks.Map, error) {
	rows, err := s.Resolve(ctx, set)
	if err != nil {
		return nil, nil, err
	}
	X, factors := design.WithoutZeroWeights(0, datasets.Set{X: rows.X, Weights: set.Weights}).X, rows.Kernel.Factors(rows.Gamma)
	switch n, _ := X.Dims(); {
	case n == 0:
		return nil, nil, errors.New("every weight is 0")
	case n > most:
		chosen, err := landmarks.Choose(ctx, rows.Kernel, factors, X, most, s.Seed)
		if err != nil {
			return nil, nil, err
		}
		X = landmarks.Take(X, chosen)
	}
	f, _, err := landmarks.NewMap(ctx, rows.Kernel, factors, X)
	return rows, f, err
}

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
