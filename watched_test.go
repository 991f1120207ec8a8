package bochner_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bochner-ml/bochner"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/pipeline"
)

type point struct{ X, Y float64 }

// constant returns a model that predicts y everywhere.
func constant(t *testing.T, y float64) interface{ Save(path string) error } {
	t.Helper()
	data, err := datasets.FromStructs([]point{{0, y}, {1, y}, {2, y}}, "Y")
	if err != nil {
		t.Fatal(err)
	}
	model, err := bochner.Fit(ctx, pipeline.Steps().Then(estimator.NewRidge()), data)
	if err != nil {
		t.Fatal(err)
	}
	return model
}

// A watched model follows its file; a damaged or missing file is reported, and the previous model stays.
func TestOpenWatched(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "model.bochner")
	if _, err := bochner.OpenWatched(file); err == nil {
		t.Fatal("a missing file is opened")
	}
	if err := constant(t, 1.5).Save(file); err != nil {
		t.Fatal(err)
	}
	w, err := bochner.OpenWatched(dir)
	if err != nil {
		t.Fatal(err)
	}
	expect := func(after string, value float64, problem string) {
		t.Helper()
		time.Sleep(1100 * time.Millisecond)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() { w.Model() })
		}
		all.Wait()
		err := w.Err()
		if (err == nil) != (problem == "") || err != nil && !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: error %v", after, err)
		}
		answer, err := w.Model().PredictRow(ctx, point{X: 7})
		if err != nil || answer.Value != value {
			t.Errorf("%s: %v, %v", after, answer, err)
		}
	}
	if err := constant(t, 2.5).Save(file); err != nil {
		t.Fatal(err)
	}
	expect("a new model", 2.5, "")
	if err := os.WriteFile(file, []byte("no model"), 0o644); err != nil {
		t.Fatal(err)
	}
	expect("a damaged file", 2.5, "the previous one is used: ")
	expect("the same file", 2.5, "the previous one is used: ")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	expect("no file", 2.5, "no such file")
	if err := constant(t, 3.5).Save(file); err != nil {
		t.Fatal(err)
	}
	expect("a valid file", 3.5, "")
}

// One row is a struct, a pointer to one, or a map.
func TestPredictRow(t *testing.T) {
	file := filepath.Join(t.TempDir(), "model.bochner")
	if err := constant(t, 4.5).Save(file); err != nil {
		t.Fatal(err)
	}
	m, err := bochner.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []any{point{X: 1}, &point{X: 1}, map[string]any{"X": 1}} {
		answer, err := m.PredictRow(ctx, row)
		if err != nil || answer.Value != 4.5 {
			t.Errorf("%T: %v, %v", row, answer, err)
		}
	}
	for row, want := range map[any]string{nil: "got nil", (*point)(nil): "nil pointer", 3: "structs",
		struct{ Z float64 }{}: "no such column"} {
		if _, err := m.PredictRow(ctx, row); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%T: %v", row, err)
		}
	}
	if _, err := m.PredictRow(ctx, map[string]float64{"X": 1}); err == nil {
		t.Error("a map of another type is accepted")
	}
}

// FitSource fits a stream as Fit does the same rows in memory, with a profile.
func TestFitSource(t *testing.T) {
	flats, err := bochner.Load(ctx, "examples/flats.csv", "rent")
	check(err)
	machine := bochner.KernelMachine(flats)
	want, err := bochner.Fit(ctx, machine, flats)
	check(err)
	got, err := bochner.FitSource(ctx, machine, flats.Source())
	check(err)
	a, err := want.Predict(ctx, flats)
	check(err)
	b, err := got.Predict(ctx, flats)
	check(err)
	for i := range a {
		if a[i] != b[i] {
			t.Fatalf("row %d: %v, %v", i, a[i], b[i])
		}
	}
	if got.Profile == nil {
		t.Error("no profile")
	}
}
