package transformer_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/testing/exhaustive"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/transformer"
	"github.com/bochner-ml/bochner/transformer/transformertest"
)

// categorical returns rows of two categorical columns, a few of them missing or unknown.
func categorical() datasets.Set {
	rng := rand.New(rand.NewPCG(3, 4))
	X := mat.NewDense(60, 2, nil)
	for i := range 60 {
		X.SetRow(i, []float64{float64(rng.IntN(3)), float64(rng.IntN(5))})
	}
	X.Set(11, 0, math.NaN())
	X.Set(12, 1, datasets.Unknown)
	return datasets.Set{X: X, Schema: datasets.Schema{Columns: []datasets.Column{
		{Name: "colour", Kind: datasets.Categorical, Categories: []string{"blue", "green", "red"}},
		{Name: "size", Kind: datasets.Categorical, Categories: []string{"S", "M", "L", "XL", "XXL"}},
	}}}
}

// encodable returns categorical rows with targets: numbers, or the codes of that many classes.
func encodable(classes int) datasets.Set {
	data := categorical()
	rng := rand.New(rand.NewPCG(9, 4))
	data.Y = make([]float64, data.Rows())
	data.Schema.Targets = []datasets.Column{{Name: "y"}}
	for i := range data.Y {
		data.Y[i] = 1e6 + rng.NormFloat64()
		if classes > 0 {
			data.Y[i] = float64(rng.IntN(classes))
		}
	}
	if classes > 0 {
		data.Schema.Targets[0].Kind = datasets.Categorical
		data.Schema.Targets[0].Categories = []string{"low", "middle", "high"}[:classes]
	}
	return data
}

// counts returns rows of three columns without negative values, most of them 0.
func counts() datasets.Set {
	rng := rand.New(rand.NewPCG(5, 4))
	X := mat.NewDense(60, 3, nil)
	for i := range 60 {
		X.SetRow(i, []float64{float64(max(0, rng.IntN(9)-5)), max(0, rng.NormFloat64()), float64(rng.IntN(3))})
	}
	return datasets.Set{X: X, Schema: datasets.Schema{Columns: []datasets.Column{{Name: "calls"}, {Name: "hours"},
		{Name: "visits"}}}}
}

// conformanceCase is a spec of this package with the options of its conformance test.
type conformanceCase struct {
	spec transformer.Fitter
	transformertest.Options
}

func conformanceCases() map[string]conformanceCase {

	type o = transformertest.Options
	cases := map[string]conformanceCase{
		"standardize":            {transformer.NewStandardize(), o{Missing: true, DenseOnly: true}},
		"standardize mean=false": {transformer.Standardize{Std: true}, o{Missing: true}},
		"minmax":                 {transformer.NewMinMax(), o{Missing: true, DenseOnly: true}},
		"minmax clip": {transformer.MinMax{Low: -1, High: 2, Clip: true},
			o{Missing: true, DenseOnly: true}},
		"robust":              {transformer.NewRobust(), o{Missing: true, DenseOnly: true}},
		"robust median=false": {transformer.Robust{IQR: true}, o{Missing: true}},
		"quantile":            {transformer.NewQuantile(), o{Missing: true, DenseOnly: true}},
		"quantile normal": {transformer.Quantile{Quantiles: 7, Output: "normal"},
			o{Missing: true, DenseOnly: true}},
		"quantile normal, counts": {transformer.Quantile{Quantiles: 7, Output: "normal"},
			o{Missing: true, DenseOnly: true, Data: counts()}},
		"quantile of sparse rows": {transformer.NewQuantile(), o{Missing: true, Data: counts()}},
		"scale":                   {transformer.NewScale(), o{Missing: true}},
		"scale each": {transformer.Scale{Factors: []float64{1, 0, 2, 0.5, 1e9}},
			o{Missing: true}},
		"scale by name": {transformer.Scale{NamedFactors: map[string]float64{"hours": 3,
			"visits": 0}}, o{Missing: true, Data: counts()}},
		"impute mean":   {transformer.NewImpute(), o{Missing: true}},
		"impute median": {transformer.Impute{Strategy: "median", Indicator: true}, o{Missing: true}},
		"impute most_frequent": {transformer.Impute{Strategy: "most_frequent", Indicator: true},
			o{Missing: true, Data: categorical()}},
		"impute constant": {transformer.Impute{Strategy: "constant", FillValue: 7},
			o{Missing: true}},
		"impute constant category": {transformer.Impute{Strategy: "constant", FillCategory: "none"},
			o{Missing: true, Data: categorical()}},
		"onehot":           {transformer.NewOneHot(), o{Missing: true, Data: categorical()}},
		"onehot min_count": {transformer.OneHot{MinCount: 13}, o{Missing: true, Data: categorical()}},
		"ordinal code": {transformer.Ordinal{Unknown: "code"},
			o{Missing: true, Data: categorical()}},
		"ordinal missing": {transformer.Ordinal{Unknown: "missing"},
			o{Missing: true, Data: categorical()}},
		"target_encode":             {transformer.NewTargetEncode(), o{Missing: true, Data: encodable(0)}},
		"target_encode two classes": {transformer.NewTargetEncode(), o{Missing: true, Data: encodable(2)}},
		"target_encode three classes": {transformer.TargetEncode{Smooth: 2.5, Folds: 3, Seed: 7},
			o{Missing: true, Data: encodable(3)}},
		"hash":          {transformer.Hash{Features: 6, Signed: true}, o{Missing: true, Data: categorical()}},
		"hash unsigned": {transformer.Hash{Features: 5}, o{Missing: true, Data: categorical()}},
		"additive_chi2": {transformer.NewAdditiveChi2(), o{Data: counts()}},
		"additive_chi2 of 5 steps": {transformer.AdditiveChi2{Steps: 5, Interval: 0.3},
			o{Data: counts()}},
		"skewed_chi2": {transformer.SkewedChi2{Features: 24, Skewedness: 1, Seed: 5}, o{Data: counts()}},
		"skewed_chi2 moves zero": {transformer.SkewedChi2{Features: 25, Skewedness: 0.1, Seed: 5},
			o{Data: counts(), DenseOnly: true}},
		"pca": {transformer.NewPCA(), o{Tolerance: 1e-7, Uncentered: true}},
		"pca whiten": {transformer.PCA{Components: 0.9, Whiten: true},
			o{Tolerance: 1e-7, Uncentered: true}},
		"dense": {transformer.Dense{}, o{Missing: true}},
		"rfm":   {transformer.NewRFM(), o{Data: curved()}},
		"rfm diagonal": {transformer.RFM{Kernel: "laplacian", Rounds: 2, Diagonal: true, Power: 1,
			Solve: "exact", Features: 2, Rows: 40, Part: 20, Nu: 1, Shape: 1},
			o{Data: curved()}},
		"rfm features": {transformer.RFM{Kernel: "gaussian", Rounds: 2, Power: 0.5,
			Solve: "features", Features: 30, Rows: 50, Part: 20, Nu: 1, Shape: 1},
			o{Data: curved()}},
	}
	for _, name := range []string{"gaussian", "laplacian", "matern"} {
		s := transformer.NewARD()
		s.Kernel, s.Features, s.Steps, s.Restarts, s.Floor, s.Power, s.Seed = kernel.Name(name), 40, 4, 2, 0.01, 0.5, 5
		cases["ard "+name] = conformanceCase{s, o{}}
		s.Rows, s.Restarts, s.Objective, s.Groups = 25, 1, "press", "origin"
		cases["ard press "+name] = conformanceCase{s, o{}}
	}
	for _, name := range spectral.AllFourierKernels {
		s := transformer.NewRFF()
		s.Kernel, s.Features, s.Seed, s.Exponent = kernel.Name(name), 24, 5, 1.4
		cases["rff "+name] = conformanceCase{s, o{Related: relatedMaps(s)}}
		s.Gamma, s.Map = kernel.GammaMedian(), "phase"
		cases["rff phase "+name] = conformanceCase{s, o{Related: relatedMaps(s)}}
		s.Gamma = kernel.FixedGamma(1, 0.1, 2, 3, 0.5)
		cases["rff fixed "+name] = conformanceCase{s, o{Related: relatedMaps(s)}}
	}
	for _, draw := range []string{"iid", "orthogonal"} {
		s := transformer.NewSoftmaxFeatures()
		s.Features, s.Draw, s.Seed = 24, draw, 5
		cases["softmax_features "+draw] = conformanceCase{s, o{}}
		s.Gamma = kernel.FixedGamma(0.1, 0.2, 0.05, 0.3, 0.5)
		cases["softmax_features fixed "+draw] = conformanceCase{s, o{}}
	}
	for _, s := range []transformer.PolynomialSketch{{Degree: 1, Features: 1},
		{Degree: 2, Coef0: 1, Features: 24, Seed: 5}, {Degree: 3, Features: 25}} {
		s.Gamma = kernel.FixedGamma(0.1, 0.2, 0.05, 0.3, 0.5)
		cases[fmt.Sprintf("polynomial_sketch fixed %d", s.Degree)] = conformanceCase{s, o{ExportTolerance: 1e-9}}
		s.Gamma = kernel.GammaScale()
		cases[fmt.Sprintf("polynomial_sketch %d", s.Degree)] = conformanceCase{s, o{ExportTolerance: 1e-9}}
	}
	for _, draw := range []string{"orthogonal", "qmc", "structured"} {
		for _, name := range []string{"gaussian", "exponential", "matern", "rational_quadratic", "powered_exponential",
			"mixture"} {
			s := transformer.NewRFF()
			s.Kernel, s.Features, s.Seed, s.Draw = kernel.Name(name), 24, 5, draw
			if name == "mixture" {
				s.Kernel = columnKernels()[name]
			}
			cases["rff "+draw+" "+name] = conformanceCase{s, o{Related: relatedMaps(s)}}
			s.Gamma, s.Map = kernel.FixedGamma(1, 0.1, 2, 3, 0.5), "phase"
			cases["rff phase "+draw+" "+name] = conformanceCase{s, o{Related: relatedMaps(s)}}
		}
	}
	for name, of := range columnKernels() {
		s := transformer.NewRFF()
		s.Kernel, s.Features, s.Seed = of, 24, 5
		cases["rff "+name] = conformanceCase{s, o{Related: relatedMaps(s)}}
		for _, choose := range []string{"uniform", "rpcholesky"} {
			s := transformer.NewNystroem()
			s.Kernel, s.Landmarks, s.Seed, s.Choose = of, 24, 5, choose
			cases["nystroem "+choose+" "+name] = conformanceCase{s, o{ExportTolerance: 1e-11, Tolerance: 1e-6,
				Float32Tolerance: 5e-3, Related: relatedLandmarks(s)}}
		}
	}
	for _, name := range []kernel.Name{kernel.Polynomial, kernel.Cosine, kernel.Chi2} {
		for _, choose := range []string{"uniform", "rpcholesky"} {
			s := transformer.NewNystroem()
			s.Kernel, s.Landmarks, s.Seed, s.Choose = name, 24, 5, choose
			cases[fmt.Sprintf("nystroem %s %s", choose, name)] = conformanceCase{s, o{ExportTolerance: 1e-9,
				Tolerance: 1e-6, Float32Tolerance: 5e-3, Related: relatedLandmarks(s), Data: counts()}}
		}
	}
	for _, name := range spectral.AllFourierKernels {
		s := transformer.NewNystroem()
		s.Kernel, s.Landmarks, s.Seed, s.Exponent = kernel.Name(name), 24, 5, 1.4
		cases["nystroem "+name] = conformanceCase{s, o{ExportTolerance: 1e-11, Tolerance: 1e-6,
			Float32Tolerance: 5e-3, Related: relatedLandmarks(s)}}
		s.Gamma = kernel.FixedGamma(1, 0.1, 2, 3, 0.5)
		cases["nystroem fixed "+name] = conformanceCase{s, o{ExportTolerance: 1e-11, Tolerance: 1e-6,
			Float32Tolerance: 5e-3, Related: relatedLandmarks(s)}}
		s.Gamma, s.Choose = kernel.GammaMedian(), "rpcholesky"
		cases["nystroem rpcholesky "+name] = conformanceCase{s, o{ExportTolerance: 1e-11, Tolerance: 1e-6,
			Float32Tolerance: 5e-3, Related: relatedLandmarks(s)}}
	}
	for _, nu := range []float64{0.5, 0.8, 1, 2.5, 7} { // of which two have a closed form
		s := transformer.NewNystroem()
		s.Kernel, s.Landmarks, s.Seed, s.Nu = "matern", 12, 5, nu
		cases[fmt.Sprintf("nystroem matern %v", nu)] = conformanceCase{s,
			o{ExportTolerance: 1e-11, Tolerance: 1e-6, Float32Tolerance: 5e-3}}
	}
	ofColumns := transformer.NewBinning()
	first := kernel.NewTerm(kernel.Laplacian)
	first.Index = []int{1, 3}
	ofColumns.Kernel, ofColumns.Grids = kernel.Product(first, kernel.NewTerm(kernel.Laplacian, "rest")), 12
	cases["binning of columns"] = conformanceCase{ofColumns, o{Unexported: true, Related: relatedGrids(ofColumns)}}
	for _, name := range []string{"laplacian", "hyperbolic", "triangular", "smooth"} {
		s := transformer.NewBinning()
		s.Kernel, s.Grids, s.Seed, s.Gamma = kernel.Name(name), 12, 5, kernel.FixedGamma(0.3)
		cases["binning "+name] = conformanceCase{s, o{Unexported: true, Related: relatedGrids(s)}}
		s.MinCount = 3
		cases["binning min_count "+name] = conformanceCase{s, o{Unexported: true, Related: relatedGrids(s)}}
		s.MinCount, s.Columns = 1, 500
		cases["binning hashed "+name] = conformanceCase{s, o{Unexported: true}}
		s.Inputs = 2
		cases["binning hashed, 2 inputs "+name] = conformanceCase{s, o{Unexported: true}}
		s.Columns, s.InputWeights = 0, "scales"
		cases["binning of 2 inputs "+name] = conformanceCase{s, o{Unexported: true,
			Related: relatedGrids(s)}}
	}
	return cases
}

// columnKernels are kernels of columns.
func columnKernels() map[string]kernel.Name {
	term := func(name kernel.Name, index ...int) kernel.Term {
		t := kernel.NewTerm(name, "rest")
		if t.Gamma = kernel.FixedGamma(0.5); index != nil {
			t.Columns, t.Index = nil, index
		}
		return t
	}
	byRule := term("laplacian")
	byRule.Gamma = kernel.GammaMedian()
	return map[string]kernel.Name{
		"mixture": kernel.Sum(kernel.Summand{Weight: 1, Product: []kernel.Term{term("gaussian")}},
			kernel.Summand{Weight: 0.3, Product: []kernel.Term{term("matern")}}),
		"product": kernel.Product(term("gaussian", 0, 2), term("rational_quadratic", 1), byRule),
		"sum": kernel.Sum(kernel.Summand{Weight: 1, Product: []kernel.Term{term("exponential", 0)}},
			kernel.Summand{Weight: 2, Product: []kernel.Term{term("cauchy", 0, 1), byRule}}),
	}
}

// relatedMaps are specs of the family of s with other widths and kernels.
func relatedMaps(s transformer.RFF) []transformer.Fitter {
	wide, narrow, other := s, s, s
	wide.Features, narrow.Gamma = 40, kernel.FixedGamma(0.7)
	narrow.Features = 8
	if s.Kernel == "gaussian" {
		other.Kernel = "matern"
	}
	return []transformer.Fitter{wide, narrow, other}
}

// relatedLandmarks are specs of the family of s with other numbers of landmarks, and where these
// are uniform other kernels.
func relatedLandmarks(s transformer.Nystroem) []transformer.Fitter {
	many, few, other := s, s, s
	many.Landmarks, few.Landmarks = 40, 5
	if s.Choose == "uniform" {
		few.Gamma = kernel.FixedGamma(0.7)
		other.Kernel = "matern"
	}
	return []transformer.Fitter{many, few, other}
}

// relatedGrids are specs of the family of s with fewer grids and more.
func relatedGrids(s transformer.Binning) []transformer.Fitter {
	few, more := s, s
	few.Grids, more.Grids = 3, 20
	return []transformer.Fitter{few, more}
}

func TestEverySpecConforms(t *testing.T) {
	for name, c := range conformanceCases() {
		if exhaustive.Case(name, "standardize", "minmax", "quantile", "scale", "impute median", "onehot", "ordinal code",
			"target_encode", "hash", "pca", "dense", "rfm") {
			t.Run(name, func(t *testing.T) { transformertest.Run(t, c.spec, c.Options) })
		}
	}
}

// Every spec can be planned, fitted by blocks and listed.
func TestEverySpecHasTheOptionalInterfaces(t *testing.T) {
	for name, c := range conformanceCases() {
		if _, ok := c.spec.(transformer.BlockFitter); !ok {
			t.Errorf("%s is no BlockFitter", name)
		}
		coster, ok := c.spec.(datasets.CostEstimator)
		if !ok {
			t.Errorf("%s is no Coster", name)
			continue
		}
		cost := coster.Cost(datasets.Shape{Rows: 1000, Cols: 5})
		if cost.Flops <= 0 || cost.Bytes <= 0 || cost.OutputWidth == 0 {
			t.Errorf("%s costs %+v", name, cost)
		}
		data := c.Data
		if data.X == nil {
			data = numbers()
		}
		fitted, err := c.spec.Fit(context.Background(), data)
		if err != nil {
			t.Fatal(err)
		}
		sized, ok := fitted.(transformer.Describer)
		if !ok {
			t.Errorf("%s: %T is no Describer", name, fitted)
		} else if want := coster.Cost(data.Shape()); !want.WidthEstimated && want.OutputWidth != sized.OutputWidth() {
			t.Errorf("%s announces %d columns and has %d", name, want.OutputWidth, sized.OutputWidth())
		}
	}
}

// curved returns rows whose target is a curve along one direction of the first two inputs.
func curved() datasets.Set {
	rng := rand.New(rand.NewPCG(3, 4))
	X, y := mat.NewDense(80, 4, nil), make([]float64, 80)
	for i := range y {
		X.SetRow(i, []float64{rng.NormFloat64(), rng.NormFloat64(), 0, 2.5})
		if i%3 == 0 {
			X.Set(i, 2, rng.NormFloat64())
		}
		y[i] = math.Sin(X.At(i, 0) + 2*X.At(i, 1))
	}
	columns := []datasets.Column{{Name: "a"}, {Name: "b"}, {Name: "rare"}, {Name: "constant"}}
	return datasets.Set{X: X, Y: y, Schema: datasets.Schema{Columns: columns}}
}
