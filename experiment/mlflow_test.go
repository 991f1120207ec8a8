package experiment

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/internal/experiment/config"
	"github.com/bochner-ml/bochner/internal/experiment/mlflow/mlflowtest"
)

const tracked = `
name: tracked
seed: 5
data: {train: rows.csv, split: {test: 0.25}, target: y, task: classification, drop: [c, w, g]}
pipeline: [impute, standardize, {rff: {gamma: 0.5, features: 10}}, {logistic: {C: 1.0}}]
search:
  grid: {rff.gamma: [0.1, 1], logistic.C: {log: [0.01, 10, 4]}}
  folds: 3
output: {dir: out}
`

// tracking returns a server, and a spec whose runs are logged there.
func tracking(t *testing.T, overrides ...Override) (*mlflowtest.Server, Spec) {
	t.Helper()
	t.Chdir(t.TempDir())
	put(t, "rows.csv", complete(120, func(i int) string {
		if i%10 == 7 { // without errors, a alone determines y
			return class(i + 12)
		}
		return class(i)
	}))
	server := mlflowtest.Start()
	t.Cleanup(server.Close)
	return server, spec(t, tracked, append([]Override{set("output.mlflow", server.URL)}, overrides...)...)
}

// TestARunIsLogged checks that the results of a run are logged as in result.json, with its output
// files.
func TestARunIsLogged(t *testing.T) {
	server, s := tracking(t)
	r := execute(t, s)
	if len(r.Warnings) > 0 {
		t.Errorf("warnings %q", r.Warnings)
	}
	runs := server.Runs()
	if len(runs) != 1+maxCandidates {
		t.Fatalf("%d runs, want one and %d within it", len(runs), maxCandidates)
	}
	run := runs[0]
	if run.Name != "tracked" || run.Experiment != "tracked" || run.Status != "FINISHED" {
		t.Errorf("the run is %s of %s, %s", run.Name, run.Experiment, run.Status)
	}
	for key, want := range map[string]string{
		"pipeline": "impute → standardize → rff → logistic", "rff.gamma": fmt.Sprint(r.Search.Best.Params["rff.gamma"]),
		"rff.features": "10",
		"logistic.C":   config.Flow(r.Search.Best.Params["logistic.C"]), "impute.strategy": "mean", "seed": "5",
		"precision":  "float64",
		"data.train": "rows.csv", "data.split.test": "0.25", "data.drop": "[c, w, g]", "search.cv.folds": "3",
		"search.grid.rff.gamma": "[0.1, 1]",
	} {
		if run.Params[key] != want {
			t.Errorf("parameter %s is %q, want %q", key, run.Params[key], want)
		}
	}
	for key := range run.Params {
		if strings.HasPrefix(key, "output") || strings.HasPrefix(key, "report") {
			t.Errorf("parameter %s is logged", key)
		}
	}
	want := map[string]float64{"cv/accuracy": r.Search.Best.Mean, "cv/accuracy_std": r.Search.Best.Std, "rows/train": 90,
		"rows/test": 30, "seconds/search": r.Seconds.Search}
	for name, v := range r.Test {
		want["test/"+name] = v
	}
	for name, v := range r.Train {
		want["train/"+name] = v
	}
	for key, v := range want {
		if got := run.Metrics[key]; len(got) != 1 || got[0] != v {
			t.Errorf("metric %s is %v, want %v", key, got, v)
		}
	}
	best := chosen(r.Search)
	if best == nil || !slices.Equal(run.Metrics["cv/accuracy_fold"], best.Folds) || len(best.Folds) != 3 {
		t.Errorf("folds %v, want those of %v", run.Metrics["cv/accuracy_fold"], best)
	}
	if r.MLflow == nil || r.MLflow.Run != run.ID || r.MLflow.URL != server.URL+"/#/experiments/1/runs/"+run.ID {
		t.Errorf("the run is logged at %+v", r.MLflow)
	}
	if run.Tags["bochner.data_sha256.train"] != r.SHA256.Train || run.Tags["bochner.seed"] != "5" ||
		run.Tags["bochner.task"] != "classification" {
		t.Errorf("tags %v", run.Tags)
	}
	for _, name := range runOutputs {
		text, err := os.ReadFile("out/" + name)
		if err != nil || string(text) != run.Files[name] {
			t.Errorf("%s is not the file that was logged: %v", name, err)
		}
	}
	for i, child := range runs[1:] {
		if child.Tags["mlflow.parentRunId"] != run.ID || child.Status != "FINISHED" ||
			len(child.Metrics["cv/accuracy_fold"]) != 3 || len(child.Params) != 2 {
			t.Errorf("candidate %d: %+v", i, child)
		}
		if i > 0 && child.Metrics["cv/accuracy"][0] > runs[i].Metrics["cv/accuracy"][0] {
			t.Errorf("candidate %d is better than the one before", i)
		}
	}
}

// TestExperimentOfTheAddress checks that the address may name another experiment, and does not
// affect the identity of a run.
func TestExperimentOfTheAddress(t *testing.T) {
	server, s := tracking(t)
	execute(t, s)
	s.Output.MLflow = server.URL + "?experiment=all%20of%20us"
	if _, err := Run(context.Background(), s, Options{}); err != nil {
		t.Fatal(err)
	}
	if runs := server.Runs(); runs[len(runs)-1].Experiment != "all of us" {
		t.Errorf("experiment %s", runs[len(runs)-1].Experiment)
	}
}

// TestTrackerFailures checks that a run whose tracker fails at any request equals a run without
// tracking, with a warning about what is not logged.
func TestTrackerFailures(t *testing.T) {
	server, s := tracking(t)
	plain := s
	plain.Output.MLflow = ""
	want := execute(t, plain)
	execute(t, s)
	all := len(server.Requests())
	got := map[string]bool{}
	for at := range all {
		broken, count := mlflowtest.Start(), 0
		broken.Instead = func(w http.ResponseWriter, r *http.Request) bool {
			if count++; count-1 != at {
				return false
			}
			http.Error(w, "out of order", http.StatusInternalServerError)
			return true
		}
		s.Output.MLflow = broken.URL
		var known []string
		r, err := Run(context.Background(), s, Options{Force: true,
			OnWarning: func(text string) { known = append(known, text) }})
		if err != nil {
			t.Fatalf("request %d: %v", at, err)
		}
		if len(r.Warnings) != 1 || !slices.Equal(known, r.Warnings) ||
			!strings.Contains(r.Warnings[0], "500 Internal Server Error: out of order: ") {
			t.Errorf("request %d: warnings %q, reported %q", at, r.Warnings, known)
		}
		switch begun := broken.Runs(); {
		case len(begun) == 0 && count != at+1:
			t.Errorf("request %d fails, and %d more are made", at, count-at-1)
		// the end is reported nevertheless
		case len(begun) > 0 && at < all-1 && (begun[0].Status != "FINISHED" || count != at+2):
			t.Errorf("request %d fails, and %d more are made; the run is %s", at, count-at-1, begun[0].Status)
		}
		broken.Close()
		got[r.Warnings[0][strings.LastIndex(r.Warnings[0], ": ")+2:]] = true
		text, err := os.ReadFile("out/result.json")
		// which is after the files are in place
		if end := at == all-1; err != nil || strings.Contains(string(text), "out of order") == end {
			t.Errorf("request %d: result.json has the warning: %v, %v", at, !end, err)
		}
		r.Seconds, r.Memory, r.Warnings = want.Seconds, want.Memory, want.Warnings
		if fmt.Sprint(r.Test, r.Train, r.Search.Best, r.Files) != fmt.Sprint(want.Test, want.Train, want.Search.Best,
			want.Files) {
			t.Errorf("request %d: the run finds something else", at)
		}
	}
	if len(got) != 4 {
		t.Errorf("what that means is said as %v", got)
	}
}

// TestTrackerWithoutAnswer checks that a run continues without a tracker that does not respond or
// does not exist.
func TestTrackerWithoutAnswer(t *testing.T) {
	server, s := tracking(t)
	before := patience
	patience.begin = 30 * time.Millisecond
	defer func() { patience = before }()
	gone := make(chan struct{})
	defer close(gone)
	server.Instead = func(w http.ResponseWriter, r *http.Request) bool {
		select {
		case <-r.Context().Done():
		case <-gone:
		}
		return true
	}
	if r := execute(t, s); len(r.Warnings) != 1 || !strings.HasSuffix(r.Warnings[0],
		"get-by-name: no answer within 30ms: the run is not logged") || r.MLflow != nil {
		t.Errorf("no answer: %q", r.Warnings)
	}
	s.Output.MLflow = "http://127.0.0.1:1"
	if r := execute(t, s); len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "refused: the run is not logged") {
		t.Errorf("not there: %q", r.Warnings)
	}
}

// TestEndsOfRuns checks that a failed run is FAILED, an interrupted one KILLED, without results.
func TestEndsOfRuns(t *testing.T) {
	server, s := tracking(t)
	put(t, "bad.csv", "a,b,c,w,g,y\n1,inf,red,1,1,no\n2,inf,red,1,1,yes\n"+strings.SplitN(complete(30, class), "\n", 2)[1])
	failing := s
	failing.Data.Train = []string{"bad.csv"}
	_, err := Run(context.Background(), failing, Options{Force: true})
	if err == nil {
		t.Fatal("infinite numbers are learned from")
	}
	if run := server.Runs()[0]; run.Status != "FAILED" || run.Tags["bochner.error"] != err.Error() ||
		len(run.Metrics)+len(run.Files) > 0 {
		t.Errorf("a run that failed is %+v", run)
	}
	for _, phase := range []string{"search", "evaluate", "write"} {
		ctx, cancel := context.WithCancel(context.Background())
		_, err = Run(ctx, s, Options{Force: true, Progress: func(now string, done, total int) {
			if now == phase {
				cancel()
			}
		}})
		if cancel(); !errors.Is(err, context.Canceled) {
			t.Fatalf("stopped while it did %s: %v", phase, err)
		}
		runs := server.Runs()
		if run := runs[len(runs)-1]; run.Status != "KILLED" || len(run.Files) > 0 || len(run.Params) == 0 {
			t.Errorf("stopped while it did %s, it is %+v", phase, run)
		}
	}
}

// Errors of the address are reported before any work, with position and without password.
func TestAddressErrors(t *testing.T) {
	_, s := tracking(t)
	_, err := Parse(context.Background(), "spec.yaml", []byte(strings.Replace(tracked, "{dir: out}",
		`{dir: out, mlflow: "http://ann:secret@host"}`, 1)))
	if err == nil || !strings.Contains(err.Error(), "spec.yaml:9:") ||
		!strings.Contains(err.Error(), "output.mlflow: a user stands in the URL") || strings.Contains(err.Error(), "secret") {
		t.Errorf("a password: %v", err)
	}
	_, err = Parse(context.Background(), "spec.yaml", []byte(tracked), set("output.mlflow", "ftp://host"))
	if err == nil || !strings.Contains(err.Error(),
		`output.mlflow: scheme must be that of http://HOST:PORT or https://HOST, with ?experiment=NAME where the experiment is to have another name, got "ftp"`) {
		t.Errorf("another scheme: %v", err)
	}
	s.Output.MLflow = "http://"
	if _, err = Run(context.Background(), s, Options{Force: true}); err == nil ||
		!strings.Contains(err.Error(), "with ?experiment=NAME where the experiment is to have another name, got no host") {
		t.Errorf("a spec made in Go: %v", err)
	}
	if _, err = Auto(context.Background(), "rows.csv", AutoOptions{Candidates: 1,
		MLflow: "http://secret@host"}); err == nil || !strings.Contains(err.Error(), "mlflow: a user stands in the URL") {
		t.Errorf("auto: %v", err)
	}
}

// TestAutoIsLogged checks that the results of auto are logged like those of a run, with its
// leaderboard.
func TestAutoIsLogged(t *testing.T) {
	server, _ := tracking(t)
	r, err := Auto(context.Background(), "rows.csv", AutoOptions{Candidates: 2, Dir: "found", Target: "y",
		MLflow: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	run := server.Runs()[0]
	if len(server.Runs()) != 1 || run.Status != "FINISHED" || run.Name != "rows" || len(run.Metrics["cv/accuracy"]) != 1 ||
		run.Metrics["cv/accuracy"][0] != r.Auto.Mean {
		t.Errorf("logged %+v", run)
	}
	for _, name := range autoOutputs {
		if _, there := run.Files[name]; !there {
			t.Errorf("%s is not logged", name)
		}
	}
}
