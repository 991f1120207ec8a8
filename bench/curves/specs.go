package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/bench/internal/page"
)

// seen are experiments whose runs were looked at when figures of the cost models were chosen, unseen ones that were written
// after that and are no ground for any figure: patterns of their files.
var (
	seen   = []string{"examples/adult/adult.yaml", "examples/power/power.yaml", "bench/curves/specs/seen/*.yaml"}
	unseen = []string{"bench/curves/specs/unseen/*.yaml"}
)

// data is the folder of the files that most of them read, beside the checkout.
const data = "../shared/data"

// phases are the seconds of a run, planned or measured.
type phases struct {
	Load, Search, Refit, Evaluate, Report, Total float64
}

// outcome is a run beside its plan.
type outcome struct {
	name         string
	planned, ran phases
	processor    float64 // seconds of all cores in the run
	plan, peak   float64 // MB of memory
}

// specs plans and runs the experiments and prints how far apart both are.
func specs(ctx context.Context, o options) error {
	if _, err := os.Stat(data); err != nil {
		return fmt.Errorf("the experiments read files of %s, which is not there: %w", data, err)
	}
	folder, err := os.MkdirTemp("", "curves")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	program := filepath.Join(folder, "bochner")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/bochner").CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	_, place := places(o.page)
	if o.only == nil {
		if err := page.Check(place); err != nil {
			return err
		}
	}
	text := ""
	for _, list := range []struct {
		title    string
		patterns []string
	}{{"Not looked at before", unseen}, {"Looked at when figures were chosen", seen}} {
		var paths []string
		for _, pattern := range list.patterns {
			files, err := filepath.Glob(pattern)
			if err != nil || len(files) == 0 {
				return fmt.Errorf("there is no experiment %s; run this at the top of the checkout", pattern)
			}
			paths = append(paths, files...)
		}
		found, err := o.outcomes(ctx, program, paths, folder)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			text += fmt.Sprintf("%s:\n\n%s\n", list.title, compared(found))
		}
	}
	fmt.Print(text)
	if o.only != nil {
		return nil
	}
	return place.Write(dated(strings.TrimSuffix(text, "\n")))
}

// outcomes plans and runs the experiments that are asked for.
func (o options) outcomes(ctx context.Context, program string, paths []string, folder string) (found []outcome, err error) {
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		if o.only != nil && !slices.Contains(o.only, name) {
			continue
		}
		one := outcome{name: name}
		for range o.repeat {
			if err := one.turn(ctx, program, path, filepath.Join(folder, name)); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
		}
		fmt.Fprintf(os.Stderr, "  %-18s planned %+.2v\n  %-18s ran     %+.2v\n", name, one.planned, "", one.ran)
		found = append(found, one)
	}
	return found, nil
}

// turn plans and runs an experiment once more, and keeps the lesser times.
func (c *outcome) turn(ctx context.Context, program, path, out string) error {
	var plan struct {
		Phases phases
		Peak   float64 `json:"peak_bytes"`
	}
	if _, err := said(ctx, &plan, program, "plan", path, "--json"); err != nil {
		return err
	}
	var ran struct {
		Seconds phases
		Memory  float64 `json:"peak_memory_bytes"`
	}
	used, err := said(ctx, &ran, program, "run", path, "--force", "--json", "--set", "output.dir="+out)
	if err != nil {
		return err
	}
	if c.planned.Total == 0 || plan.Phases.Total < c.planned.Total {
		c.planned = plan.Phases
	}
	if c.ran.Total == 0 || ran.Seconds.Total < c.ran.Total {
		c.ran = ran.Seconds
	}
	if c.processor == 0 || used < c.processor {
		c.processor = used
	}
	c.plan, c.peak = plan.Peak/1e6, ran.Memory/1e6
	return nil
}

// said runs a program, reads what it prints, and returns the seconds of all cores that it took.
func said(ctx context.Context, into any, program string, args ...string) (processor float64, err error) {
	cmd := exec.CommandContext(ctx, program, args...)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return 0, errors.Join(ctx.Err(), fmt.Errorf("%s: %w\n%s", args[0], err, complaint.Bytes()))
	}
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return used.Seconds(), json.Unmarshal(out, into)
}

// compared has a line for each experiment.
func compared(list []outcome) string {
	var b strings.Builder
	b.WriteString("| experiment | planned, s | measured, s | planned / measured | processor, s | load | search | refit | evaluate | report | memory: planned, measured, MB |\n" + strings.Repeat("|---", 11) + "|\n")
	within := 0
	for _, c := range list {
		ratio := c.planned.Total / c.ran.Total
		if ratio <= 1.3 && ratio >= 1/1.3 {
			within++
		}
		fmt.Fprintf(&b, "| %s | %.1f | %.1f | %.2f | %.1f |", c.name, c.planned.Total, c.ran.Total, ratio, c.processor)
		for _, part := range [][2]float64{{c.planned.Load, c.ran.Load}, {c.planned.Search, c.ran.Search}, {c.planned.Refit, c.ran.Refit},
			{c.planned.Evaluate, c.ran.Evaluate}, {c.planned.Report, c.ran.Report}} {
			fmt.Fprintf(&b, " %.2f, %.2f |", part[0], part[1])
		}
		fmt.Fprintf(&b, " %.0f, %.0f |\n", c.plan, c.peak)
	}
	fmt.Fprintf(&b, "\n%d of %d are within a factor of 1.3.\n", within, len(list))
	return b.String()
}
