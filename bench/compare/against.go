package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/bench/internal/tree"
)

// pair is a benchmark measured at two commits, interleaved.
type pair struct {
	name          string
	before, after []float64 // seconds, of the same turns
	peaks         [2]float64
	skipped       string
}

// pairs measures benchmarks at a commit and in the working tree, interleaved in alternating order,
// so that drift of the host affects both. It prints for each whether it changed.
func pairs(ctx context.Context, o options, works []work) error {
	folder, err := os.MkdirTemp("", "bochner-against")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	files := filepath.Join(folder, "tree")
	if err := tree.Unpack(ctx, o.against, files); err != nil {
		return err
	}
	sides := [2]*runner{}
	for k, root := range []string{files, "."} {
		sides[k] = &runner{options: o, folder: folder, root: root,
			binary: filepath.Join(folder, fmt.Sprintf("bench%d.test.exe", k))}
		if err := sides[k].build(ctx); err != nil {
			return err
		}
	}
	var failures []error
	fmt.Print(againstHead(o, commitOf(ctx, o.against), commitOf(ctx, "HEAD")))
	for _, w := range works {
		for _, b := range slices.Concat(w.f64, w.f32) {
			p := pair{name: b.name}
			if err := p.measure(ctx, sides, b, o.repeat); err != nil {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				failures = append(failures, err)
				p.skipped = "failed"
			}
			fmt.Print(p.row())
		}
	}
	return errors.Join(failures...)
}

// commitOf returns the short name of a commit, with ", changed" if it is HEAD and the working tree
// differs.
func commitOf(ctx context.Context, name string) string {
	out, err := exec.CommandContext(ctx, "git", "describe", "--always", "--abbrev=10", name).Output()
	if err != nil {
		return name
	}
	short := strings.TrimSpace(string(out))
	if name == "HEAD" {
		if out, err := exec.CommandContext(ctx, "git", "status", "--porcelain").Output(); err == nil && len(out) > 0 {
			short += ", changed"
		}
	}
	return short
}

// measure runs a benchmark at both commits, in alternating order.
func (p *pair) measure(ctx context.Context, sides [2]*runner, b bench, turns int) error {
	for turn := range turns {
		var seconds [2]float64
		for k := range sides {
			side := (k + turn) % len(sides)
			s, err := sides[side].bench(ctx, b)
			if err != nil {
				return err
			}
			if !s.known() {
				p.skipped = s.skipped
				return nil
			}
			seconds[side] = s.seconds
			p.peaks[side] = max(p.peaks[side], s.peak)
		}
		p.before, p.after = append(p.before, seconds[0]), append(p.after, seconds[1])
	}
	return nil
}

// ratios returns after/before of every turn, ascending.
func (p *pair) ratios() []float64 {
	out := make([]float64, len(p.before))
	for i := range out {
		out[i] = p.after[i] / p.before[i]
	}
	slices.Sort(out)
	return out
}

// sureness is the confidence level of intervals.
const sureness = 0.95

// interval returns a nonparametric confidence interval of the median of a distribution, given a
// sorted sample, and its level: the k-th and the k-th last value contain the median with
// probability 1 − 2·P(Binomial(n, ½) < k). With fewer than six values it is their range, at a lower
// level.
func interval(sorted []float64) (low, high, sure float64) {
	n := len(sorted)
	outside, term := 0.0, math.Pow(0.5, float64(n)) // P(< k) and P(= k), from k = 0 on
	k := 0
	for k < n/2 {
		next := outside + term
		if k > 0 && 1-2*next < sureness {
			break
		}
		outside = next
		term *= float64(n-k) / float64(k+1)
		k++
	}
	k = max(k, 1)
	return sorted[k-1], sorted[n-k], 1 - 2*outside
}

// median of ascending numbers.
func median(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// changed classifies a change by the confidence interval of the time ratio; less than 2 % is
// negligible.
func changed(low, high float64) string {
	const threshold = 1.02
	switch {
	case high < 1/threshold:
		return "faster"
	case low > threshold:
		return "**slower**"
	case low > 1/threshold && high < threshold:
		return "the same"
	}
	return "inconclusive"
}

// againstHead returns the text and the header above the rows of the table.
func againstHead(o options, before, after string) string {
	sizes := "full sizes"
	if o.quick {
		sizes = "small sizes"
	}
	return fmt.Sprintf("Before is %s, after %s; %s, %d turns each, %d threads.\n\n"+
		"| benchmark | before: s, MiB | after: s, MiB | after / before | between | |\n|---|---|---|---|---|---|\n", before,
		after, sizes, o.repeat, o.threads)
}

// row returns the table row of a benchmark.
func (p *pair) row() string {
	if p.skipped != "" || len(p.before) == 0 {
		return fmt.Sprintf("| %s | – | – | – | – | %s |\n", p.name, p.skipped)
	}
	ratios := p.ratios()
	low, high, sure := interval(ratios)
	before, after := slices.Sorted(slices.Values(p.before)), slices.Sorted(slices.Values(p.after))
	return fmt.Sprintf("| %s | %.4g, %.0f | %.4g, %.0f | %.3f | %.3f and %.3f, %.0f %% | %s |\n", p.name,
		median(before), p.peaks[0], median(after), p.peaks[1], median(ratios), low, high, 100*sure, changed(low, high))
}
