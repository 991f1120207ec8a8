package modelfile_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/anomaly"
	"github.com/bochner-ml/bochner/estimator/cluster"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/internal/spec/registry"
	"github.com/bochner-ml/bochner/internal/testing/exhaustive"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/internal/samples"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
	"github.com/bochner-ml/bochner/transformer"
)

// process is a gaussian process that is fitted quickly.
func process() estimator.GaussianProcess {
	s := estimator.NewGaussianProcess()
	s.Features, s.Steps = 20, 3
	return s
}

// network is one.
func network() estimator.RFFNetwork {
	s := estimator.NewRFFNetwork()
	s.Features, s.Epochs, s.Layers, s.Gamma = 16, 3, 2, kernel.FixedGamma(0.3)
	return s
}

// several are rows with two targets above 0.
func several(data datasets.Set) datasets.Set {
	data.Targets = mat.NewDense(data.Rows(), 2, nil)
	for i := range data.Rows() {
		x := data.X.At(i, 1)
		if x != x {
			x = 3
		}
		data.Targets.SetRow(i, []float64{1 + data.Y[i] + math.Abs(x)/60, 2 + math.Sin(x)})
	}
	data.Y, data.Schema.Targets = nil, []datasets.Column{{Name: "a"}, {Name: "b"}}
	return data
}

// labeled are rows with two labels.
func labeled(data datasets.Set) datasets.Set {
	out := several(data)
	out.Targets.Apply(func(_, j int, v float64) float64 { return math.Round(1 / (1 + math.Exp(2-v-float64(j)))) },
		out.Targets)
	for k := range out.Schema.Targets {
		out.Schema.Targets[k].Kind, out.Schema.Targets[k].Categories = datasets.Categorical, []string{"no", "yes"}
	}
	return out
}

// three are rows of three classes, of which the last may be without a row.
func three(data datasets.Set, last bool) datasets.Set {
	data.Schema.Targets = []datasets.Column{{Name: "kind", Kind: datasets.Categorical,
		Categories: []string{"a", "b", "c"}}}
	data.Y = slices.Clone(data.Y)
	for i := range data.Y {
		if last && i%3 == 0 {
			data.Y[i] = 2
		}
	}
	return data
}

func TestNumbersWithDeviationsAndIntervalsAreGraphed(t *testing.T) {
	train, other := gaps(samples.People(160, 1), 2), gaps(samples.People(300, 3), 4)
	one := samples.Amounts(train)
	two := several(train)
	graphed(t, encoded(process()), one, other, 1e-12)
	graphed(t, encoded(process()), two, other, 1e-12)
	for _, transform := range []string{"log", "signed_log", "sqrt", "quantile", "standardize"} {
		s := meta.NewTarget(process())
		s.Transform = transform
		graphed(t, encoded(s), two, other, 1e-11)
		s.Smear = true
		graphed(t, encoded(s), two, other, 1e-11)
	}
	for method, of := range map[string]estimator.Estimator{"normal": process(), "jackknife": estimator.NewRidge(),
		"jackknife_plus": estimator.NewRidge(), "split": process()} {
		s := meta.NewIntervals(of)
		s.Method, s.Level = method, 0.8
		graphed(t, encoded(s), one, other, 1e-12)
		graphed(t, encoded(s), two, other, 1e-12)
		if s.Normalize = true; method == "split" {
			graphed(t, encoded(s), one, other, 1e-12)
		}
	}
	exact := meta.NewIntervals(estimator.NewKernelRidge())
	exact.Method = "jackknife_plus"
	graphed(t, encoded(exact), one, other, 1e-12)
	graphed(t, encoded(network()), two, other, 1e-12)

	first := meta.NewEnsemble(meta.Member{Name: "line", Estimator: estimator.NewRidge()},
		meta.Member{Name: "waves", Estimator: pipeline.Steps(samples.Fourier(10)).Then(estimator.NewRidge())},
		meta.Member{Name: "unused", Estimator: estimator.NewRidge()})
	first.Weights, first.Given = "given", []float64{0.3, 0.7, 0}
	graphed(t, encoded(first), one, other, 1e-12)
	graphed(t, encoded(first), two, other, 1e-12)
}

func TestClassifiersAroundClassifiersAreGraphed(t *testing.T) {
	train, other := gaps(samples.People(160, 1), 2), gaps(samples.People(300, 3), 4)
	for k, data := range []datasets.Set{three(train, true), train, three(train, false)} {
		if k > 0 && !exhaustive.Tests() {
			break
		}
		graphed(t, encoded(network()), data, other, 1e-12)
		for _, method := range []string{"sigmoid", "isotonic", "temperature"} {
			s := meta.NewCalibrated(estimator.NewSVM())
			s.Method = method
			graphed(t, encoded(s), data, other, 1e-12)
		}
		sets := meta.NewIntervals(estimator.NewSVM())
		graphed(t, encoded(sets), data, other, 1e-12)
		sets.Estimator = estimator.NewLogistic()
		graphed(t, encoded(sets), data, other, 1e-12)
		all := meta.NewEnsemble(meta.Member{Name: "a", Estimator: estimator.NewLogistic()},
			meta.Member{Name: "b", Estimator: meta.NewCalibrated(estimator.NewSVM())})
		all.Weights = "equal"
		graphed(t, encoded(all), data, other, 1e-12)
		all.Members[1].Estimator = estimator.NewSVM()
		graphed(t, encoded(all), data, other, 1e-12)
	}
	for _, data := range []datasets.Set{train, three(train, false)} { // two classes, also among three
		for _, of := range []estimator.Estimator{estimator.NewSVM(), estimator.NewLogistic()} {
			s := meta.NewThreshold(of)
			s.Score = "balanced_accuracy"
			graphed(t, encoded(s), data, other, 1e-12)
		}
	}
}

func TestModelsWithoutTargetsAreGraphed(t *testing.T) {
	train, other := gaps(samples.People(160, 1), 2), gaps(samples.People(300, 3), 4)
	train.Y, train.Schema.Targets = nil, nil
	centers := cluster.NewKMeans()
	centers.Clusters = 4
	graphed(t, encoded(centers), train, other, 0)
	parts := cluster.NewSpectral()
	parts.Clusters = 3
	positive := transformer.MinMax{High: 1, Clip: true}
	graphed(t, encoded(parts, positive), train, other, 0)
	if m := graphed(t, encoded(anomaly.NewOneClass(), samples.Fourier(20)), train, other,
		1e-12); m.Task != datasets.Anomaly {
		t.Errorf("task %s", m.Task)
	}
}

// chosen wraps a model as the result of a search does.
type chosen struct{ estimator.Predictor }

func (c chosen) Unwrap() (within estimator.Predictor, sameRows bool) { return c.Predictor, true }

// moved predicts with another model for other rows, and has no export.
type moved struct{ estimator.Predictor }

func (m moved) Unwrap() (within estimator.Predictor, sameRows bool) { return m.Predictor, false }

func TestWrappedModelIsFound(t *testing.T) {
	fitted, err := encoded(estimator.NewRidge()).Fit(context.Background(), samples.Amounts(samples.People(60, 1)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&modelfile.Model{Predictor: chosen{fitted}}).Graph(); err != nil {
		t.Error(err)
	}
	g := graph.New(make([]graph.Input, 4))
	want := "modelfile_test.moved cannot be exported: it has no method ExportModel"
	if _, err := estimator.Export(g, moved{fitted}, g.Input()); err == nil || err.Error() != want {
		t.Errorf("error %v, want %q", err, want)
	}
	if _, err := (&modelfile.Model{}).Graph(); err == nil || err.Error() != "pipeline: <nil> is no fitted pipeline" {
		t.Errorf("error %v of no model", err)
	}
}

// A model that cannot be exported is named by its place in others.
func TestModelsWithinAreNamed(t *testing.T) {
	binning := transformer.NewBinning()
	binning.Grids = 10
	members := meta.NewEnsemble(meta.Member{Name: "line", Estimator: estimator.NewLogistic()},
		meta.Member{Name: "bins", Estimator: pipeline.Steps(binning).Then(estimator.NewLogistic())})
	members.Weights = "equal"
	fitted, err := encoded(meta.NewThreshold(members)).Fit(context.Background(), samples.People(60, 1))
	if err != nil {
		t.Fatal(err)
	}
	_, err = (&modelfile.Model{Predictor: fitted}).Graph()
	want := "pipeline: step threshold.estimator.members.bins.binning: it cannot be exported: " + refusals["binning"]
	if err == nil || err.Error() != want {
		t.Errorf("error %v\nwanted %q", err, want)
	}
}

// refusals are the registered steps and models that cannot be exported, with their reasons, as in
// docs/custom-steps.md.
var refusals = map[string]string{
	"binning": "bins are found by hashes of 64 bits, which exports have no operation for; use rff or nystroem with " +
		"kernel: laplacian, bochner auto --exportable, or serve the model file itself",
}

// TestEveryRegisteredTypeIsExportable checks that every registered step and model can
// be exported, or is listed as an exception. The conformance tests compare the exported graphs.
func TestEveryRegisteredTypeIsExportable(t *testing.T) {
	var kinds []any
	for _, pkg := range []string{"pipeline", "transformer", "estimator", "cluster", "anomaly", "meta"} {
		for _, s := range registry.Steps(pkg) {
			kinds = append(kinds, s.Fitted())
		}
	}
	for _, fitted := range kinds {
		_, step := fitted.(graph.StepExporter)
		_, model := fitted.(graph.ModelExporter)
		if step == model {
			t.Errorf("%T is a graph.StepExporter: %v, a graph.ModelExporter: %v", fitted, step, model)
		}
	}
	for name, want := range refusals {
		e, _ := pipeline.Lookup(name)
		fitted, err := e.New().(transformer.Fitter).Fit(context.Background(), samples.Numbers(50, 1))
		if err != nil {
			t.Fatal(err)
		}
		g := graph.New(make([]graph.Input, 4))
		if _, err := fitted.(graph.StepExporter).Export(g, g.Input()); err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
	}
}
