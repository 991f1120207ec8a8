package pipeline_test

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/arff"
	"github.com/bochner-ml/bochner/datasets/builtin"
	"github.com/bochner-ml/bochner/datasets/csv"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/estimatortest"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/testing/exhaustive"
	"github.com/bochner-ml/bochner/internal/testing/golden"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
	"github.com/bochner-ml/bochner/transformer"
)

// inSingle is a pipeline in single precision.
func inSingle(model estimator.Estimator, steps ...transformer.Fitter) pipeline.Pipeline {
	p := pipeline.Steps(steps...).Then(model)
	p.Precision = pipeline.Float32
	return p
}

// TestSinglePipelinesConformance runs the conformance tests in float32, with the tolerance of the
// rounding of the features.
func TestSinglePipelinesConformance(t *testing.T) {
	rff := transformer.NewRFF()
	rff.Features, rff.Gamma, rff.Seed = 10, kernel.FixedGamma(0.1), 3
	phase := rff
	phase.Map = "phase"
	logistic, svm := estimator.NewLogistic(), estimator.NewSVM()
	logistic.Tol, svm.Tol = 1e-6, 1e-6
	type o = estimatortest.Options
	for name, c := range map[string]struct {
		spec pipeline.Pipeline
		o    o
	}{
		"ridge":             {inSingle(estimator.NewRidge(), rff), o{Origin: true}},
		"no map of its own": {inSingle(estimator.NewRidge(), pipeline.NewUnion(rff)), o{Origin: true}},
		"ridge classifier":  {inSingle(estimator.NewRidgeClassifier(), phase), o{Origin: true, Classes: 3}},
		"logistic":          {inSingle(logistic, rff), o{Origin: true, Classes: 2}},
		"softmax":           {inSingle(logistic, rff), o{Origin: true, Classes: 3}},
		"svm":               {inSingle(svm, phase), o{Origin: true, Classes: 2}},
	} {
		if !exhaustive.Case(name, "ridge", "svm") {
			continue
		}
		c.o.Tolerance, c.o.Rounding, c.o.ExportTolerance = 1e-3, 1e-5, 1e-4 // the exported graph is float64
		t.Run(name, func(t *testing.T) { estimatortest.Run(t, c.spec, c.o) })
	}
}

// TestSingleFeatures checks that the features of the last step are float32, those of earlier steps
// float64.
func TestSingleFeatures(t *testing.T) {
	data := numbers(50, 1)
	f, err := inSingle(estimator.NewRidge(), transformer.NewStandardize(), fourier(8)).Fit(ctx, data)
	if err != nil {
		t.Fatal(err)
	}
	inside := pipeline.Find(f)
	if inside.Precision() != pipeline.Float32 {
		t.Errorf("precision %q", inside.Precision())
	}
	Z, err := inside.Chain().Transform(ctx, data.X)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := Z.(*matrices.Dense32); !ok {
		t.Fatalf("the features are a %T", Z)
	}
	wide := mat.NewDense(50, 8, nil)
	if err := inside.Chain().TransformTo(ctx, wide, data.X); err != nil {
		t.Fatal(err)
	}
	close(t, "features in a matrix in double precision", wide, Z, 0)
	double, err := pipeline.Steps(transformer.NewStandardize(), fourier(8)).Then(estimator.NewRidge()).Fit(ctx, data)
	if err != nil {
		t.Fatal(err)
	}
	exact, err := pipeline.Find(double).Chain().Transform(ctx, data.X)
	if err != nil {
		t.Fatal(err)
	}
	close(t, "features", Z, exact, 1e-6)
}

// A precision is one of two, and the empty one is double.
func TestPrecisionIsChecked(t *testing.T) {
	p := pipeline.Steps(fourier(4)).Then(estimator.NewRidge())
	p.Precision = "float16"
	if _, err := p.Fit(ctx, numbers(20, 1)); err == nil {
		t.Error("float16 is taken")
	}
	p.Precision = ""
	if _, err := p.Fit(ctx, numbers(20, 1)); err != nil {
		t.Error(err)
	}
	changed, err := param.With(p, param.Setting{Path: "precision", Value: "float32"})
	if err != nil || changed.(pipeline.Pipeline).Precision != pipeline.Float32 {
		t.Errorf("set by path: %v, %v", changed, err)
	}
	p.Name = "precision"
	if _, err := p.Fit(ctx, numbers(20, 1)); err == nil {
		t.Error("a step may be called precision")
	}
}

// Fits from memory, with cached or recomputed features, and from a stream give the same bits; a
// loaded model predicts the same bits, a single row without allocation.
func TestSingleModelsAreTheSameByAnyWay(t *testing.T) {
	data := people(3000, 7)
	p := inSingle(estimator.NewLogistic(), encoder(), fourier(60))
	var want []float64
	for _, memory := range []int64{0, 1} {
		p.Memory = memory
		for range 2 {
			f, err := p.Fit(ctx, data)
			if err != nil {
				t.Fatal(err)
			}
			got := scores(t, f, data.X)
			if want == nil {
				want = got
			}
			if !slices.Equal(got, want) {
				t.Fatalf("with %d bytes of memory: other predictions", memory)
			}
		}
	}
	f, err := p.FitSource(ctx, data.Source())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(scores(t, f, data.X), want) {
		t.Error("from a stream: other predictions")
	}
	m, err := modelfile.New(f)
	if err != nil {
		t.Fatal(err)
	}
	file := bytesOf(t, m)
	back, err := modelfile.Read(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	if back.Spec().Precision != pipeline.Float32 {
		t.Errorf("loaded with precision %q", back.Spec().Precision)
	}
	if !slices.Equal(scores(t, back.Predictor, data.X), want) {
		t.Error("loaded: other predictions")
	}
	for _, i := range []int{0, 1234, 2999} {
		if got := scores(t, back.Predictor, rowblock.Slice(data.X, i, i+1)); got[0] != want[i] {
			t.Errorf("row %d alone: %v, %v in a batch", i, got[0], want[i])
		}
	}
}

func scores(t *testing.T, f estimator.Predictor, X mat.Matrix) []float64 {
	t.Helper()
	all, err := estimator.Predict(ctx, f, X, estimator.Request{Outputs: estimator.OutputScores})
	if err != nil {
		t.Fatal(err)
	}
	return mat.Col(nil, 0, all.Scores)
}

func TestOneSingleRowMakesNoGarbage(t *testing.T) {
	if underRace {
		t.Skip("the race detector empties pools at random")
	}
	data := numbers(300, 50)
	f, err := inSingle(estimator.NewRidge(), transformer.NewImpute(), transformer.NewStandardize(), fourier(256)).Fit(ctx,
		data)
	if err != nil {
		t.Fatal(err)
	}
	row := mat.DenseCopyOf(rowblock.Slice(data.X, 0, 1))
	if n := testing.AllocsPerRun(100, func() { f.Predict(ctx, row) }); n > 1 {
		t.Errorf("%v allocations, want that of the result", n)
	}
}

// TestSinglePrecisionScoresOnRealData checks that on real data the score on held-out rows is within
// 0.002 of that of float64.
func TestSinglePrecisionScoresOnRealData(t *testing.T) {
	rff := transformer.NewRFF()
	rff.Features, rff.Seed = 256, 1
	near := func(t *testing.T, model estimator.Estimator, train, test datasets.Set, steps ...transformer.Fitter) {
		t.Helper()
		double, narrow := score(t, pipeline.Steps(steps...).Then(model), train, test),
			score(t, inSingle(model, steps...), train, test)
		if math.Abs(double-narrow) > 0.002 || !(double > 0.5) {
			t.Errorf("%T: score %.5f in double, %.5f in single precision", model, double, narrow)
		}
	}
	t.Run("adult", func(t *testing.T) {
		train, test, err := builtin.Load("adult")
		if err != nil {
			t.Fatal(err)
		}
		train, test = train.Slice(0, 6000), test.Slice(0, 6000)
		gamma := rff
		gamma.Gamma = kernel.FixedGamma(0.05)
		encode := pipeline.NewColumns(
			pipeline.Group{Select: []string{"numeric"}, Steps: pipeline.Steps(transformer.NewImpute(),
				transformer.NewStandardize())},
			pipeline.Group{Select: []string{"categorical"}, Steps: pipeline.Steps(transformer.NewOneHot())})
		for _, model := range []estimator.Estimator{estimator.NewRidgeClassifier(), estimator.NewLogistic(),
			estimator.NewSVM()} {
			near(t, model, train, test, encode, gamma)
		}
	})
	t.Run("covtype", func(t *testing.T) {
		path := golden.Path(t, "data", "covtype_subset", "covtype_random92962.data.gz")
		o := csv.Options{NoHeader: true}
		o.Target, o.Task = []string{"-1"}, datasets.Classification
		data, err := o.ReadFile(ctx, path)
		if err != nil {
			t.Fatal(err)
		}
		gamma := rff
		gamma.Gamma = kernel.FixedGamma(0.02)
		near(t, estimator.NewRidgeClassifier(), data.Slice(0, 6000), data.Slice(6000, 12000), transformer.NewStandardize(),
			gamma)
		near(t, estimator.NewLogistic(), data.Slice(0, 4000), data.Slice(6000, 12000), transformer.NewStandardize(), gamma)
	})
	t.Run("cpu_act", func(t *testing.T) {
		data, err := arff.Options{Roles: datasets.Roles{Target: []string{"-1"}}}.ReadFile(ctx, golden.Path(t, "data", "cpu_act", "cpu_act.arff.gz"))
		if err != nil {
			t.Fatal(err)
		}
		gamma := rff
		gamma.Gamma = kernel.FixedGamma(0.02)
		ridge := estimator.NewRidge()
		ridge.Alpha = 0.01
		near(t, ridge, data.Slice(0, 6000), data.Slice(6000, 8192), transformer.NewStandardize(), gamma)
	})
}

// score is the accuracy, or R² where targets are numbers, of a fit.
func score(t *testing.T, p pipeline.Pipeline, train, test datasets.Set) float64 {
	t.Helper()
	f, err := p.Fit(ctx, train)
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.Predict(ctx, test.X)
	if err != nil {
		t.Fatal(err)
	}
	classifies := estimator.OutputsOf(f).Classes != nil
	mean, wrong, spread := 0.0, 0.0, 0.0
	for _, y := range test.Y {
		mean += y / float64(len(test.Y))
	}
	for i, y := range test.Y {
		if classifies {
			spread++
			if got[i] != y {
				wrong++
			}
			continue
		}
		wrong += (got[i] - y) * (got[i] - y)
		spread += (y - mean) * (y - mean)
	}
	return 1 - wrong/spread
}

// TestSweepInSinglePrecision checks that a sweep over float32 candidates agrees with separate fits,
// up to rounding.
func TestSweepInSinglePrecision(t *testing.T) {
	data := people(400, 3)
	folds := thirds(400)
	base := inSingle(estimator.NewRidgeClassifier(), encoder(), fourier(40))
	var settings []estimator.Estimator
	for _, gamma := range []float64{0.1, 0.2} {
		for _, alpha := range []float64{0.1, 10} {
			s, err := param.With(base, param.Setting{Path: "rff.gamma", Value: gamma},
				param.Setting{Path: "ridge_classifier.alpha", Value: alpha})
			if err != nil {
				t.Fatal(err)
			}
			settings = append(settings, s.(estimator.Estimator))
		}
	}
	seen := 0
	_, err := fitAll(ctx, base, data, folds, settings, func(setting, fold int, outcome batch.Outcome) error {
		if outcome.Err != nil {
			return outcome.Err
		}
		f, err := settings[setting].Fit(ctx, data.Select(folds[fold].Train))
		if err != nil {
			return err
		}
		want, err := estimator.Predict(ctx, f, rowblock.Select(data.X, folds[fold].Test), estimator.Request{})
		if err != nil {
			return err
		}
		close(t, "scores", outcome.Scores, want.Scores, 1e-4)
		seen++
		return nil
	})
	if err != nil || seen != len(settings)*len(folds) {
		t.Errorf("%d fits seen, error %v", seen, err)
	}
}

// Inputs far from 0 cost no accuracy in single precision, neither at fit nor after the model was in a file.
func TestFarInputsInSinglePrecision(t *testing.T) {
	rff := transformer.NewRFF()
	rff.Features, rff.Gamma, rff.Seed = 200, kernel.FixedGamma(0.3), 3
	ridge := estimator.NewRidge()
	ridge.Alpha = 0.01
	for _, offset := range []float64{0, 1e6, 1e7} {
		data := numbers(600, 1)
		X := mat.DenseCopyOf(data.X)
		for i := range 600 {
			data.Y[i] = math.Sin(2*X.At(i, 0)) + X.At(i, 1)
			for j := range data.Cols() {
				X.Set(i, j, X.At(i, j)+offset)
			}
		}
		data.X = X
		double := inSingle(ridge, rff)
		double.Precision = pipeline.Float64
		var values [2][]float64
		for k, p := range []pipeline.Pipeline{double, inSingle(ridge, rff)} {
			f, err := p.Fit(ctx, data)
			if err != nil {
				t.Fatal(err)
			}
			if values[k], err = f.Predict(ctx, X); err != nil {
				t.Fatal(err)
			}
			m, err := modelfile.New(f)
			if err != nil {
				t.Fatal(err)
			}
			var file bytes.Buffer
			if err := m.Write(&file); err != nil {
				t.Fatal(err)
			}
			again, err := modelfile.Read(bytes.NewReader(file.Bytes()), int64(file.Len()))
			if err != nil {
				t.Fatal(err)
			}
			if after, err := again.Predictor.Predict(ctx, X); err != nil || !slices.Equal(after, values[k]) {
				t.Errorf("offset %g: other predictions after loading (%v)", offset, err)
			}
		}
		for i, v := range values[0] {
			if math.Abs(v-values[1][i]) > 2e-3 {
				t.Fatalf("offset %g: row %d: %v in single precision, %v in double", offset, i, values[1][i], v)
			}
		}
	}
}
