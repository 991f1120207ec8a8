package experiment

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestPartsOfDatesAreOneColumn checks that kernels, ard and the relevance treat the parts of dates as the column of
// dates, before fitting, in a run and in its model file.
func TestPartsOfDatesAreOneColumn(t *testing.T) {
	t.Chdir(t.TempDir())
	var text strings.Builder
	text.WriteString("hired,age,y\n")
	for i := range 90 {
		fmt.Fprintf(&text, "20%02d-%02d-11,%d,%.2f\n", i%20, 1+i*7%12, 20+i*13%40, float64(i%20)+float64(i*13%40)/10)
	}
	put(t, "rows.csv", text.String())
	const data = "data: {train: rows.csv, target: \"y\", dates: {hired: [elapsed, month]}, split: {test: 0.2}}\n" +
		"pipeline:\n  - columns: {groups: [{select: numeric, steps: [impute, standardize]}]}\n"
	for name, rest := range map[string]string{
		"ard": "  - ard: {groups: origin, steps: 5}\n  - ridge\n",
		"krr": "  - kernel_ridge: {kernel: {product: [{columns: hired, kernel: laplacian, gamma: 0.5}, {columns: age, " +
			"kernel: gaussian}]}, alpha: 0.1}\n",
		"sum": "  - kernel_ridge: {kernel: {sum: [{product: [{columns: hired, kernel: laplacian, gamma: 0.5}]}, {product: " +
			"[{columns: age, kernel: gaussian}]}]}, alpha: 0.1}\n",
		"one": "  - kernel_ridge: {kernel: {product: [{columns: hired_month, kernel: laplacian, gamma: 0.5}, " +
			"{columns: rest, kernel: gaussian}]}, alpha: 0.1}\n",
	} {
		put(t, "spec.yaml", data+rest)
		if _, err := (LoadOptions{All: true}).Load(t.Context(), "spec.yaml"); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		execute(t, spec(t, data+rest, set("output.dir", name)))
		m, err := Inspect(name + "/model.bochner")
		if err != nil {
			t.Fatal(err)
		}
		if c := m.Columns[0]; c.Name != "hired_elapsed" || len(m.Columns) != 3 {
			t.Errorf("%s: columns %+v", name, m.Columns)
		}
		var names []string
		for _, r := range m.Relevance {
			for _, in := range r.Inputs {
				names = append(names, in.Name)
			}
		}
		if got := strings.Join(names, " "); (name == "ard" || name == "sum") && got != "hired age" && got != "age hired" {
			t.Errorf("%s: relevance of %q, want hired and age", name, got)
		}
		var out bytes.Buffer
		if _, err := Predict(context.Background(), name+"/model.bochner", "rows.csv", &out, Options{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		e, err := Explain(t.Context(), name+"/model.bochner", "rows.csv", Options{})
		if err != nil || !slices.Equal(e.Inputs, []string{"hired", "age"}) || e.Data[0].Values[1] != 11545 {
			t.Errorf("%s: explanation of %v, %v", name, e.Inputs, err)
		}
	}
}

// TestEncodingsOfOneColumn checks that the words and the character sequences of one column have kernels and scales of
// their own, also of hashed terms, by the names of the groups that encode it.
func TestEncodingsOfOneColumn(t *testing.T) {
	t.Chdir(t.TempDir())
	var text strings.Builder
	text.WriteString("title,team,age,y\n")
	for i := range 90 {
		title := []string{"senior ", "junior ", "lead "}[i%3] + []string{"engineer", "nurse", "clerk"}[i*7%5%3]
		fmt.Fprintf(&text, "%s,%s,%d,%.2f\n", title, []string{"red one", "blue two", "blue one"}[i*11%7%3], 20+i*13%40,
			float64(i%3)+float64(i*13%40)/10)
	}
	put(t, "rows.csv", text.String())
	const data = "data: {train: rows.csv, target: \"y\", kinds: {title: text, team: text}, split: {test: 0.2}}\n" +
		"pipeline:\n  - columns:\n      groups:\n" +
		"        - {select: [title, team], steps: [{tfidf: {hashing: 64}}], name: words}\n" +
		"        - {select: title, steps: [{tfidf: {analyzer: char_wb, ngrams: [2, 3], indicator: true}}], name: chars}\n" +
		"        - {select: age, steps: [standardize]}\n"
	const product = "kernel: {product: [{columns: team, gamma: 0.1}, {columns: chars, gamma: 0.2}, " +
		"{columns: words, gamma: 0.1}, {columns: numeric, kernel: laplacian}]}"
	for _, c := range []struct{ name, steps, problem string }{
		{"overlap", "  - kernel_ridge: {" + product + "}\n", "column team must be in one term"},
		{"none", "  - kernel_ridge: {kernel: {product: [{columns: char}, {columns: rest}]}}\n", "did you mean chars"},
		{"krr", "  - kernel_ridge: {kernel: {product: [{columns: chars, gamma: 0.2}, {columns: words, gamma: 0.1}, " +
			"{columns: numeric, kernel: laplacian}]}}\n", ""},
		{"sum", "  - kernel_ridge: {kernel: {sum: [{product: [{columns: title}]}, {product: [{columns: chars}]}, " +
			"{product: [{columns: rest}]}]}}\n", ""},
		{"ard", "  - ard: {solve: coordinate, groups: origin, kernel: {product: [{columns: chars, kernel: gaussian}, " +
			"{columns: words, kernel: gaussian}, {columns: rest, kernel: laplacian}]}}\n  - ridge\n", ""},
	} {
		put(t, "spec.yaml", data+c.steps)
		_, err := LoadOptions{All: true}.Load(t.Context(), "spec.yaml")
		if c.problem != "" {
			if err == nil || !strings.Contains(err.Error(), c.problem) {
				t.Errorf("%s: %v, want %s", c.name, err, c.problem)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		execute(t, spec(t, data+c.steps, set("output.dir", c.name)))
		m, err := Inspect(c.name + "/model.bochner")
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, r := range m.Relevance {
			for _, in := range r.Inputs {
				names = append(names, in.Name)
			}
		}
		slices.Sort(names)
		want := map[string]string{"ard": "age; team; title (chars); title (words)", "sum": "team, age; title; title (chars)"}
		if got := strings.Join(names, "; "); got != want[c.name] {
			t.Errorf("%s: inputs %s, want %s", c.name, got, want[c.name])
		}
	}
}
