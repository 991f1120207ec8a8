package estimator

import (
	"context"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/estimator/internal/kernelridge"
	"github.com/bochner-ml/bochner/param"
)

// KernelMatrix returns the kernel values of the rows of X and Y; see [kernel.Matrix].
func (s KernelRidge) KernelMatrix(ctx context.Context, X, Y mat.Matrix) (*mat.Dense, error) {
	return kernelMatrix(ctx, s, s.plain(), X, Y)
}

// KernelMatrix returns the kernel values of the rows of X and Y; see [kernel.Matrix].
func (s KernelRidgeClassifier) KernelMatrix(ctx context.Context, X, Y mat.Matrix) (*mat.Dense, error) {
	return kernelMatrix(ctx, s, s.regression().plain(), X, Y)
}

// KernelMatrix returns the kernel values of the rows of X and Y; see [kernel.Matrix].
func (s KernelSVM) KernelMatrix(ctx context.Context, X, Y mat.Matrix) (*mat.Dense, error) {
	return kernelMatrix(ctx, s, s.plain().Kernels(), X, Y)
}

// KernelMatrix returns the kernel values of the rows of X and Y; see [kernel.Matrix].
func (s KernelSVR) KernelMatrix(ctx context.Context, X, Y mat.Matrix) (*mat.Dense, error) {
	return kernelMatrix(ctx, s, s.plain().Kernels(), X, Y)
}

func kernelMatrix(ctx context.Context, spec any, k kernelridge.Spec, X, Y mat.Matrix) (*mat.Dense, error) {
	if err := param.Check(spec); err != nil {
		return nil, err
	}
	return k.KernelMatrix(ctx, X, Y)
}
