package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// method is ours or a peer.
type method struct {
	name    string
	version string
	// predict fits the training rows of a job and returns the path of a CSV file with a column
	// prediction.
	predict func(ctx context.Context, j job) (path string, notes costs, err error)
}

// costs are the costs of a method on a split; 0 means unknown.
type costs struct {
	Fit     float64 `json:"fit,omitempty"`     // seconds, including reading
	Predict float64 `json:"predict,omitempty"` // seconds for the test rows
	Bytes   int64   `json:"bytes,omitempty"`   // size of the model
}

const oursName = "bochner"

// peers are the baselines of peers.py, in the order of the page, with their descriptions.
var peers = []struct{ name, about string }{
	{"autogluon", "AutoGluon, medium quality, for the same time"},
	{"autogluon_best", "AutoGluon, best quality, for the same time"},
	{"flaml", "FLAML for the same time"},
	{"catboost", "CatBoost with its defaults"},
	{"catboost_tuned", "CatBoost, tuned by FLAML for the same time"},
	{"lightgbm", "LightGBM, random search by cross-validation for the same time"},
	{"xgboost", "XGBoost with its defaults"},
	{"histgb", "scikit-learn's HistGradientBoosting with its defaults"},
	{"extratrees", "scikit-learn's ExtraTrees, 500 trees"},
	{"svm", "scikit-learn's SVC or SVR, γ and C searched on 4,000 rows, fitted to at most 20,000"},
	{"linear", "scikit-learn's logistic or ridge regression, tf-idf of words and characters, C or α by cross-validation"},
	{"xrfm", "xRFM with its defaults"},
}

func peerNames() []string {
	var out []string
	for _, p := range peers {
		out = append(out, p.name)
	}
	return out
}

// findMethods returns our methods and the requested baselines that are installed; absent lists the
// other baselines.
func findMethods(ctx context.Context, o options, scratch string) (found []method, absent []string, err error) {
	ours, err := findOurs(ctx, o, scratch)
	if err != nil || len(o.peers) == 0 {
		return []method{ours}, nil, err
	}
	script := filepath.Join(scratch, "peers.py")
	if err := os.WriteFile(script, peersScript, 0o644); err != nil {
		return nil, nil, err
	}
	out, err := output(ctx, o.threads, o.python, script, "versions")
	if err != nil {
		return nil, nil, fmt.Errorf("asking %s for its packages: %w; name another one with -python, or -peers none", o.python,
			err)
	}
	var versions map[string]string
	if err := json.Unmarshal(out, &versions); err != nil {
		return nil, nil, fmt.Errorf("%s returned %q: %w", script, out, err)
	}
	found = []method{ours}
	for _, name := range peerNames() {
		switch version := versions[name]; {
		case !slices.Contains(o.peers, name):
		case version == "":
			absent = append(absent, name)
		default:
			found = append(found, method{name, version, peer(o, script, name)})
		}
	}
	return found, absent, nil
}

//go:embed peers.py
var peersScript []byte

// peer returns a function that fits and predicts by the script.
func peer(o options, script, name string) func(ctx context.Context, j job) (string, costs, error) {
	return func(ctx context.Context, j job) (path string, notes costs, err error) {
		path = filepath.Join(j.folder, name+".csv")
		out, err := output(ctx, o.threads, o.python, script, name, j.folder, path)
		if err == nil {
			lines := strings.Split(strings.TrimSpace(string(out)), "\n") // some packages print, too
			err = json.Unmarshal([]byte(lines[len(lines)-1]), &notes)
		}
		return path, notes, err
	}
}

// findOurs returns the command, which it builds where no other is named.
func findOurs(ctx context.Context, o options, scratch string) (method, error) {
	command := o.bochner
	if command == "" {
		command = filepath.Join(scratch, "bochner.exe")
		if _, err := output(ctx, 0, "go", "build", "-o", command, "./cmd/bochner"); err != nil {
			return method{}, fmt.Errorf("building the command: %w; run this from the root of the repository", err)
		}
	}
	if _, err := output(ctx, 0, command, "auto", "--help"); err != nil {
		return method{}, fmt.Errorf("%s has no auto: %w", command, err)
	}
	version, err := output(ctx, 0, command, "--version")
	if err != nil {
		return method{}, err
	}
	words := strings.Join(strings.Fields(string(version)), " ")
	if info, err := buildinfo.ReadFile(command); err == nil {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				words += " at " + s.Value[:min(7, len(s.Value))]
			}
		}
	}
	return method{oursName, words, func(ctx context.Context, j job) (path string, notes costs, err error) {
		out := filepath.Join(j.folder, oursName)
		if err := os.RemoveAll(out); err != nil { // its journal would be gone on with
			return "", notes, err
		}
		start := time.Now()
		_, err = output(ctx, j.Threads, command, "auto", filepath.Join(j.folder, "train.csv"), "--test",
			filepath.Join(j.folder, "test.csv"),
			"--target", j.Target, "--task", string(j.Task), "--score", j.Score, "--minutes",
			fmt.Sprint(j.Minutes), "--seed", strconv.Itoa(j.Seed),
			"--out", out, "--quiet")
		if err != nil {
			return "", notes, err
		}
		notes.Fit = time.Since(start).Seconds()
		model := filepath.Join(out, "model.bochner")
		if info, err := os.Stat(model); err == nil {
			notes.Bytes = info.Size()
		}
		start = time.Now() // the predictions of auto are the same, but their time is not known
		path = filepath.Join(j.folder, oursName+".csv")
		_, err = output(ctx, j.Threads, command, "predict", model, filepath.Join(j.folder, "test.csv"), "--out", path)
		notes.Predict = time.Since(start).Seconds()
		return path, notes, err
	}}, nil
}

// output runs a command with the given number of threads, 0 for its default, and returns its
// output.
func output(ctx context.Context, threads int, name string, args ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, name, args...)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) } // its own processes end, too
	c.WaitDelay = 10 * time.Second
	c.Env = os.Environ()
	if threads > 0 {
		for _, variable := range []string{"GOMAXPROCS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
			"LOKY_MAX_CPU_COUNT"} {
			c.Env = append(c.Env, variable+"="+strconv.Itoa(threads))
		}
	}
	if err := c.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, errors.Join(fmt.Errorf("%s: %w", filepath.Base(name), err), errors.New(lastLines(stderr.String())))
	}
	return stdout.Bytes(), nil
}

// lastLines returns the end of an output.
func lastLines(text string) string {
	const most = 3
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}
