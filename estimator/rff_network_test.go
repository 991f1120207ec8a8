package estimator

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/codec/archive"
	"github.com/bochner-ml/bochner/internal/features/fourier"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/model"
)

// smallNetwork returns a network that trains quickly.
func smallNetwork() RFFNetwork {
	s := NewRFFNetwork()
	s.Features, s.Epochs, s.Seed = 16, 5, 11
	return s
}

// network fits a network.
func fittedNetwork(t *testing.T, s RFFNetwork, data datasets.Set) *fittedRFFNetwork {
	t.Helper()
	p, err := s.Fit(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	return p.(*fittedRFFNetwork)
}

// The target determines the task and the outputs of the network.
func TestNetworkCapabilities(t *testing.T) {
	numbers := stopRows(60, 3, false)
	classes := signed(60, 3)
	classes.Schema.Targets = []datasets.Column{{Name: "kind", Kind: datasets.Categorical,
		Categories: []string{"no", "yes"}}}
	for what, c := range map[string]struct {
		data    datasets.Set
		classes []string
	}{"numbers": {numbers, nil}, "classes": {classes, []string{"no", "yes"}}} {
		f := fittedNetwork(t, smallNetwork(), c.data)
		want := Outputs{Has: OutputValues | OutputTargets}
		if c.classes != nil {
			want = Outputs{Has: OutputValues | OutputScores | OutputProbabilities, Classes: c.classes}
		}
		if got := f.Outputs(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: outputs %+v, must be %+v", what, got, want)
		}
	}
}

// TestNetworkPredictsByItsFormula checks that predictions match the documented formula, for two
// layers and two targets in their original units.
func TestNetworkPredictsByItsFormula(t *testing.T) {
	data := stopRows(80, 3, false)
	targets := mat.NewDense(80, 2, nil)
	for i, y := range data.Y {
		targets.SetRow(i, []float64{1000 + 30*y, -y})
	}
	data.Y, data.Targets = nil, targets
	s := smallNetwork()
	s.Layers, s.Epochs = 2, 30
	f := fittedNetwork(t, s, data)
	out, err := f.PredictFull(context.Background(), data.X, Request{})
	if err != nil {
		t.Fatal(err)
	}
	got := out.Targets
	sum, square := make([]float64, 2), make([]float64, 2)
	for i := range 80 {
		z := mat.Row(nil, i, data.X)
		for l := range f.Layers() {
			W, b := f.Frequencies(l), f.Phases(l)
			next := make([]float64, len(b))
			for k := range next {
				angle := b[k]
				for j, v := range z {
					angle += v * W.At(j, k)
				}
				next[k] = math.Sqrt(2/float64(len(b))) * math.Cos(angle)
			}
			z = next
		}
		for c, want := range f.Intercept() {
			for k, v := range z {
				want += f.Coef().At(c, k) * v
			}
			if math.Abs(got.At(i, c)-want) > 1e-9*math.Abs(want) {
				t.Fatalf("row %d, target %d: %v, want %v", i, c, got.At(i, c), want)
			}
			sum[c] += (want - targets.At(i, c)) / 80
			square[c] += (want - targets.At(i, c)) * (want - targets.At(i, c)) / 80
		}
	}
	if spread := 30 * 30 * square[1]; square[0] > 3*spread || spread > 3*square[0] {
		t.Errorf("mean squared errors %v of targets that differ in units only", square)
	}
}

// TestNetworkStartsAsTheDraw checks that without trained parameters, the features are those of
// transformer.RFF for the seed.
func TestNetworkStartsAsTheDraw(t *testing.T) {
	data := stopRows(60, 3, false)
	s := smallNetwork()
	s.Epochs, s.ValidationFraction = 20, 0
	s.Train, s.Gamma, s.Kernel = []string{}, kernel.FixedGamma(0.3), "matern"
	f := fittedNetwork(t, s, data)
	k, _ := spectral.FourierKernel("matern", spectral.Shape{Nu: s.Nu, Alpha: s.Shape})
	draws, err := fourier.Draw(context.Background(), k, s.Seed, 3, s.Features, false)
	if err != nil {
		t.Fatal(err)
	}
	var want mat.Dense
	want.Scale(k.Factors([]float64{0.3})[0], draws.Base)
	if !mat.EqualApprox(f.Frequencies(0), &want, 1e-5) {
		t.Error("other frequencies")
	}
	s.Train = []string{"frequencies"}
	if mat.EqualApprox(fittedNetwork(t, s, data).Frequencies(0), &want, 1e-5) {
		t.Error("frequencies that are to be trained are not")
	}
	s.Train, s.Gamma = []string{}, kernel.FixedGamma(0.3, 1.2, 0.3)
	if f = fittedNetwork(t, s, data); math.Abs(f.Frequencies(0).At(1, 2)-1.2*draws.Base.At(1, 2)) > 1e-5 {
		t.Error("a γ for each input does not scale it")
	}
}

// TestNetworkReports checks that the report states whether training converged, and whether it found
// no signal.
func TestNetworkReports(t *testing.T) {
	data := stopRows(200, 3, false)
	s := smallNetwork()
	s.Epochs = 2
	r := fittedNetwork(t, s, data).Report()
	if r.Converged || r.Iterations != 2 || r.Solver != "adam" || len(r.Warnings) != 1 ||
		!strings.Contains(r.Warnings[0], "raise epochs") {
		t.Errorf("%+v", r)
	}
	s.Epochs = 2000
	if r = fittedNetwork(t, s, data).Report(); !r.Converged || r.Iterations >= 2000 || len(r.Warnings) != 0 ||
		!(r.Objective < 1) {
		t.Errorf("%+v", r)
	}
	for i := range data.Y {
		data.Y[i] = 5
	}
	f := fittedNetwork(t, s, data)
	if r = f.Report(); len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "the same prediction") {
		t.Errorf("%+v", r)
	}
	values, err := f.Predict(context.Background(), data.X)
	if err != nil || slices.ContainsFunc(values, func(v float64) bool { return math.Abs(v-5) > 1e-9 }) {
		t.Errorf("%v, %v", values, err)
	}
}

// Data that cannot be trained on are an error with the reason, and so are invalid parameters.
func TestNetworkRefuses(t *testing.T) {
	data := stopRows(60, 3, false)
	wild := smallNetwork()
	wild.LearningRate = 1e6
	p, err := wild.Fit(context.Background(), data)
	if !errors.Is(err, solve.ErrDiverged) || !strings.Contains(err.Error(), "learning_rate") || p != nil {
		t.Errorf("%v, %v", p, err)
	}
	other, twice, half, list := smallNetwork(), smallNetwork(), smallNetwork(), smallNetwork()
	other.Train, twice.Train, half.ValidationFraction, list.Gamma = []string{"head"}, []string{"phases", "phases"}, 0.95,
		kernel.FixedGamma(1, 2)
	fails(t, "another name", other, data, "train", "scales, frequencies and phases")
	fails(t, "a name twice", twice, data, "train", "once")
	fails(t, "nothing to learn from", half, data, "validation_fraction")
	fails(t, "too few numbers of gamma", list, data, "gamma")
	huge := stopRows(60, 3, false)
	huge.X.(*mat.Dense).Scale(1e300, huge.X)
	far := smallNetwork()
	far.Gamma = kernel.FixedGamma(1)
	fails(t, "inputs that are too large", far, huge, "standardize")
	large := stopRows(60, 3, false)
	for i := range large.Y {
		large.Y[i] *= 1e300
	}
	fails(t, "targets that are too large", smallNetwork(), large, "targets")
	classes := signed(60, 3)
	classes.Schema.Targets = []datasets.Column{{Name: "kind", Kind: datasets.Categorical, Categories: []string{"0", "1"}}}
	classes.Y, classes.Targets = nil, mat.NewDense(60, 2, nil)
	fails(t, "two targets of classes", smallNetwork(), classes, "must have one target, got 2")
}

// A file whose layers, classes or outputs do not fit is refused.
func TestNetworkRefusesDamage(t *testing.T) {
	classes := signed(60, 3)
	classes.Schema.Targets = []datasets.Column{{Name: "kind", Kind: datasets.Categorical,
		Categories: []string{"no", "yes"}}}
	s := smallNetwork()
	s.Layers = 2
	f := fittedNetwork(t, s, classes)
	for what, harm := range map[string]func(a *archive.Archive){
		"a layer of another width": func(a *archive.Archive) {
			w := a.Arrays["1/frequencies"]
			a.Arrays["1/frequencies"] = archive.Array{Shape: []int{15, 16}, Floats: w.Floats[:15*16]}
		},
		"one class":       func(a *archive.Archive) { a.Scalars["classes"] = []string{"no"} },
		"more classes":    func(a *archive.Archive) { a.Scalars["classes"] = []string{"a", "b", "c"} },
		"no layers":       func(a *archive.Archive) { a.Scalars["layers"] = 0.0 },
		"too many layers": func(a *archive.Archive) { a.Scalars["layers"] = 1e9 },
		"not a number":    func(a *archive.Archive) { a.Arrays["0/phases"].Floats[3] = math.NaN() },
		"infinite":        func(a *archive.Archive) { a.Arrays["coef"].Floats[3] = math.Inf(1) },
	} {
		a, err := model.Record(f)
		if err != nil {
			t.Fatal(err)
		}
		harm(a)
		if err := model.Restore(a, &fittedRFFNetwork{}); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

// TestNetworkRelevanceInAFile checks that the relevance of the inputs is saved and restored, that
// files written before relevance existed still load, and that a relevance of the wrong length is an
// error.
func TestNetworkRelevanceInAFile(t *testing.T) {
	data := stopRows(200, 3, false)
	s := smallNetwork()
	s.Epochs = 60
	f := fittedNetwork(t, s, data)
	var relevant interface{ Relevance() []float64 }
	if !As(f, &relevant) || len(relevant.Relevance()) != 3 || slices.Max(relevant.Relevance()) != 1 ||
		slices.Min(relevant.Relevance()) <= 0 {
		t.Fatalf("relevance %v", f.Relevance())
	}
	for what, c := range map[string]struct {
		change func(a *archive.Archive)
		want   []float64
		fails  bool
	}{
		"as written": {func(*archive.Archive) {}, f.Relevance(), false},
		"before":     {func(a *archive.Archive) { delete(a.Arrays, "relevance") }, nil, false},
		"too short": {func(a *archive.Archive) {
			a.Arrays["relevance"] = archive.Array{Shape: []int{2}, Floats: []float64{1, 0.5}}
		}, nil, true},
	} {
		a, err := model.Record(f)
		if err != nil {
			t.Fatal(err)
		}
		c.change(a)
		back := &fittedRFFNetwork{}
		if err := model.Restore(a, back); (err != nil) != c.fails {
			t.Errorf("%s: %v", what, err)
		} else if err == nil && !slices.Equal(back.Relevance(), c.want) {
			t.Errorf("%s: %v, want %v", what, back.Relevance(), c.want)
		}
	}
	for i := range data.Y { // no signal
		data.Y[i] = 5
	}
	if r := fittedNetwork(t, s, data).Relevance(); r != nil {
		t.Errorf("relevance %v of constant targets", r)
	}
}

// TestNetworkOfOneTarget checks that targets that are constant up to rounding give a constant
// model.
func TestNetworkOfOneTarget(t *testing.T) {
	data := stopRows(70, 3, false)
	data.Weights = make([]float64, 70)
	for i := range data.Y {
		data.Y[i], data.Weights[i] = 0.1, 1+math.Sqrt(float64(i))
	}
	values, err := fittedNetwork(t, smallNetwork(), data).Predict(context.Background(), data.X)
	if err != nil || slices.ContainsFunc(values, func(v float64) bool { return math.Abs(v-0.1) > 1e-15 }) {
		t.Errorf("%v, %v", values, err)
	}
}

// Many classes, a class without rows among them, have probabilities that a class weight moves.
func TestNetworkOfManyClasses(t *testing.T) {
	data := stopRows(300, 2, false)
	for i := range data.Y {
		data.Y[i] = 0
		if data.X.At(i, 0) > 0.3 {
			data.Y[i] = 2
		} else if data.X.At(i, 1) > 0 {
			data.Y[i] = 3
		}
	}
	data.Schema.Targets = []datasets.Column{{Name: "kind", Kind: datasets.Categorical,
		Categories: []string{"a", "b", "c", "d"}}}
	s := smallNetwork()
	s.Epochs = 100
	mean := func(s RFFNetwork) (right float64, mass []float64) {
		f := fittedNetwork(t, s, data)
		out, err := f.PredictFull(context.Background(), data.X, Request{})
		if err != nil {
			t.Fatal(err)
		}
		values, err := f.Predict(context.Background(), data.X)
		if err != nil {
			t.Fatal(err)
		}
		mass = make([]float64, 4)
		for i, v := range values {
			for c := range mass {
				mass[c] += out.Probabilities.At(i, c) / 300
			}
			if v == data.Y[i] {
				right += 1. / 300
			}
		}
		return right, mass
	}
	right, mass := mean(s)
	if right < 0.93 || mass[1] != 0 {
		t.Errorf("%.3f are right, mean probabilities %v", right, mass)
	}
	s.ClassWeight.Weights = map[string]float64{"d": 20}
	if _, more := mean(s); more[3] < mass[3]+0.02 {
		t.Errorf("mean probabilities %v, and %v with more weight on the last", mass, more)
	}
}
