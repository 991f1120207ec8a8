package gridsearch

import (
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
)

// The curve of an axis has the best candidate of each of its values.
func TestCurve(t *testing.T) {
	s := NewSearch(estimator.NewRidge(), Axis{Path: "alpha", Values: []any{10, 0.1, 1.0}},
		Axis{Path: "intercept", Values: []any{true, false}})
	s.Score, s.Splitter = "mse", datasets.KFold{Folds: 4}
	r := mustRun(t, s, quantities(60))
	curve, err := r.Curve("alpha")
	if err != nil || len(curve) != 3 {
		t.Fatalf("%v, %v", curve, err)
	}
	for k, want := range []float64{0.1, 1, 10} {
		p := curve[k]
		if p.Value != want || p.Mean != r.Candidates[p.Best].Mean || p.StdError <= 0 {
			t.Errorf("point %d is %+v", k, p)
		}
		for _, c := range r.Candidates {
			if c.Settings[0].Value == want && c.Mean < p.Mean {
				t.Errorf("%s is better than %+v", c, p)
			}
		}
	}
	for path, want := range map[string]string{"intercept": "intercept must have numeric values, got true",
		"beta": "axis must be one of alpha, intercept, got beta"} {
		if _, err := r.Curve(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestPlateau(t *testing.T) {
	points := func(means ...float64) (out []CurvePoint) {
		for i, m := range means {
			out = append(out, CurvePoint{Value: float64(int(100) << i), Mean: m, StdError: 0.1})
		}
		return out
	}
	for _, c := range []struct {
		greater bool
		means   []float64
		value   float64
		ok      bool
	}{
		{false, []float64{3, 2, 1.05, 1, 1.02}, 400, true},
		{false, []float64{3, 2, 1, 0.5}, 800, false},       // still falling
		{false, []float64{3, 1.05, 2, 1}, 800, false},      // not for good
		{false, []float64{3, 1, 2, 2.5}, 200, true},        // worse again
		{true, []float64{0.5, 0.85, 0.86, 0.9}, 200, true}, // the reverse direction
		{true, []float64{0.9}, 0, false},
	} {
		r := &Result{GreaterIsBetter: c.greater}
		if p, ok := r.Plateau(points(c.means...)); p.Value != c.value || ok != c.ok {
			t.Errorf("%v: %v, %v, want %v, %v", c.means, p.Value, ok, c.value, c.ok)
		}
	}
}
