package kernelridge

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/landmarks"
	"github.com/bochner-ml/bochner/internal/features/pairwise"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/kernel"
)

// OwnFeatures are features of a kernel of the caller: those of [landmarks.Map], whose inner products are the
// kernel values of the landmarks.
type OwnFeatures struct {
	*landmarks.Map
	Kernel *pairwise.Kernel
}

// NewOwnFeatures returns the features of a kernel of the caller by rows of positive weight of a set: all of them, or
// at most maxFeatures, selected by randomly pivoted Cholesky.
func NewOwnFeatures(ctx context.Context, name kernel.Name, set datasets.Set, maxFeatures int,
	seed uint64) (*OwnFeatures, *Rows, error) {
	rows, err := Spec{Kernel: name, Gamma: kernel.FixedGamma(1), Seed: seed}.Resolve(ctx, set)
	if err != nil {
		return nil, nil, err
	}
	X := design.WithoutZeroWeights(0, datasets.Set{X: rows.X, Weights: set.Weights}).X
	factors := rows.Kernel.Factors(rows.Gamma)
	switch n, _ := X.Dims(); {
	case n == 0:
		return nil, nil, errors.New("every weight is 0")
	case n > maxFeatures:
		chosen, err := landmarks.Choose(ctx, rows.Kernel, factors, X, maxFeatures, seed)
		if err != nil {
			return nil, nil, err
		}
		X = landmarks.Take(X, chosen)
	}
	f, _, err := landmarks.NewMap(ctx, rows.Kernel, factors, X)
	return &OwnFeatures{f, rows.Kernel}, rows, err
}

// RestoreOwnFeatures returns stored features.
func RestoreOwnFeatures(name kernel.Name, stored landmarks.Stored) (*OwnFeatures, error) {
	k, ok := pairwise.NewKernel(string(name), spectral.Shape{})
	if !ok || !k.IsOwn() {
		return nil, fmt.Errorf("kernel %s is not known; call kernel.Register for a kernel of the program", name)
	}
	rows := stored.Rows()
	if rows == nil {
		return nil, errors.New("there are no landmarks")
	}
	_, d := rows.Dims()
	f, err := stored.Map(k, slices.Repeat([]float64{1}, d))
	return &OwnFeatures{f, k}, err
}

// Transform writes the features of new rows, a *mat.Dense or *matrices.CSR, to dst.
func (f *OwnFeatures) Transform(ctx context.Context, dst *mat.Dense, X mat.Matrix) error {
	return f.Float64(ctx, design.View(dst), f.Kernel.NewRows(X))
}

// Diagonal returns k(x, x) of rows: training rows, or new rows unless the kernel is precomputed.
func (f *OwnFeatures) Diagonal(X mat.Matrix) ([]float64, error) {
	_, d := X.Dims()
	return pairwise.Diagonal(f.Kernel, pairwise.NewRows[float64](f.Kernel.Frame(slices.Repeat([]float64{1}, d), X), X))
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
		warning = "the Gram matrix " + pairwise.ErrNegative.Error()
		return warning + ": the machine is a stationary point, not a unique minimum", true
	}
	return "", false
}
