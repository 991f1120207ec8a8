package estimator

import (
	"context"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/estimator/internal/joint"
	"github.com/bochner-ml/bochner/estimator/internal/kernelridge"
	"github.com/bochner-ml/bochner/param"
)

// FitBatch solves for all Alphas of a kernel on a fold jointly, as right-hand sides of one matrix
// whose values are read once: small problems with a float32 factorization for each Alpha, refined
// in float64; large ones by tiles with one low-rank factorization. Each system is solved to its own
// Tol, so predictions agree with a separate fit to that tolerance. Candidates that differ in the
// kernel or in Gamma share the distances of the rows of a fold, for at least about 30 columns or
// non-Euclidean distances, up to 10,000 rows.
//
// Leave-one-out is exact: with the solution a and M = (K + Alpha·S⁻¹)⁻¹, the intercept projected
// out,
//
//	y_i − ŷ₋ᵢ = a_i / M_ii
//
// It uses cholesky and costs n³ flops per Alpha. It returns an error for a rule of Gamma, which
// would have to be evaluated again without each row.
func (s KernelRidge) FitBatch(ctx context.Context, b batch.Job) (shared []string, err error) {
	list, err := kernelRidges(b)
	if err != nil {
		return nil, err
	}
	return fitKernelRidges(ctx, b, "kernel_ridge", list, linearRegression)
}

// kernelRidges are the candidates of a batch.
func kernelRidges(b batch.Job) ([]joint.KernelRidge, error) {
	specs, err := specsOf[KernelRidge](b, "kernel_ridge")
	list := make([]joint.KernelRidge, len(specs))
	for i, s := range specs {
		invalid := param.Check(s)
		if invalid == nil {
			invalid = rejectClassTarget(b.Data.Schema, "kernel_ridge")
		}
		list[i] = joint.KernelRidge{Spec: s.plain(), Invalid: invalid, Labels: kernelridge.NumericTargets}
	}
	return list, err
}

// FitBatch shares work as [KernelRidge.FitBatch] does, between candidates of the same class weight. Balanced weights
// depend on the rows, and leave none out.
func (s KernelRidgeClassifier) FitBatch(ctx context.Context, b batch.Job) (shared []string, err error) {
	list, err := kernelRidgeClassifiers(b)
	if err != nil {
		return nil, err
	}
	return fitKernelRidges(ctx, b, "kernel_ridge_classifier", list, func(m linear, classes []string) Predictor {
		return &FittedLinearClassifier{linear: m, classes: classes}
	})
}

// kernelRidgeClassifiers are the candidates of a batch.
func kernelRidgeClassifiers(b batch.Job) ([]joint.KernelRidge, error) {
	specs, err := specsOf[KernelRidgeClassifier](b, "kernel_ridge_classifier")
	list := make([]joint.KernelRidge, len(specs))
	for i, s := range specs {
		list[i] = joint.KernelRidge{Spec: s.regression().plain(),
			Invalid:     param.Check(s),
			Independent: s.ClassWeight.Balanced || len(b.Data.Schema.Classes()) == 0, Labels: s.coded}
	}
	return list, err
}

// Shared returns the spec without Alpha.
func (s KernelRidge) Shared() any { s.Alpha = 0; return s }

// Shared returns the spec without Alpha.
func (s KernelRidgeClassifier) Shared() any { s.Alpha = 0; return s }

// fitKernelRidges is FitBatch; fitted is a model that passes scores on.
func fitKernelRidges(ctx context.Context, b batch.Job, name string, list []joint.KernelRidge,
	fitted func(linear, []string) Predictor) ([]string, error) {
	fit := joint.FitKernelRidges
	switch {
	case b.LeaveOneOut:
		fit = joint.KernelRidgesLeaveOneOut
	case b.HasMaps():
		return nil, batch.ErrNoSharedMaps
	}
	return fitJointly(ctx, b, name, fitted, fit, list)
}

// PlanBatch supports batches on unmapped rows, and leave-one-out if Gamma is a number.
func (s KernelRidge) PlanBatch(b batch.Job) (int64, error) {
	if b.LeaveOneOut && s.plain().LearnsGamma() {
		return 0, joint.ErrLOOGammaRule
	}
	list, err := kernelRidges(b)
	return kernelRidgesBytes(b, list, err)
}

// PlanBatch is [KernelRidge.PlanBatch]; leave-one-out does not support balanced class weights.
func (s KernelRidgeClassifier) PlanBatch(b batch.Job) (int64, error) {
	switch {
	case b.LeaveOneOut && s.ClassWeight.Balanced:
		return 0, joint.ErrLOOClassWeights
	case b.LeaveOneOut && s.regression().plain().LearnsGamma():
		return 0, joint.ErrLOOGammaRule
	}
	list, err := kernelRidgeClassifiers(b)
	return kernelRidgesBytes(b, list, err)
}

// kernelRidgesBytes is PlanBatch.
func kernelRidgesBytes(b batch.Job, list []joint.KernelRidge, err error) (int64, error) {
	switch {
	case err != nil:
		return 0, err
	case b.HasMaps():
		return 0, batch.ErrNoSharedMaps
	case b.LeaveOneOut:
		return joint.KernelRidgesLeaveOneOutBytes(b.Shape, list), nil
	}
	return joint.FitKernelRidgesBytes(b, list), nil
}
