package gridsearch

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
)

// LeaveOneOut as the splitter of a search predicts every row by the model of all the others, exactly
// and for little more than one fit, where the estimator is an [estimator.OneOutSweeper]: ridge
// regression and its classifier, behind steps that learn nothing from the rows. The scores are of
// all rows together, and a result has one fold.
type LeaveOneOut struct {
	// GCV takes all rows to have the mean leverage instead of their own: the mean squared error is
	// then the generalised cross-validation score. (Golub, Heath & Wahba, Technometrics 1979.)
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
	candidates, _, faults := s.candidates(enough)
	var first error
	for _, c := range candidates {
		err := leavesOneOut(c.spec)
		if err == nil {
			return nil
		}
		first = cmp.Or(first, err)
	}
	return cmp.Or(first, faults.Err())
}

func leavesOneOut(spec estimator.Estimator) error {
	if _, ok := spec.(estimator.OneOutSweeper); !ok {
		return fmt.Errorf("leave one out is for ridge and ridge_classifier, by themselves or at the end of a pipeline, not for %T; use k folds", spec)
	}
	if c, ok := spec.(interface{ CanLeaveOneOut() error }); ok {
		return c.CanLeaveOneOut()
	}
	return nil
}

// leaveOneOut scores the candidates that are not done.
func (r *run) leaveOneOut(ctx context.Context, left LeaveOneOut) error {
	part := sweepPart{run: r, sweeper: nil, missing: []int{0}}
	for i, row := range r.outcomes {
		if !row[0].done {
			part.open = append(part.open, i)
		}
	}
	part.seen = make([]bool, len(part.open))
	sweeper := r.search.Estimator.(estimator.OneOutSweeper)
	yield := part.yield(ctx)
	shared, err := sweeper.SweepOneOut(ctx, r.data, part.settings(), left.GCV, func(setting int, held estimator.Held) error {
		return yield(setting, 0, held)
	})
	if err != nil {
		return err
	}
	for _, seen := range part.seen {
		if !seen {
			return errors.New("leave one out did not report all settings")
		}
	}
	r.share(shared)
	if r.journal != nil {
		return r.journal.write(entry{Shared: shared})
	}
	return nil
}
