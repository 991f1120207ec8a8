package experiment

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/datasets/builtin"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
	"github.com/bochner-ml/bochner/transformer"
)

// TestSavedSpecIsFittedSpec checks that the result of a search is saved with the selected
// settings, and that inspect shows them; a rule such as scale remains a rule.
func TestSavedSpecIsFittedSpec(t *testing.T) {
	ctx := context.Background()
	data, _, err := builtin.Load("iris")
	if err != nil {
		t.Fatal(err)
	}
	rff := transformer.NewRFF()
	rff.Features, rff.Gamma = 32, kernel.FixedGamma(1e-6)
	base := pipeline.Steps(pipeline.NewUnion(rff)).Then(estimator.NewLogistic())
	search := gridsearch.NewSearch(base,
		gridsearch.Axis{Path: "union.rff.gamma", Values: []any{1e-6, "scale"}},
		gridsearch.Axis{Path: "logistic.C", Values: []any{1e-6, 10.0}})
	fitted, err := search.Fit(ctx, data)
	if err != nil {
		t.Fatal(err)
	}
	m, err := modelfile.New(fitted)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "m.bochner")
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	back, err := modelfile.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]pipeline.Pipeline{"fitted": m.Spec(), "loaded": back.Spec()} {
		for path, want := range map[string]any{"union.rff.gamma": "scale", "union.rff.features": 32, "logistic.C": 10.0} {
			if got, err := param.Get(p, path); err != nil || got != want {
				t.Errorf("%s: %s is %v (%v), want %v", name, path, got, err, want)
			}
		}
	}
	got, err := Inspect(path)
	if err != nil || !strings.Contains(got.Spec, "gamma: scale") || !strings.Contains(got.Spec, "C: 10.0") {
		t.Errorf("inspect reports %s (%v)", got.Spec, err)
	}
	if m.Task != "classification" || strings.Join(m.Schema.Classes(), " ") != strings.Join(data.Schema.Classes(), " ") {
		t.Errorf("a model for %s of %v", m.Task, m.Schema.Classes())
	}
}

// TestFittedSpecIsCopied checks that modifying a spec after the fit, or the result of Spec, does
// not affect the model.
func TestFittedSpecIsCopied(t *testing.T) {
	ctx := context.Background()
	data, _, err := builtin.Load("iris")
	if err != nil {
		t.Fatal(err)
	}
	group := pipeline.Group{Select: []string{"numeric"}, Steps: pipeline.Steps(transformer.NewStandardize())}
	p := pipeline.Steps(pipeline.NewColumns(group)).Then(estimator.NewLogistic())
	fitted, err := p.Fit(ctx, data)
	if err != nil {
		t.Fatal(err)
	}
	m, err := modelfile.New(fitted)
	if err != nil {
		t.Fatal(err)
	}
	var before, after bytes.Buffer
	if err := m.Write(&before); err != nil {
		t.Fatal(err)
	}
	for _, q := range []pipeline.Pipeline{p, m.Spec()} {
		q.Steps[0].Fitter.(pipeline.Columns).Groups[0].Steps[0].Fitter = transformer.NewRobust()
		q.Steps[0].Fitter.(pipeline.Columns).Groups[0].Select[0] = "sepal*"
		q.Steps[0].Fitter = transformer.NewPCA()
	}
	if err := m.Write(&after); err != nil || !bytes.Equal(before.Bytes(), after.Bytes()) {
		t.Errorf("the model is saved otherwise (%v)", err)
	}
}
