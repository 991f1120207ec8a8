package estimator

import (
	"context"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/joint"
	"github.com/bochner-ml/bochner/estimator/internal/leastsquares"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/param"
)

// FitBatch shares work between candidates and folds in three ways.
//
// On unmapped rows, candidates that differ in Alpha share the sums of products: nd² flops for all
// of them and d³/3 for each. The sums of the training rows of a fold are those of all rows minus
// those of its test rows, 2nd² flops for any number of folds. They are summed directly if folds
// overlap, if the training rows have less than half of the weight, or if the difference is
// singular.
//
// On related maps there is one pass over the rows for the sums and one for the predictions. The
// rows are divided into parts such that each fold trains on a union of parts. The Gram matrix of
// every part is computed once for each map, nD² flops in all; that of the training rows of a fold
// is the sum over its parts, without cancellation. Candidates with fewer columns use a leading
// block of it. Each Alpha then costs D³/3 flops, and 2nD for predictions, which all candidates of a
// fold compute in one product from features mapped once. No n×D matrix is stored. One factorization
// per Alpha is faster than a tridiagonal reduction, which costs as much as 40 to 80 factorizations
// (measured), for up to about forty Alphas. Candidates with systems so ill-conditioned that the
// order of summation matters are refined jointly, one pass over the rows for all of them. If only
// squared errors are requested, they are computed from the Gram matrix of the test rows, D² flops
// per candidate without a pass, except for those affected by rounding. A candidate whose system is
// numerically singular, or whose float32 features are too inaccurate, is fitted individually.
//
// Leave-one-out costs nd² for all candidates that differ in Alpha only and nd² + d³/3 flops for
// each, by [Ridge.LeaveOneOut].
//
// Up to 8,192 columns, candidates share sums even if separate fits with solver auto would use cg.
//
// On sparse rows for which the solver would be cg (fewer rows than columns, or binning features),
// candidates that differ in Alpha only are solved jointly in the dual form: they share the products
// with the kernel of the rows. The smallest Alpha determines their number, at 2·nnz flops for every
// output. Other candidates that do not use cholesky are fitted separately.
func (s Ridge) FitBatch(ctx context.Context, b batch.Job) (shared []string, err error) {
	list, err := ridges(b)
	if err != nil {
		return nil, err
	}
	for i := range list { // each reports that the targets are not numeric
		list[i].Independent = rejectClassTarget(b.Data.Schema, "ridge") != nil
	}
	return fitRidges(ctx, b, "ridge", list, linearRegression)
}

// FitBatch shares work as [Ridge.FitBatch] does, between candidates of the same class weight; balanced
// weights differ between folds, and such candidates are fitted individually.
func (s RidgeClassifier) FitBatch(ctx context.Context, b batch.Job) (shared []string, err error) {
	classes, labels := b.Data.Schema.Classes(), labelNames(b.Data)
	list, err := ridgeClassifiers(b)
	if err != nil {
		return nil, err
	}
	return fitRidges(ctx, b, "ridge_classifier", list, func(m linear, _ []string) Predictor {
		return &FittedLinearClassifier{linear: m, classes: classes, labels: labels}
	})
}

// fitRidges is FitBatch of candidates that are ridge regressions.
func fitRidges(ctx context.Context, b batch.Job, name string, list []joint.Ridge,
	fitted func(linear, []string) Predictor) ([]string, error) {
	fit := joint.FitRidges
	switch {
	case b.LeaveOneOut:
		fit = joint.RidgesLeaveOneOut
	case b.HasMaps():
		fit = joint.FitMappedRidges
	}
	return fitJointly(ctx, b, name, fitted, fit, list)
}

// Shared returns the spec without Alpha.
func (s Ridge) Shared() any { s.Alpha = 0; return s }

// Shared returns the spec without Alpha.
func (s RidgeClassifier) Shared() any { s.Alpha = 0; return s }

// ridges are the candidates in plain.
func ridges(b batch.Job) ([]joint.Ridge, error) {
	specs, err := specsOf[Ridge](b, "ridge")
	list := make([]joint.Ridge, len(specs))
	for i, s := range specs {
		list[i] = joint.Ridge{Ridge: leastsquares.Ridge(s), Invalid: param.Check(s),
			Problem: func(rows *design.Rows) (*leastsquares.Problem, error) {
				return leastsquares.NewProblem(leastsquares.Ridge(s), rows, design.BlockTargetsAndWeights), nil
			}}
	}
	return list, err
}

// ridgeClassifiers are the candidates in plain. Without data, for a plan, the classes are taken to be known.
func ridgeClassifiers(b batch.Job) ([]joint.Ridge, error) {
	data, classes := b.Data, b.Data.Schema.Classes()
	specs, err := specsOf[RidgeClassifier](b, "ridge_classifier")
	list := make([]joint.Ridge, len(specs))
	for i, s := range specs {
		list[i] = joint.Ridge{Ridge: leastsquares.Ridge(s.ridge()),
			Invalid:     param.Check(s),
			Independent: s.ClassWeight.Balanced || data.X != nil && (len(classes) == 0 || data.Y == nil),
			Problem: func(rows *design.Rows) (*leastsquares.Problem, error) {
				p, _, err := s.coded(rows, classes)
				return p, err
			},
			Check: func(train []int) error { return checkClassCount(data, train, classes) }}
		if data.Targets != nil {
			list[i].Independent, list[i].Check = s.ClassWeight.Balanced || s.ClassWeight.Weights != nil, nil
			list[i].Problem = func(rows *design.Rows) (*leastsquares.Problem, error) { return s.labelProblem(rows), nil }
		}
	}
	return list, err
}

// checkClassCount fails where the training rows of positive weight are all of one class.
func checkClassCount(data datasets.Set, train []int, classes []string) error {
	mass := make([]float64, len(classes))
	for _, i := range train {
		c := int(data.Y[i])
		if data.Weights == nil {
			mass[c]++
		} else {
			mass[c] += data.Weights[i]
		}
	}
	return design.CheckClassCount(classes, mass)
}

// PlanBatch takes a batch of any kind. On related maps the solver is, or may be, cholesky.
func (s Ridge) PlanBatch(b batch.Job) (int64, error) { return ridgesBytes(b, ridges) }

// PlanBatch is [Ridge.PlanBatch]. Classes are taken to be known; on related maps the class weight is one
// that does not depend on the rows.
func (s RidgeClassifier) PlanBatch(b batch.Job) (int64, error) {
	return ridgesBytes(b, ridgeClassifiers)
}

// ridgesBytes is PlanBatch.
func ridgesBytes(b batch.Job, of func(batch.Job) ([]joint.Ridge, error)) (int64, error) {
	list, err := of(b)
	switch {
	case err != nil: // the fit reports it
		return 0, nil
	case b.LeaveOneOut:
		return joint.RidgesLeaveOneOutBytes(b, list), nil
	case b.HasMaps():
		return joint.FitMappedRidgesBytes(b, list), nil
	}
	return joint.FitRidgesBytes(b, list), nil
}
