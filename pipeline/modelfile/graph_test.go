package modelfile_test

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/internal/samples"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
	"github.com/bochner-ml/bochner/transformer"
)

// gaps makes some values missing, some categories unknown, and some numbers extreme.
func gaps(data datasets.Set, seed uint64) datasets.Set {
	rng := rand.New(rand.NewPCG(seed, 3))
	X := mat.DenseCopyOf(data.X)
	n, d := X.Dims()
	for i := range n {
		for j := range d {
			switch what := rng.IntN(25); {
			case what == 0:
				X.Set(i, j, math.NaN())
			case what == 1 && data.Schema.Columns[j].Kind == datasets.Categorical:
				X.Set(i, j, datasets.Unknown)
			case what == 2 && data.Schema.Columns[j].Kind == datasets.Numeric:
				X.Set(i, j, 20*X.At(i, j))
			}
		}
	}
	data.X = X
	return data
}

// graphed fits a pipeline and compares the outputs of its graph with its predictions for 300 other
// rows.
func graphed(t *testing.T, p pipeline.Pipeline, data, other datasets.Set, tolerance float64) *modelfile.Model {
	t.Helper()
	fitted, err := p.Fit(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	m, err := modelfile.New(fitted)
	if err != nil {
		t.Fatal(err)
	}
	g, err := m.Graph()
	if err != nil {
		t.Fatal(err)
	}
	got, err := g.Run(other.X)
	if err != nil {
		t.Fatal(err)
	}
	output, err := estimator.Predict(context.Background(), fitted, other.X, estimator.Request{})
	if err != nil {
		t.Fatal(err)
	}
	n := other.Rows()
	column := func(list []float64) *mat.Dense {
		if list == nil {
			return nil
		}
		return mat.NewDense(n, 1, list)
	}
	want := map[string]*mat.Dense{"value": column(output.Values), "std": column(output.Std), "lower": column(output.Lower),
		"upper": column(output.Upper), "anomaly_score": column(output.Anomaly)}
	switch {
	case m.Task == datasets.Classification || m.Task.Unsupervised():
		want["label"], want["value"] = want["value"], nil
		if want["probabilities"] = output.Probabilities; output.Probabilities == nil {
			want["scores"] = output.Scores
		}
	case output.Targets != nil && output.Targets.RawMatrix().Cols > 1:
		if want["probabilities"] = output.Probabilities; output.Probabilities == nil {
			want["scores"] = output.Scores
		}
		want["values"], want["value"] = output.Targets, nil
		want["std"], want["lower"], want["upper"] = output.StdTargets, output.LowerTargets, output.UpperTargets
	}
	want["sets"] = output.Sets
	for name, w := range want {
		switch v := got[name]; {
		case (v == nil) != (w == nil):
			t.Errorf("output %s: there is one: %v, want %v", name, v != nil, w != nil)
		case w != nil:
			alike(t, name, v, w, tolerance)
		}
	}
	if len(got) != len(slices.DeleteFunc([]*mat.Dense{want["value"], want["values"], want["label"], want["probabilities"],
		want["scores"], want["sets"],
		want["std"], want["lower"], want["upper"], want["anomaly_score"]}, func(m *mat.Dense) bool { return m == nil })) {
		t.Errorf("%d outputs: %v", len(got), g.Outputs())
	}
	return m
}

// alike fails if numbers differ by more than the tolerance, relative for numbers above 1.
func alike(t *testing.T, name string, got, want *mat.Dense, tolerance float64) {
	t.Helper()
	if !slices.Equal([]int{got.RawMatrix().Rows, got.RawMatrix().Cols},
		[]int{want.RawMatrix().Rows, want.RawMatrix().Cols}) {
		t.Errorf("output %s is %d×%d, want %d×%d", name, got.RawMatrix().Rows, got.RawMatrix().Cols, want.RawMatrix().Rows,
			want.RawMatrix().Cols)
		return
	}
	for i := range want.RawMatrix().Rows {
		for j, w := range want.RawRowView(i) {
			if v := got.At(i, j); !(math.Abs(v-w) <= tolerance*max(1, math.Abs(w))) {
				t.Errorf("output %s of row %d: %v, want %v", name, i, v, w)
				return
			}
		}
	}
}

// encoded inserts steps after the encoding of people.
func encoded(model estimator.Estimator, steps ...transformer.Fitter) pipeline.Pipeline {
	groups := pipeline.NewColumns(
		pipeline.Group{Select: []string{"numeric"}, Steps: pipeline.Steps(transformer.Impute{Strategy: "median",
			Indicator: true}, transformer.NewQuantile())},
		pipeline.Group{Select: []string{"colour"}, Steps: pipeline.Steps(transformer.NewOneHot())},
		pipeline.Group{Name: "again", Select: []string{"age"}, Steps: pipeline.Steps(transformer.NewImpute())},
	)
	all := append([]transformer.Fitter{groups, transformer.NewStandardize()}, steps...)
	return pipeline.Pipeline{Steps: pipeline.Steps(all...), Estimator: model}
}

func TestGraphPredictions(t *testing.T) {
	train, other := gaps(samples.People(200, 1), 2), gaps(samples.People(300, 3), 4)
	if m := graphed(t, encoded(estimator.NewLogistic(), samples.Fourier(40)), train, other,
		1e-12); m.Task != datasets.Classification {
		t.Errorf("task %s", m.Task)
	}
	graphed(t, encoded(estimator.NewSVM()), train, other, 1e-12)
	graphed(t, encoded(estimator.NewRidge()), samples.Amounts(train), other, 1e-12)

	union := pipeline.NewUnion(samples.Fourier(20), transformer.Dense{})
	union.Weights = []float64{0.3, 0.7}
	graphed(t, encoded(estimator.NewRidge(), union), samples.Amounts(train), other, 1e-12)

	graphed(t, encoded(estimator.NewRidge(), samples.Fourier(20)), several(train), other, 1e-12)
	for _, spec := range []estimator.Estimator{estimator.NewLogistic(), estimator.NewRidgeClassifier(),
		meta.NewThreshold(estimator.NewLogistic())} {
		m := graphed(t, encoded(spec, samples.Fourier(20)), labeled(train), other, 1e-12)
		var file bytes.Buffer
		if err := m.Write(&file); err != nil || m.Task != datasets.MultiLabel {
			t.Fatalf("%T: task %s, %v", spec, m.Task, err)
		}
		read, err := modelfile.Read(bytes.NewReader(file.Bytes()), int64(file.Len()))
		if err != nil {
			t.Fatal(err)
		}
		own, err := read.Score(context.Background(), labeled(train))
		if err != nil || own["f1_micro"] < 0.7 {
			t.Errorf("%T: scores of the model file %v, %v", spec, own, err)
		}
	}
}

// In single precision the features have seven digits, the graph's all.
func TestAGraphLooksThroughSinglePrecision(t *testing.T) {
	train, other := gaps(samples.People(200, 1), 2), gaps(samples.People(300, 3), 4)
	p := encoded(estimator.NewRidge(), samples.Fourier(40))
	p.Precision = pipeline.Float32
	graphed(t, p, samples.Amounts(train), other, 1e-4)
}

func TestTheInputsOfAGraphAreThoseOfTheSchema(t *testing.T) {
	m := graphed(t, encoded(estimator.NewLogistic()), gaps(samples.People(100, 1), 2), gaps(samples.People(300, 3), 4),
		1e-12)
	g, err := m.Graph()
	if err != nil {
		t.Fatal(err)
	}
	in := g.Inputs()
	if len(in) != 4 || in[0].Name != "age" || in[0].Categorical || in[3].Name != "cap-gain" || !in[2].Categorical ||
		!slices.Equal(in[2].Categories, []string{"blue", "green", "red"}) {
		t.Errorf("inputs %+v", in)
	}
	if !slices.Equal(g.Classes(), []string{"no", "yes"}) {
		t.Errorf("classes %v", g.Classes())
	}
	bare := samples.Numbers(60, 1)
	bare.Schema = datasets.Schema{}
	m = graphed(t, pipeline.Pipeline{Estimator: estimator.NewRidge()}, bare, samples.Numbers(300, 3), 1e-12)
	if g, err = m.Graph(); err != nil || g.Inputs()[2].Name != "x2" || g.Classes() != nil {
		t.Errorf("%v: inputs %+v, classes %v", err, g.Inputs(), g.Classes())
	}
}

// odd is a third-party step without export.
type odd struct{ transformer.Dense }

type oddFit struct{ transformer.Transformer }

func (s odd) Fit(ctx context.Context, data datasets.Set) (transformer.Transformer, error) {
	f, err := s.Dense.Fit(ctx, data)
	return oddFit{f}, err
}

func TestExportErrorNamesEveryStep(t *testing.T) {
	binning := transformer.NewBinning()
	binning.Grids = 10
	groups := pipeline.NewColumns(
		pipeline.Group{Name: "some", Select: []string{"age"}, Steps: pipeline.Steps(transformer.NewStandardize(), odd{})},
		pipeline.Group{Name: "others", Select: []string{"hours", "cap-gain"},
			Steps: pipeline.Steps(pipeline.NewUnion(samples.Fourier(4), binning))},
	)
	groups.Groups[0].Steps[1].Name = "odd"
	p := pipeline.Pipeline{Steps: pipeline.Steps(groups, odd{}), Estimator: estimator.NewLogistic()}
	p.Steps[1].Name = "last"
	fitted, err := p.Fit(context.Background(), samples.People(60, 1))
	if err != nil {
		t.Fatal(err)
	}
	m, err := modelfile.New(fitted)
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Graph()
	if err == nil {
		t.Fatal("a graph of steps that cannot be exported")
	}
	for _, want := range []string{
		"pipeline: steps columns.some.odd and last: they cannot be exported: modelfile_test.oddFit cannot be exported: it " +
			"has no method Export; ",
		"step columns.others.union.binning: it cannot be exported: bins are found by hashes of 64 bits, which exports " +
			"have no operation for; use rff or nystroem",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwanted %q", err, want)
		}
	}
}

// TestConstantColumnsAreGraphed checks that columns that are constant in training are constant for
// later rows, also in the exported graph.
func TestConstantColumnsAreGraphed(t *testing.T) {
	train, other := samples.Numbers(60, 1), samples.Numbers(40, 2)
	X, later := mat.DenseCopyOf(train.X), mat.DenseCopyOf(other.X)
	for i := range 60 {
		X.Set(i, 0, 2023)
	}
	for i := range 40 {
		later.Set(i, 0, 2023+float64(i%3))
	}
	train.X, other.X = X, later
	for _, step := range []transformer.Fitter{transformer.NewStandardize(), transformer.NewMinMax()} {
		m := graphed(t, pipeline.Steps(step).Then(estimator.NewRidge()), train, other, 1e-12)
		moved := other
		same := mat.DenseCopyOf(later)
		for i := range 40 {
			same.Set(i, 0, 2023)
		}
		moved.X = same
		a, err := m.Predict(context.Background(), other)
		if err != nil {
			t.Fatal(err)
		}
		b, err := m.Predict(context.Background(), moved)
		if err != nil || !slices.Equal(a, b) {
			t.Errorf("%T: predictions depend on the constant column: %v", step, err)
		}
	}
}
