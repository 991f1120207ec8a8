package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// describe returns the host and the program versions of the table.
func describe(ctx context.Context, o options) (string, error) {
	words := fmt.Sprintf("%s, %d cores, %d threads used, %s/%s; %s", processor(), runtime.NumCPU(), o.threads,
		runtime.GOOS, runtime.GOARCH, runtime.Version())
	if o.peer == "none" {
		return words + ".", nil
	}
	out, err := exec.CommandContext(ctx, o.python, "-c", versions).Output()
	if err != nil {
		return "", fmt.Errorf("asking %s for versions: %w", o.python, err)
	}
	return words + "; " + strings.TrimSpace(string(out)) + ".", nil
}

// processor returns the name of the processor on Linux, "" elsewhere.
func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "a processor without a name"
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "a processor without a name"
}
