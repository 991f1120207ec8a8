package pipeline_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/estimatortest"
	"github.com/bochner-ml/bochner/internal/testing/exhaustive"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
	"github.com/bochner-ml/bochner/transformer/transformertest"
)

// The suites run over composites of every form.
func TestCompositesConformance(t *testing.T) {
	rff := func(features int) transformer.RFF {
		s := transformer.NewRFF()
		s.Features, s.Gamma, s.Seed = features, kernel.FixedGamma(0.2), 3
		return s
	}
	bins := func() transformer.Binning {
		s := transformer.NewBinning()
		s.Grids, s.Gamma, s.Seed = 6, kernel.FixedGamma(0.3), 4
		return s
	}
	flat := transformer.Standardize{Std: true}
	group := func(name string, terms []string, steps ...transformer.Fitter) pipeline.Group {
		return pipeline.Group{Name: name, Select: terms, Steps: pipeline.Steps(steps...)}
	}
	passing := pipeline.NewColumns(group("tall", []string{"height"}, transformer.NewImpute(), rff(6)),
		group("r", []string{"rare*"}, flat))
	passing.Remainder = "passthrough"
	weighted := pipeline.NewUnion(rff(4), bins())
	weighted.Weights = []float64{0.25, 2}
	type o = transformertest.Options
	for name, c := range map[string]struct {
		spec transformer.Fitter
		o    transformertest.Options
	}{
		"chain":             {pipeline.NewChain(transformer.NewImpute(), flat, rff(12)), o{Missing: true}},
		"chain, sparse end": {pipeline.NewChain(transformer.Dense{}, bins()), o{Unexported: true}},
		"chain of chains":   {pipeline.NewChain(pipeline.NewChain(flat), rff(8)), o{}},
		"empty chain":       {pipeline.NewChain(), o{Missing: true}},
		"union":             {pipeline.NewUnion(rff(4), flat), o{}},
		"weighted union":    {weighted, o{Unexported: true}},
		"sparse union": {pipeline.Union{Parts: []pipeline.Step{{Name: "a", Fitter: bins()},
			{Name: "b", Fitter: bins()}}}, o{Unexported: true}},
		"columns": {pipeline.NewColumns(group("", []string{"width", "height"}, transformer.NewStandardize()),
			group("", []string{"constant", "rare"})), o{Missing: true, DenseOnly: true}},
		"columns that pass": {passing, o{Missing: true}},
	} {
		c.o.Tolerance = 1e-8
		t.Run(name, func(t *testing.T) { transformertest.Run(t, c.spec, c.o) })
	}
}

// The suites run over pipelines before each kind of model.
func TestPipelinesConformance(t *testing.T) {
	rff := transformer.NewRFF()
	rff.Features, rff.Gamma, rff.Seed = 10, kernel.FixedGamma(0.1), 3
	logistic := estimator.NewLogistic()
	logistic.Tol = 1e-10
	for name, c := range map[string]struct {
		spec pipeline.Pipeline
		o    estimatortest.Options
	}{
		"ridge":          {pipeline.Steps(rff).Then(estimator.NewRidge()), estimatortest.Options{Origin: true}},
		"nothing before": {pipeline.Steps().Then(estimator.NewRidge()), estimatortest.Options{}},
		"ridge classifier": {pipeline.Steps(rff).Then(estimator.NewRidgeClassifier()),
			estimatortest.Options{Origin: true, Classes: 3}},
		"logistic": {pipeline.Steps(rff).Then(logistic), estimatortest.Options{Origin: true, Classes: 2}},
	} {
		t.Run(name, func(t *testing.T) { estimatortest.Run(t, c.spec, c.o) })
	}
}

// levels are rows of two categorical columns.
func levels() datasets.Set {
	rng := rand.New(rand.NewPCG(3, 4))
	X := mat.NewDense(60, 2, nil)
	for i := range 60 {
		X.SetRow(i, []float64{float64(rng.IntN(3)), float64(rng.IntN(2))})
	}
	return datasets.Set{X: X, Schema: datasets.Schema{Columns: []datasets.Column{
		{Name: "colour", Kind: datasets.Categorical, Categories: []string{"blue", "green", "red"}},
		{Name: "size", Kind: datasets.Categorical, Categories: []string{"S", "M"}},
	}}}
}

// sentences returns rows of one text column.
func sentences(t *testing.T) datasets.Set {
	list := make([]string, 60)
	for i := range list {
		list[i] = strings.Repeat("one two ", i%3) + "row number " + strconv.Itoa(i%7)
	}
	data, err := datasets.Set{}.WithText("sentence", list)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// levelsWithTarget are the rows of levels with a numeric target.
func levelsWithTarget() datasets.Set {
	data := levels()
	for i := range data.Rows() {
		data.Y = append(data.Y, data.X.At(i, 0)+float64(i%5))
	}
	return data
}

// nonNegative returns rows of three columns without negative values.
func nonNegative() datasets.Set {
	rng := rand.New(rand.NewPCG(3, 4))
	X := mat.NewDense(60, 3, nil)
	X.Apply(func(int, int, float64) float64 { return max(0, rng.NormFloat64()) }, X)
	return datasets.Set{X: X, Schema: datasets.Schema{Columns: []datasets.Column{{Name: "a"}, {Name: "b"}, {Name: "c"}}}}
}

// TestRegisteredStepsConformance runs the conformance test on every registered step with its
// defaults. New steps must be added here.
func TestRegisteredStepsConformance(t *testing.T) {
	type to = transformertest.Options
	type eo = estimatortest.Options
	steps := map[string]to{
		"impute": {Missing: true}, "standardize": {Missing: true, DenseOnly: true},
		"minmax": {Missing: true, DenseOnly: true},
		"robust": {Missing: true, DenseOnly: true}, "quantile": {Missing: true, DenseOnly: true}, "scale": {Missing: true},
		"onehot": {Missing: true, Data: levels()}, "ordinal": {Missing: true, Data: levels()},
		"hash": {Missing: true, Data: levels()}, "target_encode": {Missing: true, Data: levelsWithTarget()},
		"tfidf": {Missing: true, Unexported: true, Data: sentences(t)},
		"dense": {Missing: true}, "pca": {Tolerance: 1e-7, Uncentered: true}, "ard": {}, "steps": {Missing: true},
		"rff":              {},
		"softmax_features": {}, "polynomial_sketch": {ExportTolerance: 1e-11}, "additive_chi2": {Data: nonNegative()},
		"skewed_chi2": {Data: nonNegative()}, "binning": {Unexported: true},
		"nystroem": {ExportTolerance: 1e-10, Tolerance: 1e-6,
			Float32Tolerance: 5e-3}, "rfm": {},
	}
	models := map[string]eo{"ridge": {}, "ridge_classifier": {Classes: 3}, "logistic": {Classes: 2, Tolerance: 0.05},
		"svm": {Classes: 2, Tolerance: 0.05}, "svr": {Tolerance: 0.05}, "kernel_ridge": {},
		"poisson": {Amounts: true, Tolerance: 0.05}, "gamma_regression": {Amounts: true, Tolerance: 0.05},
		"tweedie": {Amounts: true, Tolerance: 0.05}, "huber": {Tolerance: 0.05}, "quantile_regression": {Tolerance: 0.05},
		"kernel_ridge_classifier": {Classes: 3}, "kernel_svm": {Classes: 3, Tolerance: 0.05},
		"lasso": {Tolerance: 1e-6}, "elastic_net": {Tolerance: 1e-6}, "kernel_svr": {Tolerance: 0.05},
		"sgd_classifier": {Classes: 3, Minibatches: true}, "sgd_regressor": {Minibatches: true},
		"kmeans": {}, "spectral": {Origin: true, Positive: true}, "one_class": {Origin: true, Positive: true,
			Tolerance: 0.05},
		"rff_network":      {Folds: true, Tolerance: 0.05},
		"gaussian_process": {Folds: true, Tolerance: 1e-4}}
	// nothing without parts
	elsewhere := []string{"columns", "union", "target", "calibrated", "threshold", "intervals", "ensemble",
		"mirror", "log_one", "log_two"} // steps of these tests
	for _, e := range pipeline.Registered() {
		if !exhaustive.Case(e.Name, "standardize", "onehot", "rff", "ridge", "svm", "kmeans") &&
			!slices.Contains(elsewhere, e.Name) {
			continue
		}
		spec := e.New()
		o, isStep := steps[e.Name]
		m, isModel := models[e.Name]
		switch {
		case slices.Contains(elsewhere, e.Name):
		case isStep:
			t.Run(e.Name, func(t *testing.T) { transformertest.Run(t, spec.(transformer.Fitter), o) })
		case isModel:
			if strings.HasPrefix(e.Name, "kernel_") || e.Name == "rff_network" { // rules for gamma ignore weights
				var err error
				if spec, err = param.With(spec, param.Setting{Path: "gamma", Value: 0.1}); err != nil {
					t.Fatal(err)
				}
			}
			if e.Name == "kmeans" || e.Name == "spectral" { // the data are three groups
				var err error
				if spec, err = param.With(spec, param.Setting{Path: "clusters", Value: 3}); err != nil {
					t.Fatal(err)
				}
			}
			if e.Name == "gaussian_process" { // more features than rows explain rows that are there twice without noise
				var err error
				if spec, err = param.With(spec, param.Setting{Path: "features", Value: 30},
					param.Setting{Path: "steps", Value: 10}); err != nil {
					t.Fatal(err)
				}
			}
			t.Run(e.Name, func(t *testing.T) { estimatortest.Run(t, spec.(estimator.Estimator), m) })
		default:
			t.Errorf("%s is registered and not held to the laws", e.Name)
		}
	}
}

// The registry entries are complete: a sentence, declared and valid parameters, a serializable
// fitted type.
func TestRegistryIsComplete(t *testing.T) {
	for _, e := range pipeline.Registered() {
		if e.Doc == "" || strings.HasSuffix(e.Doc, ".") {
			t.Errorf("%s: doc %q", e.Name, e.Doc)
		}
		if err := param.Check(e.New()); err != nil && e.Name != "ensemble" { // which is nothing without members
			t.Errorf("%s: its defaults: %v", e.Name, err)
		}
		for _, p := range e.Params() {
			if p.Doc == "" || p.Constraint == "" || p.Name != strings.TrimSpace(p.Name) {
				t.Errorf("%s: parameter %+v", e.Name, p)
			}
		}
		if found, ok := pipeline.Lookup(e.Name); !ok || found.Name != e.Name || found.IsEstimator() != e.IsEstimator() {
			t.Errorf("%s is not found", e.Name)
		}
		if e.Fitted() == nil {
			t.Errorf("%s has no fitted value", e.Name)
		}
	}
	for _, name := range []string{"impute", "standardize", "minmax", "robust", "quantile", "scale", "onehot", "ordinal",
		"pca", "ard", "columns", "union",
		"rff", "softmax_features", "polynomial_sketch", "additive_chi2", "skewed_chi2", "binning", "nystroem",
		"rfm", "ridge", "ridge_classifier", "logistic", "svm", "svr",
		"poisson", "gamma_regression", "tweedie", "huber", "quantile_regression", "kernel_ridge",
		"kernel_ridge_classifier", "kernel_svm", "kernel_svr", "sgd_classifier", "sgd_regressor", "kmeans", "spectral",
		"one_class",
		"rff_network", "gaussian_process", "target", "calibrated", "threshold", "intervals", "ensemble"} {
		if _, ok := pipeline.Lookup(name); !ok {
			t.Errorf("%s is not registered", name)
		}
	}
}

// A second registration of the same types under the same name has no effect.
func TestRegisterTwice(t *testing.T) {
	entry, ok := pipeline.Lookup("rff")
	if !ok {
		t.Fatal("rff is not registered")
	}
	registered := len(pipeline.Registered())
	if err := pipeline.Register(entry); err != nil || len(pipeline.Registered()) != registered {
		t.Errorf("error %v, and %d steps after %d", err, len(pipeline.Registered()), registered)
	}
	entry.Fitted = func() model.Stateful { return &pipeline.FittedChain{} }
	if err := pipeline.Register(entry); err == nil || !strings.Contains(err.Error(), "the name is taken") {
		t.Errorf("another fitted type returns %v", err)
	}
}

func TestRegisterRefuses(t *testing.T) {
	fitted := func() model.Stateful { return &pipeline.FittedChain{} }
	for _, c := range []struct {
		e    pipeline.Entry
		want string
	}{
		{pipeline.Entry{Name: "a b", New: func() any { return mirror{} }, Fitted: fitted}, `register "a b": must have a name`},
		{pipeline.Entry{Name: "thing", Fitted: fitted}, "must have a name"},
		{pipeline.Entry{Name: "thing", New: func() any { return 3 }, Fitted: fitted},
			"int is neither a transformer nor an estimator"},
		{pipeline.Entry{Name: "rff", New: func() any { return mirror{} }, Fitted: fitted},
			"the name is taken by github.com/bochner-ml/bochner/transformer.RFF"},
		{pipeline.Entry{Name: "name", New: func() any { return mirror{} }, Fitted: fitted}, "the name is taken"},
		{pipeline.Entry{Name: "thing", New: func() any { return transformer.NewRFF() }, Fitted: fitted},
			"the type github.com/bochner-ml/bochner/transformer.RFF is registered already, as rff"},
	} {
		if err := pipeline.Register(c.e); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

// close fails unless two matrices are equal to within tolerance.
func close(t *testing.T, what string, got, want mat.Matrix, tolerance float64) {
	t.Helper()
	n, d := want.Dims()
	if a, b := got.Dims(); a != n || b != d {
		t.Fatalf("%s: %d×%d, want %d×%d", what, a, b, n, d)
	}
	for i := range n {
		for j := range d {
			if v, w := got.At(i, j), want.At(i, j); !(math.Abs(v-w) <= tolerance) && !(math.IsNaN(v) && math.IsNaN(w)) {
				t.Fatalf("%s: entry (%d, %d) is %v, want %v", what, i, j, v, w)
			}
		}
	}
}

var _ = fmt.Sprint
