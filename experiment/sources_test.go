package experiment

import (
	"context"
	"fmt"
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
