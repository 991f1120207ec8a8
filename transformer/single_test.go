package transformer

import (
	"context"
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/matrices"
)

// TestSingleFeatures checks that float32 features equal those of float64 up to the rounding of the
// angles, for dense and sparse rows, and do not depend on the number of rows, bit for bit.
func TestSingleFeatures(t *testing.T) {
	ctx := context.Background()
	X := uniform(2100, 9)
	X.Apply(func(i, j int, v float64) float64 {
		if (i+j)%3 == 0 {
			return 0
		}
		return v
	}, X)
	for _, form := range []string{"paired", "phase"} {
		spec := NewRFF()
		spec.Features, spec.Map, spec.Gamma = 130, form, kernel.FixedGamma(0.7)
		f := mustFit(t, spec, datasets.Set{X: X}).(*FittedRFF)
		want := mustTransform(t, f, X).(*mat.Dense)
		for name, x := range map[string]mat.Matrix{"dense": X, "sparse": matrices.CSRFromDense(X), "single": matrices.CopyDense32(X)} {
			got := matrices.NewDense32(2100, 130, nil)
			if err := f.TransformSingle(ctx, got, x); err != nil {
				t.Fatal(err)
			}
			worst := 0.0
			for i := range 2100 {
				for j, v := range got.Row(i) {
					worst = max(worst, math.Abs(float64(v)-want.At(i, j)))
				}
			}
			if worst == 0 || worst > 2e-6 {
				t.Errorf("%s map of %s rows: single and double precision differ by %g", form, name, worst)
			}
			if name == "single" {
				continue
			}
			alone := matrices.NewDense32(1, 130, nil)
			for _, i := range []int{0, 700, 2099} {
				if err := f.TransformSingle(ctx, alone, rowblock.Slice(x, i, i+1)); err != nil {
					t.Fatal(err)
				}
				for j, v := range alone.Row(0) {
					if v != got.Row(i)[j] {
						t.Fatalf("%s map, %s row %d alone: feature %d is %v, %v in a batch", form, name, i, j, v, got.Row(i)[j])
					}
				}
			}
		}
	}
}

func TestSingleFeaturesRefuse(t *testing.T) {
	ctx := context.Background()
	spec := NewRFF()
	spec.Features, spec.Gamma = 4, kernel.FixedGamma(1)
	f := mustFit(t, spec, datasets.Set{X: uniform(3, 2)}).(*FittedRFF)
	dst := matrices.NewDense32(1, 4, nil)
	if err := f.TransformSingle(ctx, dst, mat.NewDense(1, 2, []float64{math.NaN(), 0})); !errors.Is(err,
		datasets.ErrMissing) {
		t.Errorf("a missing value: %v", err)
	}
	for what, err := range map[string]error{
		"a value that single precision has not": f.TransformSingle(ctx, dst, mat.NewDense(1, 2, []float64{1e39, 0})),
		"another width":                         f.TransformSingle(ctx, dst, mat.NewDense(1, 3, nil)),
		"a tile too narrow":                     f.TransformSingle(ctx, matrices.NewDense32(1, 3, nil), mat.NewDense(1, 2, nil)),
		"no tile":                               f.TransformSingle(ctx, nil, mat.NewDense(1, 2, nil)),
	} {
		if err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	wild, err := f.WithGamma(1e90)
	if err != nil {
		t.Fatal(err)
	}
	if err := wild.TransformSingle(ctx, dst, mat.NewDense(1, 2, nil)); err == nil {
		t.Error("frequencies that single precision has not: no error")
	}
}

// A single row is mapped without garbage in either precision.
func TestOneSingleRowMakesNoGarbage(t *testing.T) {
	ctx := context.Background()
	X := uniform(3, 20)
	f := mustFit(t, RFF{Kernel: "gaussian", Gamma: kernel.FixedGamma(1), Features: 256, Map: "phase", Draw: "iid", Nu: 1,
		Shape: 1, Exponent: 1}, datasets.Set{X: X}).(*FittedRFF)
	var row mat.Matrix = mat.NewDense(1, 20, nil)
	double, narrow := mat.NewDense(1, 256, nil), matrices.NewDense32(1, 256, nil)
	if n := testing.AllocsPerRun(100, func() { f.TransformTo(ctx, double, row) }); n > 0 {
		t.Errorf("%v allocations in double precision", n)
	}
	if n := testing.AllocsPerRun(100, func() { f.TransformSingle(ctx, narrow, row) }); n > 0 {
		t.Errorf("%v allocations in single precision", n)
	}
}
