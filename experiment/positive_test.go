package experiment

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
)

// Scores of two classes name the positive class, everywhere.
func TestPositive(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", complete(90, func(i int) string { return []string{"no", "yes", "yes"}[i*i%7%3] }))
	put(t, "three.csv", complete(90, func(i int) string { return []string{"a", "b", "c"}[i%3] }))
	const rest = "}\npipeline: [standardize, logistic]\nsearch: {grid: {logistic.C: [0.1, 1]}, folds: 3, score: " +
		"f1}\noutput: {dir: out}\n"
	f1 := map[string]float64{}
	for want, key := range map[string]string{"yes": "", "no": ", positive: no"} {
		r := execute(t, spec(t, "data: {train: rows.csv, target: y, drop: [c]"+key+rest))
		text, err := os.ReadFile("out/result.json")
		if err != nil {
			t.Fatal(err)
		}
		if r.Positive != want || !strings.Contains(string(text), `"positive": "`+want+`"`) {
			t.Errorf("the positive class of the result is %q, want %q:\n%s", r.Positive, want, text)
		}
		f1[want] = r.Train["f1"]
		e, err := Evaluate(context.Background(), "out/model.bochner", "rows.csv", Options{})
		if err != nil || e.Positive != want || e.Scores["f1"] != r.Train["f1"] {
			t.Errorf("the positive class of evaluate is %q, want %q: %+v %v", e.Positive, want, e.Scores, err)
		}
		m, err := Inspect("out/model.bochner")
		if err != nil || m.Positive != want {
			t.Errorf("the positive class of inspect is %q, want %q: %v", m.Positive, want, err)
		}
		table, err := os.ReadFile("out/cv_results.csv")
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(table)), "\n")
		if !strings.HasSuffix(lines[0], ",positive") || !strings.HasSuffix(lines[1], ","+want) {
			t.Errorf("the positive class of the table must be %q:\n%s", want, table)
		}
	}
	if f1["yes"] == f1["no"] {
		t.Error("the score of one class is that of the other")
	}
	r := execute(t, spec(t, "data: {train: three.csv, target: y, drop: [c]}\npipeline: [standardize, logistic]\n"))
	if r.Positive != "" {
		t.Errorf("of three classes %q is positive", r.Positive)
	}
}

// The other of two classes keeps its name in predictions, and a third one in the test file is an error.
func TestPositiveKeepsTheOtherName(t *testing.T) {
	t.Chdir(t.TempDir())
	names := []string{"Yes", "No", "No"}
	put(t, "rows.csv", complete(90, func(i int) string { return names[i*i%7%3] }))
	put(t, "other.csv", complete(90, func(i int) string { return []string{"Yes", "No", "Maybe"}[i%3] }))
	const data = "data: {train: rows.csv, target: y, drop: [c], positive: Yes"
	r := execute(t, spec(t, data+"}\npipeline: [standardize, logistic]\noutput: {dir: out}\n"))
	m, err := Inspect("out/model.bochner")
	if err != nil || r.Positive != "Yes" || !slices.Equal(m.Classes, []string{"No", "Yes"}) {
		t.Errorf("classes %q, positive %q: %v", m.Classes, r.Positive, err)
	}
	e, err := Evaluate(context.Background(), "out/model.bochner", "rows.csv", Options{})
	if err != nil || e.Scores["accuracy"] != r.Train["accuracy"] {
		t.Errorf("evaluate: %v, want %v: %v", e.Scores, r.Train, err)
	}
	_, err = Parse(context.Background(), "spec.yaml",
		[]byte(data+", test: other.csv}\npipeline: [standardize, logistic]\n"))
	if err == nil || !strings.Contains(err.Error(), "Maybe") {
		t.Errorf("a third class in the test rows: %v", err)
	}
}
