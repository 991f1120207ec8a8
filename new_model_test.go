package bochner_test

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/builtin"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
	"github.com/bochner-ml/bochner/transformer"
)

// Every fit has one path to a complete model: the profile of the training rows is in it, and in its file.
func TestModelsOfAllFitsHaveProfiles(t *testing.T) {
	ctx := t.Context()
	data, _, err := builtin.Load("wine")
	if err != nil {
		t.Fatal(err)
	}
	machine := pipeline.Steps(transformer.NewStandardize()).Then(estimator.NewLogistic())
	axis := gridsearch.Axis{Path: "logistic.C", Values: []any{0.1, 1}}
	folds := datasets.StratifiedKFold{Folds: 3, Shuffle: true, Seed: 5}
	fitted, err := bochner.Fit(ctx, machine, data)
	if err != nil {
		t.Fatal(err)
	}
	searched, result, err := bochner.Search(ctx, machine, data, bochner.Validation{Splitter: folds}, axis)
	if err != nil || result.Folds != 3 {
		t.Fatal(err, result)
	}
	models := map[string]*modelfile.Model{"fit": fitted, "search with own folds": searched}
	search := gridsearch.NewSearch(machine, axis)
	stream := data.Source()
	streamed, err := search.RunSource(ctx, stream)
	if err != nil {
		t.Fatal(err)
	}
	if models["stream"], err = bochner.NewModel(ctx, streamed, stream); err != nil {
		t.Fatal(err)
	}
	for name, m := range models {
		path := filepath.Join(t.TempDir(), "m")
		if err := m.Save(path); err != nil {
			t.Fatal(name, err)
		}
		loaded, err := bochner.Open(path)
		if err != nil || loaded.Profile == nil || loaded.Profile.Rows != data.Rows() ||
			!reflect.DeepEqual(m.Profile, fitted.Profile) {
			t.Errorf("%s: the profile is %+v: %v", name, m.Profile, err)
		}
	}
}

// Results and models print as tables; errors of Save name the path and no package of files.
func TestPrinting(t *testing.T) {
	data, _, err := builtin.Load("wine")
	if err != nil {
		t.Fatal(err)
	}
	machine := pipeline.Steps(transformer.NewStandardize(), transformer.NewRFF()).Then(estimator.NewLogistic())
	model, result, err := bochner.Search(t.Context(), machine, data, bochner.Validation{},
		gridsearch.Axis{Path: "rff.features", Values: []any{20, 40}},
		gridsearch.Axis{Path: "rff.gamma", Values: []any{0.1, kernel.GammaScale(), kernel.FixedGamma(0.2)}})
	if err != nil {
		t.Fatal(err)
	}
	printed := fmt.Sprint(result)
	for _, want := range []string{"rank", "rff.features", "rff.gamma", "accuracy", "scale", "0.2", "1 *",
		"6 candidates on 5 folds"} {
		if !strings.Contains(printed, want) {
			t.Errorf("the result prints without %q:\n%s", want, printed)
		}
	}
	if lines := strings.Count(printed, "\n"); lines < 8 {
		t.Errorf("the result prints %d lines:\n%s", lines, printed)
	}
	printed = fmt.Sprint(model)
	for _, want := range []string{"task", "classification", "steps", "standardize → rff", "target", "class"} {
		if !strings.Contains(printed, want) {
			t.Errorf("the model prints without %q:\n%s", want, printed)
		}
	}
	for path, want := range map[string]string{"": "pipeline: cannot save the model: the path must not be empty",
		t.TempDir(): "it is a folder", filepath.Join(t.TempDir(), "no", "m"): "no such file or directory"} {
		err := model.Save(path)
		if err == nil || strings.Contains(err.Error(), "files:") || !strings.HasSuffix(err.Error(), want) ||
			!strings.Contains(err.Error(), "cannot save") {
			t.Errorf("save to %q returns %v", path, err)
		}
	}
}

// The zero value of Refit selects the best candidate.
func TestEmptyRefitIsBest(t *testing.T) {
	data, _, err := builtin.Load("wine")
	if err != nil {
		t.Fatal(err)
	}
	s := gridsearch.Search{Estimator: estimator.NewLogistic(),
		Grid: []gridsearch.Axis{{Path: "C", Values: []any{0.01, 1}}}, Score: "accuracy"}
	outer := gridsearch.Search{Estimator: s}
	for name, spec := range map[string]estimator.Estimator{"search": s, "search of a search": outer} {
		fitted, err := spec.Fit(t.Context(), data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if r := fitted.(*gridsearch.Result); r.Model == nil || r.Best().Rank != 1 {
			t.Errorf("%s: the result is %v", name, r)
		}
	}
}
