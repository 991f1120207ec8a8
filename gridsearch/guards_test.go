package gridsearch

import (
	"context"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
)

// empty is an estimator whose fits return nil.
type empty struct{}

func (empty) Fit(context.Context, datasets.Set) (estimator.Predictor, error) { return nil, nil }

// TestNoModelIsAFailure checks that a fit that returns nil is a failure of its candidate, not a
// panic.
func TestNoModelIsAFailure(t *testing.T) {
	r, err := NewSearch(empty{}).Run(context.Background(), quantities(20))
	if err == nil || !strings.Contains(err.Error(), "returned no model") {
		t.Errorf("%v and the error %v", r, err)
	}
}

// TestLeaveOneOutNeedsTwoRows checks that leave-one-out of one row is an error.
func TestLeaveOneOutNeedsTwoRows(t *testing.T) {
	folds, err := LeaveOneOut{}.Split(datasets.Set{X: mat.NewDense(1, 1, nil), Y: []float64{1}})
	if err == nil || !strings.Contains(err.Error(), "leave-one-out requires at least two rows, got 1") {
		t.Errorf("%v and the error %v", folds, err)
	}
}

// Scores of classes need codes.
func TestClassScoresNeedCodes(t *testing.T) {
	if _, err := withClasses(datasets.Set{X: mat.NewDense(2, 1, nil)}); err == nil ||
		!strings.Contains(err.Error(), "class codes in Y") {
		t.Errorf("the error is %v", err)
	}
}
