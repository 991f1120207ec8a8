package estimator

import (
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/batch"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/leastsquares"
	"github.com/bochner-ml/bochner/internal/share"
	"github.com/bochner-ml/bochner/param"
)

var (
	_ share.BatchFitter = Ridge{}
	_ share.BatchFitter = RidgeClassifier{}
)

// FitBatch shares work between candidates and folds in three ways.
//
// On rows as they are, candidates that differ in Alpha are fitted to the same sums of products, nd² flops
// for all of them and d³/3 more for each; and the sums of a fold's training rows are those of all rows
// less those of its test rows, 2nd² flops for any number of folds. Where a fold leaves less than half of
// the weight, or what is left is singular, its sums are added up from its rows, as they are where folds
// overlap.
//
// On related maps there is one pass over the rows for the sums and one for the predictions. The
// rows are cut into parts such that each fold trains on some of the parts; the Gram matrix of every
// part is made once for each map, nD² flops in all, and that of a fold's training rows is the sum
// of its parts', so that nothing cancels. Candidates with fewer columns have a leading block of it.
// Each Alpha then takes D³/3 flops, and 2nD for predictions, which all candidates of a fold make in
// one product from features mapped once. No n×D matrix is stored. One factor for each Alpha is the
// cheaper way for lists of some forty: to bring the matrix to tridiagonal form, from where every
// Alpha is cheap, takes as long as 40 to 80 factors (measured). Candidates whose systems are so
// ill-conditioned that the order of summation would show are refined together, a pass over the rows
// for all of them. Where squared errors are all that is asked for, they are made of the Gram matrix
// of the test rows, D² flops for each candidate and no pass, but for those in which rounding could
// show. One whose system is singular to working precision, or of features in float32 whose rounding
// shows in predictions, is fitted individually.
//
// Leave-one-out costs nd² for all candidates that differ in Alpha only and nd² + d³/3 flops for each,
// by [Ridge.LeaveOneOut].
//
// Up to 8,192 columns, candidates share sums even if separate fits with solver auto would use cg.
//
// On sparse rows for which the solver would be cg (fewer rows than columns, or binning features),
// candidates that differ in Alpha only are solved jointly in the dual form: they share the products
// with the kernel of the rows, as many as the smallest Alpha requires, at 2·nnz flops for every
// output. Other candidates that do not use cholesky are fitted separately.
func (s Ridge) FitBatch(ctx context.Context, b share.Batch) (shared []string, err error) {
	list, err := ridges(b)
	if err != nil {
		return nil, err
	}
	for i := range list { // each reports that the targets are not numeric
		list[i].Independent = rejectClassTarget(b.Data.Schema, "ridge") != nil
	}
	return fitRidges(ctx, b, "ridge", list, func(m linear, _ []string) Predictor { return &FittedLinear{m} })
}

// FitBatch shares work as [Ridge.FitBatch] does, between candidates of the same class weight; balanced
// weights differ between folds, and such candidates are fitted individually.
func (s RidgeClassifier) FitBatch(ctx context.Context, b share.Batch) (shared []string, err error) {
	classes := b.Data.Schema.Classes()
	list, err := ridgeClassifiers(b, b.Data)
	if err != nil {
		return nil, err
	}
	return fitRidges(ctx, b, "ridge_classifier", list, func(m linear, _ []string) Predictor {
		return &FittedLinearClassifier{linear: m, classes: classes}
	})
}

// fitRidges is FitBatch of candidates that are ridge regressions.
func fitRidges(ctx context.Context, b share.Batch, name string, list []batch.Ridge,
	fitted func(linear, []string) Predictor) ([]string, error) {
	fit := batch.FitRidges
	switch {
	case b.LeaveOneOut:
		fit = batch.RidgesLeaveOneOut
	case b.HasMaps():
		fit = batch.FitMappedRidges
	}
	return fitPlain(ctx, b, name, fitted, fit, list)
}

// ridges are the candidates in plain.
func ridges(b share.Batch) ([]batch.Ridge, error) {
	specs, err := specsOf[Ridge](b, "ridge")
	list := make([]batch.Ridge, len(specs))
	for i, s := range specs {
		list[i] = batch.Ridge{Ridge: leastsquares.Ridge(s), Key: fmt.Sprint(s.Intercept), Invalid: param.Check(s),
			Problem: func(rows *design.Rows) (*leastsquares.Problem, error) {
				return leastsquares.NewProblem(leastsquares.Ridge(s), rows, design.BlockTargetsAndWeights), nil
			}}
	}
	return list, err
}

// ridgeClassifiers are the candidates in plain, for data with classes.
func ridgeClassifiers(b share.Batch, data datasets.Set) ([]batch.Ridge, error) {
	classes := data.Schema.Classes()
	specs, err := specsOf[RidgeClassifier](b, "ridge_classifier")
	list := make([]batch.Ridge, len(specs))
	for i, s := range specs {
		list[i] = batch.Ridge{Ridge: leastsquares.Ridge(s.ridge()), Key: fmt.Sprint(s.Intercept, s.ClassWeight.Get()),
			Invalid:     param.Check(s),
			Independent: s.ClassWeight.Balanced || len(classes) == 0 || data.Y == nil,
			Problem: func(rows *design.Rows) (*leastsquares.Problem, error) {
				p, _, err := s.coded(rows, classes)
				return p, err
			},
			Check: func(train []int) error { return checkClassCount(data, train, classes) }}
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
func (s Ridge) PlanBatch(b share.Batch) (int64, error) { return ridgesBytes(b, s, ridges) }

// PlanBatch is [Ridge.PlanBatch]. Classes are taken to be known; on related maps the class weight is one
// that does not depend on the rows.
func (s RidgeClassifier) PlanBatch(b share.Batch) (int64, error) {
	switch {
	case b.HasMaps() && s.ClassWeight.Balanced:
		return 0, share.ErrNoSharedMaps
	case b.LeaveOneOut && s.ClassWeight.Balanced:
		return 0, batch.ErrLOOClassWeights
	}
	return ridgesBytes(b, s.ridge(), func(b share.Batch) ([]batch.Ridge, error) {
		return ridgeClassifiers(b, someClasses)
	})
}

// someClasses stands for the classes of data that is not there yet.
var someClasses = datasets.Set{Y: []float64{}, Schema: datasets.Schema{
	Targets: []datasets.Column{{Kind: datasets.Categorical, Categories: []string{"0", "1"}}}}}

// ridgesBytes checks the candidates only if there are folds: without folds the question is whether
// the estimator supports such a batch, and every candidate is asked.
func ridgesBytes(b share.Batch, s Ridge, of func(share.Batch) ([]batch.Ridge, error)) (int64, error) {
	if b.HasMaps() && s.Solver != "auto" && s.Solver != "cholesky" {
		return 0, share.ErrNoSharedMaps
	}
	if len(b.Folds) == 0 {
		return 0, nil
	}
	list, err := of(b)
	switch {
	case err != nil: // the fit reports it
		return 0, nil
	case b.LeaveOneOut:
		return batch.RidgesLeaveOneOutBytes(b.Shape, list), nil
	case b.HasMaps():
		return batch.FitMappedRidgesBytes(plainBatch(b), b.Shape, list), nil
	}
	return batch.FitRidgesBytes(plainBatch(b), b.Shape, list), nil
}
