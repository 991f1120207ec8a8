package gridsearch

import (
	"math"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
)

// Beside the operations of fits a plan counts what each candidate takes on each fold, and leaving one out by itself is a fit for
// every row.
func TestPlanCountsFits(t *testing.T) {
	data := quantities(60)
	s := NewSearch(estimator.NewRidge())
	s.Grid = []Axis{{Path: "alpha", Values: []any{0.1, 1.0, 10.0}}}
	s.Splitter = datasets.KFold{Folds: 4}
	shape := data.Shape()
	last := estimator.NewRidge().Cost(shape).Flops
	p, err := s.Work(data)
	if want := p.Flops - last + 12*fitFlops; err != nil || p.Fits != 12 || math.Abs(p.Lone.Flops-want) > 1e-9*want {
		t.Errorf("%d fits take %v, wanted %v; %v", p.Fits, p.Lone.Flops, want, err)
	}
	if without := p.Together.With(datasets.Cost{Flops: -12 * fitFlops}); math.Abs(without.Flops-p.SharedFlops) > 1e-6*fitFlops {
		t.Errorf("together they take %v, of which %v is shared work", p.Together.Flops, p.SharedFlops)
	}
	s.Splitter = LeaveOneOut{}
	p, err = s.Work(data)
	if want := 60*3*last + 3*fitFlops; err != nil || math.Abs(p.Lone.Flops-want) > 1e-9*want || p.SharedFlops >= p.Flops/2 {
		t.Errorf("leaving one out takes %v one by one, wanted %v, and %v of %v together; %v", p.Lone.Flops, want, p.SharedFlops, p.Flops, err)
	}
}
