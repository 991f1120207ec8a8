package estimator

import (
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/batch"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kernelridge"
	"github.com/bochner-ml/bochner/param"
)

var (
	_ BatchFitter = KernelRidge{}
	_ BatchFitter = KernelRidgeClassifier{}
)

// FitBatch shares the kernel values of a fold between candidates that differ in Alpha: the n×n matrix, where they go by
// cholesky; where they go by cg, the tiles and the preconditioner's columns. Those are walked from the largest Alpha to the smallest,
// and a solution is where the next one begins; each is solved to its own Tol, so that what is predicted agrees with a fit
// by itself to that. A path is walked from its beginning, whatever is wanted of it.
//
// Leaving one out is exact: with the solution a and M = (K + Alpha·S⁻¹)⁻¹, the intercept projected out,
//
//	y_i − ŷ₋ᵢ = a_i / M_ii
//
// It goes by cholesky and costs n³ flops for each Alpha. A rule for Gamma would have to be followed again without
// each row, and is refused.
func (s KernelRidge) FitBatch(ctx context.Context, b Batch) (shared []string, err error) {
	specs, err := specsOf[KernelRidge](b, "kernel_ridge")
	if err != nil {
		return nil, err
	}
	list := make([]batch.KernelRidge, len(specs))
	for i, s := range specs {
		invalid := param.Check(s)
		if invalid == nil {
			invalid = forNumbers(b.Data.Schema, "kernel_ridge")
		}
		list[i] = batch.KernelRidge{Spec: s.plain(), Key: s.key(), Invalid: invalid, Labels: kernelridge.Numbers}
	}
	return fitKernelRidges(ctx, b, "kernel_ridge", list, func(m linear, _ []string) Predictor { return &FittedLinear{m} })
}

// FitBatch shares work as [KernelRidge.FitBatch] does, between candidates of the same class weight. Balanced weights
// depend on the rows, and leave none out.
func (s KernelRidgeClassifier) FitBatch(ctx context.Context, b Batch) (shared []string, err error) {
	specs, err := specsOf[KernelRidgeClassifier](b, "kernel_ridge_classifier")
	if err != nil {
		return nil, err
	}
	list := make([]batch.KernelRidge, len(specs))
	for i, s := range specs {
		list[i] = batch.KernelRidge{Spec: s.regression().plain(), Key: fmt.Sprint(s.regression().key(), s.ClassWeight.Plain()), Invalid: param.Check(s),
			Alone: s.ClassWeight.Balanced || len(b.Data.Schema.Classes()) == 0, Labels: s.coded}
	}
	return fitKernelRidges(ctx, b, "kernel_ridge_classifier", list, func(m linear, classes []string) Predictor {
		return &FittedLinearClassifier{linear: m, classes: classes}
	})
}

// key is the same for candidates that differ in Alpha only.
func (s KernelRidge) key() string {
	s.Alpha = 0
	return fmt.Sprint(s)
}

// fitKernelRidges is FitBatch; fitted is a model that passes scores on.
func fitKernelRidges(ctx context.Context, b Batch, name string, list []batch.KernelRidge, fitted func(linear, []string) Predictor) ([]string, error) {
	fit := batch.KernelRidges
	switch {
	case b.OneOut:
		fit = batch.KernelRidgesOneOut
	case b.Mapped():
		return nil, ErrNotMapped
	}
	return fitPlain(ctx, b, name, fitted, fit, list)
}

// BatchCost takes a batch on rows as they are, and leaving one out where Gamma is a number.
func (s KernelRidge) BatchCost(b Batch) (sum datasets.Cost, shared []string, err error) {
	switch {
	case b.OneOut && s.Gamma.Rule() != "":
		return sum, nil, batch.ErrRuleOneOut
	case b.OneOut:
		return oneOutCost(b), []string{"rows"}, nil
	case b.Mapped():
		return sum, nil, ErrNotMapped
	}
	return b.LoneCost(), nil, nil
}

// BatchCost is [KernelRidge.BatchCost], for class weights that are not balanced where one row is left out.
func (s KernelRidgeClassifier) BatchCost(b Batch) (datasets.Cost, []string, error) {
	if b.OneOut && s.ClassWeight.Balanced {
		return datasets.Cost{}, nil, batch.ErrBalancedOneOut
	}
	return s.regression().BatchCost(b)
}

// oneOutCost is that of a factor and an inverse of the whole matrix for each candidate.
func oneOutCost(b Batch) (sum datasets.Cost) {
	n := float64(b.Shape.Rows)
	for range b.Candidates {
		sum.Flops += 2 * n * n * n
	}
	sum.Bytes = design.Bytes(2*n*n + n*b.Shape.Entries())
	return sum
}
