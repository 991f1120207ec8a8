package transformer

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/param"
)

func rffWith(change func(s *RFF)) RFF {
	s := NewRFF()
	change(&s)
	return s
}

func nystroemWith(f func(*Nystroem)) Nystroem {
	s := NewNystroem()
	f(&s)
	return s
}

func binningWith(change func(s *Binning)) Binning {
	s := NewBinning()
	change(&s)
	return s
}

func rfmWith(change func(s *RFM)) RFM {
	s := NewRFM()
	change(&s)
	return s
}

// classes returns n rows of two classes, the last one of another code.
func classes(n int, last float64) datasets.Set {
	y := make([]float64, n)
	y[0], y[n-1] = 1, last
	target := datasets.Column{Name: "class", Kind: datasets.Categorical, Categories: []string{"a", "b"}}
	return datasets.Set{X: mat.NewDense(n, 2, nil), Y: y, Schema: datasets.Schema{Targets: []datasets.Column{target}}}
}

// Invalid specs and data are rejected with the requirement.
func TestFitRefuses(t *testing.T) {
	numbers := datasets.Set{X: mat.NewDense(3, 2, []float64{1, 2, 3, 4, 5, 7})}
	names := datasets.Set{X: mat.NewDense(3, 1, []float64{0, 1, 1}), Schema: levelled("a", "b")}
	gone := datasets.Set{X: mat.NewDense(2, 2, []float64{1, math.NaN(), 3, math.NaN()})}
	equalRows := datasets.Set{X: mat.NewDense(3, 2, []float64{1, 2, 1, 2, 1, 2})}
	centeredSparse := datasets.Set{X: matrices.CSRFromDense(numbers.X)}
	for name, c := range map[string]struct {
		spec Fitter
		data datasets.Set
		want string
	}{
		"zero RFF":   {RFF{}, numbers, "features"},
		"zero gamma": {rffWith(func(s *RFF) { s.Gamma = kernel.FixedGamma(0) }), numbers, "gamma: must be a number > 0"},
		"negative gamma": {rffWith(func(s *RFF) { s.Gamma = kernel.FixedGamma(-1) }), numbers,
			"gamma: must be a number > 0, a list of them (one for each column), scale or median, got -1"},
		"NaN gamma": {rffWith(func(s *RFF) { s.Gamma = kernel.FixedGamma(math.NaN()) }), numbers,
			"gamma: must be a number > 0, a list of them (one for each column), scale or median, got NaN"},
		"one bad gamma": {rffWith(func(s *RFF) { s.Gamma = kernel.FixedGamma(1, -2) }), numbers, "element 1 is -2"},
		"three gammas": {rffWith(func(s *RFF) { s.Gamma = kernel.FixedGamma(1, 2, 3) }), numbers,
			"gamma must have 1 or 2 values, got 3"},
		"no features": {rffWith(func(s *RFF) { s.Features = 0 }), numbers,
			"features: must be an integer from 1 to 67108864, got 0"},
		"too many features": {rffWith(func(s *RFF) { s.Features = 1 << 40 }), numbers,
			"features: must be an integer from 1 to 67108864, got 1099511627776"},
		"odd paired features": {rffWith(func(s *RFF) { s.Features = 7 }), numbers, "an even number for the paired map"},
		"unknown kernel":      {rffWith(func(s *RFF) { s.Kernel = "gausian" }), numbers, "did you mean gaussian?"},
		"custom without law": {rffWith(func(s *RFF) { s.Kernel = "custom" }), numbers,
			`kernel: must be gaussian, laplacian, cauchy, exponential, matern, rational_quadratic, ` +
				`powered_exponential or a kernel of columns, as {product: [{columns: rest, kernel: gaussian}]}, got "custom"`},
		"custom by name only": {rffWith(func(s *RFF) { s.Custom = &CustomKernel{} }), numbers, "with a Frequency function"},
		"infinite frequency": {rffWith(func(s *RFF) {
			s.Kernel, s.Custom = "custom", &CustomKernel{Frequency: func(_ *rand.Rand,
				omega []float64) {
				omega[0] = math.Inf(1)
			}}
		}), numbers, "frequency 0 is not finite"},
		"gamma overflows": {rffWith(func(s *RFF) { s.Kernel, s.Gamma = "laplacian", kernel.FixedGamma(math.MaxFloat64) }),
			numbers, "overflows"},
		"smoothness 0": {rffWith(func(s *RFF) { s.Nu = 0 }), numbers, "nu: must be a number > 0, got 0"},
		"rff of names": {NewRFF(), names, "column c must be numeric, got categorical"},
		"rff of missing": {NewRFF(), gone,
			"row 0, column x1: missing value; fit with an impute step before, or fill it in"},
		"gaussian bins": {binningWith(func(s *Binning) { s.Kernel = "gaussian" }), numbers, "not convex at 0"},
		"matern bins":   {binningWith(func(s *Binning) { s.Kernel = "matern" }), numbers, "use rff"},
		"misspelt bins": {binningWith(func(s *Binning) { s.Kernel = "laplacain" }), numbers,
			"did you mean laplacian?"},
		"no grids": {binningWith(func(s *Binning) { s.Grids = 0 }), numbers,
			"grids: must be an integer from 1 to 1048576, got 0"},
		"fewer columns than grids": {binningWith(func(s *Binning) { s.Columns = 10 }), numbers,
			"columns: must be exact, or a number of hashed columns ≥ grids"},
		"counted hashed columns": {binningWith(func(s *Binning) { s.Columns, s.MinCount = 1000, 2 }),
			numbers, "min_count: must be 1 with hashed columns"},
		"more inputs than there are": {binningWith(func(s *Binning) { s.Inputs = 3 }), numbers,
			"inputs must be at most the number of columns 2, got 3"},
		"negative inputs": {binningWith(func(s *Binning) { s.Inputs = -1 }), numbers,
			"inputs: must be all, or an integer ≥ 1"},
		"inputs by another law": {binningWith(func(s *Binning) { s.InputWeights = "scale" }), numbers,
			"did you mean scales?"},
		"rare bins only": {binningWith(func(s *Binning) { s.MinCount = 4 }), numbers,
			"no bin has min_count = 4 rows"},
		"pitch 0": {binningWith(func(s *Binning) {
			s.Kernel, s.Custom = "custom", &CustomKernel{Pitch: func(*rand.Rand) float64 { return 0 }}
		}), numbers, "drawn pitch must be > 0, got 0 for grid 0"},
		"far row":       {binningWith(func(s *Binning) { s.Gamma = kernel.FixedGamma(1e100) }), numbers, "is too large"},
		"zero Nystroem": {Nystroem{}, numbers, "landmarks: must be an integer from 1 to 1048576, got 0"},
		"no landmarks": {nystroemWith(func(s *Nystroem) { s.Landmarks = 0 }), numbers,
			"landmarks: must be an integer from 1 to 1048576, got 0"},
		"many pivots": {nystroemWith(func(s *Nystroem) { s.Landmarks, s.Choose = 20001, "rpcholesky" }),
			numbers, "at most 20000 with rpcholesky"},
		"misspelt choice": {nystroemWith(func(s *Nystroem) { s.Choose = "rpcholeski" }), numbers,
			"did you mean rpcholesky?"},
		"landmarks of names": {NewNystroem(), names, "nystroem: column c must be numeric, got categorical"},
		"landmarks of missing": {NewNystroem(), gone,
			"row 0, column x1: missing value; fit with an impute step before, or fill it in"},
		"gammas of landmarks": {nystroemWith(func(s *Nystroem) { s.Gamma = kernel.FixedGamma(1, 2, 3) }), numbers,
			"gamma must have 1 or 2 values, got 3"},
		"far landmarks": {nystroemWith(func(s *Nystroem) { s.Gamma = kernel.FixedGamma(1e305) }), numbers,
			"is too large"},
		"zero RFM":            {RFM{}, numbers, "rounds: must be an integer from 1 to 100, got 0"},
		"rfm without targets": {NewRFM(), numbers, "the data have no targets"},
		"rfm of few rows": {NewRFM(), datasets.Set{X: numbers.X, Y: []float64{1, 2, 3}},
			"number of rows must be 10 or more, got 3"},
		"rfm of equal targets": {NewRFM(), datasets.Set{X: mat.NewDense(12, 2, nil), Y: make([]float64, 12)},
			"the targets are constant"},
		"rfm of a missing target": {NewRFM(), datasets.Set{X: numbers.X, Y: []float64{1, math.NaN(), 3}},
			"row 1: target must be finite"},
		"rfm of an unknown class": {NewRFM(), classes(12, -1), "row 11: target must be a class code from 0 to 1"},
		"rfm of names":            {NewRFM(), names, "column c must be numeric, got categorical"},
		"rfm of missing": {NewRFM(), gone,
			"row 0, column x1: missing value; fit with an impute step before, or fill it in"},
		"full map of many columns": {NewRFM(), datasets.Set{X: mat.NewDense(12, 5000, nil), Y: make([]float64, 12)},
			"a full map of 5000 columns, at most 4096 are possible; set diagonal: true"},
		"misspelt kernel": {rfmWith(func(s *RFM) { s.Kernel = "exponetial" }), numbers,
			"did you mean exponential?"},
		"zero PCA": {PCA{}, numbers,
			"components: must be an integer ≥ 1, a fraction between 0 and 1 of the variance, or all, got 0"},
		"many components": {PCA{Components: 3}, numbers,
			"components must be at most 2, the rank of the training rows, got 3"},
		"equal rows":        {NewPCA(), equalRows, "all rows are equal"},
		"one row":           {NewPCA(), numbers.Slice(0, 1), "must have at least 2 rows, got 1"},
		"zero Impute":       {Impute{}, numbers, "strategy: must be mean, median, most_frequent or constant"},
		"mean of names":     {NewImpute(), names, "column c is categorical and has no mean"},
		"all missing":       {NewImpute(), gone, "column x1: every value is missing"},
		"median of missing": {Impute{Strategy: "median"}, gone, "column x1: every value is missing"},
		"mode of missing":   {Impute{Strategy: "most_frequent"}, gone, "column x1: every value is missing"},
		"a name among numbers": {Impute{Strategy: "constant", FillCategory: "a"}, numbers,
			"column x0 is numeric, and fill is the text \"a\""},
		"a number among names": {Impute{Strategy: "constant", FillValue: 2}, names, "a code from 0 to 1"},
		"fill with NaN": {Impute{Strategy: "constant", FillValue: math.NaN()}, numbers,
			"fill_value: must be a number, or the name of a category, got NaN"},
		"onehot of numbers": {NewOneHot(), numbers, "column x0 must be categorical, got numeric"},
		"onehot of no code": {NewOneHot(), datasets.Set{X: mat.NewDense(2, 1, []float64{0, 2}), Schema: names.Schema},
			"row 1, column c: 2 is not the code of one of 2 levels"},
		"zero OneHot":              {OneHot{}, names, "min_count: must be an integer ≥ 1, got 0"},
		"rare levels only":         {OneHot{MinCount: 3}, names, "no level has min_count = 3 rows"},
		"zero Ordinal":             {Ordinal{}, names, `unknown: must be code, missing or error, got ""`},
		"ordinal of numbers":       {NewOrdinal(), numbers, "column x0 must be categorical, got numeric"},
		"ends the wrong way round": {MinMax{Low: 1, High: 1}, numbers, "a number > low, which is 1"},
		"range overflows": {NewMinMax(), datasets.Set{X: mat.NewDense(2, 1,
			[]float64{-math.MaxFloat64, math.MaxFloat64})}, "range overflows"},
		"scaled names":   {NewStandardize(), names, "column c must be numeric, got categorical"},
		"scaled missing": {NewRobust(), gone, "column x1: every value is missing"},
		"zero Quantile":  {Quantile{}, numbers, "quantiles: must be an integer from 2 to 65536, got 0"},
		"one quantile": {Quantile{Quantiles: 1, Output: "uniform"}, numbers,
			"quantiles: must be an integer from 2 to 65536, got 1"},
		"another law":       {Quantile{Quantiles: 10, Output: "gaussian"}, numbers, "uniform or normal"},
		"ranks of names":    {NewQuantile(), names, "column c must be numeric, got categorical"},
		"ranks of missing":  {NewQuantile(), gone, "column x1: every value is missing"},
		"zero Scale":        {Scale{}, numbers, "(start from NewScale())"},
		"a negative factor": {Scale{Factors: []float64{1, -1}}, numbers, "a number ≥ 0"},
		"a factor too many": {Scale{Factors: []float64{1, 2, 3}}, numbers,
			"factors has 3 numbers, the data 2 columns"},
		"a factor of no column": {Scale{NamedFactors: map[string]float64{"age": 2}}, numbers,
			"factors has one of column age, which the data has not"},
		"factors of names":      {NewScale(), names, "column c must be numeric, got categorical"},
		"sparse rows centred":   {NewStandardize(), centeredSparse, "set mean: false"},
		"sparse rows to an end": {NewMinMax(), centeredSparse, "put a dense step before"},
		"weights of another length": {NewStandardize(), datasets.Set{X: numbers.X, Weights: []float64{1}},
			"Weights must have 3 rows"},
		"another schema": {NewStandardize(), datasets.Set{X: numbers.X, Schema: names.Schema},
			"X must have 1 columns"},
	} {
		f, err := c.spec.Fit(context.Background(), c.data)
		switch {
		case err == nil || f != nil:
			t.Errorf("%s: Fit returned %v and the error %v", name, f, err)
		case !strings.Contains(err.Error(), c.want):
			t.Errorf("%s: error is %q, want %q in it", name, err, c.want)
		case !strings.HasPrefix(err.Error(), "transformer: "):
			t.Errorf("%s: error %q must name its source", name, err)
		}
		var errs param.FieldErrors
		if strings.Contains(c.want, ": got") && !errors.As(err, &errs) {
			t.Errorf("%s: error must be param.FieldErrors", name)
		}
	}
}

// TestRFFRefusesOverflow checks that values that would overflow are errors, not NaN.
func TestRFFRefusesOverflow(t *testing.T) {
	s := NewRFF()
	s.Gamma = kernel.FixedGamma(1)
	f := mustFit(t, s, datasets.Set{X: mat.NewDense(1, 2, nil)})
	big := mat.NewDense(1, 2, []float64{1e307, -1e307})
	for _, X := range []mat.Matrix{big, matrices.CSRFromDense(big)} {
		if _, err := f.Transform(context.Background(), X); err == nil ||
			!strings.Contains(err.Error(), "row 0, column x0: 1e+307 is too large") {
			t.Errorf("%T: error is %v", X, err)
		}
	}
	Z := mustTransform(t, f, mat.NewDense(1, 2, []float64{1e290, -1e290}))
	for j := range 1000 {
		if v := Z.At(0, j); !(math.Abs(v) <= 1) {
			t.Fatalf("feature %d of a large row is %v", j, v)
		}
	}
}

// A kernel known only by its draws returns an error when its values are requested.
func TestUnknownKernels(t *testing.T) {
	s := rffWith(func(s *RFF) {
		s.Kernel, s.Custom, s.Gamma = "custom", &CustomKernel{Frequency: func(_ *rand.Rand,
			omega []float64) {
			omega[0] = 1
		}}, kernel.FixedGamma(1)
	})
	f := mustFit(t, s, datasets.Set{X: mat.NewDense(1, 2, nil)}).(*FittedRFF)
	if _, err := f.Kernel([]float64{1, 2}, []float64{1, 2}); !errors.Is(err, errNoKernel) {
		t.Errorf("Kernel returned the error %v", err)
	}
	if _, err := f.KernelMatrix(context.Background(), mat.NewDense(1, 2, nil), mat.NewDense(1, 2, nil)); !errors.Is(err,
		errNoKernel) {
		t.Errorf("KernelMatrix returned the error %v", err)
	}
	g := mustFit(t, rffWith(func(s *RFF) { s.Gamma = kernel.FixedGamma(1) }),
		datasets.Set{X: mat.NewDense(1, 2, nil)}).(*FittedRFF)
	if _, err := g.Kernel([]float64{1}, []float64{1, 2}); err == nil ||
		!strings.Contains(err.Error(), "2 columns at fit, 1 and 2 now") {
		t.Errorf("Kernel of rows of another width returned the error %v", err)
	}
}
