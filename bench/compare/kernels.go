package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// kernelsName selects the kernel table in the -only flag.
const kernelsName = "kernels"

// kernelBenchmarks matches the benchmarks of internal/kern that the table lists.
const kernelBenchmarks = "^BenchmarkPeak$|^BenchmarkMul$/f/(4096x|8192x|2048x)|^BenchmarkGram$|^BenchmarkElementary$|" +
	"^BenchmarkFourierMap$/f/./n=1024|^BenchmarkCholesky$/f/factor/n=2048"

// kernels runs the benchmarks of internal/kern on one core and on all, and writes their table.
func (r *runner) kernels(ctx context.Context) (string, error) {
	binary := filepath.Join(r.folder, "kern.test.exe")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-o", binary, "./internal/kern")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building ./internal/kern: %w\n%s", err, out)
	}
	one, several := map[string]sample{}, map[string]sample{}
	for _, cores := range slices.Compact([]int{1, r.threads}) {
		fmt.Fprintf(os.Stderr, "kernels on %d cores\n", cores)
		cmd := exec.CommandContext(ctx, binary, "-test.run=^$", "-test.bench="+kernelBenchmarks,
			"-test.count="+strconv.Itoa(r.repeat), "-test.benchtime=200ms", "-test.cpu="+strconv.Itoa(cores))
		out, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("the benchmarks of internal/kern: %w\n%s", err, out)
		}
		into := several
		if cores == 1 {
			into = one
		}
		for line := range strings.Lines(string(out)) {
			if s, ok := parseLine(line); ok {
				keepBest(into, strings.TrimSuffix(s.name, "-"+strconv.Itoa(cores)), s)
			}
		}
	}
	return kernelTable(one, several, r.threads), nil
}

func keepBest(into map[string]sample, name string, s sample) {
	if rate(s) >= rate(into[name]) {
		into[name] = s
	}
}

// rate returns the throughput of a kernel in 10⁹ operations or elements per second.
func rate(s sample) float64 { return s.metrics["GFLOP/s"] + s.metrics["G/s"] }

// kernelTable has a row for each kernel, with its rate on one core and on several. The share of the
// peak uses CPU time, so that other load on the host has no effect.
func kernelTable(one, several map[string]sample, cores int) string {
	out := fmt.Sprintf("| kernel | one core | share of its peak | %d cores | ratio | target | met? |\n%s|\n", cores,
		strings.Repeat("|---", 7))
	for _, name := range slices.Sorted(maps.Keys(one)) {
		s, many := one[name], several[name]
		word, _ := strings.CutPrefix(name, "Benchmark")
		unit, share, ratio := "10⁹ elements/s", "–", "–"
		if s.metrics["GFLOP/s"] > 0 {
			unit = "GFLOP/s"
			if s.metrics["%peak/core"] > 0 {
				share = fmt.Sprintf("%.0f %%", s.metrics["%peak/core"])
			}
		}
		all := "–"
		if rate(many) > 0 && !strings.HasPrefix(word, "Peak/") && !strings.HasPrefix(word, "Elementary/") {
			all, ratio = fmt.Sprintf("%.3g", rate(many)), fmt.Sprintf("%.2f", rate(many)/rate(s))
		}
		target, met := kernelTarget(word, rate(s), s.metrics["%peak/core"], rate(many)/rate(s))
		out += row{[]string{word, fmt.Sprintf("%.3g %s", rate(s), unit), share, all, ratio, target, met}}.line()
	}
	return out
}

// kernelTarget returns a kernel's target and whether it is met. Large matrix products and Gram
// updates: 90 % of a core's peak, and 1.8 times as much on two cores. Cosines and sines: 1.5·10⁹
// per second, 3.5·10⁹ in single precision.
func kernelTarget(name string, rate, share, ratio float64) (target, met string) {
	yes := func(holds bool) string {
		if holds {
			return "yes"
		}
		return "**no**"
	}
	kind, rest, _ := strings.Cut(name, "/")
	switch {
	case kind == "Mul" || kind == "Gram":
		return "≥ 90 %, ≥ 1.8×", yes(share >= 90 && ratio >= 1.8)
	case kind == "Elementary" && (strings.HasSuffix(rest, "/cos") || strings.HasSuffix(rest, "/sin")):
		least := 1.5
		if strings.HasPrefix(rest, "f32/") {
			least = 3.5
		}
		return fmt.Sprintf("≥ %.1f", least), yes(rate >= least)
	}
	return "–", "–"
}
