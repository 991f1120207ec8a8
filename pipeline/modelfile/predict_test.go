package modelfile_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
	"github.com/bochner-ml/bochner/transformer"
)

// house is a row with a class, trip one with a number.
type house struct {
	City  string
	Size  float64
	Sold  *bool
	Class string
	Count int `bochner:",weight"`
}

func houses(n int) []house {
	cities := []string{"Bonn", "Kiel", "Ulm"}
	out := make([]house, n)
	for i := range out {
		sold := i%2 == 0
		out[i] = house{City: cities[i%3], Size: float64(i%7) + 0.5, Class: "cheap", Count: 1}
		if i%5 > 0 {
			out[i].Sold = &sold
		}
		if i%3 == 1 || out[i].Size > 5 {
			out[i].Class = "dear"
		}
	}
	return out
}

func structModel(t *testing.T) (*modelfile.Model, datasets.Set) {
	t.Helper()
	data, err := datasets.FromStructs(houses(60), "Class")
	if err != nil {
		t.Fatal(err)
	}
	impute := transformer.NewImpute()
	impute.Strategy = "most_frequent"
	columns := pipeline.NewColumns(pipeline.Group{Select: []string{"categorical"},
		Steps: pipeline.Steps(impute, transformer.NewOneHot())},
		pipeline.Group{Select: []string{"numeric"}, Steps: pipeline.Steps(transformer.NewImpute())})
	fitted, err := pipeline.Steps(columns).Then(estimator.NewLogistic()).
		Fit(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	m, err := modelfile.New(fitted)
	if err != nil {
		t.Fatal(err)
	}
	return m, data
}

// A set with other codes and another order of columns has the same predictions, in each form.
func TestModelAligns(t *testing.T) {
	ctx := context.Background()
	m, data := structModel(t)
	want, err := m.Predict(ctx, data)
	if err != nil {
		t.Fatal(err)
	}
	other, err := datasets.FromStructs(houses(60)[1:2], "Class") // one city and one class only: their codes are 0
	if err != nil {
		t.Fatal(err)
	}
	if got, err := m.Predict(ctx, other); err != nil || got[0] != want[1] {
		t.Errorf("%v, %v, want %v", got, err, want[1])
	}
	full, err := m.PredictFull(ctx, other, estimator.Request{Outputs: estimator.OutputProbabilities})
	if err != nil || full.Probabilities.At(0, 1) < 0.5 {
		t.Errorf("%+v, %v", full, err)
	}
	if names, err := m.PredictClasses(ctx, other); err != nil || !slices.Equal(names, []string{"dear"}) {
		t.Errorf("%v, %v", names, err)
	}
	if scores, err := m.Score(ctx, other, "accuracy", "log_loss"); err != nil || scores["accuracy"] != 1 ||
		math.Abs(scores["log_loss"]+math.Log(full.Probabilities.At(0, 1))) > 1e-12 {
		t.Errorf("%v, %v", scores, err)
	}
	if scores, err := m.Score(ctx, data); err != nil || scores["accuracy"] < 0.8 || len(scores) != 1 {
		t.Errorf("%v, %v", scores, err)
	}
	if !slices.Equal(m.Classes(), []string{"cheap", "dear"}) {
		t.Error(m.Classes())
	}
	if names := m.FeatureNames(); !slices.Equal(names, []string{"City=Bonn", "City=Kiel", "City=Ulm", "Size", "Sold"}) {
		t.Error(names)
	}
	if _, cols := m.Coef().Dims(); cols != 5 {
		t.Errorf("%d coefficients", cols)
	}
	for want, run := range map[string]func() error{
		"column City: cannot align category codes without a schema": func() error {
			_, err := m.Predict(ctx, datasets.Set{X: data.X})
			return err
		},
		"rows must have 3 columns as the model, got 2": func() error {
			_, err := m.Predict(ctx, datasets.New(mat.NewDense(1, 2, nil)))
			return err
		},
		"rows must have a target": func() error { _, err := m.Score(ctx, data.WithoutTargets()); return err },
		"the task must be regression, got classification": func() error {
			_, err := m.Score(ctx, data, "r2")
			return err
		},
		"acuracy": func() error { _, err := m.Score(ctx, data, "acuracy"); return err },
	} {
		if err := run(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestStructsAsRows(t *testing.T) {
	ctx := context.Background()
	m, data := structModel(t)
	want, err := m.PredictClasses(ctx, data)
	if err != nil {
		t.Fatal(err)
	}
	rows := houses(60)
	answers, err := m.PredictRows(ctx, rows)
	if err != nil {
		t.Fatal(err)
	}
	pointers := make([]*house, len(rows))
	for i := range rows {
		if answers[i].Class != want[i] {
			t.Errorf("row %d: %s, want %s", i, answers[i], want[i])
		}
		rows[i].Class = "unknown"
		pointers[i] = &rows[i]
	}
	if err := m.PredictInto(ctx, pointers[:30]); err != nil {
		t.Fatal(err)
	}
	if err := m.PredictInto(ctx, rows[30:]); err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		if rows[i].Class != want[i] {
			t.Errorf("row %d: %s, want %s", i, rows[i].Class, want[i])
		}
	}
	for want, rows := range map[string]any{
		"rows must be a slice of structs, got int":    3,
		"must have a field for the target Class":      []struct{ City string }{{"Bonn"}},
		"column City, no value|column Sold, no value": []struct{ Size, Class float64 }{{1, 2}},
		"cannot write the prediction dear into a field of type float64|row 0": []struct {
			City  string
			Size  float64
			Sold  bool
			Class float64
		}{{"Kiel", 3, true, 0}},
		"row 1 must not be a nil pointer": []*house{{}, nil},
	} {
		err := m.PredictInto(ctx, rows)
		for part := range strings.SplitSeq(want, "|") {
			if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), ": no value", ", no value"), part) {
				t.Errorf("%v, want %s", err, part)
			}
		}
	}
}

// A number that is no integer is not written into an integer field: a target of integers is numeric.
func TestPredictIntoInteger(t *testing.T) {
	type flat struct{ Size, Rooms int }
	data, err := datasets.FromStructs([]flat{{10, 1}, {20, 1}, {30, 2}, {45, 2}}, "Rooms")
	if err != nil {
		t.Fatal(err)
	}
	fitted, err := pipeline.Steps().Then(estimator.NewRidge()).Fit(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	m, err := modelfile.New(fitted)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.PredictInto(context.Background(), []flat{{Size: 25}}); err == nil ||
		!strings.Contains(err.Error(), "into a field of type int; use float64, or for classes the tag option class") {
		t.Error(err)
	}
}
