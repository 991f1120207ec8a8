package gridsearch

import (
	"cmp"
	"fmt"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/share"
)

// LeaveOneOut as the splitter of a search predicts every row by the model of all the others, exactly
// and for little more than one fit, where the estimator is a BatchFitter that can: ridge
// regression and its classifier, behind steps that learn nothing from the rows. The scores are of
// all rows together, and a result has one fold.
type LeaveOneOut struct {
	// GCV takes all rows to have the mean leverage instead of their own: the mean squared error is
	// then the generalised cross-validation score. (Golub, Heath & Wahba, Technometrics 1979.)
	// [estimator.LeaveOneOut] has its formula, with weights too.
	GCV bool
}

var _ datasets.Splitter = LeaveOneOut{}

// Split returns one fold, which tests on all rows and trains on all: that none of them is predicted
// by a model that has seen it is left to the estimator.
func (LeaveOneOut) Split(data datasets.Set) ([]datasets.Fold, error) {
	if data.Rows() < 2 {
		return nil, fmt.Errorf("leave one out needs two rows, there are %d", data.Rows())
	}
	all := make([]int, data.Rows())
	for i := range all {
		all[i] = i
	}
	return []datasets.Fold{{Train: all, Test: all}}, nil
}

// Check says why no candidate of a search can leave one out, nil where one can; of large grids it looks
// at some candidates.
func (LeaveOneOut) Check(s Search) error {
	const enough = 1000
	rounds, errs := s.begin(enough)
	if len(errs) > 0 {
		return errs
	}
	var first error
	for _, c := range rounds.known() {
		err := supportsLeaveOneOut(c.spec)
		if err == nil {
			return nil
		}
		first = cmp.Or(first, err)
	}
	return first
}

func supportsLeaveOneOut(spec estimator.Estimator) error {
	fitter, ok := spec.(share.BatchFitter)
	if !ok {
		return fmt.Errorf("leave one out is for ridge, kernel_ridge and their classifiers, by themselves or at the end of a pipeline, not for %T; use k folds", spec)
	}
	_, err := fitter.PlanBatch(share.Batch{LeaveOneOut: true, Candidates: share.Candidates(spec)})
	return err
}
