// Command unchanged tests whether a change of the code affects any number. It builds the command
// bochner at a commit and from the working tree, runs the experiments below specs/ with both on the
// same data, and compares their outputs: predictions, the table of candidates, the result and every
// array of the model file.
//
//	go run ./bench/unchanged                  the working tree against HEAD
//	go run ./bench/unchanged -against v0.1    … against another commit
//	go run ./bench/unchanged -only ridge      the experiments whose names contain a word
//
// The program generates the data from a seed. Times, memory, versions and dates are excluded from
// the comparison. The largest relative difference of numbers is reported. The exit code is 1 if
// anything differs.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/bench/internal/tree"
)

func main() {
	against := flag.String("against", "HEAD", "commit to compare the working tree with")
	only := flag.String("only", "", "run the experiments whose names contain this")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	same, err := run(ctx, *against, *only)
	if err != nil {
		fmt.Fprintln(os.Stderr, "unchanged:", err)
		os.Exit(1)
	}
	if !same {
		os.Exit(1)
	}
}

func run(ctx context.Context, against, only string) (same bool, err error) {
	folder, err := os.MkdirTemp("", "unchanged")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(folder)
	before, after := filepath.Join(folder, "before"), filepath.Join(folder, "after")
	if err := buildCommit(ctx, against, folder, before); err != nil {
		return false, err
	}
	if err := build(ctx, ".", after); err != nil {
		return false, err
	}
	work := filepath.Join(folder, "work")
	specs, err := prepare(work)
	if err != nil {
		return false, err
	}
	same = true
	for _, spec := range specs {
		name := strings.TrimSuffix(filepath.Base(spec), ".yaml")
		if !strings.Contains(name, only) {
			continue
		}
		if _, err := os.Stat(filepath.Join(folder, "tree", "bench", "unchanged", "specs", filepath.Base(spec))); err != nil {
			fmt.Printf("%-28s is not an experiment of %s\n", name, against)
			continue
		}
		old, took, err := outputs(ctx, before, spec)
		if err != nil {
			return false, fmt.Errorf("%s: %s: %w", against, name, err)
		}
		now, takes, err := outputs(ctx, after, spec)
		if err != nil {
			return false, fmt.Errorf("working tree: %s: %w", name, err)
		}
		differences, err := compare(old, now)
		if err != nil {
			return false, fmt.Errorf("%s: %w", name, err)
		}
		fmt.Printf("%-28s %s  %.2f s, %.2f s\n", name, verdict(differences), took.Seconds(), takes.Seconds())
		for _, d := range differences {
			fmt.Printf("    %s\n", d)
		}
		same = same && len(differences) == 0
	}
	return same, nil
}

func verdict(differences []string) string {
	if len(differences) == 0 {
		return "same bits"
	}
	return "DIFFERS  "
}

// buildCommit builds the command at a commit, from a copy of that commit's files.
func buildCommit(ctx context.Context, commit, folder, binary string) error {
	files := filepath.Join(folder, "tree")
	if err := tree.Unpack(ctx, commit, files); err != nil {
		return err
	}
	return build(ctx, files, binary)
}

func build(ctx context.Context, tree, binary string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", binary, "./cmd/bochner")
	cmd.Dir, cmd.Stderr = tree, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("building %s: %w", tree, err)
	}
	return nil
}

// outputs runs an experiment and returns the files it writes, which are then removed.
func outputs(ctx context.Context, binary, spec string) (written map[string][]byte, took time.Duration, err error) {
	dir := filepath.Join(filepath.Dir(spec), "out")
	defer os.RemoveAll(dir)
	began := time.Now()
	cmd := exec.CommandContext(ctx, binary, "run", "--quiet", "--set", "output.dir=out", filepath.Base(spec))
	cmd.Dir = filepath.Dir(spec)
	if output, err := cmd.CombinedOutput(); err != nil {
		return nil, 0, fmt.Errorf("%w: %s", err, output)
	}
	took = time.Since(began)
	written = map[string][]byte{}
	for _, name := range []string{"result.json", "cv_results.csv", "predictions.csv", "model.bochner"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if os.IsNotExist(err) {
			continue // an experiment without a search, or without test rows
		}
		if err != nil {
			return nil, 0, err
		}
		written[name] = text
	}
	return written, took, nil
}
