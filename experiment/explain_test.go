package experiment

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/experiment/report"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/inspection"
)

// The values of a row and the base sum to the prediction; the background is the training rows of the run, or a file.
func TestExplain(t *testing.T) {
	modelOf(t, class, ", drop: [w, g]")
	ctx := context.Background()
	drop := Options{Drop: []string{"w", "g"}}
	_, err := Explain(ctx, "model", "rows.csv", drop)
	if want := "cannot read the training rows of model: no spec.yaml in its directory; use --background-file FILE"; err ==
		nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	if err := os.Rename("model", "out/model.bochner"); err != nil {
		t.Fatal(err)
	}
	all, err := Explain(ctx, "out", "rows.csv", drop)
	if err != nil {
		t.Fatal(err)
	}
	if all.Method != inspection.MethodExact || !slices.Equal(all.Inputs, []string{"a", "b", "c"}) || len(all.Outputs) != 1 ||
		len(all.Outputs[0].Values) != 120 || len(all.Partners) != 1 || all.BackgroundFrom != "training rows" {
		t.Fatalf("%+v", all)
	}
	if all.Data[2].String(0) != "red" || all.Data[0].String(3) != "3" || all.Data[1].String(3) != "missing" {
		t.Errorf("data: %+v", all.Data)
	}
	drop.Explain = &ExplainOptions{BackgroundFile: "rows.csv"}
	same, err := Explain(ctx, "out", "rows.csv", drop)
	if err != nil || same.Outputs[0].Base != all.Outputs[0].Base {
		t.Errorf("%v: base %v, want %v", err, same.Outputs[0].Base, all.Outputs[0].Base)
	}
	drop.Explain = &ExplainOptions{Background: 5, KMeans: true, Method: inspection.MethodSampling}
	few, err := Explain(ctx, "out", "rows.csv", drop)
	if err != nil || few.ShapleyValues.Background != 5 || few.Outputs[0].StdErrors == nil || few.Partners != nil {
		t.Errorf("%v: %d background rows", err, few.ShapleyValues.Background)
	}
	var text bytes.Buffer
	if err := report.WriteExplanation(&text, "csv", few); err != nil {
		t.Fatal(err)
	}
	table, err := csv.NewReader(&text).ReadAll()
	if err != nil || len(table) != 121 || strings.Join(table[0], ",") !=
		"row,output,prediction,base,a,b,c,a_std_error,b_std_error,c_std_error" || table[7][0] != "6" || table[7][1] != "yes" {
		t.Fatalf("%v %v", err, table[:2])
	}
	for _, line := range table[1:] {
		sum := parsed(t, line[3]) + parsed(t, line[4]) + parsed(t, line[5]) + parsed(t, line[6])
		if prediction := parsed(t, line[2]); math.Abs(sum-prediction) > 1e-9 {
			t.Errorf("row %s: %v, want %v", line[0], sum, prediction)
		}
	}
}

// Files have the format of their extension.
func TestExplainFile(t *testing.T) {
	modelOf(t, class, ", drop: [w, g]")
	ctx := context.Background()
	o := Options{Drop: []string{"w", "g"}, Explain: &ExplainOptions{BackgroundFile: "rows.csv", Background: 10}}
	for out, want := range map[string]string{"x.csv": "row,output", "x.JSON": "{", "x.html": "<!DOCTYPE html>",
		"x.npz": "PK"} {
		if _, err := o.ExplainFile(ctx, "model", "rows.csv", out); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(out); err != nil || !strings.HasPrefix(string(text), want) {
			t.Errorf("%s: %v %.40s", out, err, text)
		}
	}
	var read result.Explanation
	text, _ := os.ReadFile("x.JSON")
	if err := json.Unmarshal(text, &read); err != nil || len(read.Outputs[0].Values) != 120 {
		t.Errorf("%v %.200s", err, text)
	}
	z, err := zip.OpenReader("x.npz")
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for k, want := range []string{"values.npy '<f8' (120, 3)", "base_values.npy '<f8' (120,)", "data.npy '<f8' (120, 3)",
		"feature_names.npy '<U1' (3,)"} {
		r, _ := z.File[k].Open()
		all, _ := io.ReadAll(r)
		name, rest, _ := strings.Cut(want, " ")
		kind, shape, _ := strings.Cut(rest, " ")
		if head := string(all[:128]); z.File[k].Name != name || !strings.Contains(head, kind) ||
			!strings.Contains(head, "'shape': "+shape) {
			t.Errorf("%s: %q, want %s", z.File[k].Name, head, want)
		}
	}
	for out, want := range map[string]string{"x.png": ".csv, .json, .html or .npz", "rows.csv": "is an input"} {
		if _, err := o.ExplainFile(ctx, "model", "rows.csv", out); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", out, err, want)
		}
	}
}

// Predictions can have a base and a value for each input.
func TestPredictExplains(t *testing.T) {
	modelOf(t, class, ", drop: [w, g]")
	o := Options{Drop: []string{"w", "g"}, Explain: &ExplainOptions{BackgroundFile: "rows.csv"}}
	text := predicted(t, "rows.csv", o)
	lines := strings.Split(text, "\n")
	if want := "row,truth,prediction,probability_no,probability_yes,explained,base,shapley_a,shapley_b,shapley_c"; lines[0] != want {
		t.Fatalf("%s, want %s", lines[0], want)
	}
	for _, line := range lines[1:121] {
		f := strings.Split(line, ",")
		p := parsed(t, f[4])
		score := math.Log(p / (1 - p))
		sum := parsed(t, f[6]) + parsed(t, f[7]) + parsed(t, f[8]) + parsed(t, f[9])
		if math.Abs(sum-score) > 1e-6*math.Max(1, math.Abs(score)) {
			t.Errorf("%s: score %v, sum %v", line, score, sum)
		}
		if explained := parsed(t, f[5]); math.Abs(sum-explained) > 1e-9*math.Max(1, math.Abs(score)) {
			t.Errorf("%s: explained %v, sum %v", line, explained, sum)
		}
	}
}
