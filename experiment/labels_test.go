package experiment

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// labelRows writes the same labels as columns, and as lists in one column.
func labelRows(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	columns, lists := "x,z,sweet,ripe\n", "x,z,tags\n"
	for i := range 200 {
		x, z := math.Sin(float64(7*i)), math.Cos(float64(5*i))
		var tags []string
		sweet, ripe := 0, "no"
		if x+0.3*math.Sin(float64(31*i)) > 0 {
			sweet, tags = 1, append(tags, "sweet")
		}
		if x*z > 0 {
			ripe, tags = "yes", append(tags, "ripe")
		}
		columns += fmt.Sprintf("%.4f,%.4f,%d,%s\n", x, z, sweet, ripe)
		lists += fmt.Sprintf("%.4f,%.4f,%s\n", x, z, strings.Join(tags, "; "))
	}
	put(t, "columns.csv", columns)
	put(t, "lists.csv", lists)
}

// Labels in columns and in lists give the same scores, in memory and streamed, also of the saved
// model; results have a line for each label.
func TestLabels(t *testing.T) {
	labelRows(t)
	const rest = ", split: {test: 0.25}%s}\npipeline: [standardize, rff: {features: 40}, %s]\noutput: {dir: runs/%s}\n"
	for _, model := range []string{"logistic", "svm", "ridge_classifier"} {
		columns := "data: {train: columns.csv, target: [ripe, sweet], task: multilabel"
		a := execute(t, spec(t, fmt.Sprintf(columns+rest, "", model, "a")))
		b := execute(t, spec(t, fmt.Sprintf("data: {train: lists.csv, target: tags, labels: {delimiter: ;}"+rest, "", model,
			"b")))
		c := execute(t, spec(t, fmt.Sprintf(columns+rest, ", stream: always", model, "c")))
		if a.Task != "multilabel" || len(a.Test) != 7 || a.Test["f1_micro"] < 0.85 || len(a.PerClass) != 2 ||
			a.PerClass[0].Name != "ripe" || a.PerClass[0].Support == 0 || len(a.ROC) != 2 {
			t.Errorf("%s: %s, scores %v, labels %v", model, a.Task, a.Test, a.PerClass)
		}
		for name, v := range a.Test {
			if math.Abs(b.Test[name]-v) > 1e-9 || math.Abs(c.Test[name]-v) > 0.05 {
				t.Errorf("%s: %s %v of columns, %v of lists, %v of a stream", model, name, v, b.Test[name], c.Test[name])
			}
		}
		word := map[bool]string{true: "probability", false: "decision"}[model == "logistic"]
		text, err := os.ReadFile(filepath.Join("runs", "a", "predictions.csv"))
		want := "row,truth_ripe,prediction_ripe,truth_sweet,prediction_sweet," + word + "_ripe," + word + "_sweet\n"
		if err != nil || !strings.HasPrefix(string(text), want) {
			t.Errorf("%s: predictions %.100s, %v", model, text, err)
		}
		for dir, file := range map[string]string{"a": "columns.csv", "b": "lists.csv"} {
			e, err := Evaluate(context.Background(), filepath.Join("runs", dir, "model.bochner"), file, Options{})
			if err != nil || e.Scores["f1_micro"] < 0.85 || len(e.PerClass) != 2 {
				t.Errorf("%s: the model of %s scores %v, %v", model, file, e.Scores, err)
			}
		}
	}
}

// Settings that do not support several labels are errors before work starts.
func TestLabelsRefused(t *testing.T) {
	labelRows(t)
	const columns = "data: {train: columns.csv, target: [ripe, sweet], task: multilabel"
	for text, want := range map[string]string{
		columns + "}\npipeline: [kernel_svm]": "kernel_svm predicts classes, but the task is multilabel; use ridge_classifier, " +
			"logistic or svm",
		columns + "}\npipeline: [ridge]":                             "ridge predicts numbers",
		columns + "}\npipeline: [logistic]\nintervals: {level: 0.9}": "the task must be regression or classification",
		columns + "}\npipeline: [logistic]\nsearch: {score: accuracy}": "accuracy requires the task classification, got " +
			"multilabel",
		columns + ", split: {test: 0.2, stratify: true}}\npipeline: [logistic]":          "stratification requires classes",
		columns + ", labels: {delimiter: ;}}\npipeline: [logistic]":                      "requires one column of labels",
		"data: {train: lists.csv, target: tags, task: multilabel}\npipeline: [logistic]": "requires several columns",
		"data: {train: lists.csv, target: tags, task: regression, labels: {delimiter: ;}}\n" +
			"pipeline: [ridge]": "requires the task multilabel, got regression",
	} {
		s, err := Parse(context.Background(), "spec.yaml", []byte(text))
		if err == nil {
			_, err = Run(context.Background(), s, Options{Force: true})
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, must contain %q", text, err, want)
		}
	}
}
