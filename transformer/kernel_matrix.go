package transformer

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/features/spectral"
)

// errNoKernel is returned for a custom kernel without an exact function.
var errNoKernel = errors.New("the exact kernel is not known, only its draws")

// kernelOf returns k(x, y) of inputs multiplied by factor.
func kernelOf(step string, k spectral.Kernel, factor, x, y []float64) (float64, error) {
	if k.Exact == nil {
		return 0, fmt.Errorf("transformer: %s: %w", step, errNoKernel)
	}
	if len(x) != len(factor) || len(y) != len(factor) {
		return 0, fmt.Errorf("transformer: %s: %d columns at fit, %d and %d now", step, len(factor), len(x), len(y))
	}
	if !allFinite(x, y) {
		return 0, fmt.Errorf("transformer: %s: the kernel of values that are missing or infinite", step)
	}
	return k.Between(factor, x, y), nil
}

// kernelMatrix returns the matrix of k(x, y) for the rows x of X and y of Y, inputs multiplied by
// factor.
func kernelMatrix(ctx context.Context, step string, k spectral.Kernel, factor []float64, X, Y mat.Matrix) (*mat.Dense,
	error) {
	if k.Exact == nil {
		return nil, fmt.Errorf("transformer: %s: %w", step, errNoKernel)
	}
	inputs := [2]mat.Matrix{X, Y}
	for i := range inputs {
		var err error
		if inputs[i], err = checkRows(step, inputs[i], len(factor)); err != nil {
			return nil, err
		}
		if err = checkEntries(step, inputs[i], datasets.Schema{}, 0, math.MaxFloat64, false); err != nil {
			return nil, err
		}
	}
	return k.Matrix(ctx, factor, inputs[0], inputs[1])
}
