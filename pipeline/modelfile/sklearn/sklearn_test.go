// Package sklearn_test reads a model file that bochner_sklearn.py has converted from a scikit-learn
// pipeline, without Python: `python check.py … --keep` writes the files of testdata. check.sh
// compares many pipelines.
package sklearn_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/bochner-ml/bochner"
	"github.com/bochner-ml/bochner/experiment"
)

const (
	model = "testdata/adult.bochner"
	rows  = "testdata/rows.csv" // some values missing, some categories unknown
)

// tolerance is the maximum difference of probabilities.
const tolerance = 1e-9

// got is the output of scikit-learn for the rows.
type got struct {
	Labels        []string
	Probabilities [][]float64
}

func readSaid(t *testing.T) (out got) {
	t.Helper()
	text, err := os.ReadFile("testdata/predictions.json")
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil || len(out.Labels) != 60 || len(out.Probabilities) != 60 {
		t.Fatalf("%d labels: %v", len(out.Labels), err)
	}
	return out
}

// readCSV returns the lines of a file.
func readCSV(t *testing.T, text []byte) [][]string {
	t.Helper()
	lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// TestPredictions checks that the command predicts the same as scikit-learn.
func TestPredictions(t *testing.T) {
	want := readSaid(t)
	var out bytes.Buffer
	if got, err := experiment.Predict(context.Background(), model, rows, &out, experiment.Options{}); err != nil ||
		got.Rows != len(want.Labels) {
		t.Fatalf("%d rows: %v", got.Rows, err)
	}
	lines := readCSV(t, out.Bytes())
	for i, line := range lines[1:] { // row, truth, prediction, probability_<=50K, probability_>50K
		if line[2] != want.Labels[i] {
			t.Errorf("row %d is %s, want %s", i, line[2], want.Labels[i])
		}
		for k, p := range want.Probabilities[i] {
			if v, err := strconv.ParseFloat(line[3+k], 64); err != nil || math.Abs(v-p) > tolerance {
				t.Errorf("row %d: %s is %s, want %v", i, lines[0][3+k], line[3+k], p)
			}
		}
	}
}

// So does a program in Go, with rows by the names of their columns, also by a file that it has written again.
func TestPredictionsOfNamedRows(t *testing.T) {
	want := readSaid(t)
	text, err := os.ReadFile(rows)
	if err != nil {
		t.Fatal(err)
	}
	lines := readCSV(t, text)
	var named []map[string]any
	for _, line := range lines[1:] {
		row := map[string]any{}
		for j, name := range lines[0] {
			if row[name] = line[j]; line[j] == "" {
				row[name] = nil
			}
		}
		delete(row, "income")
		named = append(named, row)
	}
	opened, err := bochner.Open(model)
	if err != nil {
		t.Fatal(err)
	}
	again := filepath.Join(t.TempDir(), "again.bochner")
	if err := opened.Save(again); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{model, again} {
		m, err := bochner.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		answers, err := m.PredictRows(context.Background(), named)
		if err != nil {
			t.Fatal(err)
		}
		for i, a := range answers {
			if a.Class != want.Labels[i] || math.Abs(a.Probabilities[">50K"]-want.Probabilities[i][1]) > tolerance {
				t.Errorf("%s: row %d is %v, want %s with %v", path, i, a, want.Labels[i], want.Probabilities[i])
			}
		}
	}
}

// The file declares its origin, columns and outputs, and can be evaluated like any other.
func TestInspectAndEvaluate(t *testing.T) {
	m, err := experiment.Inspect(model)
	if err != nil {
		t.Fatal(err)
	}
	if m.Versions.ScikitLearn == "" || m.Targets[0] != "income" || len(m.Columns) != 13 ||
		m.Columns[1].Kind != "categorical" || len(m.Columns[1].Levels) == 0 {
		t.Errorf("the model is %+v", m)
	}
	want := readSaid(t)
	text, err := os.ReadFile(rows)
	if err != nil {
		t.Fatal(err)
	}
	right := 0.0
	for i, line := range readCSV(t, text)[1:] {
		if line[len(line)-1] == want.Labels[i] {
			right++
		}
	}
	e, err := experiment.Evaluate(context.Background(), model, rows, experiment.Options{})
	if err != nil || math.Abs(e.Scores["accuracy"]-right/float64(len(want.Labels))) > tolerance {
		t.Errorf("accuracy %v, want %v of %d: %v", e.Scores["accuracy"], right, len(want.Labels), err)
	}
}

// TestImports checks that the module imports only Python, numpy and scikit-learn with its
// dependencies.
func TestImports(t *testing.T) {
	text, err := os.ReadFile("bochner_sklearn.py")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{"numpy": true, "sklearn": true, "joblib": true}
	for _, name := range []string{"argparse", "csv", "hashlib", "io", "json", "math", "os", "re", "struct", "sys",
		"tempfile", "warnings", "zipfile"} {
		known[name] = true
	}
	_, text, _ = bytes.Cut(text[3:], []byte(`"""`)) // after the module's docstring
	found := regexp.MustCompile(`(?m)^\s*(?:import|from) (\w+)`).FindAllSubmatch(text, -1)
	if len(found) < len(known) {
		t.Errorf("%d imports found", len(found))
	}
	for _, m := range found {
		if !known[string(m[1])] {
			t.Errorf("it imports %s", m[1])
		}
	}
}
