package main

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// peerLine is one JSON line of the baseline script.
type peerLine struct {
	Peer    string  `json:"peer"`
	Work    string  `json:"work"`
	Dtype   string  `json:"dtype"`
	Seconds float64 `json:"seconds"`
	Peak    float64 `json:"peak_mib"`
}

//go:embed peer_csv.py
var readCSV string

//go:embed peer_versions.py
var versions string

// checkPeer returns an error with installation instructions if the baseline cannot run.
func checkPeer(ctx context.Context, o options) error {
	if o.peer == "none" {
		return nil
	}
	const otherwise = "; or measure Bochner alone with -peer none"
	if _, err := os.Stat(o.peer); err != nil {
		return fmt.Errorf("the peer's side is not there: %w; name its script with -peer%s", err, otherwise)
	}
	if _, err := exec.LookPath(o.python); err != nil {
		return fmt.Errorf("%s is not there: install Python 3 and then scikit-learn and pandas, or name one with -python%s",
			o.python, otherwise)
	}
	if out, err := exec.CommandContext(ctx, o.python, "-c", "import sklearn").CombinedOutput(); err != nil {
		return fmt.Errorf("%s has no scikit-learn: %s -m pip install scikit-learn pandas%s\n%s", o.python, o.python,
			otherwise, out)
	}
	return nil
}

// peerTurn runs the baseline of a benchmark once.
func (r *runner) peerTurn(ctx context.Context, w work, out *result) error {
	if w.peer == "" || r.peer == "none" {
		return nil
	}
	lines, known := r.done[w.peer]
	if !known {
		var err error
		if w.peer == "csv" {
			lines, err = r.pandas(ctx, w)
		} else {
			lines, err = r.script(ctx, w.peer)
		}
		if err != nil {
			return err
		}
		if w.peer == "gridsearch" {
			r.done[w.peer] = lines
		}
	}
	for i, l := range lines {
		s := sample{seconds: l.Seconds, peak: l.Peak, metrics: map[string]float64{}}
		if i == 0 {
			out.peer64.add(s)
		} else {
			s.peak = 0 // of the same process, after the run in double precision
			out.peer32.add(s)
		}
	}
	return nil
}

// script runs the baseline script.
func (r *runner) script(ctx context.Context, word string) ([]peerLine, error) {
	args := []string{r.peer, "--threads", strconv.Itoa(r.threads), "--repeat", "1"}
	if r.quick {
		args = append(args, "--rows", "5000", "--features", "256")
	}
	return r.pythonLines(ctx, append(args, word)...)
}

// pandas measures pandas on the CSV file of the Go benchmark; it returns nil if pandas is not
// installed.
func (r *runner) pandas(ctx context.Context, w work) ([]peerLine, error) {
	if exec.CommandContext(ctx, r.python, "-c", "import pandas").Run() != nil {
		fmt.Fprintf(os.Stderr, "  no pandas to compare with: %s -m pip install pandas\n", r.python)
		return nil, nil
	}
	n := strings.Split(w.f64[0].name, "/")[1]
	return r.pythonLines(ctx, "-c", readCSV, filepath.Join(r.folder, n+".csv"))
}

// pythonLines runs Python and reads the JSON lines it prints.
func (r *runner) pythonLines(ctx context.Context, args ...string) ([]peerLine, error) {
	cmd := exec.CommandContext(ctx, r.python, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, errors.Join(ctx.Err(), fmt.Errorf("the peer: %w\n%s", err, stderr.Bytes()))
	}
	var lines []peerLine
	scanner := bufio.NewScanner(bytes.NewReader(out))
	for scanner.Scan() {
		var l peerLine
		if err := json.Unmarshal(scanner.Bytes(), &l); err != nil || l.Seconds <= 0 {
			return nil, fmt.Errorf("the baseline must print a JSON line with seconds, got %q", scanner.Text())
		}
		fmt.Fprintf(os.Stderr, "  %-40s %8.4g s %6.0f MiB\n", l.Peer+" "+l.Work+" "+l.Dtype, l.Seconds, l.Peak)
		lines = append(lines, l)
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("the peer printed nothing\n%s", stderr.Bytes())
	}
	return lines, scanner.Err()
}
