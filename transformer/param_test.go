package transformer

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/param"
)

// A parameter written and read again is the same.
func TestParametersRoundTrip(t *testing.T) {
	for _, c := range []struct {
		spec   any
		path   string
		values []any
	}{
		{NewRFF(), "gamma", []any{0.25, 3.0, "scale", "median", []any{0.5, 2.0}}},
		{NewRFF(), "kernel", []any{"matern", "rational_quadratic"}},
		{NewRFF(), "seed", []any{7}},
		{NewPCA(), "components", []any{"all", 3, 0.5}},
		{NewBinning(), "columns", []any{"exact", 4096}},
		{NewBinning(), "kernel", []any{"hyperbolic", "triangular", "smooth"}},
		{NewNystroem(), "gamma", []any{0.25, "scale", []any{0.5, 2.0}}},
		{NewNystroem(), "selection", []any{"uniform", "rpcholesky"}},
		{NewImpute(), "fill_value", []any{-1.5, 0.0, "none"}},
	} {
		for _, v := range c.values {
			s, err := param.With(c.spec, param.Setting{Path: c.path, Value: v})
			if err != nil {
				t.Errorf("%s: %v is refused: %v", c.path, v, err)
				continue
			}
			if err := param.Check(s); err != nil {
				t.Errorf("%s: %v: %v", c.path, v, err)
			}
			got, err := param.Get(s, c.path)
			if err != nil || !reflect.DeepEqual(got, v) {
				t.Errorf("%s: %v came back as %v (%v)", c.path, v, got, err)
			}
		}
	}
}

// TestParametersTakeEitherKindOfNumber checks that integers may be written as floats and vice
// versa.
func TestParametersTakeEitherKindOfNumber(t *testing.T) {
	for _, c := range []struct {
		spec       any
		path       string
		value, got any
	}{
		{NewRFF(), "gamma", 2, 2.0},
		{NewRFF(), "gamma", []any{1, 0.5}, []any{1.0, 0.5}},
		{NewPCA(), "components", 4.0, 4},
		{NewBinning(), "columns", 1e4, 10000},
		{NewImpute(), "fill_value", 3, 3.0},
	} {
		s, err := param.With(c.spec, param.Setting{Path: c.path, Value: c.value})
		if err != nil {
			t.Errorf("%s: %v is refused: %v", c.path, c.value, err)
			continue
		}
		if got, _ := param.Get(s, c.path); !reflect.DeepEqual(got, c.got) {
			t.Errorf("%s: %v became %#v, want %#v", c.path, c.value, got, c.got)
		}
	}
}

// TestParametersRefuse checks that invalid values from documents are errors that name the
// parameter.
func TestParametersRefuse(t *testing.T) {
	for _, c := range []struct {
		spec  any
		path  string
		value any
		want  string
	}{
		{NewRFF(), "gamma", "scael", "did you mean scale?"},
		{NewRFF(), "gamma", "wide", `gamma: must be a number > 0`},
		{NewRFF(), "gamma", true, "gamma: must be a number > 0, a list of them (one for each column), scale or median, " +
			"got true"},
		{NewRFF(), "gamma", nil, "gamma: must be a number > 0, a list of them (one for each column), scale or median, got " +
			"nothing"},
		{NewRFF(), "gamma", []any{},
			"gamma: must be a number > 0, a list of them (one for each column), scale or median, got []"},
		{NewRFF(), "gamma", []any{1.0, "scale"},
			"gamma: must be a number > 0, a list of them (one for each column), scale or median, got [1 scale]"},
		{NewRFF(), "gamma", []any{1.0, -1.0},
			"gamma: must be a number > 0, a list of them (one for each column), scale or median, got [1 -1]"},
		{NewRFF(), "map", "pared", "did you mean paired?"},
		{NewPCA(), "components", 0, "components: must be an integer ≥ 1, a fraction between 0 and 1 of the variance, or all"},
		{NewPCA(), "components", 1.5,
			"components: must be an integer ≥ 1, a fraction between 0 and 1 of the variance, or all, got 1.5"},
		{NewPCA(), "components", "none",
			`components: must be an integer ≥ 1, a fraction between 0 and 1 of the variance, or all, got "none"`},
		{NewPCA(), "components", []any{1},
			"components: must be an integer ≥ 1, a fraction between 0 and 1 of the variance, or all, got [1]"},
		{NewBinning(), "columns", "hashed", `columns: must be exact`},
		{NewBinning(), "columns", 0, "columns: must be exact, or a number of hashed columns ≥ grids, got 0"},
		{NewBinning(), "columns", 1.5, "columns: must be exact, or a number of hashed columns ≥ grids, got 1.5"},
		{NewBinning(), "kernel", "gaussian", "not convex at 0"},
		{NewBinning(), "kernel", "cauchy", "use rff for the cauchy kernel"},
		{NewBinning(), "kernel", "laplacain", "did you mean laplacian?"},
		{NewBinning(), "kernel", "custom", "laplacian, hyperbolic, triangular or smooth"},
		{NewRFF(), "kernel", "custom", "which only Go programs can set"},
		{NewBinning(), "kernel", 3, "kernel: must be laplacian, hyperbolic, triangular or smooth, got 3"},
		{NewImpute(), "fill_value", "", `fill_value: must be a number, or the name of a category, got ""`},
		{NewImpute(), "fill_value", true, "fill_value: must be a number, or the name of a category, got true"},
	} {
		s, err := param.With(c.spec, param.Setting{Path: c.path, Value: c.value})
		if err == nil {
			err = param.Check(s)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v: error is %v, want %q in it", c.path, c.value, err, c.want)
		}
		var errs param.FieldErrors
		if !errors.As(err, &errs) {
			t.Errorf("%s: %v: error must be param.FieldErrors", c.path, c.value)
		}
	}
}

// A list of γ taken from the caller is the spec's own.
func TestGammaKeepsItsNumbers(t *testing.T) {
	values := []float64{1, 2}
	g := kernel.FixedGamma(values...)
	values[0] = 9
	g.Fixed()[1] = 9
	if got := g.Fixed(); got[0] != 1 || got[1] != 2 || g.Rule() != "" {
		t.Errorf("γ is %v by the rule %q", got, g.Rule())
	}
	if kernel.GammaScale().Rule() != "scale" || kernel.GammaMedian().Fixed() != nil {
		t.Error("the rules are not what they are called")
	}
}

// A scaler that moves zero takes dense rows only, later too.
func TestScalerRefusesSparseRowsItWouldFill(t *testing.T) {
	X := mat.NewDense(3, 1, []float64{1, 0, 5})
	f := mustFit(t, NewStandardize(), datasets.Set{X: X})
	if _, err := f.Transform(context.Background(), matrices.CSRFromDense(X)); err == nil ||
		!strings.Contains(err.Error(), "column x0 of sparse input: zero would become -0.9258") {
		t.Errorf("error is %v", err)
	}
	minmax := mustFit(t, NewMinMax(), datasets.Set{X: matrices.CSRFromDense(X)})
	equal(t, mustTransform(t, minmax, matrices.CSRFromDense(X)), mat.NewDense(3, 1, []float64{0.2, 0, 1}), 1e-15)
}

// Nested maps of a size that does not exist are refused.
func TestNestedMapsRefuse(t *testing.T) {
	data := datasets.Set{X: uniform(10, 2)}
	rff := NewRFF()
	rff.Features = 8
	f := mustFit(t, rff, data).(*FittedRFF)
	for _, features := range []int{-2, 0, 1, 3, 10} {
		if _, err := f.WithFeatures(features); err == nil {
			t.Errorf("%d of 8 features are no error", features)
		}
	}
	for _, gamma := range [][]float64{nil, {0}, {-1}, {1, 2, 3}} {
		if _, err := f.WithGamma(gamma...); err == nil {
			t.Errorf("γ = %v is no error", gamma)
		}
	}
	binning := NewBinning()
	binning.Grids = 4
	b := mustFit(t, binning, data).(*FittedBinning)
	for _, grids := range []int{-1, 0, 5} {
		if _, err := b.WithGrids(grids); err == nil {
			t.Errorf("%d of 4 grids are no error", grids)
		}
	}
	for p := range b.Grids() {
		first, end := b.GridColumns(p)
		if first >= end || p == 3 && end != b.OutputWidth() {
			t.Errorf("grid %d has columns %d to %d of %d", p, first, end, b.OutputWidth())
		}
	}
}
