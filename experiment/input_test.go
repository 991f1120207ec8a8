package experiment

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/experiment/internal/scaffold"
)

// TestStandardInput checks that standard input can be used for training, testing and inspection
// like a file, in every format.
func TestStandardInput(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx := context.Background()
	rows := sample(300, class)
	put(t, "rows.csv", rows)
	put(t, "rows.jsonl", asJSON(t, rows, "?"))
	put(t, "rows.tsv", strings.ReplaceAll(rows, ",", "\t"))
	put(t, "test.csv", sample(60, class))
	put(t, "spec.yaml", "name: same\ndata: {train: rows.csv, test: test.csv, target: y, drop: [w, g], csv: {missing: "+
		"'?'}}\n"+
		"pipeline: [{columns: [{select: numeric, steps: [{impute: {}}, standardize]}, {select: categorical, steps: "+
		"[onehot]}]}, logistic]\noutput: {dir: out}\n")
	s, err := Load(ctx, "spec.yaml")
	if err != nil {
		t.Fatal(err)
	}
	execute(t, s)
	want := written(t, "out/predictions.csv")
	for path, names := range map[string][]string{"data.train": {"rows.csv", "rows.jsonl", "rows.tsv"},
		"data.test": {"test.csv"}} {
		for _, name := range names {
			o := LoadOptions{Overrides: []Override{set(path, "-"), set("output.dir", "again")},
				Input: strings.NewReader(written(t, name)), All: true}
			s, err := o.Load(ctx, "spec.yaml")
			if err != nil {
				t.Errorf("%s from %s: %v", path, name, err)
				continue
			}
			r := execute(t, s)
			if written(t, "again/predictions.csv") != want || len(r.SHA256.Train) != 64 {
				t.Errorf("%s from %s: other predictions", path, name)
			}
			if text := written(t, "again/spec.yaml"); !strings.Contains(text, strings.TrimPrefix(path, "data.")+": '-'") {
				t.Errorf("%s from %s is written as\n%s", path, name, text)
			}
			if p, err := NewPlan(ctx, s); err != nil || p.Rows != r.Rows {
				t.Errorf("a plan of %v, %v", p.Rows, err)
			}
		}
	}
	for input, wrong := range map[string]string{
		"":             "spec.yaml:2:8: data.train: standard input is empty",
		rows + "1,2\n": "standard input:302: number of fields must be 6, got 2",
		"{\"a\":1,\"y\":\"no\"}\n{\"a\":[1]}\n": "standard input:2: column a: must be a number, a string, true, false or " +
			"null, got an object or an array; exclude it with data.drop (Roles.Drop in Go)",
	} {
		_, err := LoadOptions{Overrides: []Override{set("data.train", "-"), set("data.test", "null"),
			set("data.drop", "[]")}, Input: strings.NewReader(input)}.Load(ctx, "spec.yaml")
		if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), "--set: ", "spec.yaml:2:8: "), wrong) {
			t.Errorf("%.30q: %v, want %s", input, err, wrong)
		}
	}
	// Whose experiment is wrong need not send the rows.
	silent, _, err := os.Pipe()
	if err != nil {
		t.Skip(err)
	}
	defer silent.Close()
	if _, err := (LoadOptions{Overrides: []Override{set("data.train", "-"), set("logistic.C", "-1")},
		Input: silent}).Load(ctx, "spec.yaml"); err == nil {
		t.Error("no error")
	}
	draft, err := scaffold.Experiment(ctx, "-", scaffold.Options{Target: "y", Input: strings.NewReader(rows)})
	if err != nil || !strings.Contains(string(draft), "train: '-'") ||
		!strings.Contains(string(draft), "on standard input: 300 rows") || !strings.Contains(string(draft), "name: rows\n") {
		t.Errorf("%v\n%s", err, draft)
	}
	found, err := Auto(ctx, "-", AutoOptions{Target: "y", Input: strings.NewReader(rows), Candidates: 2, Dir: "found"})
	if err != nil || found.Rows.Train+found.Rows.Test != 300 {
		t.Error(found.Rows, err)
	}
}

// TestInputAtAnyPlace checks that formats that require random access can be read from standard
// input.
func TestInputAtAnyPlace(t *testing.T) {
	ctx := context.Background()
	from := func(name string) string {
		text, err := os.ReadFile("../datasets/" + name)
		if err != nil {
			t.Skip(err)
		}
		return string(text)
	}
	plain, npz := from("parquet/testdata/plain.parquet"), from("npy/testdata/stored.npz")
	t.Chdir(t.TempDir())
	put(t, "rows.parquet", plain)
	put(t, "rows.npz", npz)
	for _, name := range []string{"rows.parquet", "rows.npz"} {
		draft, err := scaffold.Experiment(ctx, name, scaffold.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := Parse(ctx, "draft.yaml", draft, set("search", "null"), set("output.dir", "out"), set("data.split", "null"))
		if err != nil {
			t.Fatalf("%v\n%s", err, draft)
		}
		execute(t, s)
		var want, got bytes.Buffer
		if _, err := Predict(ctx, "out/model.bochner", name, &want, Options{}); err != nil {
			t.Fatal(err)
		}
		if _, err := Predict(ctx, "out/model.bochner", "-", &got, Options{Input: strings.NewReader(written(t,
			name))}); err != nil || got.String() != want.String() {
			t.Errorf("%s: %v\n%.200s", name, err, fmt.Sprint(got.String()))
		}
	}
}
