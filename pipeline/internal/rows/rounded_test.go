package rows

import (
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/transformer"
)

// Whether features are made again is up to the step and to memory, and to no count of operations.
func TestStepsReportCheapFeatures(t *testing.T) {
	rff := func(draw string) transformer.RFF {
		s := transformer.NewRFF()
		s.Gamma, s.Features, s.Draw = kernel.FixedGamma(1), 1000, draw
		return s
	}
	landmarks := transformer.NewNystroem()
	landmarks.Landmarks = 1000
	for _, c := range []struct {
		name  string
		step  transformer.Fitter
		shape datasets.Shape
		want  bool
	}{
		{"few inputs", rff("iid"), datasets.Shape{Rows: 10_000, Cols: 60}, true},
		{"more", rff("iid"), datasets.Shape{Rows: 10_000, Cols: 61}, false},
		{"structured", rff("structured"), datasets.Shape{Rows: 10_000, Cols: 700}, true},
		{"few rows", rff("iid"), datasets.Shape{Rows: 1000, Cols: 10}, false},
		{"landmarks", landmarks, datasets.Shape{Rows: 10_000, Cols: 10}, false},
		{"scaled", transformer.NewStandardize(), datasets.Shape{Rows: 1_000_000, Cols: 10}, true},
		{"quantiles", transformer.NewQuantile(), datasets.Shape{Rows: 1_000_000, Cols: 10}, false},
	} {
		cost := CostOf(c.step, c.shape)
		if got := CachesFloat32(cost, c.shape, 8<<30); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
		if got := CachesFloat32(cost.Scale(1000), c.shape, 8<<30); got != c.want {
			t.Errorf("%s: %v where operations count more", c.name, got)
		}
		if got := CachesFloat32(cost, c.shape, 1<<20); got != (c.want || c.name == "more" || c.name == "landmarks" ||
			c.name == "quantiles") {
			t.Errorf("%s: %v without memory", c.name, got)
		}
	}
	both := Cost([]Spec{{Fitter: rff("iid")}, {Fitter: landmarks}}, datasets.Shape{Rows: 10_000, Cols: 10})
	if one := Cost([]Spec{{Fitter: transformer.NewStandardize()}, {Fitter: rff("iid")}},
		datasets.Shape{Rows: 10_000, Cols: 10}); both.CheapToRecompute || !one.CheapToRecompute {
		t.Errorf("%v with landmarks, %v without", both.CheapToRecompute, one.CheapToRecompute)
	}
}
