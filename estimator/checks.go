package estimator

import (
	"context"
	"errors"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
)

// rejectClassTarget refuses targets that are the codes of classes: a regression on them would take the
// classes for amounts.
func rejectClassTarget(schema datasets.Schema, name string) error {
	instead, known := map[string]string{"ridge": "ridge_classifier (estimator.NewRidgeClassifier)",
		"svr":              "svm (estimator.NewSVM)",
		"kernel_svr":       "kernel_svm (estimator.NewKernelSVM)",
		"sgd_regressor":    "sgd_classifier (estimator.NewSGDClassifier)",
		"kernel_ridge":     "kernel_ridge_classifier (estimator.NewKernelRidgeClassifier)",
		"gaussian_process": "kernel_ridge_classifier (estimator.NewKernelRidgeClassifier)"}[name]
	if !known {
		instead = "logistic (estimator.NewLogistic)"
	}
	for _, c := range schema.Targets {
		if c.Kind == datasets.Categorical {
			return fmt.Errorf("the target %s has classes, and %s is for numbers; %s is for classes", c.Name, name, instead)
		}
	}
	return nil
}

// readNumbers is readLabels for a regression.
func readNumbers(ctx context.Context, r *design.Rows, name string) (*design.Labels, error) {
	if err := rejectClassTarget(r.Schema, name); err != nil {
		return nil, err
	}
	return r.ReadLabels(ctx)
}

// checkMemory returns an error if a fit would need more than the available memory. Every fit calls
// it first.
func checkMemory(spec datasets.CostEstimator, shape datasets.Shape) error {
	return memory.Check(spec.Cost(shape).Bytes)
}

// errTooLarge reports predictions that are not finite for finite inputs.
var errTooLarge = fmt.Errorf("estimator: %w", ErrTooLarge)

// ErrTooLarge is wrapped by the error for inputs so large that the prediction overflows.
var ErrTooLarge = errors.New("the inputs are too large to predict from")

// checkInputs returns the rows of X in a type that the matrix products support. It returns an error
// for a width other than that at fit, or a value that is not finite.
func checkInputs(ctx context.Context, X mat.Matrix, width int) (mat.Matrix, error) {
	if err := ctxerr.Check(ctx); err != nil {
		return nil, err
	}
	if err := datasets.CheckInput(ctx, X, width); err != nil {
		return nil, fmt.Errorf("estimator: %w", err)
	}
	return design.Native(X), nil
}

// scoresOf returns the matrix of rows × outputs that score writes for the rows of X.
func scoresOf(ctx context.Context, X mat.Matrix, width, outputs int,
	score func(ctx context.Context, dst []float64, X mat.Matrix) error) (*mat.Dense, error) {
	n, _ := X.Dims()
	if n == 0 {
		if err := ctxerr.Check(ctx); err != nil {
			return nil, err
		}
		return &mat.Dense{}, nil
	}
	X, err := checkInputs(ctx, X, width)
	if err != nil {
		return nil, err
	}
	out := mat.NewDense(n, outputs, nil)
	if err := score(ctx, out.RawMatrix().Data, X); err != nil {
		return nil, err
	}
	if !kern.AllFinite(out.RawMatrix().Data) {
		return nil, errTooLarge
	}
	return out, nil
}
