package mlflow_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/internal/experiment/mlflow"
	"github.com/bochner-ml/bochner/internal/experiment/mlflow/mlflowtest"
)

// begin starts a server and a run on it.
func begin(t *testing.T) (*mlflowtest.Server, *mlflow.Run) {
	t.Helper()
	server := mlflowtest.Start()
	t.Cleanup(server.Close)
	run, err := client(t, server.URL, mlflow.Credentials{}).Start(context.Background(),
		mlflow.Start{Experiment: "flats", Name: "one", Time: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	return server, run
}

func client(t *testing.T, text string, c mlflow.Credentials) *mlflow.Client {
	t.Helper()
	address, err := mlflow.ParseAddress(text)
	if err != nil {
		t.Fatal(err)
	}
	return mlflow.NewClient(address, c)
}

// An address has a server and optionally an experiment; errors do not contain it.
func TestAddress(t *testing.T) {
	for text, want := range map[string]mlflow.Address{
		"http://localhost:5000":                        {Server: "http://localhost:5000"},
		"https://ml.example.org/tracking/":             {Server: "https://ml.example.org/tracking"},
		"http://[::1]:5000?experiment=one%20two%2Bsix": {Server: "http://[::1]:5000", Experiment: "one two+six"},
	} {
		if got, err := mlflow.ParseAddress(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for text, word := range map[string]string{
		"":                                      "scheme must be",
		"localhost:5000":                        "scheme must be",
		"sqlite:///secret.db":                   "scheme must be",
		"databricks":                            "scheme must be",
		"http://":                               "no host",
		"http://:5000":                          "no host",
		"http://ann:secret@host":                "MLFLOW_TRACKING_USERNAME",
		"http://secret@host":                    "MLFLOW_TRACKING_USERNAME",
		"http://host?experiment=":               "query after ?",
		"http://host?experiment=a&experiment=b": "query after ?",
		"http://host?token=secret":              "query after ?",
		"http://host?a=%zz":                     "query after ?",
		"http://host#secret":                    "fragment after #",
		"http://host:se cret":                   "no URL",
	} {
		_, err := mlflow.ParseAddress(text)
		if err == nil || !strings.Contains(err.Error(), word) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v, want %s", text, err, word)
		}
	}
}

// TestLogging checks that entries are logged, and that a second run with the same experiment name
// joins it.
func TestLogging(t *testing.T) {
	server, run := begin(t)
	ctx := context.Background()
	err := run.Log(ctx, mlflow.Entries{
		Params: map[string]string{"rff.gamma": "0.1", "search.grid.columns.straße.[x]": "a"},
		Tags:   map[string]string{"bochner.seed": "7"},
		Metrics: []mlflow.Metric{{Key: "test/f1", Value: 0.5}, {Key: "fold", Value: 2, Step: 1},
			{Key: "nan", Value: math.NaN()}, {Key: "inf", Value: math.Inf(1)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(file, []byte("contents"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run.Upload(ctx, "folder/a b%2F.txt", file); err != nil {
		t.Fatal(err)
	}
	part, err := run.Start(ctx, mlflow.Start{Name: "part", User: "ann", Time: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(part.End(ctx, mlflow.Killed), run.End(ctx, mlflow.Finished)); err != nil {
		t.Fatal(err)
	}
	if _, err := client(t, server.URL+"?experiment=flats", mlflow.Credentials{}).Start(ctx,
		mlflow.Start{Experiment: "other", Name: "two"}); err != nil {
		t.Fatal(err)
	}
	runs := server.Runs()
	one, child := runs[0], runs[1]
	if one.Params["rff.gamma"] != "0.1" || one.Params["search.grid.columns.straße._x_"] != "a" ||
		one.Tags["bochner.seed"] != "7" ||
		one.Tags["mlflow.source.name"] != "bochner" || one.Files["folder/a b%2F.txt"] != "contents" ||
		one.Status != "FINISHED" {
		t.Errorf("logged %+v", one)
	}
	if fmt.Sprint(one.Metrics) != "map[fold:[0 2] test/f1:[0.5]]" {
		t.Errorf("metrics %v", one.Metrics)
	}
	if child.Tags["mlflow.parentRunId"] != one.ID || child.Tags["mlflow.user"] != "ann" || child.Status != "KILLED" {
		t.Errorf("the run within is %+v", child)
	}
	if len(runs) != 3 || runs[2].Experiment != "flats" {
		t.Errorf("the second run is %+v", runs[2])
	}
}

// TestBatches checks that entries beyond the limit of a request are split, and that long values are
// truncated.
func TestBatches(t *testing.T) {
	server, run := begin(t)
	e := mlflow.Entries{Params: map[string]string{}, Tags: map[string]string{}}
	for i := range 250 {
		e.Params[fmt.Sprint("p", i)], e.Tags[fmt.Sprint("t", i)] = "1", "2"
	}
	e.Params["long"] = strings.Repeat("é", 4000)
	e.Params[strings.Repeat("k", 300)] = "x"
	for i := range 2500 {
		e.Metrics = append(e.Metrics, mlflow.Metric{Key: "m", Value: float64(i), Step: i})
	}
	if err := run.Log(context.Background(), e); err != nil {
		t.Fatal(err)
	}
	got := server.Runs()[0]
	if len(got.Params) != 252 || len(got.Tags) < 250 || len(got.Metrics["m"]) != 2500 || got.Metrics["m"][2499] != 2499 {
		t.Errorf("%d parameters, %d tags, %d metrics", len(got.Params), len(got.Tags), len(got.Metrics["m"]))
	}
	if v := got.Params["long"]; !strings.HasSuffix(v, "é…") || len(v) > 6000 {
		t.Errorf("a long value has %d bytes and ends in %q", len(v), v[len(v)-6:])
	}
}

// TestCredentials checks that credentials are read from the environment as by MLflow's client.
func TestCredentials(t *testing.T) {
	for want, set := range map[string][3]string{
		"Basic YW5uOnNlY3JldA==": {"ann", "secret", "token"},
		"Bearer token":           {"ann", "", "token"},
		"":                       {},
	} {
		t.Setenv("MLFLOW_TRACKING_USERNAME", set[0])
		t.Setenv("MLFLOW_TRACKING_PASSWORD", set[1])
		t.Setenv("MLFLOW_TRACKING_TOKEN", set[2])
		server := mlflowtest.Start()
		defer server.Close()
		if _, err := client(t, server.URL, mlflow.EnvironmentCredentials()).Start(context.Background(),
			mlflow.Start{Experiment: "e", Name: "n"}); err != nil {
			t.Fatal(err)
		}
		if sent := slices.Compact(server.Authorization()); len(sent) != 1 || sent[0] != want {
			t.Errorf("%q: sent %q", set, sent)
		}
	}
}

// TestFailures checks that every failure of a server gives an error with the server, the request
// and the response.
func TestFailures(t *testing.T) {
	answers := func(status int, text string) func(w http.ResponseWriter, r *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("Location", "http://elsewhere.example/")
			w.WriteHeader(status)
			fmt.Fprint(w, text)
			return true
		}
	}
	for name, c := range map[string]struct {
		instead func(w http.ResponseWriter, r *http.Request) bool
		want    string
	}{
		"an error of the server": {answers(500, `{"error_code": "INTERNAL_ERROR", "message": "the disk\nis full"}`),
			"500 Internal Server Error: the disk"},
		"no permission": {answers(403, "denied"),
			"403 Forbidden: denied; credentials are read from MLFLOW_TRACKING_USERNAME"},
		"a page":        {answers(200, "<html>welcome</html>"), "not the JSON of an MLflow server: <html>welcome</html>"},
		"other JSON":    {answers(200, `{"status": "ok"}`), "is it an MLflow server?"},
		"a list":        {answers(200, `[1]`), "not the JSON"},
		"nothing":       {answers(200, ""), "not the JSON"},
		"a long answer": {answers(200, strings.Repeat("x", 2<<20)), "not the JSON"},
		"a redirection": {answers(302, ""), "302 Found; name the server that it leads to"},
		"a deleted experiment": {answers(200, `{"experiment": {"experiment_id": "1", "lifecycle_stage": "deleted"}}`),
			`"e" is deleted there`},
		"a closed connection": {func(w http.ResponseWriter, r *http.Request) bool {
			conn, _, _ := w.(http.Hijacker).Hijack()
			conn.Close()
			return true
		}, "EOF"},
	} {
		server := mlflowtest.Start()
		server.Instead = c.instead
		_, err := client(t, server.URL, mlflow.Credentials{User: "ann", Password: "secret"}).Start(context.Background(),
			mlflow.Start{Experiment: "e"})
		if err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(err.Error(), "mlflow: "+server.URL+": experiments/get-by-name: ") ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
		server.Close()
	}
}

// TestNoAnswer checks that a missing server is an error at once, and that waiting for a server ends
// with the context and its cause.
func TestNoAnswer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + listener.Addr().String()
	slow := client(t, address, mlflow.Credentials{})
	ctx, cancel := context.WithTimeoutCause(context.Background(), 20*time.Millisecond, errors.New("no answer within 20ms"))
	defer cancel()
	if _, err := slow.Start(ctx, mlflow.Start{Experiment: "e"}); err == nil ||
		!strings.HasSuffix(err.Error(), "get-by-name: no answer within 20ms") {
		t.Errorf("no answer: %v", err)
	}
	listener.Close()
	if _, err := slow.Start(context.Background(), mlflow.Start{Experiment: "e"}); err == nil ||
		!strings.Contains(err.Error(), "refused") {
		t.Errorf("nobody there: %v", err)
	}
}

// TestFilesElsewhere checks that files are uploaded only through the server, not to other locations
// that it reports.
func TestFilesElsewhere(t *testing.T) {
	for where, want := range map[string]string{
		"s3://bucket/1?secret=x":        `keeps them at "s3://bucket/1" and does not pass them on`,
		"/var/mlruns/1":                 "does not pass them on",
		"mlflow-artifacts:/":            "names no folder",
		"mlflow-artifacts:/1/../../etc": "names no folder",
	} {
		server := mlflowtest.Start()
		server.Artifacts = where
		run, err := client(t, server.URL, mlflow.Credentials{}).Start(context.Background(), mlflow.Start{Experiment: "e"})
		if err != nil {
			t.Fatal(err)
		}
		if err := run.Upload(context.Background(), "x", "mlflow_test.go"); err == nil ||
			!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", where, err)
		}
		server.Close()
	}
	_, run := begin(t)
	if err := run.Upload(context.Background(), "x", filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there is uploaded")
	}
}
