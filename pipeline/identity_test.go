package pipeline_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
	one "github.com/bochner-ml/bochner/pipeline/testdata/one/steps"
	two "github.com/bochner-ml/bochner/pipeline/testdata/two/steps"
	"github.com/bochner-ml/bochner/pipeline/yaml"
	"github.com/bochner-ml/bochner/transformer"
)

const stepsPath = "github.com/bochner-ml/bochner/pipeline/testdata/"

// register adds a step of these tests; the registry lives as long as the process.
func register(t *testing.T, name string, spec any, fitted func() model.Stateful) {
	t.Helper()
	if _, known := pipeline.Lookup(name); known {
		return
	}
	if err := pipeline.Register(pipeline.Entry{Name: name, Doc: "a step of tests", New: func() any { return spec },
		Fitted: fitted}); err != nil {
		t.Fatal(err)
	}
}

func fitted(t testing.TB, p pipeline.Pipeline, data datasets.Set) *modelfile.Model {
	t.Helper()
	f, err := p.Fit(ctx, data)
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

// A step that is not registered cannot be saved, and once it is it can.
func TestOwnStepsCanBeSaved(t *testing.T) {
	data := numbers(50, 22)
	p := pipeline.Steps(mirror{Factor: 2}).Then(estimator.NewRidge())
	f, err := p.Fit(ctx, data)
	if err != nil {
		t.Fatal(err)
	}
	m := &modelfile.Model{Schema: data.Schema, Predictor: f}
	if _, known := pipeline.Lookup("mirror"); !known { // the registry lives as long as the process
		if err := m.Write(&bytes.Buffer{}); err == nil || !strings.HasPrefix(err.Error(),
			"pipeline: github.com/bochner-ml/bochner/pipeline_test.mirror is not registered") {
			t.Errorf("saved all the same: %v", err)
		}
		err := pipeline.Register(pipeline.Entry{Name: "mirror", Doc: "turns signs",
			New: func() any { return mirror{Factor: -1} }, Fitted: func() model.Stateful { return &fittedMirror{} }})
		if err != nil {
			t.Fatal(err)
		}
	}
	b := bytesOf(t, m)
	back, err := modelfile.Read(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	want, _ := f.Predict(ctx, data.X)
	if got, err := back.Predictor.Predict(ctx, data.X); err != nil || !slices.Equal(got, want) {
		t.Errorf("predictions differ (%v)", err)
	}
}

// TestTypesOfOneNameAreTwo checks that types of equal names in packages of equal names are distinct
// steps: each must be registered separately, and is restored as itself.
func TestTypesOfOneNameAreTwo(t *testing.T) {
	data := numbers(60, 41)
	fit := func(step transformer.Fitter) *modelfile.Model {
		return fitted(t, pipeline.Steps(step).Then(estimator.NewRidge()), data)
	}
	write := func(step transformer.Fitter) error { return fit(step).Write(&bytes.Buffer{}) }
	if _, known := pipeline.Lookup("log_one"); !known {
		var b bytes.Buffer
		err := fit(one.Log{}).Write(&b)
		want := "pipeline: " + stepsPath +
			"one/steps.Log is not registered: give it a name with pipeline.Register before it is written or read"
		if err == nil || err.Error() != want || b.Len() > 0 {
			t.Errorf("%v, %d bytes written, want %s", err, b.Len(), want)
		}
	}
	register(t, "log_one", one.Log{}, func() model.Stateful { return &one.FittedLog{} })
	if _, known := pipeline.Lookup("log_two"); !known {
		if err := write(two.Log{}); err == nil || !strings.Contains(err.Error(),
			stepsPath+"two/steps.Log is not registered") {
			t.Errorf("saved as its namesake: %v", err)
		}
		if _, known := pipeline.Lookup(two.Log{}); known {
			t.Error("the registry takes it for its namesake")
		}
		name := param.All(pipeline.Steps(two.Log{}, transformer.NewRFF()).Then(estimator.NewRidge()))
		if slices.ContainsFunc(name, func(p param.Param) bool { return strings.HasPrefix(p.Path, "log_one") }) {
			t.Errorf("it has the path of its namesake: %v", name)
		}
	}
	register(t, "log_two", two.Log{}, func() model.Stateful { return &two.FittedLog{} })
	for name, step := range map[string]transformer.Fitter{"log_one": one.Log{}, "log_two": two.Log{}} {
		m := fit(step)
		file := bytesOf(t, m)
		back, err := modelfile.Read(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		want, _ := m.Predictor.Predict(ctx, data.X)
		if got, err := back.Predictor.Predict(ctx, data.X); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s predicts otherwise after loading (%v)", name, err)
		}
		if text := m.Spec().String(); text != name+" → ridge" || back.Spec().String() != text {
			t.Errorf("%s is shown as %s, after loading as %s", name, text, back.Spec())
		}
	}
}

// A type whose name a registered step has is not shown as that step, nor saved as it.
func TestForeignNamesakes(t *testing.T) {
	p := pipeline.Steps(one.RFF{}).Then(estimator.NewRidge())
	if text := p.String(); text != "steps_rff → ridge" {
		t.Errorf("it is shown as %s", text)
	}
	if svg := p.SVG(); !strings.Contains(svg, ">steps_rff<") || strings.Contains(svg, ">rff<") {
		t.Errorf("the diagram shows it as another: %s", svg)
	}
	if _, err := yaml.Encode(p, false); err == nil || !strings.Contains(err.Error(),
		stepsPath+"one/steps.RFF is not registered") {
		t.Errorf("written as a document: %v", err)
	}
}

// TestDuplicateRegistration checks that neither a name nor a type can be registered twice.
func TestDuplicateRegistration(t *testing.T) {
	register(t, "log_one", one.Log{}, func() model.Stateful { return &one.FittedLog{} })
	fitted := func() model.Stateful { return &one.FittedLog{} }
	for _, c := range []struct {
		name string
		spec any
		want string
	}{
		{"log_one", one.RFF{}, "pipeline: register log_one: the name is taken by " + stepsPath + "one/steps.Log"},
		{"log_again", one.Log{}, "pipeline: register log_again: the type " + stepsPath +
			"one/steps.Log is registered already, as log_one"},
	} {
		err := pipeline.Register(pipeline.Entry{Name: c.name, New: func() any { return c.spec }, Fitted: fitted})
		if err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}
