package experiment

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/experiment/report"
)

const reported = "data: {train: rows.csv, target: y, split: {test: 0.3}}\npipeline: [standardize, {rff: {features: " +
	"20}}, ridge]\nsearch: {grid: {rff.gamma: [0.1, 1], rff.features: [10, 20], ridge.alpha: [1, 100]}, folds: " +
	"3}\noutput: {dir: out}\n"

// TestReportOfAFolder checks that the page written by a run equals that of its result, that of its
// directory, and that of the command.
func TestReportOfAFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", measured(300))
	r := execute(t, spec(t, reported))
	written := text(t, "out/report.html")
	if page, err := report.New(r); err != nil || page.String() != written {
		t.Errorf("report.html is not the page of the result: %v", err)
	}
	read, err := ReadRun("out")
	if err != nil {
		t.Fatal(err)
	}
	if len(read.Search.All) != 8 || read.Search.All[3].Params["rff.features"] != 20 ||
		len(read.Search.All[0].Folds) != 3 || read.Spec != text(t, "out/spec.yaml") {
		t.Errorf("%+v", read.Search.All)
	}
	if err := os.Remove("out/report.html"); err != nil {
		t.Fatal(err)
	}
	path, err := Options{}.Report(context.Background(), "out")
	if err != nil || path != "out/report.html" || text(t, "out/report.html") != written {
		t.Errorf("the page made again from %s is another one: %v", path, err)
	}
	for _, words := range []string{"rff.gamma", "features 20", "Learning curve", "Permutation importance",
		"Partial dependence on a", "linear model", "alpha"} {
		if !strings.Contains(written, words) {
			t.Errorf("the page does not contain %q", words)
		}
	}
}

// TestReportSections checks that sections not requested are not computed, and that a directory
// without a run is an error.
func TestReportSections(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", measured(300))
	r := execute(t, spec(t, reported, set("report.html", "false"), set("report.importance.repeats", "0"),
		set("report.learning_curve.points", "0")))
	if r.Importance != nil || r.LearningCurve.Rows != nil || r.Effects != nil || len(r.Baselines) != 2 {
		t.Errorf("%+v", r.Findings)
	}
	if _, err := os.Stat("out/report.html"); err == nil {
		t.Error("there is a report")
	}
	r = execute(t, spec(t, reported, set("report.learning_curve.points", "3"))) // other questions, the same run
	if len(r.LearningCurve.Rows) != 3 || r.LearningCurve.Rows[2] != 210 || r.On != "test" {
		t.Errorf("%+v", r.LearningCurve)
	}
	if _, err := (Options{}).Report(context.Background(), "nowhere"); err == nil || !strings.Contains(err.Error(),
		"nowhere is not the directory of a finished run: no result.json") {
		t.Error(err)
	}
	put(t, "out/cv_results.csv", "a,b\n1,2\n")
	if _, err := (Options{}).Report(context.Background(), "out"); err == nil || !strings.Contains(err.Error(), "out/cv_results.csv has no column fold0") {
		t.Error(err)
	}
	put(t, "out/result.json", "{")
	if _, err := ReadRun("out"); err == nil || !strings.Contains(err.Error(), "out/result.json") {
		t.Error(err)
	}
}

// TestReportsOfStreamsTakeSamples checks that reports of streamed files sample as many rows as
// those of rows in memory, also with a test file of unknown length.
func TestReportsOfStreamsTakeSamples(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", measured(300))
	put(t, "more.csv", measured(2500))
	for _, stream := range []string{"always", "never"} {
		document := "data: {train: rows.csv, test: more.csv, target: y, stream: " + stream +
			"}\npipeline: [standardize, ridge]\noutput: {dir: out}\n"
		r, err := Run(context.Background(), spec(t, document), Options{Force: true})
		if err != nil {
			t.Fatal(err)
		}
		if r.Rows.Test != 2500 || r.Importance == nil || r.Importance.Rows != 2000 {
			t.Errorf("stream %s: %+v of %+v", stream, r.Importance, r.Rows)
		}
	}
}

// Runs of every task, of streams and of rows without a test part have reports.
func TestReportsOfOtherRuns(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", measured(300))
	put(t, "odd.csv", odd(200))
	for name, document := range map[string]string{
		"stream": "data: {train: rows.csv, target: y, split: {test: 0.3}, stream: always}\npipeline: [standardize, {rff: " +
			"{features: 20}}, ridge]\noutput: {dir: out}\n",
		"no test": "data: {train: rows.csv, target: y}\npipeline: [standardize, ridge]\nintervals: {}\noutput: {dir: out}\n",
		"anomaly": "data: {train: odd.csv, target: kind, positive: odd}\npipeline: [standardize, {rff: {features: 50}}, " +
			"one_class]\noutput: {dir: out}\n",
		"kernel": "data: {train: rows.csv, target: y, split: {test: 0.3}}\npipeline: [standardize, {kernel_ridge: " +
			"{gamma: 0.1}}]\noutput: {dir: out}\n",
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Run(context.Background(), spec(t, document), Options{Force: true})
			if err != nil {
				t.Fatal(err)
			}
			if page := text(t, "out/report.html"); !strings.Contains(page, "</html>") || strings.Contains(page, "NaN") {
				t.Error("the page is not whole")
			}
			switch name {
			case "stream":
				if r.Importance == nil || len(r.Baselines) != 2 || len(r.Skipped) > 0 {
					t.Errorf("%+v", r.Findings)
				}
			case "no test":
				if r.On != "train" || len(r.Errors) != 1 {
					t.Errorf("%+v", r.Findings)
				}
			case "anomaly":
				if r.Confusion.Classes == nil || len(r.ROC) != 1 || r.ROC[0].Class != "odd" || r.Baselines != nil {
					t.Errorf("%+v", r.Findings)
				}
			}
		})
	}
}

// measured is a CSV of n rows of two inputs, of which the first matters, and a number.
func measured(n int) string {
	rng := rand.New(rand.NewPCG(5, 6))
	out := "a,b,y\n"
	for range n {
		a, b := rng.NormFloat64(), rng.NormFloat64()
		out += fmt.Sprintf("%.4f,%.4f,%.4f\n", a, b, math.Sin(2*a)+0.1*b+0.05*rng.NormFloat64())
	}
	return out
}
