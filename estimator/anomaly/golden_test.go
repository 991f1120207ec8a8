package anomaly

import (
	"context"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/testing/golden"
)

func TestGolden(t *testing.T) {
	var input struct {
		Z    [][]float64
		Nu   float64
		Test [][]float64 `json:"Z_test"`
	}
	var expect struct {
		Decision []float64
		Offset   float64
		Outliers int
	}
	golden.Load(t, "one_class", &input, &expect)
	n, d := len(input.Z), len(input.Z[0])
	Z := mat.NewDense(n, d, slices.Concat(input.Z...))
	spec := OneClass{Nu: input.Nu, Tol: 1e-12, MaxIter: 1000}
	p, err := spec.Fit(context.Background(), datasets.Set{X: Z})
	if err != nil {
		t.Fatal(err)
	}
	f := p.(*fittedOneClass)
	scale := input.Nu * float64(n)
	out, err := f.PredictFull(context.Background(), mat.NewDense(len(input.Test), d, slices.Concat(input.Test...)),
		estimator.Request{})
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range out.Anomaly {
		if math.Abs(-v*scale-expect.Decision[i]) > 1e-5 {
			t.Errorf("row %d: decision %v, want %v", i, -v*scale, expect.Decision[i])
		}
	}
	if math.Abs(f.Rho()*scale-expect.Offset) > 1e-5 {
		t.Errorf("offset %v, want %v", f.Rho()*scale, expect.Offset)
	}
	train, _ := f.PredictFull(context.Background(), Z, estimator.Request{})
	outside, border := 0, 0 // rounding decides about rows on the border
	for _, v := range train.Anomaly {
		if v*scale > 1e-4 {
			outside++
		} else if v*scale > -1e-4 {
			border++
		}
	}
	if expect.Outliers < outside || expect.Outliers > outside+border {
		t.Errorf("%d rows outside, %d on the border, want %d outside", outside, border, expect.Outliers)
	}
}
