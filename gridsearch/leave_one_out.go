package gridsearch

import (
	"cmp"
	"fmt"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
)

// LeaveOneOut is a splitter that predicts each row with a model of all other rows, exactly and at
// little more than the cost of one fit. It supports ridge regression, kernel ridge regression and
// their classifiers, after steps that do not learn from the rows. Scores are computed over all
// rows; the result has one fold.
type LeaveOneOut struct {
	// GCV replaces the leverage of each row by the mean leverage; the mean squared error is then
	// the generalized cross-validation score. (Golub, Heath and Wahba, Technometrics 1979.) See
	// [estimator.LeaveOneOut] for the formula, also with weights.
	GCV bool
}

var _ datasets.Splitter = LeaveOneOut{}

// Split returns one fold that trains and tests on all rows; the estimator excludes each row from
// the model that predicts it.
func (LeaveOneOut) Split(data datasets.Set) ([]datasets.Fold, error) {
	if data.Rows() < 2 {
		return nil, fmt.Errorf("leave-one-out requires at least two rows, got %d", data.Rows())
	}
	all := make([]int, data.Rows())
	for i := range all {
		all[i] = i
	}
	return []datasets.Fold{{Train: all, Test: all}}, nil
}

// Check returns an error if no candidate of the search supports leave-one-out. It samples the
// candidates of large grids.
func (LeaveOneOut) Check(s Search) error {
	const enough = 1000
	rounds, errs := s.begin(enough)
	if len(errs) > 0 {
		return errs
	}
	var first error
	for _, c := range rounds.known() {
		err := batch.Job{LeaveOneOut: true, Candidates: batch.Candidates(c.spec)}.CheckTags()
		if err == nil {
			return nil
		}
		first = cmp.Or(first, err)
	}
	return first
}
