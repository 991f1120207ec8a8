package main

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/experiment"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
	"github.com/bochner-ml/bochner/pipeline/yaml"
	"github.com/bochner-ml/bochner/transformer"
	"github.com/bochner-ml/bochner/transformer/transformertest"
)

func TestMain(m *testing.M) {
	if err := register(); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

const products = `
- standardize
- product:
    parts: [{rff: {features: 6, gamma: 0.5}}, {rff: {kernel: laplacian, features: 4, gamma: 1}, name: sharp}]
    scale: 2
- product: [{steps: [minmax, {rff: {features: 2}}], name: scaled}]
  name: again
- ridge
`

func TestProduct(t *testing.T) {
	few, fewer := transformer.NewRFF(), transformer.NewRFF()
	few.Features, fewer.Features, fewer.Seed = 6, 4, 2
	product := NewProduct()
	product.Parts = []pipeline.Step{{Fitter: few}, {Name: "fewer", Fitter: fewer}}
	transformertest.Run(t, product, transformertest.Options{})
}

func read(t *testing.T, text string) pipeline.Pipeline {
	t.Helper()
	p, err := yaml.Unmarshal([]byte(text), yaml.Origin{File: "a.yaml", Path: "pipeline", Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestProductAsYAML checks that a custom composite can be written and read as YAML, with paths and
// seeds of its children.
func TestProductAsYAML(t *testing.T) {
	p := read(t, products)
	first, second := p.Steps[1].Fitter.(Product), p.Steps[2].Fitter.(Product)
	if first.Scale != 2 || second.Scale != 1 || len(first.Parts) != 2 || first.Parts[1].Name != "sharp" {
		t.Errorf("read %+v and %+v", first, second)
	}
	for path, want := range map[string]any{
		"product.scale": 2.0, "product.sharp.kernel": "laplacian", "again.scaled.rff.features": 2,
		"product.rff.seed":      2922109686539302,
		"again.scaled.rff.seed": 8397958435644328,
	} {
		if got, err := param.Get(p, path); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %v, want %v (%v)", path, got, want, err)
		}
	}
	text, err := yaml.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	if back := read(t, string(text)); !reflect.DeepEqual(param.All(back), param.All(p)) || back.String() != p.String() {
		t.Errorf("from\n%s\nread %+v, want %+v", text, back, p)
	}
	if short, _ := yaml.Marshal(pipeline.Steps(NewProduct(transformer.NewMinMax())).Then(estimator.NewRidge())); !strings.HasPrefix(string(short), "- product:\n    - minmax") {
		t.Errorf("with the defaults of its own parameters it is written\n%s", short)
	}
}

func TestErrorsInProduct(t *testing.T) {
	for text, want := range map[string]string{
		"[{product: [{rff: {gama: 1}}]}, " +
			"ridge]": `a.yaml:1:20: pipeline.product.rff.gama: no parameter is called "gama" (did you mean gamma?)`,
		"[{product: []}, ridge]": "a.yaml:1:12: pipeline.product: must be at least one part, " +
			"got []",
		"[{product: {parts: [rff], scale: -1}}, ridge]": "a.yaml:1:34: pipeline.product.scale: must be a number > 0, " +
			"got -1",
		"[{product: {part: [rff]}}, ridge]": "a.yaml:1:3: pipeline.product.parts: missing",
		"[{product: [rff, rff]}, ridge]":    "a.yaml:1:18: pipeline.product.rff: two parts are called rff",
		"[{product: [ridge]}, ridge]": "a.yaml:1:13: pipeline.product.ridge: an estimator can only " +
			"be the last step",
		"[{product: {parts: [rff], scalee: -1}}, " +
			"ridge]": `a.yaml:1:27: pipeline.product.scalee: no parameter is called "scalee" (did you mean scale?)`,
		"[{product: {parts: [rff], weights: [1]}}, " +
			"ridge]": `a.yaml:1:27: pipeline.product.weights: no parameter is called "weights" (there are scale, parts)`,
	} {
		_, err := yaml.Unmarshal([]byte(text), yaml.Origin{File: "a.yaml", Path: "pipeline"})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s\n  %v\nwant\n  %s", text, err, want)
		}
	}
}

// Requirements of a part of a composite are checked before a fit, with its path.
func TestColumnsOfAProduct(t *testing.T) {
	schema := datasets.Schema{Columns: []datasets.Column{{Name: "age"},
		{Name: "sex", Kind: datasets.Categorical, Categories: []string{"f", "m"}}}}
	err := pipeline.Steps(NewProduct(transformer.NewMinMax(),
		transformer.Dense{})).Then(estimator.NewRidge()).CheckKinds(schema)
	if err == nil || !strings.HasPrefix(err.Error(),
		"product.minmax: column sex is categorical, and minmax takes numbers") {
		t.Errorf("%v", err)
	}
}

// A saved model predicts the same, from memory as from a stream.
func TestProductInAModelFile(t *testing.T) {
	ctx, p := context.Background(), read(t, products)
	rng := rand.New(rand.NewPCG(1, 2))
	data := datasets.Set{X: mat.NewDense(60, 3, nil), Y: make([]float64, 60)}
	for i := range data.Y {
		data.X.(*mat.Dense).SetRow(i, []float64{rng.NormFloat64(), rng.NormFloat64(), rng.Float64()})
		data.Y[i] = data.X.At(i, 0) * data.X.At(i, 1)
	}
	fitted, err := p.Fit(ctx, data)
	if err != nil {
		t.Fatal(err)
	}
	m, err := modelfile.New(fitted)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := m.Write(&file); err != nil {
		t.Fatal(err)
	}
	back, err := modelfile.Read(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	want, err := fitted.Predict(ctx, data.X)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := back.Predictor.Predict(ctx, data.X); err != nil || !slices.Equal(got, want) {
		t.Errorf("loaded, it predicts otherwise (%v)", err)
	}
	streamed, err := p.FitSource(ctx, data.Source())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := streamed.Predict(ctx, data.X); err != nil ||
		!slices.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }) {
		t.Errorf("from a stream it predicts otherwise (%v)", err)
	}
	changed := p
	changed.Steps = p.Steps[:1]
	if back.Spec().String() == changed.String() || !strings.Contains(p.SVG(), ">sharp<") {
		t.Errorf("the spec is %s, the picture %s", back.Spec(), p.SVG())
	}
}

// TestProductInAnExperiment checks that a search over children runs from an experiment file, and
// that schema and reference include the step.
func TestProductInAnExperiment(t *testing.T) {
	ctx := context.Background()
	text := `
name: kernels
data: {dataset: iris, split: {test: 0.3, stratify: true}}
pipeline: [standardize, {product: {parts: [{rff: {features: 8}}, {rff: {features: 4}, name: other}]}}, logistic]
search: {grid: {product.other.gamma: [0.1, 1], product.scale: [0.5, 1], logistic.C: [1, 10]}, folds: 3}
output: {dir: ` + filepath.ToSlash(t.TempDir()) + `}
`
	spec, err := experiment.Parse(ctx, "a.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	result, err := experiment.Run(ctx, spec, experiment.Options{})
	if err != nil || result.Test["accuracy"] < 0.8 {
		t.Errorf("%+v, %v", result.Test, err)
	}
	schema := string(experiment.JSONSchema())
	if at := strings.Index(schema, "Multiplies the kernels of its parts."); at < 0 ||
		!strings.Contains(schema[at:], `"parts": {`) {
		t.Error("the JSON schema does not know the step")
	}
	if r := experiment.Reference(); !strings.Contains(r,
		"The list of parts may be given directly below `product` if `scale` is omitted.") ||
		!strings.Contains(r, "the maps whose kernels are multiplied") {
		t.Error("the reference does not describe the step")
	}
}
