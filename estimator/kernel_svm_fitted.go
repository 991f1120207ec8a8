package estimator

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/kernel"
)

// fittedKernelSVM is a sum of kernels at support vectors for each class, or a single one, positive
// for the second class, where there are two: what [KernelSVM] returns.
type fittedKernelSVM struct{ kernelClassifier }

// fittedKernelSVR is a sum of kernels at support vectors: what [KernelSVR] returns.
type fittedKernelSVR struct{ kernelRegressor }

// supportVectors returns a copy of the rows of Dual.
func (f *kernelModel) supportVectors() mat.Matrix {
	all := make([]int, f.Rows())
	for i := range all {
		all[i] = i
	}
	return rowblock.Select(f.m.X, all)
}

// supportTags returns that the stored rows are support vectors.
func (f *kernelModel) supportTags() datasets.Tags {
	out := f.Tags()
	out.SupportVectors = true
	return out
}

// describeSupport describes a machine in a line.
func (f *kernelModel) describeSupport() string {
	return fmt.Sprintf("%s kernel at %d support vectors of %d inputs, %d outputs", kernel.Name(f.m.Kernel), f.Rows(), f.InputWidth(),
		len(f.m.Intercept))
}

// SupportVectors returns a copy of the support vectors of all classes, the rows of Dual: a *mat.Dense or *matrices.CSR.
func (f *fittedKernelSVM) SupportVectors() mat.Matrix { return f.supportVectors() }

// Tags returns that the stored rows are support vectors.
func (f *fittedKernelSVM) Tags() datasets.Tags { return f.supportTags() }

// SupportVectors returns a copy of the support vectors, the rows of Dual: a *mat.Dense or *matrices.CSR.
func (f *fittedKernelSVR) SupportVectors() mat.Matrix { return f.supportVectors() }

// Tags returns that the stored rows are support vectors.
func (f *fittedKernelSVR) Tags() datasets.Tags { return f.supportTags() }

// String describes the model in a line.
func (f *fittedKernelSVM) String() string { return f.describeSupport() }

// String describes the model in a line.
func (f *fittedKernelSVR) String() string { return f.describeSupport() }
