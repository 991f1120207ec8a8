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
)

// experiments are those that plans are compared with. Some figures of the cost models were chosen with their runs in sight;
// most come from the curves.
var experiments = []string{
	"examples/adult/adult.yaml", "examples/power/power.yaml",
	"bench/curves/specs/a9a-bins.yaml", "bench/curves/specs/census-landmarks.yaml", "bench/curves/specs/covtype-bins.yaml",
	"bench/curves/specs/covtype-classes.yaml", "bench/curves/specs/covtype-steps.yaml", "bench/curves/specs/cpu-random.yaml",
	"bench/curves/specs/census-stream.yaml", "bench/curves/specs/kin-kernel.yaml",
}

// phases are the seconds of a run, planned or measured.
type phases struct {
	Load, Search, Refit, Evaluate, Report, Total float64
}

// outcome is a run beside its plan.
type outcome struct {
	name         string
	planned, ran phases
	plan, peak   float64 // MB of memory
}

// specs plans and runs the experiments and prints how far apart both are.
func specs(ctx context.Context, o options) error {
	folder, err := os.MkdirTemp("", "curves")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	program := filepath.Join(folder, "bochner")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/bochner").CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	if o.only == nil {
		if err := checkPage(o.page, beginSpecs); err != nil {
			return err
		}
	}
	var found []outcome
	for _, path := range experiments {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		if o.only != nil && !slices.Contains(o.only, name) {
			continue
		}
		one := outcome{name: name}
		for range o.repeat {
			if err := one.turn(ctx, program, path, filepath.Join(folder, name)); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
		fmt.Fprintf(os.Stderr, "  %-18s planned %+.2v\n  %-18s ran     %+.2v\n", name, one.planned, "", one.ran)
		found = append(found, one)
	}
	text := compared(found)
	fmt.Print(text)
	if o.only != nil {
		return nil
	}
	return writePage(o.page, beginSpecs, text)
}

// turn plans and runs an experiment once more, and keeps the lesser times.
func (c *outcome) turn(ctx context.Context, program, path, out string) error {
	var plan struct {
		Phases phases
		Bytes  float64
	}
	if err := said(ctx, &plan, program, "plan", path, "--json"); err != nil {
		return err
	}
	var ran struct {
		Seconds phases
		Memory  float64 `json:"peak_memory_bytes"`
	}
	if err := said(ctx, &ran, program, "run", path, "--force", "--json", "--set", "output.dir="+out); err != nil {
		return err
	}
	if c.planned.Total == 0 || plan.Phases.Total < c.planned.Total {
		c.planned = plan.Phases
	}
	if c.ran.Total == 0 || ran.Seconds.Total < c.ran.Total {
		c.ran = ran.Seconds
	}
	c.plan, c.peak = plan.Bytes/1e6, ran.Memory/1e6
	return nil
}

// said runs a program and reads what it prints.
func said(ctx context.Context, into any, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return errors.Join(ctx.Err(), fmt.Errorf("%s: %w\n%s", args[0], err, complaint.Bytes()))
	}
	return json.Unmarshal(out, into)
}

// compared has a line for each experiment.
func compared(list []outcome) string {
	var b strings.Builder
	b.WriteString("| experiment | planned, s | measured, s | planned / measured | load | search | refit | evaluate | report | memory: planned, measured, MB |\n" + strings.Repeat("|---", 10) + "|\n")
	within := 0
	for _, c := range list {
		ratio := c.planned.Total / c.ran.Total
		if ratio <= 1.3 && ratio >= 1/1.3 {
			within++
		}
		fmt.Fprintf(&b, "| %s | %.1f | %.1f | %.2f |", c.name, c.planned.Total, c.ran.Total, ratio)
		for _, part := range [][2]float64{{c.planned.Load, c.ran.Load}, {c.planned.Search, c.ran.Search}, {c.planned.Refit, c.ran.Refit},
			{c.planned.Evaluate, c.ran.Evaluate}, {c.planned.Report, c.ran.Report}} {
			fmt.Fprintf(&b, " %.2f, %.2f |", part[0], part[1])
		}
		fmt.Fprintf(&b, " %.0f, %.0f |\n", c.plan, c.peak)
	}
	fmt.Fprintf(&b, "\n%d of %d are within a factor of 1.3.\n", within, len(list))
	return b.String()
}
