package estimator

import (
	"context"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/estimator/internal/joint"
	"github.com/bochner-ml/bochner/param"
)

// FitBatch follows C from the smallest to the largest, with warm starts, for each other choice of
// parameters and each fold. Up to some 10,000 rows (4·rows² bytes within a quarter of Cache), all
// folds and all C of a γ share one kernel matrix, which has the scores of the test rows, too, and
// all γ share the distances; with more rows, all C of a fold share its cached kernel rows. Each
// problem is solved to its own Tol, so predictions agree with a separate fit to that tolerance.
// Folds and γ run concurrently.
func (s KernelSVM) FitBatch(ctx context.Context, b batch.Job) (shared []string, err error) {
	list, err := kernelSVMs(b)
	if err != nil {
		return nil, err
	}
	return fitKernelSVMs(ctx, b, "kernel_svm", list, func(m linear, classes []string) Predictor {
		return &FittedLinearClassifier{linear: m, classes: classes}
	})
}

// kernelSVMs are the candidates of a batch.
func kernelSVMs(b batch.Job) ([]joint.KernelSVM, error) {
	specs, err := specsOf[KernelSVM](b, "kernel_svm")
	list := make([]joint.KernelSVM, len(specs))
	for i, s := range specs {
		list[i] = joint.KernelSVM{Spec: s.plain(), Invalid: param.Check(s), Labels: s.labels}
	}
	return list, err
}

// FitBatch shares work as [KernelSVM.FitBatch] does.
func (s KernelSVR) FitBatch(ctx context.Context, b batch.Job) (shared []string, err error) {
	list, err := kernelSVRs(b)
	if err != nil {
		return nil, err
	}
	return fitKernelSVMs(ctx, b, "kernel_svr", list, linearRegression)
}

// kernelSVRs are the candidates of a batch.
func kernelSVRs(b batch.Job) ([]joint.KernelSVM, error) {
	specs, err := specsOf[KernelSVR](b, "kernel_svr")
	list := make([]joint.KernelSVM, len(specs))
	for i, s := range specs {
		list[i] = joint.KernelSVM{Spec: s.plain(), Invalid: param.Check(s), Labels: s.labels}
	}
	return list, err
}

// Shared returns the spec without C.
func (s KernelSVM) Shared() any { s.C = 0; return s }

// Shared returns the spec without C.
func (s KernelSVR) Shared() any { s.C = 0; return s }

// fitKernelSVMs is FitBatch; fitted is a model that passes scores on.
func fitKernelSVMs(ctx context.Context, b batch.Job, name string, list []joint.KernelSVM,
	fitted func(linear, []string) Predictor) ([]string, error) {
	return fitJointly(ctx, b, name, fitted, joint.FitKernelSVMs, list)
}

// PlanBatch takes a batch on rows as they are.
func (s KernelSVM) PlanBatch(b batch.Job) (int64, error) {
	list, err := kernelSVMs(b)
	return kernelSVMsBytes(b, list, err)
}

// PlanBatch takes a batch on rows as they are.
func (s KernelSVR) PlanBatch(b batch.Job) (int64, error) {
	list, err := kernelSVRs(b)
	return kernelSVMsBytes(b, list, err)
}

// kernelSVMsBytes is PlanBatch.
func kernelSVMsBytes(b batch.Job, list []joint.KernelSVM, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return joint.FitKernelSVMsBytes(b, list), nil
}
