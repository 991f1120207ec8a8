// Command family compares the models and draws with alternatives of other libraries, on the same
// rows, and writes the table of bench/results/family.md:
//
//	go run ./examples/family -data FOLDER                      everything: some minutes
//	go run ./examples/family -data FOLDER -only kmeans,sgd     these rows of the table
//
// The directory contains the data files named in sets.go, optionally gzip-compressed. Our methods
// are the experiment files next to this program, which "bochner run" can run as well. The baselines
// run in Python, see peers.py and requirements.txt; without -python the table omits them:
//
//	python3 -m venv VENV && VENV/bin/pip install -r examples/family/requirements.txt
//	go run ./examples/family -data FOLDER -python VENV/bin/python
//
// Every method is a separate process, run sequentially. Its cost is CPU seconds: of the whole
// process for ours, of fit and prediction for a baseline.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

type options struct {
	data, python, out string
	only              []string // nil for all
	limit             time.Duration
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := command(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "family:", err)
		os.Exit(1)
	}
}

func command(ctx context.Context) error {
	var o options
	flag.StringVar(&o.data, "data", "", "folder of the data files")
	flag.StringVar(&o.python, "python", "", "Python with the packages of requirements.txt; none when left out")
	flag.StringVar(&o.out, "out", "bench/results/family.md", "page whose table is written")
	flag.DurationVar(&o.limit, "limit", 10*time.Minute, "time for one method")
	only := flag.String("only", "", "rows of the table by name, with commas between them; the others stay as they are")
	one := flag.String("one", "", "make one measurement, for this program itself")
	flag.Parse()
	if *one != "" {
		return measureOne(ctx, *one, flag.Args())
	}
	if *only != "" {
		o.only = strings.Split(*only, ",")
	}
	if err := o.check(flag.NArg()); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "family")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	m := measurer{options: o, scratch: scratch, bochner: filepath.Join(scratch, "bochner")}
	if err := m.prepare(ctx); err != nil {
		return err
	}
	for _, c := range comparisons {
		if o.only != nil && !slices.Contains(o.only, c.name) {
			continue
		}
		l, err := m.compare(ctx, c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		fmt.Fprintln(os.Stderr, l.text())
		if err := writePage(o.out, l); err != nil {
			return err
		}
	}
	return nil
}

func (o options) check(args int) error {
	var errs []error
	if o.data == "" {
		errs = append(errs, errors.New("-data, the directory of the data files, is required"))
	}
	if args > 0 {
		errs = append(errs, errors.New("unexpected arguments"))
	}
	for _, name := range o.only {
		if !slices.ContainsFunc(comparisons, func(c comparison) bool { return c.name == name }) {
			errs = append(errs, fmt.Errorf("-only: no row %q; there are %s", name, strings.Join(names(), ", ")))
		}
	}
	return errors.Join(errs...)
}

// measurer runs methods.
type measurer struct {
	options
	scratch, bochner string
}

// outcome is the result of a method.
type outcome struct {
	Scores  map[string]float64 `json:"scores"`
	Seconds float64            `json:"seconds"` // of processor time
	Version string             `json:"version"`
}

//go:embed peers.py
var peers []byte

func (m measurer) script() string { return filepath.Join(m.scratch, "peers.py") }

// prepare builds the command and writes the script of the baselines.
func (m measurer) prepare(ctx context.Context) error {
	if err := os.WriteFile(m.script(), peers, 0o644); err != nil {
		return err
	}
	_, _, err := m.output(ctx, "go", "build", "-o", m.bochner, "./cmd/bochner")
	return err
}

// output returns the output of a command and its CPU seconds.
func (m measurer) output(ctx context.Context, name string, args ...string) ([]byte, float64, error) {
	ctx, cancel := context.WithTimeout(ctx, m.limit)
	defer cancel()
	var output strings.Builder
	c := exec.CommandContext(ctx, name, args...)
	c.Stderr = &output
	out, err := c.Output()
	if err != nil {
		return nil, 0, fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), errors.Join(err, ctx.Err()),
			output.String())
	}
	return out, (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds(), nil
}

// compare runs our methods and the baselines of a table row.
func (m measurer) compare(ctx context.Context, c comparison) (line, error) {
	l := line{comparison: c}
	folder := filepath.Join(m.scratch, c.name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return l, err
	}
	if c.set != "" {
		if err := writeSet(ctx, m.data, c.set, folder); err != nil {
			return l, err
		}
	}
	for _, spec := range c.ours {
		got, err := m.ours(ctx, spec, folder)
		if err != nil {
			return l, err
		}
		l.ours = append(l.ours, got)
	}
	for _, p := range c.peers {
		got, err := m.peer(ctx, p, folder)
		if err != nil {
			return l, err
		}
		l.theirs = append(l.theirs, got)
	}
	return l, nil
}

// ours runs an experiment of this directory on a data set, or a measurement of this program.
func (m measurer) ours(ctx context.Context, o ours, folder string) (outcome, error) {
	if o.spec == "" {
		self, err := os.Executable()
		if err != nil {
			return outcome{}, err
		}
		out, seconds, err := m.output(ctx, self, append([]string{"-one", o.measure}, filepath.Join(folder, "train.csv"))...)
		got := outcome{Seconds: seconds}
		if err != nil {
			return got, err
		}
		return got, json.Unmarshal(out, &got.Scores)
	}
	run := filepath.Join(folder, "run-"+strings.TrimSuffix(o.spec, ".yaml"))
	_, seconds, err := m.output(ctx, m.bochner, "run", "examples/family/"+o.spec, "--quiet",
		"--set", "data.train="+filepath.Join(folder, "train.csv"),
		"--set", "data.test="+filepath.Join(folder, "test.csv"),
		"--set", "output.dir="+run)
	if err != nil {
		return outcome{}, err
	}
	text, err := os.ReadFile(filepath.Join(run, "result.json"))
	if err != nil {
		return outcome{}, err
	}
	var result struct {
		Train, Test map[string]float64
		Intervals   struct{ Coverage, Width float64 } // 0 for a model without intervals
	}
	if err := json.Unmarshal(text, &result); err != nil {
		return outcome{}, err
	}
	got := outcome{Scores: result.Test, Seconds: seconds}
	if o.train {
		got.Scores = result.Train
	}
	if i := result.Intervals; i.Width > 0 {
		got.Scores["coverage"], got.Scores["width"] = i.Coverage, i.Width
	}
	return got, nil
}

// peer runs a method of the script; without Python, its outcome is empty.
func (m measurer) peer(ctx context.Context, p peer, folder string) (got outcome, err error) {
	if m.python == "" {
		return got, nil
	}
	out, _, err := m.output(ctx, m.python, m.script(), p.name, folder)
	if err != nil {
		return got, err
	}
	return got, json.Unmarshal(out, &got)
}
