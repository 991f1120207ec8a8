package experiment

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/experiment/internal/config"
	"github.com/bochner-ml/bochner/experiment/internal/runfolder"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/internal/codec/jsonfloat"
	"github.com/bochner-ml/bochner/internal/rows/reader"
	"github.com/bochner-ml/bochner/internal/rows/rowfile"
	"github.com/bochner-ml/bochner/internal/runtime/files"
)

// runOutputs lists all files that [Run] may write, autoOutputs those of [Auto].
var (
	runOutputs  = []string{"spec.yaml", "result.json", candidatesName, "predictions.csv", files.ModelName, "report.html"}
	autoOutputs = []string{"experiment.yaml", "result.json", "leaderboard.csv", "predictions.csv", files.ModelName,
		"report.html"}
)

// autoJournal is the name of the journal of [Auto].
const autoJournal = "auto.journal"

// existingRunError reports that output.dir contains a finished run with other settings or data.
// Options.Force overwrites it.
type existingRunError struct {
	Dir         string
	Differences []string // "pipeline.rff.gamma: 0.05 → 0.1"
}

// Error lists the differences and the remedies.
func (e *existingRunError) Error() string {
	const most = 8
	lines := e.Differences
	if len(lines) > most {
		lines = append(slices.Clone(lines[:most]), fmt.Sprintf("and %d more", len(lines)-most))
	}
	return fmt.Sprintf("experiment: %s holds the results of another run, which this one would replace:\n  %s\n--force "+
		"replaces them, --set output.dir=… keeps both", e.Dir, strings.Join(lines, "\n  "))
}

// existingRun returns an [*existingRunError] if the output directory contains a finished run that
// differs in more than names and time limits.
func existingRun(s Spec, found result.Result) error {
	then, err := resultIn(s.Output.Dir)
	var missing *fs.PathError
	if errors.As(err, &missing) {
		return nil // the run has not finished
	}
	out := &existingRunError{Dir: s.Output.Dir}
	if err != nil {
		out.Differences = []string{"result.json: it cannot be read"}
		return out
	}
	if then.Auto != nil {
		out.Differences = []string{"the model was found by auto, whose search is not part of this experiment"}
		return out
	}
	at := filepath.Join(s.Output.Dir, "spec.yaml")
	text, err := os.ReadFile(at)
	if errors.Is(err, fs.ErrNotExist) {
		out.Differences = []string{"spec.yaml: it is missing"}
		return out
	}
	if err != nil {
		return fmt.Errorf("experiment: %w", files.Tell(err))
	}
	old, err := config.ValuesOf(at, text)
	if err != nil {
		out.Differences = []string{"spec.yaml: it cannot be read: " + strings.Split(err.Error(), "\n")[0]}
		return out
	}
	now, err := s.Encode(at)
	if err != nil {
		return err
	}
	own, err := config.ValuesOf(at, now)
	if err != nil {
		return err
	}
	for _, d := range old.Differences(own) {
		out.Differences = append(out.Differences, d.String())
	}
	for _, d := range otherFiles(then, found) {
		what := "other contents"
		switch d.Path {
		case continued:
			what = "another model"
		case startFrom:
			what = "other candidates"
		}
		out.Differences = append(out.Differences, fmt.Sprintf("%s: %s (SHA-256 %s → %s)", d.Path, what, d.Then, d.Now))
	}
	if len(out.Differences) == 0 {
		return nil
	}
	return out
}

// checkExistingAuto checks the output directory for an interrupted search to resume, or for results
// that require force.
func checkExistingAuto(spec Spec, force bool) error {
	dir := spec.Output.Dir
	journal := filepath.Join(dir, autoJournal)
	if force {
		if err := os.Remove(journal); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("experiment: %w", err)
		}
		return nil
	}
	found, err := resultIn(dir)
	if _, missing := os.Stat(journal); missing == nil && (found.Auto != nil || errors.Is(err, fs.ErrNotExist)) {
		return nil // the head of the journal identifies the search
	}
	var noFile *fs.PathError
	if !errors.As(err, &noFile) {
		return fmt.Errorf("experiment: %s contains results of a different run; use --force to overwrite it, or --out DIR",
			dir)
	}
	return nil
}

// checkOutputs returns an error if a run would overwrite an input or, unless force is set, a file
// that no run has written.
func checkOutputs(spec Spec, outputs []string, force bool) error {
	dir := spec.Output.Dir
	ours := writtenByRun(dir)
	var inputs reader.Paths
	if data := spec.Data; data.FS == nil {
		inputs = slices.Concat(data.Train, data.Test)
	}
	if !ours {
		inputs = append(inputs, spec.File())
	}
	var foreign []string
	for _, name := range outputs {
		at := filepath.Join(dir, name)
		if err := rowfile.CheckOutput(at, inputs...); err != nil {
			return err
		}
		if _, err := os.Lstat(at); err == nil && !ours {
			foreign = append(foreign, at)
		}
	}
	if len(foreign) > 0 && !force {
		return fmt.Errorf("experiment: cannot overwrite %s: not written by a run; use --force or another output directory",
			strings.Join(foreign, ", "))
	}
	return nil
}

// writtenByRun reports whether a directory contains the outputs of a finished or interrupted run.
func writtenByRun(dir string) bool {
	for _, pattern := range []string{runfolder.Unfinished, "search-*.journal*", autoJournal} {
		if left, _ := filepath.Glob(filepath.Join(dir, pattern)); len(left) > 0 {
			return true
		}
	}
	found, err := resultIn(dir)
	return err == nil && found.Versions.Bochner != ""
}

// resultIn reads the result of the run in a directory.
func resultIn(dir string) (r result.Result, err error) {
	text, err := os.ReadFile(filepath.Join(dir, "result.json"))
	if err == nil {
		err = jsonfloat.Unmarshal(text, &r)
	}
	return r, err
}
