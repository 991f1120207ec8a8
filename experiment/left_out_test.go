package experiment_test

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/experiment"
	"github.com/bochner-ml/bochner/experiment/result"
)

// TestReportAddsWhatTheTimeLeftOut checks that the report of a run of auto names the diagnostics that its time limit
// left out, and that Report adds those of the model with the scores, which do not change.
func TestReportAddsWhatTheTimeLeftOut(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx := context.Background()
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	readRun := func(dir string) result.Result {
		t.Helper()
		r, err := experiment.ReadRun(dir)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	shapley := func(r result.Result) any { return r.Shapley.Outputs } // nil for a model whose values are not exact
	houses(t, "houses.csv", 240, nil)
	for dir, noRefit := range map[string]bool{"all": false, "train": true} {
		o := few(dir)
		o.Candidates, o.Minutes, o.NoRefit = 0, 0.04, noRefit
		o.Progress = func(phase string, _, _ int) {
			if phase == "report" {
				time.Sleep(300 * time.Millisecond) // longer than its share
			}
		}
		if _, err := experiment.Auto(ctx, "houses.csv", o); err != nil {
			t.Fatal(err)
		}
		first := readRun(dir)
		want := []string{"predictions by class or error", "relevance of inputs", "baselines", "importance of inputs",
			"Shapley values", "variance by input", "learning curve"}
		if !reflect.DeepEqual(first.LeftOut, want) || first.Importance != nil || first.Errors != nil ||
			len(first.Test) == 0 || first.Rows.Fitted > 0 && noRefit { // a loaded computer has no time for a refit
			t.Fatalf("%s: left out %q of %+v", dir, first.LeftOut, first)
		}
		const text = "Left out for lack of time: predictions by class or error, relevance of inputs, baselines"
		if page := read(dir + "/report.html"); !strings.Contains(page, text) || !strings.Contains(page, "run bochner report") {
			t.Errorf("%s: the report does not say what was left out", dir)
		}
		model, before := read(dir+"/model.bochner"), read(dir+"/result.json")

		houses(t, "houses.csv", 241, nil)
		if _, err := (experiment.Options{}).Report(ctx, dir); err == nil ||
			!strings.Contains(err.Error(), "cannot complete the report of "+dir+": the data files are not those of the run") {
			t.Errorf("%s: of other rows: %v", dir, err)
		}
		houses(t, "houses.csv", 240, nil)
		stopped, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := (experiment.Options{}).Report(stopped, dir); err == nil || read(dir+"/result.json") != before {
			t.Errorf("%s: canceled: %v", dir, err)
		}
		path, err := experiment.Options{}.Report(ctx, dir)
		if err != nil || path != dir+"/report.html" {
			t.Fatalf("%s: %v", path, err)
		}
		done := readRun(dir)
		spec, err := experiment.Load(ctx, filepath.Join(dir, "experiment.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		again, err := experiment.Run(ctx, spec, experiment.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for name, pair := range map[string][2]any{"errors": {done.Errors, again.Errors},
			"importance": {done.Importance, again.Importance}, "effects": {done.Effects, again.Effects},
			"baselines": {done.Baselines, again.Baselines}, "learning curve": {done.LearningCurve, again.LearningCurve},
			"Shapley values": {shapley(done), shapley(again)}, "relevance": {done.Relevance, again.Relevance}} {
			if !reflect.DeepEqual(pair[0], pair[1]) {
				t.Errorf("%s: %s is %+v, of the experiment %+v", dir, name, pair[0], pair[1])
			}
		}
		if done.Importance == nil || done.LearningCurve.Rows == nil || len(done.LeftOut) > 0 {
			t.Errorf("%s: still without %q", dir, done.LeftOut)
		}
		first.Findings, done.Findings, first.Simpler, done.Simpler = result.Findings{}, result.Findings{}, "", ""
		if !reflect.DeepEqual(first, done) {
			t.Errorf("%s: the result was\n%+v, and is\n%+v", dir, first, done)
		}
		if page := read(dir + "/report.html"); strings.Contains(page, "Left out") ||
			!strings.Contains(page, "Permutation importance") {
			t.Errorf("%s: the report is the same", dir)
		}
		if _, err := os.Stat(dir + "/auto.journal"); err != nil || read(dir+"/model.bochner") != model {
			t.Errorf("%s: the model is another one, %v", dir, err)
		}
		written := read(dir + "/result.json")
		if _, err := (experiment.Options{}).Report(ctx, dir); err != nil || read(dir+"/result.json") != written {
			t.Errorf("%s: a second report: %v", dir, err)
		}
	}
}
