package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// sample is a measurement of one program: its minimum time and maximum memory over all runs.
type sample struct {
	name    string // of the Go benchmark
	seconds float64
	peak    float64            // MiB; 0 if unknown
	metrics map[string]float64 // of the best run
	skipped string             // why the benchmark did not run
}

func (s sample) known() bool { return s.seconds > 0 }

// add merges another run.
func (s *sample) add(other sample) {
	s.peak = max(s.peak, other.peak)
	if other.known() && (!s.known() || other.seconds < s.seconds) {
		s.seconds, s.metrics = other.seconds, other.metrics
	}
	if !s.known() {
		s.skipped = other.skipped
	}
}

// result contains the measurements of a benchmark.
type result struct {
	peer64, peer32 sample
	f64, f32       []sample
	above          []float64 // parts in a million above the optimum, of f64 and f32
	fits           float64
	failed         bool
}

func (r result) ratio64() (float64, bool) { return r.ratio(r.peer64, r.f64) }

// ratio32 compares with the baseline in single precision if that exists, else in double precision.
func (r result) ratio32() (float64, bool) {
	if r.peer32.known() {
		return r.ratio(r.peer32, r.f32)
	}
	return r.ratio(r.peer64, r.f32)
}

func (r result) ratio(peer sample, ours []sample) (float64, bool) {
	if len(ours) == 0 || !ours[0].known() || !peer.known() {
		return 0, false
	}
	return r.fits * peer.seconds / ours[0].seconds, true
}

// runner runs both programs. Its directory contains the compiled benchmarks and CSV files.
type runner struct {
	options
	folder string
	root   string // directory of the measured module, "" for this one
	binary string
	done   map[string][]peerLine // grid searches of the baseline, which several rows share
}

func newRunner(ctx context.Context, o options) (*runner, error) {
	if err := checkPeer(ctx, o); err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "bochner-compare")
	if err != nil {
		return nil, err
	}
	r := &runner{options: o, folder: folder, binary: filepath.Join(folder, "bench.test.exe"),
		done: map[string][]peerLine{}}
	if err := r.build(ctx); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// build compiles the benchmarks.
func (r *runner) build(ctx context.Context) error {
	build := exec.CommandContext(ctx, "go", "test", "-c", "-o", r.binary, "./bench")
	build.Dir = r.root
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building ./bench, seen from the module's root: %w\n%s", err, out)
	}
	return nil
}

func (r *runner) close() { os.RemoveAll(r.folder) }

// longPeer is the time, in seconds, above which the baseline runs a benchmark only once.
const longPeer = 60

// measure runs the benchmarks -repeat times, interleaved, and passes the results to show after each
// round. A failed benchmark is marked and not tried again.
func (r *runner) measure(ctx context.Context, works []work, show func([]result) error) error {
	results := make([]result, len(works))
	for i, w := range works {
		results[i] = result{f64: make([]sample, len(w.f64)), f32: make([]sample, len(w.f32)), fits: max(w.fits, 1)}
	}
	var failures []error
	for round := range r.repeat {
		for i, w := range works {
			if results[i].failed || w.once && round > 0 {
				continue
			}
			fmt.Fprintf(os.Stderr, "round %d of %d: %s\n", round+1, r.repeat, w.what)
			err := r.turn(ctx, w, &results[i], round)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				results[i].failed = true
				failures = append(failures, fmt.Errorf("%s: %w", w.name, err))
				fmt.Fprintln(os.Stderr, "  failed:", err)
			}
		}
		if err := show(results); err != nil {
			return err
		}
	}
	return errors.Join(failures...)
}

// turn runs a benchmark and its baseline once.
func (r *runner) turn(ctx context.Context, w work, out *result, round int) error {
	for k, b := range w.f64 {
		s, err := r.bench(ctx, b)
		if err != nil {
			return err
		}
		out.f64[k].add(s)
	}
	if round == 0 || out.peer64.seconds < longPeer {
		if err := r.peerTurn(ctx, w, out); err != nil {
			return err
		}
	}
	for k, b := range w.f32 {
		s, err := r.bench(ctx, b)
		if err != nil {
			return err
		}
		out.f32[k].add(s)
	}
	if w.optimum == "" || round > 0 {
		return nil
	}
	lines, err := r.goTest(ctx, bench{name: w.optimum}, "-optimum")
	for _, s := range lines.samples {
		out.above = append(out.above, s.metrics["ppm-above-optimum"])
	}
	return err
}

// bench runs one Go benchmark.
func (r *runner) bench(ctx context.Context, b bench) (sample, error) {
	run, err := r.goTest(ctx, b)
	if err != nil {
		return sample{}, err
	}
	switch {
	case len(run.samples) == 1:
		s := run.samples[0]
		s.peak = run.peak
		fmt.Fprintf(os.Stderr, "  %-40s %8.4g s %6.0f MiB\n", b.name, s.seconds, s.peak)
		return s, nil
	case len(run.samples) == 0 && run.skipped != "":
		fmt.Fprintf(os.Stderr, "  %-40s skipped: %s\n", b.name, run.skipped)
		return sample{skipped: run.skipped}, nil
	}
	return sample{}, fmt.Errorf("benchmark %s printed %d results:\n%s", b.name, len(run.samples), run.text)
}

// testRun is the output of the compiled benchmarks.
type testRun struct {
	samples []sample
	skipped string
	peak    float64
	text    string
}

// reason matches the message of a skipped benchmark.
var reason = regexp.MustCompile(`(?m)^\s+\S+\.go:\d+: (.*)$`)

// goTest runs the benchmark b.name and its sub-benchmarks in a separate process.
func (r *runner) goTest(ctx context.Context, b bench, flags ...string) (testRun, error) {
	parts := strings.Split(b.name, "/")
	for i, p := range parts {
		parts[i] = "^" + p + "$"
	}
	parts[0] = "^Benchmark" + parts[0][1:]
	time := b.time
	if time == "" {
		time = "1x"
	}
	args := append([]string{"-test.run=^$", "-test.v", "-test.timeout=1h", "-test.bench=" + strings.Join(parts, "/"),
		"-test.benchtime=" + time, "-scratch=" + r.folder}, flags...)
	cmd := exec.CommandContext(ctx, r.binary, args...)
	cmd.Dir = filepath.Join(r.root, "bench")
	cmd.Env = append(os.Environ(), "GOMAXPROCS="+strconv.Itoa(r.threads))
	out, err := cmd.CombinedOutput()
	run := testRun{text: string(out)}
	if err != nil {
		return run, errors.Join(ctx.Err(), fmt.Errorf("benchmark %s: %w\n%s", b.name, err, out))
	}
	run.peak = peakMiB(cmd.ProcessState)
	for line := range strings.Lines(run.text) {
		if s, ok := parseLine(line); ok {
			run.samples = append(run.samples, s)
		}
	}
	if m := reason.FindStringSubmatch(run.text); m != nil && strings.Contains(run.text, "--- SKIP: ") {
		run.skipped = m[1]
	}
	return run, nil
}

// parseLine reads "BenchmarkX/y-2  1  123 ns/op  45 MB/s".
func parseLine(line string) (sample, bool) {
	fields := strings.Fields(line)
	if len(fields) < 4 || len(fields)%2 != 0 || !strings.HasPrefix(fields[0], "Benchmark") {
		return sample{}, false
	}
	s := sample{name: fields[0], metrics: map[string]float64{}}
	for k := 2; k < len(fields); k += 2 {
		v, err := strconv.ParseFloat(fields[k], 64)
		if err != nil {
			return sample{}, false
		}
		s.metrics[fields[k+1]] = v
	}
	s.seconds = s.metrics["ns/op"] / 1e9
	return s, s.known()
}
