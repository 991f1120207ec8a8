package modelfile_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/codec/archive"
	"github.com/bochner-ml/bochner/internal/testing/exhaustive"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/internal/samples"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
	"github.com/bochner-ml/bochner/transformer"
)

var ctx = context.Background()

// The rows and steps of the tests of pipelines.
var people, amounts, numbers, encoder, fourier = samples.People, samples.Amounts, samples.Numbers, samples.Encoder,
	samples.Fourier

// constant is no pipeline.
type constant float64

func (constant) Predict(context.Context, mat.Matrix) ([]float64, error) { return nil, nil }

// specs are pipelines of every form, before every kind of model.
func specs() map[string]pipeline.Pipeline {
	bins := transformer.NewBinning()
	bins.Grids, bins.Gamma = 10, kernel.FixedGamma(0.5)
	landmarks := transformer.NewNystroem()
	landmarks.Landmarks = 12
	union := pipeline.NewUnion(fourier(12), bins)
	union.Weights = []float64{0.5, 0.5}
	ard := transformer.NewARD()
	ard.Features, ard.Steps, ard.Restarts = 12, 3, 1
	trained := estimator.NewRFFNetwork()
	trained.Features, trained.Epochs = 12, 3
	process := estimator.NewGaussianProcess()
	process.Features, process.Steps = 12, 3
	return map[string]pipeline.Pipeline{
		"network":          pipeline.Steps(encoder(), transformer.NewMinMax()).Then(trained),
		"ard":              pipeline.Steps(encoder(), ard, fourier(8)).Then(estimator.NewRidge()),
		"ridge":            pipeline.Steps(encoder(), fourier(16)).Then(estimator.NewRidge()),
		"ridge classifier": pipeline.Steps(encoder(), union).Then(estimator.NewRidgeClassifier()),
		"logistic": pipeline.Steps(pipeline.NewChain(encoder(), transformer.NewPCA()),
			fourier(16)).Then(estimator.NewLogistic()),
		"landmarks":            pipeline.Steps(encoder(), landmarks).Then(estimator.NewRidgeClassifier()),
		"svm":                  pipeline.Steps(encoder(), bins).Then(estimator.NewSVM()),
		"svr":                  pipeline.Steps(encoder(), transformer.NewMinMax()).Then(estimator.NewSVR()),
		"poisson":              pipeline.Steps(encoder(), fourier(16)).Then(estimator.NewPoisson()),
		"huber":                pipeline.Steps(encoder(), fourier(16)).Then(estimator.NewHuber()),
		"quantile":             pipeline.Steps(encoder(), fourier(16)).Then(estimator.NewQuantileRegression()),
		"sgd":                  pipeline.Steps(encoder(), bins).Then(estimator.NewSGDClassifier()),
		"sgd regression":       pipeline.Steps(encoder(), fourier(16)).Then(estimator.NewSGDRegressor()),
		"kernel ridge":         pipeline.Steps(encoder(), transformer.NewMinMax()).Then(estimator.NewKernelRidge()),
		"gaussian process":     pipeline.Steps(encoder(), transformer.NewMinMax()).Then(process),
		"kernel svm":           pipeline.Steps(encoder(), transformer.NewMinMax()).Then(estimator.NewKernelSVM()),
		"kernel svm, sparse":   pipeline.Steps(encoder(), bins).Then(estimator.NewKernelSVM()),
		"kernel svr":           pipeline.Steps(encoder(), transformer.NewMinMax()).Then(estimator.NewKernelSVR()),
		"kernel ridge, sparse": pipeline.Steps(encoder(), bins).Then(estimator.NewKernelRidgeClassifier()),
	}
}

// suited are the data with targets that the pipeline's estimator takes.
func suited(p pipeline.Pipeline, data datasets.Set) datasets.Set {
	switch p.Estimator.(type) {
	case estimator.Ridge, estimator.SVR, estimator.KernelRidge, estimator.KernelSVR, estimator.SGDRegressor,
		estimator.GaussianProcess, estimator.Poisson, estimator.Huber, estimator.QuantileRegression:
		return amounts(data)
	}
	return data
}

func fitted(t testing.TB, p pipeline.Pipeline, data datasets.Set) *modelfile.Model {
	t.Helper()
	f, err := p.Fit(ctx, suited(p, data))
	if err != nil {
		t.Fatal(err)
	}
	m, err := modelfile.New(f)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func bytesOf(t testing.TB, m *modelfile.Model) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := m.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestSaveAndLoad checks that a restored model predicts the same, bit for bit, and is saved with
// the same bytes.
func TestSaveAndLoad(t *testing.T) {
	data := people(400, 20)
	data.Schema.Missing = []string{"?", "n/a"}
	dir := t.TempDir()
	for name, p := range specs() {
		t.Run(name, func(t *testing.T) {
			m := fitted(t, p, data)
			m.Name, m.Metrics, m.Versions = name, map[string]float64{"test.accuracy": 0.5}, map[string]string{"bochner": "dev"}
			m.ScoredRows, m.FittedRows = 300, 400
			path := filepath.Join(dir, "model.bochner")
			if err := m.Save(path); err != nil {
				t.Fatal(err)
			}
			back, err := modelfile.Load(path)
			if err != nil {
				t.Fatal(err)
			}
			if back.Name != name || back.Task != m.Task || !reflect.DeepEqual(back.Metrics, m.Metrics) ||
				back.Versions["bochner"] != "dev" || back.Versions["go"] == "" || back.ScoredRows != 300 ||
				back.FittedRows != 400 {
				t.Errorf("read back %+v", back)
			}
			if !reflect.DeepEqual(back.Schema, suited(p, data).Schema) || back.Spec().String() != p.String() {
				t.Errorf("schema %+v of %s", back.Schema, back.Spec())
			}
			if in := pipeline.Find(back.Predictor).InputSchema(); !reflect.DeepEqual(in, suited(p, data).Schema) {
				t.Errorf("schema of the inputs %+v", in)
			}
			if reflect.TypeOf(back.Predictor) != reflect.TypeOf(m.Predictor) {
				t.Errorf("a %T came back as a %T", m.Predictor, back.Predictor)
			}
			want, err := estimator.Predict(ctx, m.Predictor, data.X, estimator.Request{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := estimator.Predict(ctx, back.Predictor, data.X, estimator.Request{})
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("predictions differ after loading (%v)", err)
			}
			if !bytes.Equal(bytesOf(t, back), bytesOf(t, m)) {
				t.Error("saved again, the bytes differ")
			}
		})
	}
}

// TestSaveAtOnce checks that concurrent goroutines can write a fitted model, with equal bytes, and
// read its report and its relevance. The race detector finds modifications.
func TestSaveAtOnce(t *testing.T) {
	for name, spec := range specs() {
		m := fitted(t, spec, people(60, 3))
		var reporter estimator.Reporter
		var relevance interface{ Relevance() []float64 }
		estimator.As(m.Predictor, &reporter)
		estimator.As(m.Predictor, &relevance)
		files := make([]bytes.Buffer, 3)
		var group sync.WaitGroup
		for i := range files {
			group.Go(func() {
				if err := m.Write(&files[i]); err != nil {
					t.Error(err)
				}
				if reporter != nil {
					reporter.Report()
				}
				if relevance != nil {
					relevance.Relevance()
				}
			})
		}
		group.Wait()
		for i := range files[1:] {
			if !bytes.Equal(files[1+i].Bytes(), files[0].Bytes()) {
				t.Errorf("%s: file %d differs from the first", name, 1+i)
			}
		}
	}
}

func TestModelParts(t *testing.T) {
	data := people(100, 21)
	p := pipeline.Find(fitted(t, specs()["ridge"], data).Predictor)
	name, inner := p.Model()
	if _, ok := inner.(*estimator.FittedLinear); !ok || name != "ridge" || p.InputWidth() != 4 || p.Chain().Len() != 2 ||
		!reflect.DeepEqual(p.InputSchema(), amounts(data).Schema) {
		t.Errorf("a %T called %s on %d columns", inner, name, p.InputWidth())
	}
	if _, err := modelfile.New(constant(1)); err == nil {
		t.Error("a constant is a fitted pipeline")
	}
	if err := (&modelfile.Model{Predictor: constant(1)}).Write(&bytes.Buffer{}); err == nil {
		t.Error("a constant was saved")
	}
}

// Rows of other data are brought into the model's form by the names of columns, levels and classes.
func TestAlign(t *testing.T) {
	data := people(200, 23)
	m := fitted(t, specs()["logistic"], data)
	want, err := m.Predictor.Predict(ctx, data.X)
	if err != nil {
		t.Fatal(err)
	}
	other := datasets.Set{X: mat.NewDense(200, 4, nil), Y: make([]float64, 200), Schema: datasets.Schema{
		Columns: []datasets.Column{{Name: "colour", Kind: datasets.Categorical,
			Categories: []string{"red", "mauve", "blue", "green"}}, {Name: "cap-gain"}, {Name: "age"}, {Name: "hours"}},
		Targets: []datasets.Column{{Name: "rich", Kind: datasets.Categorical, Categories: []string{"yes", "no"}}},
	}}
	for i := range 200 {
		code := []float64{2, 3, 0}[int(data.X.At(i, 2))]
		other.X.(*mat.Dense).SetRow(i, []float64{code, data.X.At(i, 3), data.X.At(i, 0), data.X.At(i, 1)})
		other.Y[i] = 1 - data.Y[i]
	}
	aligned, err := m.Align(other)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "aligned", aligned.X, data.X)
	if !slices.Equal(aligned.Y, data.Y) || !reflect.DeepEqual(aligned.Schema, data.Schema) {
		t.Errorf("targets or schema %+v are not the model's", aligned.Schema)
	}
	if got, err := m.Predictor.Predict(ctx, aligned.X); err != nil || !slices.Equal(got, want) {
		t.Errorf("predictions differ (%v)", err)
	}
	other.X = matrices.CSRFromDense(other.X)
	if aligned, err = m.Align(other); err != nil {
		t.Fatal(err)
	}
	same(t, "aligned sparse rows", aligned.X, data.X)
	if back, err := m.Align(data); err != nil || back.X != data.X {
		t.Errorf("data in the model's form are copied (%v)", err)
	}
	unknown := other
	unknown.X = mat.NewDense(2, 4, []float64{1, 0, 0, 0, math.NaN(), 0, 0, 0})
	unknown.Y = nil
	if aligned, err = m.Align(unknown); err != nil || aligned.X.At(0, 2) != datasets.Unknown ||
		!math.IsNaN(aligned.X.At(1, 2)) {
		t.Errorf("an unknown level is %v, a missing one %v (%v)", aligned.X.At(0, 2), aligned.X.At(1, 2), err)
	}
}

func TestAlignRefuses(t *testing.T) {
	data := people(100, 24)
	m := fitted(t, specs()["ridge"], data)
	class := fitted(t, specs()["logistic"], data)
	column := func(names ...string) datasets.Set {
		s := datasets.Set{X: mat.NewDense(1, len(names), nil)}
		for _, name := range names {
			c := datasets.Column{Name: name}
			if name == "colour" {
				c.Kind, c.Categories = datasets.Categorical, []string{"blue"}
			}
			s.Schema.Columns = append(s.Schema.Columns, c)
		}
		return s
	}
	wrong := column("age", "hours", "colour", "cap-gain")
	wrong.Schema.Columns[2].Kind = datasets.Numeric
	stranger := column("age", "hours", "colour", "cap-gain")
	stranger.Y = []float64{1}
	stranger.Schema.Targets = []datasets.Column{{Kind: datasets.Categorical, Categories: []string{"no", "perhaps"}}}
	for _, c := range []struct {
		m    *modelfile.Model
		data datasets.Set
		want string
	}{
		{m, column("age", "hours", "colour"), "pipeline: missing column cap-gain"},
		{m, column("age", "colour"), "pipeline: missing columns hours, cap-gain"},
		{m, column("age", "hours", "colour", "cap-gain", "zip"), "pipeline: column zip the model does not know"},
		{m, column("age", "hour", "colour", "cap-gain"),
			"pipeline: missing column hours; column hour the model does not know"},
		{m, wrong, "pipeline: column colour must be categorical as in the model, got numeric"},
		{m, datasets.Set{X: mat.NewDense(1, 3, nil)}, "pipeline: rows must have 4 columns as the model, got 3"},
		{m, datasets.Set{X: data.X}, "pipeline: column colour: cannot align category codes without a schema; " +
			"set Schema.Columns, or use PredictRows"},
		{class, stranger, "pipeline: row 0: the model does not know the class perhaps"},
	} {
		if _, err := c.m.Align(c.data); err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// A model file with an impossible claim is rejected.
func TestLoadRefuses(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "m")
	write := func(b []byte) {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := bytesOf(t, fitted(t, specs()["ridge"], people(60, 25)))
	h, state, err := archive.Read(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	pack := func(harm func(h *archive.Header, a *archive.Archive)) []byte {
		other, _ := model.Record(pipeline.Find(fitted(t, specs()["ridge"], people(60, 25)).Predictor))
		head := h
		harm(&head, other)
		var b bytes.Buffer
		if err := archive.Write(&b, head, other); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	_ = state
	for _, c := range []struct {
		file []byte
		want string
	}{
		{nil, "does not begin as a model file does"},
		{[]byte("age,hours\n1,2\n"), "is a text file, such as CSV or YAML"},
		{file[:len(file)/2], "no checksum at its end"},
		{append(bytes.Clone(file[:300]), file[301:]...), "checksum is not that of its contents"},
		{pack(func(h *archive.Header, a *archive.Archive) { h.Spec = "- rff\n" }), "the last step is not an estimator"},
		{pack(func(h *archive.Header, a *archive.Archive) { h.Spec = "\t{" }), "its spec: yaml"},
		{pack(func(h *archive.Header, a *archive.Archive) { h.Columns = h.Columns[1:] }), "it names 3 columns of 4"},
		{pack(func(h *archive.Header, a *archive.Archive) {
			h.Columns[0].Kind = "complex"
			h.Columns = slices.Clone(h.Columns)
		}), `column "age" is of kind "complex"`},
		{pack(func(h *archive.Header, a *archive.Archive) {
			h.Columns[0].Kind = "numeric"
			a.Scalars["ridge/kind"] = "rff"
		}), "a rff is not allowed here"},
		{pack(func(h *archive.Header, a *archive.Archive) { a.Scalars["ridge/kind"] = "gbm" }),
			`no step "gbm" is registered in this program`},
		{pack(func(h *archive.Header, a *archive.Archive) { a.Scalars["steps/columns/width"] = 7.0 }),
			"the width is not that of the step"},
		{pack(func(h *archive.Header, a *archive.Archive) { a.Scalars["steps/steps"] = []string{"rff"} }), "columns at fit"},
		{pack(func(h *archive.Header, a *archive.Archive) { a.Scalars["name"] = "a/b" }), "kind is missing"},
	} {
		write(c.file)
		_, err := modelfile.Load(path)
		if !errors.Is(err, model.ErrDamaged) || !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(err.Error(), path) {
			t.Errorf("%v, want ErrDamaged, the path and %q", err, c.want)
		}
	}
	if _, err := modelfile.Load(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// damage makes one change in an archive.
func damage(a *archive.Archive, rng *rand.Rand) {
	keys := slices.Sorted(func(yield func(string) bool) {
		for k := range a.Scalars {
			if !yield("s" + k) {
				return
			}
		}
		for k := range a.Arrays {
			if !yield("a" + k) {
				return
			}
		}
	})
	key := keys[rng.IntN(len(keys))]
	name := key[1:]
	if key[0] == 's' {
		switch v := a.Scalars[name].(type) {
		case float64:
			a.Scalars[name] = []float64{0, -1, v + 1, 2 * v, 1e15, 0.5, 1 << 31}[rng.IntN(7)]
		case bool:
			a.Scalars[name] = !v
		case string:
			a.Scalars[name] = []string{"", "rff", "columns", "steps", "binning", "logistic", "onehot"}[rng.IntN(7)]
		case []string:
			a.Scalars[name] = append(slices.Clone(v), "more")[rng.IntN(2):]
		}
		return
	}
	array := a.Arrays[name]
	switch n := array.Shape[0]; rng.IntN(3) {
	case 0:
		delete(a.Arrays, name)
	case 1:
		if n > 0 && len(array.Shape) == 1 {
			array.Shape = []int{n - 1}
			array.Floats, array.Ints, array.Uint32s = shorten(array.Floats), shorten(array.Ints), shorten(array.Uint32s)
			a.Arrays[name] = array
		}
	default:
		for i := range array.Ints {
			if rng.IntN(3) == 0 {
				array.Ints[i] += int64([]int{-1, 1, 1 << 40, -1 << 40}[rng.IntN(4)])
			}
		}
		for i := range array.Floats {
			if rng.IntN(3) == 0 {
				array.Floats[i] = []float64{math.NaN(), math.Inf(1), -1e300, 0}[rng.IntN(4)]
			}
		}
		for i := range array.Uint32s {
			if rng.IntN(3) == 0 {
				array.Uint32s[i] = rng.Uint32()
			}
		}
	}
}

func shorten[T any](list []T) []T {
	if list == nil {
		return nil
	}
	return list[:len(list)-1]
}

// A damaged state that was sealed as if it were sound is refused or predicts; it never panics.
func TestDamagedStateNeverPanics(t *testing.T) {
	if !exhaustive.Tests() {
		t.Skip("thousands of files")
	}
	data := people(60, 26)
	rng := rand.New(rand.NewPCG(5, 6))
	for name, p := range specs() {
		m := fitted(t, p, data)
		file := bytesOf(t, m)
		for range 60 {
			h, a, err := archive.Read(bytes.NewReader(file), int64(len(file)))
			if err != nil {
				t.Fatal(err)
			}
			damage(a, rng)
			var b bytes.Buffer
			if err := archive.Write(&b, h, a); err != nil {
				t.Fatal(err)
			}
			back, err := modelfile.Read(bytes.NewReader(b.Bytes()), int64(b.Len()))
			if err != nil {
				if !errors.Is(err, model.ErrDamaged) {
					t.Errorf("%s: an error of no kind: %v", name, err)
				}
				continue
			}
			estimator.Predict(ctx, back.Predictor, data.X, estimator.Request{})
		}
	}
}

// FuzzLoad: no file makes Load or the model it returns panic.
func FuzzLoad(f *testing.F) {
	data := people(60, 27)
	for _, p := range specs() {
		f.Add(bytesOf(f, fitted(f, p, data)), uint64(1))
	}
	f.Fuzz(func(t *testing.T, file []byte, seed uint64) {
		h, a, err := archive.Read(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			modelfile.Read(bytes.NewReader(file), int64(len(file)))
			return
		}
		rng := rand.New(rand.NewPCG(seed, 1))
		for range rng.IntN(4) {
			damage(a, rng)
		}
		var b bytes.Buffer
		if err := archive.Write(&b, h, a); err != nil {
			return
		}
		m, err := modelfile.Read(bytes.NewReader(b.Bytes()), int64(b.Len()))
		if err != nil {
			return
		}
		if set, err := m.Align(data); err == nil {
			estimator.Predict(ctx, m.Predictor, set.X, estimator.Request{})
		}
	})
}

func same(t *testing.T, what string, got, want mat.Matrix) {
	t.Helper()
	if !mat.Equal(got, want) {
		t.Errorf("%s: other values", what)
	}
}
