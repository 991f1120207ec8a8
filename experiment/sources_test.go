package experiment

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
)

// towns returns rows of towns with diacritics and an amount, with the given decimal mark.
func towns(mark string) string {
	var b strings.Builder
	b.WriteString("town;amount;y\n")
	for i := range 120 {
		town := []string{"Köln", "Zürich", "Ulm"}[i%3]
		fmt.Fprintf(&b, "%s;%d%s5;%s\n", town, i%7, mark, []string{"no", "yes"}[i%3%2])
	}
	return b.String()
}

// The same rows in another encoding or with another decimal mark have the same predictions.
func TestRowsInOtherEncodings(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", latin1(towns(".")))
	execute(t, spec(t, `
data: {train: rows.csv, target: y, csv: {encoding: latin-1, delimiter: ";"}}
pipeline:
  - columns: [{select: numeric, steps: [standardize]}, {select: categorical, steps: [onehot]}]
  - logistic
output: {dir: out}
`))
	predict := func(text string, o Options) (string, Predicted, string) {
		t.Helper()
		var out, warnings strings.Builder
		o.OnWarning = func(text string) { warnings.WriteString(text + "\n") }
		put(t, "new.csv", text)
		done, err := Predict(context.Background(), "out", "new.csv", &out, o)
		if err != nil {
			t.Fatalf("%+v: %v", o, err)
		}
		return out.String(), done, warnings.String()
	}
	want, _, warnings := predict(latin1(towns(".")), Options{})
	if warnings != "" {
		t.Errorf("training rows: %s", warnings)
	}
	for _, c := range []struct {
		name, text string
		options    Options
	}{
		{"UTF-8 with a mark", "\ufeff" + towns("."), Options{}},
		{"UTF-16 with a mark", utf16le(towns(".")), Options{}},
		{"UTF-8 by the option", towns("."), Options{Encoding: "utf-8"}},
		{"a mark and another option", "\ufeff" + towns("."), Options{Encoding: "windows-1252"}},
		{"a decimal comma", latin1(towns(",")), Options{Decimal: ","}},
		{"padded", latin1(strings.ReplaceAll(towns("."), ";", " ; ")), Options{}},
	} {
		if got, _, warnings := predict(c.text, c.options); got != want || warnings != "" {
			t.Errorf("%s: other predictions; %s", c.name, warnings)
		}
	}
	_, done, warnings := predict(towns("."), Options{})
	if done.Rows != 120 || len(done.UnknownCategories) != 1 || done.UnknownCategories["town"] != 80 {
		t.Errorf("%+v, must be 80 unknown towns", done)
	}
	if want := "unknown categories, which the training rows do not have: \"town\" in 80 of 120 rows\n"; warnings != want {
		t.Errorf("warned %q, must be %q", warnings, want)
	}
	evaluation, err := Evaluate(context.Background(), "out", "new.csv", Options{})
	if err != nil || evaluation.UnknownCategories["town"] != 80 {
		t.Errorf("%v, %v", evaluation.UnknownCategories, err)
	}
	explained, err := Explain(context.Background(), "out", "new.csv", Options{})
	if err != nil || explained.UnknownCategories["town"] != 80 {
		t.Errorf("%v, %v", explained.UnknownCategories, err)
	}
}

// Strings of typed files may be padded with blanks, which readers of text trim.
func TestPaddedCategories(t *testing.T) {
	t.Chdir(t.TempDir())
	lines := func(format string) string {
		var b strings.Builder
		for i := range 60 {
			fmt.Fprintf(&b, format+"\n", []string{"Köln", "Ulm"}[i%2], i, []string{"no", "yes"}[i%2])
		}
		return b.String()
	}
	csv, plain, padded := "town,n,y\n"+lines("%s,%d,%s"), lines(`{"town":"%s","n":%d,"y":"%s"}`),
		lines(`{"town":"%s  ","n":%d,"y":"%s"}`)
	for train, text := range map[string]string{"rows.csv": csv, "rows.jsonl": padded} {
		put(t, train, text)
		execute(t, spec(t, `
data: {train: `+train+`, target: y}
pipeline:
  - columns: [{select: numeric, steps: [standardize]}, {select: categorical, steps: [onehot]}]
  - logistic
output: {dir: `+train[5:]+`}
`))
		for name, text := range map[string]string{"new.csv": csv, "plain.jsonl": plain, "padded.jsonl": padded} {
			put(t, name, text)
			var out strings.Builder
			done, err := Predict(context.Background(), train[5:], name, &out, Options{})
			if err != nil || done.UnknownCategories != nil || done.Rows != 60 {
				t.Errorf("trained on %s, %s: %+v, %v", train, name, done, err)
			}
		}
	}
}

// A model reads the files that its run reads: names of columns replace a header with duplicates.
func TestColumnsReplaceTheHeader(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", "a,a,y\n"+strings.Repeat("1,2,3\n4,5,6\n2,2,4\n", 20))
	execute(t, spec(t, `
data: {train: rows.csv, target: y, task: regression, csv: {header: true, columns: [p, q, y]}}
pipeline: [standardize, ridge]
output: {dir: out}
`))
	predict := func(text string) (string, error) {
		var out strings.Builder
		put(t, "new.csv", text)
		_, err := Predict(context.Background(), "out", "new.csv", &out, Options{})
		return out.String(), err
	}
	want, err := predict("a,a,y\n1,2,3\n4,5,6\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"a,a\n1,2\n4,5\n", "q,y,p\n2,3,1\n5,6,4\n", "a,b,c\n1,2,3\n4,5,6\n"} {
		got, err := predict(text)
		if err != nil || fmt.Sprint(cut(t, got, "prediction")) != fmt.Sprint(cut(t, want, "prediction")) {
			t.Errorf("%q: %v\n%s", text, err, got)
		}
	}
	if _, err := Evaluate(context.Background(), "out", "rows.csv", Options{}); err != nil {
		t.Error(err)
	}
	if _, err := Explain(context.Background(), "out", "rows.csv", Options{}); err != nil {
		t.Error(err)
	}
}

// An error about columns suggests the delimiter of the file.
func TestDelimiterIsSuggested(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", "x;g;y\n"+strings.Repeat("1;r;3\n4;g;6\n2;b;4\n", 20))
	const pipe = "pipeline: [{columns: [{select: categorical, steps: [onehot]}]}, ridge]\noutput: {dir: out}\n"
	const data = "data: {train: rows.csv, target: y, task: regression, csv: {delimiter: \";\"}}\n"
	execute(t, spec(t, data+pipe))
	put(t, "new.csv", "x,g,y\n1,r,3\n4,g,6\n")
	_, err := Predict(context.Background(), "out", "new.csv", io.Discard, Options{})
	if want := "the fields seem to be separated by \",\": use --delimiter \",\""; err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("%v, must contain %s", err, want)
	}
	if done, err := Predict(context.Background(), "out", "new.csv", io.Discard, Options{Delimiter: ","}); err != nil ||
		done.Rows != 2 {
		t.Errorf("%+v, %v", done, err)
	}
	put(t, "spec.yaml", strings.Replace(data, ";", ",", 1)+pipe)
	if _, err := (LoadOptions{All: true}).Load(context.Background(), "spec.yaml"); err == nil ||
		!strings.Contains(err.Error(), `the fields seem to be separated by ";": set data.csv.delimiter`) {
		t.Errorf("validate: %v", err)
	}
}

// Invalid rows are listed in an error, or skipped with their reasons.
func TestInvalidRows(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", "x,g,y\n"+strings.Repeat("1,r,3\n4,g,6\n2,b,4\n", 20))
	execute(t, spec(t, `
data: {train: rows.csv, target: y, task: regression}
pipeline: [{columns: [{select: numeric, steps: [standardize]}, {select: categorical, steps: [onehot]}]}, ridge]
output: {dir: out}
`))
	ctx := context.Background()
	put(t, "new.csv", "x,g\n1,r\ntwo,r\n4,g\n4,g,6\n,b\n2,b\"x\n2,\xff\n2,b\n")
	reasons := []string{`column x: "two" is not a number`, "number of fields must be 2, got 3",
		"row 4, column x: missing value",
		`" inside of a field`, "column g: must be utf-8"}
	for name, input := range map[string]io.Reader{"new.csv": nil, "-": strings.NewReader(written(t, "new.csv"))} {
		var out strings.Builder
		_, err := Predict(ctx, "out", name, &out, Options{Input: input})
		for _, want := range append(reasons, "5 invalid rows; --skip-invalid FILE") {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: no %q in %v", name, want, err)
			}
		}
	}
	var want, got strings.Builder
	put(t, "good.csv", "x,g\n1,r\n4,g\n2,b\n")
	if _, err := Predict(ctx, "out", "good.csv", &want, Options{}); err != nil {
		t.Fatal(err)
	}
	warning := ""
	done, err := Predict(ctx, "out", "new.csv", &got, Options{SkipInvalid: "bad.csv",
		OnWarning: func(w string) { warning = w }})
	if err != nil || done.Rows != 3 || done.Skipped != 5 ||
		warning != "5 of 8 rows are invalid and have no prediction; their reasons are in bad.csv" {
		t.Errorf("%+v, %v, %q", done, err, warning)
	}
	if rows := fmt.Sprint(cut(t, got.String(), "row")); rows != "[0 2 7]" {
		t.Errorf("rows %s have predictions", rows)
	}
	if a, b := cut(t, got.String(), "prediction"), cut(t, want.String(), "prediction"); fmt.Sprint(a) != fmt.Sprint(b) {
		t.Errorf("predictions %v, without invalid rows %v", a, b)
	}
	bad := written(t, "bad.csv")
	for _, line := range []string{"row,file,line,reason\n", "1,new.csv,3,", "3,new.csv,5,", "4,,,", "5,new.csv,7,",
		"6,new.csv,8,"} {
		if !strings.Contains(bad, line) {
			t.Errorf("no %q in\n%s", line, bad)
		}
	}
	put(t, "many.csv", "x,g\n"+strings.Repeat("no,r\n1,r\n", 30))
	if _, err := Predict(ctx, "out", "many.csv", io.Discard, Options{}); err == nil ||
		strings.Count(err.Error(), "\n") != 20 ||
		!strings.Contains(err.Error(), "many.csv:40:") || strings.Contains(err.Error(), "many.csv:42:") {
		t.Errorf("30 invalid rows: %v", err)
	}
	put(t, "new.jsonl", `{"x":1,"g":"r"}`+"\n"+`{"x":"a","g":"r"}`+"\n"+`{"x":1,`+"\n"+`{"x":2,"g":"b"}`+"\n")
	if done, err = Predict(ctx, "out", "new.jsonl", io.Discard, Options{SkipInvalid: "bad.csv"}); err != nil ||
		done.Rows != 2 || done.Skipped != 2 {
		t.Errorf("JSON lines: %+v, %v", done, err)
	}
}

// Predictions are written as CSV or JSON, by the extension; other formats are refused.
func TestFormatOfPredictions(t *testing.T) {
	modelOf(t, class, ", drop: [w, g]")
	ctx := context.Background()
	want := predicted(t, "rows.csv", Options{Keep: []string{"c"}})
	done, err := Options{Keep: []string{"c"}}.PredictFile(ctx, "model", "rows.csv", "p.json")
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Predictions []map[string]any
		Rows        int
	}
	if err := json.Unmarshal([]byte(written(t, "p.json")), &got); err != nil || got.Rows != done.Rows ||
		len(got.Predictions) != 120 {
		t.Fatalf("%v, %d rows, %d predictions", err, got.Rows, len(got.Predictions))
	}
	for _, name := range strings.Split(strings.SplitN(want, "\n", 2)[0], ",") {
		for i, text := range cut(t, want, name) {
			if fmt.Sprint(got.Predictions[i][name]) != text {
				t.Fatalf("row %d: %s is %v, want %s", i, name, got.Predictions[i][name], text)
			}
		}
	}
	for _, name := range []string{"p.parquet", "p.jsonl", "p.csv.gz"} {
		if _, err := (Options{}).PredictFile(ctx, "model", "rows.csv", name); err == nil ||
			!strings.Contains(err.Error(), "predictions must be a .csv or .json file, got "+name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
