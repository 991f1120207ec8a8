package estimator

import (
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/internal/batch"
	"github.com/bochner-ml/bochner/internal/kernelridge"
	"github.com/bochner-ml/bochner/internal/share"
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
func (s KernelRidge) FitBatch(ctx context.Context, b share.Batch) (shared []string, err error) {
	list, err := kernelRidges(b)
	if err != nil {
		return nil, err
	}
	return fitKernelRidges(ctx, b, "kernel_ridge", list, func(m linear, _ []string) Predictor { return &FittedLinear{m} })
}

// kernelRidges are the candidates of a batch.
func kernelRidges(b share.Batch) ([]batch.KernelRidge, error) {
	specs, err := specsOf[KernelRidge](b, "kernel_ridge")
	list := make([]batch.KernelRidge, len(specs))
	for i, s := range specs {
		invalid := param.Check(s)
		if invalid == nil {
			invalid = rejectClassTarget(b.Data.Schema, "kernel_ridge")
		}
		list[i] = batch.KernelRidge{Spec: s.plain(), Key: s.key(), Invalid: invalid, Labels: kernelridge.NumericTargets}
	}
	return list, err
}

// FitBatch shares work as [KernelRidge.FitBatch] does, between candidates of the same class weight. Balanced weights
// depend on the rows, and leave none out.
func (s KernelRidgeClassifier) FitBatch(ctx context.Context, b share.Batch) (shared []string, err error) {
	list, err := kernelRidgeClassifiers(b)
	if err != nil {
		return nil, err
	}
	return fitKernelRidges(ctx, b, "kernel_ridge_classifier", list, func(m linear, classes []string) Predictor {
		return &FittedLinearClassifier{linear: m, classes: classes}
	})
}

// kernelRidgeClassifiers are the candidates of a batch.
func kernelRidgeClassifiers(b share.Batch) ([]batch.KernelRidge, error) {
	specs, err := specsOf[KernelRidgeClassifier](b, "kernel_ridge_classifier")
	list := make([]batch.KernelRidge, len(specs))
	for i, s := range specs {
		list[i] = batch.KernelRidge{Spec: s.regression().plain(), Key: fmt.Sprint(s.regression().key(), s.ClassWeight.Get()),
			Invalid:     param.Check(s),
			Independent: s.ClassWeight.Balanced || len(b.Data.Schema.Classes()) == 0, Labels: s.coded}
	}
	return list, err
}

// key is the same for candidates that differ in Alpha only.
func (s KernelRidge) key() string {
	s.Alpha = 0
	return fmt.Sprint(s)
}

// fitKernelRidges is FitBatch; fitted is a model that passes scores on.
func fitKernelRidges(ctx context.Context, b share.Batch, name string, list []batch.KernelRidge,
	fitted func(linear, []string) Predictor) ([]string, error) {
	fit := batch.FitKernelRidges
	switch {
	case b.LeaveOneOut:
		fit = batch.KernelRidgesLeaveOneOut
	case b.HasMaps():
		return nil, share.ErrNoSharedMaps
	}
	return fitPlain(ctx, b, name, fitted, fit, list)
}

// PlanBatch supports batches on unmapped rows, and leave-one-out if Gamma is a number.
func (s KernelRidge) PlanBatch(b share.Batch) (int64, error) {
	if b.LeaveOneOut && s.plain().LearnsGamma() {
		return 0, batch.ErrLOOGammaRule
	}
	list, err := kernelRidges(b)
	return kernelRidgesBytes(b, list, err)
}

// PlanBatch is [KernelRidge.PlanBatch]; leave-one-out does not support balanced class weights.
func (s KernelRidgeClassifier) PlanBatch(b share.Batch) (int64, error) {
	switch {
	case b.LeaveOneOut && s.ClassWeight.Balanced:
		return 0, batch.ErrLOOClassWeights
	case b.LeaveOneOut && s.regression().plain().LearnsGamma():
		return 0, batch.ErrLOOGammaRule
	}
	list, err := kernelRidgeClassifiers(b)
	return kernelRidgesBytes(b, list, err)
}

// kernelRidgesBytes is PlanBatch.
func kernelRidgesBytes(b share.Batch, list []batch.KernelRidge, err error) (int64, error) {
	switch {
	case err != nil:
		return 0, err
	case b.HasMaps():
		return 0, share.ErrNoSharedMaps
	case b.LeaveOneOut:
		return batch.KernelRidgesLeaveOneOutBytes(plainBatch(b), b.Shape, list), nil
	}
	return batch.FitKernelRidgesBytes(plainBatch(b), b.Shape, list), nil
}
