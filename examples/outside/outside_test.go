package outside

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/experiment"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
	"github.com/bochner-ml/bochner/pipeline/yaml"
	"github.com/bochner-ml/bochner/transformer"
)

// curve is rows of two columns, a target that depends on them, and, in one row of ten, another one.
func curve(n int) datasets.Set {
	rng := rand.New(rand.NewPCG(1, 2))
	X, y := mat.NewDense(n, 2, nil), make([]float64, n)
	for i := range y {
		a, b := rng.NormFloat64(), rng.NormFloat64()
		X.SetRow(i, []float64{a, b})
		if y[i] = a*b + 0.5*a*a - b + 0.05*rng.NormFloat64(); i%10 == 0 {
			y[i] += 50
		}
	}
	return datasets.Set{X: X, Y: y, Schema: datasets.Schema{Columns: []datasets.Column{{Name: "a"}, {Name: "b"}},
		Targets: []datasets.Column{{Name: "y"}}}}
}

func read(t *testing.T, text string) pipeline.Pipeline {
	t.Helper()
	p, err := yaml.Unmarshal([]byte(text), yaml.Origin{File: "a.yaml", Path: "pipeline", Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// differ returns where two lists differ by more than a tolerance.
func differ(got, want []float64, tolerance float64) string {
	if len(got) != len(want) {
		return fmt.Sprintf("number of numbers must be %[2]d, got %[1]d", len(got), len(want))
	}
	for i, v := range got {
		if !(math.Abs(v-want[i]) <= tolerance*max(1, math.Abs(want[i]))) {
			return fmt.Sprintf("number %[1]d must be %[3]v, got %[2]v", i, v, want[i])
		}
	}
	return ""
}

func predict(t *testing.T, p estimator.Predictor, X mat.Matrix) []float64 {
	t.Helper()
	out, err := p.Predict(context.Background(), X)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The inner product of features is near the kernel.
func TestPolynomialKernel(t *testing.T) {
	x, y := []float64{1, 0, 2}, []float64{0.5, 1, 1}
	f, err := polynomial(200000, 3, 0.5).Fit(context.Background(), datasets.Set{X: mat.NewDense(1, 3, x)})
	if err != nil {
		t.Fatal(err)
	}
	Z, err := f.Transform(context.Background(), mat.NewDense(2, 3, append(slices.Clone(x), y...)))
	if err != nil {
		t.Fatal(err)
	}
	got := mat.Dot(mat.NewVecDense(200000, mat.Row(nil, 0, Z)), mat.NewVecDense(200000, mat.Row(nil, 1, Z)))
	if want := math.Pow(0.5*2.5+1, 3); math.Abs(got-want) > 0.2 {
		t.Errorf("%v, the kernel is %v", got, want)
	}
}

// At its expectile the asymmetrically weighted residuals add up to 0, and Tau ½ is ridge regression.
func TestExpectile(t *testing.T) {
	ctx, data := context.Background(), curve(300)
	spec := NewExpectile()
	spec.Alpha = 1e-9
	for _, spec.Tau = range []float64{0.1, 0.5, 0.9} {
		fitted, err := spec.Fit(ctx, data)
		if err != nil {
			t.Fatal(err)
		}
		sum, size := 0.0, 0.0
		for i, v := range predict(t, fitted, data.X) {
			w := 1 - spec.Tau
			if data.Y[i] > v {
				w = spec.Tau
			}
			sum, size = sum+w*(data.Y[i]-v), size+w*math.Abs(data.Y[i]-v)
		}
		if !(math.Abs(sum) < 1e-9*size) {
			t.Errorf("tau %v: weighted residuals add up to %v of %v", spec.Tau, sum, size)
		}
	}
	spec = NewExpectile()
	mine, err := spec.Fit(ctx, data)
	if err != nil {
		t.Fatal(err)
	}
	ridge, err := estimator.NewRidge().Fit(ctx, data)
	if err != nil {
		t.Fatal(err)
	}
	if wrong := differ(predict(t, mine, data.X), predict(t, ridge, data.X), 1e-9); wrong != "" {
		t.Error("against ridge: ", wrong)
	}
}

// TestTrimmed checks that trimming recovers the curve despite outliers, and that capabilities of
// the inner model are available.
func TestTrimmed(t *testing.T) {
	ctx, data := context.Background(), curve(400)
	spec := NewTrimmed()
	spec.Share, spec.Rounds = 0.15, 6
	spec.Model = pipeline.Steps(polynomial(60, 2, 1)).Then(Expectile{Tau: 0.5, Alpha: 1e-3, Tol: 1e-9, MaxIter: 50})
	fitted, err := spec.Fit(ctx, data)
	if err != nil {
		t.Fatal(err)
	}
	wrong := 0.0
	for i, v := range predict(t, fitted, data.X) {
		if i%10 != 0 {
			wrong = max(wrong, math.Abs(v-data.Y[i]))
		}
	}
	if wrong > 1 {
		t.Errorf("it is wrong by %v about a row that is right", wrong)
	}
	var (
		r estimator.Reporter
		p *pipeline.FittedPipeline
	)
	if !estimator.As(fitted, &r) || r.Report().Solver != "irls" || !estimator.As(fitted, &p) ||
		estimator.OutputsOf(fitted).Classes != nil {
		t.Error("the report or the pipeline within is not found, or a classifier that there is not")
	}
	out, err := estimator.Predict(ctx, fitted, data.X, estimator.Request{})
	if err != nil || !slices.Equal(out.Values, predict(t, fitted, data.X)) || !(out.Std[0] > 0 && out.Std[0] < 1) {
		t.Errorf("standard deviations %v, %v", out.Std, err)
	}
	spec.Model = gridsearch.NewSearch(estimator.NewLogistic(), gridsearch.Axis{Path: "C", Values: []any{0.1, 1.0}})
	classes := data
	classes.Y = slices.Clone(data.Y)
	for i, y := range data.Y {
		classes.Y[i] = 0
		if y > 0 {
			classes.Y[i] = 1
		}
	}
	classes.Schema.Targets = []datasets.Column{{Name: "sign", Kind: datasets.Categorical,
		Categories: []string{"minus", "plus"}}}
	if fitted, err = spec.Fit(ctx, classes); err != nil {
		t.Fatal(err)
	}
	if has := estimator.OutputsOf(fitted); !slices.Equal(has.Classes, []string{"minus", "plus"}) ||
		!has.Has.Has(estimator.OutputProbabilities) {
		t.Error("the classes or probabilities of a search within are not found")
	}
	state, err := model.Record(fitted.(*FittedTrimmed)) // of which the choice of the search is kept
	if err != nil {
		t.Fatal(err)
	}
	back := new(FittedTrimmed)
	if err := model.Restore(state, back); err != nil || estimator.OutputsOf(back).Classes == nil {
		t.Fatalf("kept, it is no classifier: %v", err)
	}
	if wrong := differ(predict(t, back, data.X), predict(t, fitted, data.X), 0); wrong != "" {
		t.Error("kept: ", wrong)
	}
}

// throughFile fits a pipeline, writes it to a model file, and reads it: it predicts the same.
func throughFile(t *testing.T, p pipeline.Pipeline, data datasets.Set) estimator.Predictor {
	t.Helper()
	fitted, err := p.Fit(context.Background(), data)
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
	if !slices.Equal(predict(t, back.Predictor, data.X), predict(t, fitted, data.X)) {
		t.Error("from a file it predicts otherwise")
	}
	return back.Predictor
}

const document = `
- standardize
- blend: {parts: [{polynomial: {features: 4}}, {steps: [minmax, {polynomial: {features: 4, degree: 3}}], name: cubic}], weights: [1, 0.5]}
- trimmed: {share: 0.2, model: [minmax, {polynomial: {features: 6}}, {expectile: {tau: 0.3}}]}
`

// TestYAML checks that all parts can be written and read as YAML, with paths and seeds of their
// children, and serialized in a model file.
func TestYAML(t *testing.T) {
	p := read(t, document)
	for path, want := range map[string]any{
		"blend.polynomial.features": 4, "blend.cubic.polynomial.degree": 3, "trimmed.share": 0.2,
		"trimmed.model.polynomial.features": 6, "trimmed.model.expectile.tau": 0.3,
		"blend.cubic.polynomial.seed":   6724412458361331,
		"trimmed.model.polynomial.seed": 7652965485769151,
	} {
		if got, err := param.Get(p, path); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %v, want %v (%v)", path, got, want, err)
		}
	}
	for _, text := range []string{document, "[trimmed]", "[{trimmed: {model: ridge}}]",
		"[{trimmed: {model: {svr: {C: 2}}, share: 0}}]", "[{trimmed: {model: {trimmed: {model: ridge}}}}]"} {
		p := read(t, text)
		out, err := yaml.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if back := read(t, string(out)); !reflect.DeepEqual(param.All(back), param.All(p)) || back.String() != p.String() {
			t.Errorf("from\n%s\nread %+v, want %+v", out, back, p)
		}
	}
	throughFile(t, p, curve(80))
	for text, want := range map[string]string{
		"[{trimmed: {model: {expectile: {taw: " +
			"1}}}}]": `a.yaml:1:33: pipeline.trimmed.model.taw: no parameter is called "taw" (did you mean tau?)`,
		"[{trimmed: {model: [rff, {expectile: {tau: " +
			"2}}]}}]": `a.yaml:1:44: pipeline.trimmed.model.expectile.tau: must be a number with 0 < it < 1, got 2`,
		"[{trimmed: {model: rff}}]":                          `a.yaml:1:20: pipeline.trimmed.model: must be an estimator`,
		"[{trimmed: {model: [rff]}}]":                        `a.yaml:1:21: pipeline.trimmed.model.rff: the last step is not an estimator`,
		"[{trimmed: {model: }}]":                             `a.yaml:1:20: pipeline.trimmed.model: must be an estimator`,
		"[{trimmed: {modle: ridge}}]":                        `a.yaml:1:13: pipeline.trimmed.modle: no parameter is called "modle" (did you mean model?)`,
		"[{trimmed: {model: {ridge: {alpha: 1}, name: a}}}]": `a.yaml:1:20: pipeline.trimmed.model: a name of its own`,
		"[{blend: {parts: [polynomial], weights: [1, 2]}}, " +
			"ridge]": `a.yaml:1:41: pipeline.blend.weights: must be 1 numbers, one for each part`,
	} {
		_, err := yaml.Unmarshal([]byte(text), yaml.Origin{File: "a.yaml", Path: "pipeline"})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s\n  %v\nwant\n  %s", text, err, want)
		}
	}
}

// Requirements of a part are checked before a fit, with its path, in a composite and by the model.
func TestContent(t *testing.T) {
	data := curve(20)
	data.X.(*mat.Dense).Set(3, 1, math.NaN())
	content, err := datasets.ScanContent(context.Background(), data.Source())
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"[{blend: [polynomial]}, ridge]":                "blend.polynomial: polynomial takes no missing values",
		"[expectile]":                                   "expectile: expectile takes no missing values",
		"[{trimmed: {model: expectile}}]":               "trimmed.model: expectile takes no missing values",
		"[{trimmed: {model: [impute, expectile]}}]":     "",
		"[{trimmed: {model: [polynomial, expectile]}}]": "trimmed.model.polynomial: polynomial takes no missing values",
		"[impute, {blend: [polynomial]}, trimmed]":      "",
	} {
		if err := read(t, text).CheckContent(data.Schema, content); (err == nil) != (want == "") || err != nil &&
			!strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestPassesOfAPipeline checks that a pipeline of all types, fitted in passes over parts, equals a
// single fit.
func TestPassesOfAPipeline(t *testing.T) {
	ctx, data := context.Background(), curve(230)
	p := read(t, `[{blend: {parts: [{steps: [standardize, {polynomial: {features: 7}}], name: random}, {steps: [pca, {polynomial: {features: 7}}], name: rotated}]}}, {expectile: {tau: 0.7}}]`)
	whole, err := p.Fit(ctx, data)
	if err != nil {
		t.Fatal(err)
	}
	want := predict(t, whole, data.X)
	streamed, err := p.FitSource(ctx, data.Source())
	if err != nil {
		t.Fatal(err)
	}
	if wrong := differ(predict(t, streamed, data.X), want, 1e-7); wrong != "" {
		t.Error("streamed: ", wrong)
	}
	before, err := p.Start(ctx, data.Schema, data.Cols())
	if err != nil {
		t.Fatal(err)
	}
	begin, turns := func() (datasets.Pass, error) { return p.Start(ctx, data.Schema, data.Cols()) }, 0
	for next := before; next != nil; turns++ {
		var parts []datasets.Pass
		for _, cut := range [][2]int{{0, 90}, {90, 100}, {100, 230}} {
			part, err := begin()
			if err != nil {
				t.Fatal(err)
			}
			if err := part.Add(ctx, data.Slice(cut[0], cut[1])); err != nil {
				t.Fatal(err)
			}
			parts = append(parts, part)
		}
		for _, part := range parts[1:] {
			if err := parts[0].Merge(ctx, part); err != nil {
				t.Fatal(err)
			}
		}
		last := parts[0]
		begin = func() (datasets.Pass, error) { return last.Next(ctx) }
		if next, err = last.Next(ctx); err != nil {
			t.Fatal(err)
		}
		before = last
	}
	merged, err := p.Finish(ctx, before)
	if err != nil {
		t.Fatal(err)
	}
	if wrong := differ(predict(t, merged, data.X), want, 1e-7); wrong != "" || turns < 4 {
		t.Errorf("in merged parts, %d passes: %s", turns, wrong)
	}
}

// A search over widths and scales projects the rows once, before ridge, and scores every candidate
// as a separate fit.
func TestSearchShares(t *testing.T) {
	ctx, data := context.Background(), curve(120)
	for _, model := range []string{"ridge", "expectile"} {
		p := read(t, "[standardize, polynomial, "+model+"]")
		search := gridsearch.NewSearch(p,
			gridsearch.Axis{Path: "polynomial.features", Values: []any{10, 40, 25}},
			gridsearch.Axis{Path: "polynomial.scale", Values: []any{0.1, 1.0}},
			gridsearch.Axis{Path: model + ".alpha", Values: []any{0.1, 1.0}})
		search.Splitter, search.Score = datasets.KFold{Folds: 3}, "rmse"
		result, err := search.Run(ctx, data)
		if err != nil {
			t.Fatal(err)
		}
		if want := model == "ridge"; slices.Contains(result.Shared, "projection") != want ||
			slices.Contains(result.Shared, "alpha") != want {
			t.Errorf("%s: shared %v", model, result.Shared)
		}
		folds, err := search.Splitter.Split(data)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range result.Candidates {
			spec, err := p.With(c.Settings...)
			if err != nil {
				t.Fatal(err)
			}
			for k, fold := range folds {
				lone, err := spec.Fit(ctx, data.Select(fold.Train))
				if err != nil {
					t.Fatal(err)
				}
				test, sum := data.Select(fold.Test), 0.0
				for i, v := range predict(t, lone, test.X) {
					sum += (v - test.Y[i]) * (v - test.Y[i])
				}
				if want := math.Sqrt(sum / float64(test.Rows())); math.Abs(c.Folds[k]-want) > 1e-7*want {
					t.Errorf("%s, %v, fold %d: %v in the search, %v separately", model, c, k, c.Folds[k], want)
				}
			}
		}
	}
}

// A search over k computes no more distances than a search of one k, and scores every candidate as a separate fit.
// A model file and a document keep the model.
func TestNeighborsShareDistances(t *testing.T) {
	ctx, data, folds := context.Background(), curve(600), datasets.KFold{Folds: 5, Shuffle: true, Seed: 2}
	p := read(t, "[{neighbors: {k: 3}}]")
	throughFile(t, p, data)
	var values []any
	for k := range 20 {
		values = append(values, k+1)
	}
	run := func(values ...any) (*gridsearch.Result, int64, time.Duration) {
		search := gridsearch.NewSearch(p, gridsearch.Axis{Path: "neighbors.k", Values: values})
		search.Splitter, search.Score, search.Refit = folds, "rmse", gridsearch.RefitNone
		start, before := time.Now(), distances.Load()
		result, err := search.Run(ctx, data)
		if err != nil {
			t.Fatal(err)
		}
		return result, distances.Load() - before, time.Since(start)
	}
	_, one, oneTime := run(3)
	all, count, allTime := run(values...)
	if n := int64(data.Rows()); one != n*n || count != one {
		t.Errorf("%d distances for 20 values of k, %d for one, of %d rows", count, one, n)
	}
	t.Logf("20 values of k: %v, one: %v", allTime, oneTime)
	if !slices.Contains(all.Shared, "distances") {
		t.Errorf("shared %v", all.Shared)
	}
	parts, err := folds.Split(data)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range all.Candidates {
		for k, fold := range parts {
			lone, err := Neighbors{K: i + 1}.Fit(ctx, data.Select(fold.Train))
			if err != nil {
				t.Fatal(err)
			}
			test, sum := data.Select(fold.Test), 0.0
			for i, v := range predict(t, lone, test.X) {
				sum += (v - test.Y[i]) * (v - test.Y[i])
			}
			if want := math.Sqrt(sum / float64(test.Rows())); math.Abs(c.Folds[k]-want) > 1e-12*want {
				t.Errorf("k %d, fold %d: %v in the search, %v separately", i+1, k, c.Folds[k], want)
			}
		}
	}
}

// A search over the weights of a blend fits its parts once for each fold.
func TestSearchDerives(t *testing.T) {
	data := curve(120)
	p := pipeline.Pipeline{Steps: []pipeline.Step{{Name: "blend",
		Fitter: NewBlend(transformer.NewPCA(), transformer.NewStandardize())}}, Estimator: estimator.NewRidge()}
	search := gridsearch.NewSearch(p, gridsearch.Axis{Path: "blend.weights",
		Values: []any{[]any{1.0, 1.0}, []any{1.0, 3.0}}})
	search.Splitter, search.Score = datasets.KFold{Folds: 3}, "rmse"
	result, err := search.Run(context.Background(), data)
	if err != nil || !slices.Contains(result.Shared, "prefix") {
		t.Errorf("shared %v, %v", result.Shared, err)
	}
	if a, b := result.Candidates[0], result.Candidates[1]; len(a.Folds) != 3 || slices.Equal(a.Folds, b.Folds) {
		t.Errorf("scores %v and %v", a.Folds, b.Folds)
	}
}

// An experiment file with all four parts, from the file to predictions.
func TestExperiment(t *testing.T) {
	ctx, folder := context.Background(), t.TempDir()
	text, err := os.ReadFile("testdata/curve.yaml")
	if err != nil {
		t.Fatal(err)
	}
	data, rows := curve(240), "a,b,y\n"
	for i, y := range data.Y {
		rows += fmt.Sprintf("%v,%v,%v\n", data.X.At(i, 0), data.X.At(i, 1), y)
	}
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("curve.csv", rows)
	out := filepath.ToSlash(filepath.Join(folder, "out"))
	spec, err := experiment.Load(ctx, write("curve.yaml", string(text)),
		experiment.Override{Path: "output.dir", Value: out}, experiment.Override{Path: "pipeline.trimmed.model.alpha",
			Value: "0.5"})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := experiment.NewPlan(ctx, spec)
	if err != nil || plan.Candidates != 8 || plan.Seconds == 0 {
		t.Errorf("plan %+v, %v", plan, err)
	}
	result, err := experiment.Run(ctx, spec, experiment.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if best := result.Search.Best.Params; best["trimmed.share"] != 0.15 || len(best) != 3 ||
		!slices.Contains(result.Search.Shared, "features") {
		t.Errorf("best %v, shared %v", best, result.Search.Shared)
	}
	saved := filepath.Join(out, "model.bochner")
	m, err := experiment.Inspect(saved)
	if err != nil || !strings.Contains(m.Spec, "trimmed:") || !strings.Contains(m.Spec, "expectile:") {
		t.Errorf("%v, %v", m.Spec, err)
	}
	var predictions bytes.Buffer
	if done, err := experiment.Predict(ctx, saved, filepath.Join(folder, "curve.csv"), &predictions,
		experiment.Options{}); err != nil || done.Rows != 240 {
		t.Errorf("%d rows predicted, %v", done.Rows, err)
	}
}

// TestSchemaAndReference checks that the JSON schema and the reference list all parts, and their
// children.
func TestSchemaAndReference(t *testing.T) {
	schema, reference := string(experiment.JSONSchema()), experiment.Reference()
	for _, want := range []string{"Random features of the polynomial kernel.",
		"Adds up the features of maps of one width.", "Linear regression of an expectile.", `"model": {`} {
		if !strings.Contains(schema, want) {
			t.Errorf("the JSON schema has no %s", want)
		}
	}
	for _, want := range []string{"### `trimmed`",
		"| `model` | estimator, or a list of steps ending in one | `expectile` | inner estimator |",
		"the maps whose features are added up", "| `tau` |"} {
		if !strings.Contains(reference, want) {
			t.Errorf("the reference has no %s", want)
		}
	}
}
