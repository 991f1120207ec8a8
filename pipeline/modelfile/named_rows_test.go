package modelfile_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
	"github.com/bochner-ml/bochner/transformer"
)

// named returns the rows of a set as values by name.
func named(data datasets.Set) []map[string]any {
	out := make([]map[string]any, data.Rows())
	for i := range out {
		out[i] = map[string]any{}
		for j := range data.Cols() {
			v := data.X.At(i, j)
			if c := data.Schema.Column(j); c.Kind == datasets.Categorical {
				out[i][c.Name] = c.Categories[int(v)]
			} else {
				out[i][c.Name] = v
			}
		}
	}
	return out
}

// Rows of named values are predicted as the same rows in a matrix are, to the bit, by every kind of
// model.
func TestPredictRows(t *testing.T) {
	data := people(60, 30)
	for name, p := range specs() {
		m := fitted(t, p, data)
		want, err := estimator.Predict(ctx, m.Predictor, data.X, estimator.Request{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.PredictRows(ctx, named(data))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i, row := range got {
			if row.Value != want.Values[i] {
				t.Fatalf("%s: row %d: %v, want %v", name, i, row.Value, want.Values[i])
			}
			if classes := m.Schema.Classes(); classes != nil && row.Class != classes[int(row.Value)] || classes == nil &&
				row.Class != "" {
				t.Fatalf("%s: row %d: class %q for %v", name, i, row.Class, row.Value)
			}
			if (row.Probabilities != nil) != (want.Probabilities != nil) || row.Targets != nil {
				t.Fatalf("%s: row %d: %+v", name, i, row)
			}
			if row.Probabilities != nil && (row.Probabilities["no"] != want.Probabilities.At(i, 0) ||
				row.Probabilities["yes"] != want.Probabilities.At(i, 1)) {
				t.Fatalf("%s: row %d: probabilities %v", name, i, row.Probabilities)
			}
		}
		if none, err := m.PredictRows(ctx, nil); err != nil || len(none) != 0 {
			t.Errorf("%s: of no rows %v, %v", name, none, err)
		}
	}
}

// TestPredictRowsWithoutNames checks that several targets are predicted by name, and that columns
// without names are called x0, x1, ….
func TestPredictRowsWithoutNames(t *testing.T) {
	X, Y := mat.NewDense(20, 2, nil), mat.NewDense(20, 2, nil)
	for i := range 20 {
		a, b := float64(i), math.Sin(float64(i))
		X.SetRow(i, []float64{a, b})
		Y.SetRow(i, []float64{a + b, a - b})
	}
	data := datasets.Set{X: X, Targets: Y, Schema: datasets.Schema{Targets: []datasets.Column{{Name: "sum"},
		{Name: "difference"}}}}
	ridge := estimator.NewRidge()
	ridge.Alpha = 0
	f, err := pipeline.Steps(transformer.NewStandardize()).Then(ridge).Fit(ctx, data)
	if err != nil {
		t.Fatal(err)
	}
	m, err := modelfile.New(f)
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.PredictRows(ctx, []map[string]any{{"x0": 3, "x1": 1}})
	if err != nil || math.Abs(got[0].Targets["sum"]-4) > 1e-9 || math.Abs(got[0].Targets["difference"]-2) > 1e-9 {
		t.Fatalf("%+v, %v", got, err)
	}
	if text := got[0].String(); text != "difference 2, sum 4" {
		t.Errorf("printed as %s", text)
	}
	_, err = m.PredictRows(ctx, []map[string]any{{"x0": 3, "x2": "a"}})
	const want = "pipeline: row 0, column x2: the model has no such column; it has x0, x1\nrow 0, column x1: no value; " +
		"a missing one is nil"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestPredictRowsOfLabels checks that labels are predicted by name, with their probabilities or scores.
func TestPredictRowsOfLabels(t *testing.T) {
	X, Y := mat.NewDense(20, 1, nil), mat.NewDense(20, 2, nil)
	for i := range 20 {
		X.Set(i, 0, float64(i-10))
		if Y.Set(i, 0, 1); i < 10 {
			Y.SetRow(i, []float64{0, 1})
		}
	}
	label := func(name string) datasets.Column {
		return datasets.Column{Name: name, Kind: datasets.Categorical, Categories: []string{"0", "1"}}
	}
	data := datasets.Set{X: X, Targets: Y, Schema: datasets.Schema{Targets: []datasets.Column{label("up"), label("down")}}}
	for _, spec := range []estimator.Estimator{estimator.NewLogistic(), estimator.NewSVM()} {
		f, err := pipeline.Steps(transformer.NewStandardize()).Then(spec).Fit(ctx, data)
		if err != nil {
			t.Fatal(err)
		}
		m, err := modelfile.New(f)
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.PredictRows(ctx, []map[string]any{{"x0": 7}})
		if err != nil || got[0].String() != "down 0, up 1" || got[0].Class != "" {
			t.Fatalf("%v, %v", got, err)
		}
		p := got[0].Probabilities
		if p != nil && !(p["up"] > 0.5 && p["down"] < 0.5) || p == nil && !(got[0].Scores["up"] > 0) {
			t.Errorf("probabilities %v, scores %v", p, got[0].Scores)
		}
	}
}

// TestRowPredictionShown checks the text and the JSON of predictions.
func TestRowPredictionShown(t *testing.T) {
	for _, c := range []struct {
		p          modelfile.RowPrediction
		text, json string
	}{
		{modelfile.RowPrediction{Value: 2.5}, "2.5", `{"value":2.5}`},
		{modelfile.RowPrediction{Value: 1, Class: "yes"}, "yes", `{"value":1,"class":"yes"}`},
		{modelfile.RowPrediction{Class: "no", Probabilities: map[string]float64{"no": 0.8125, "yes": 0.1875}}, "no (0.812)",
			`{"value":0,"class":"no","probabilities":{"no":0.8125,"yes":0.1875}}`},
	} {
		if got := fmt.Sprint(c.p); got != c.text {
			t.Errorf("%+v printed as %s", c.p, got)
		}
		if got, err := json.Marshal(c.p); err != nil || string(got) != c.json {
			t.Errorf("as JSON %s, %v, want %s", got, err, c.json)
		}
	}
}

// A Model that is none is an error.
func TestEncodeWithoutPipeline(t *testing.T) {
	if _, err := new(modelfile.Model).PredictRows(ctx, []map[string]any{{"x0": 1}}); err == nil ||
		!strings.Contains(err.Error(), "no fitted pipeline") {
		t.Errorf("error %v", err)
	}
}
