package gridsearch

import (
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
)

// A plan counts the fits.
func TestPlanCountsFits(t *testing.T) {
	data := quantities(60)
	s := NewSearch(estimator.NewRidge())
	s.Grid = []Axis{{Path: "alpha", Values: []any{0.1, 1.0, 10.0}}}
	s.Splitter = datasets.KFold{Folds: 4}
	if p, err := s.Plan(data); err != nil || p.Fits != 12 {
		t.Errorf("%+v, %v", p, err)
	}
	s.Splitter = LeaveOneOut{}
	if p, err := s.Plan(data); err != nil || p.Fits != 3 || p.Folds != 1 {
		t.Errorf("leaving one out: %+v, %v", p, err)
	}
}
