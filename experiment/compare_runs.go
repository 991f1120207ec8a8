package experiment

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/internal/experiment/config"
)

// IncomparableRunsError reports runs that cannot be compared: incomplete directories, different
// test rows, or different tasks and metrics.
type IncomparableRunsError struct{ Problems []string }

// Error lists all that is wrong.
func (e *IncomparableRunsError) Error() string {
	return "experiment: cannot compare these runs:\n  " + strings.Join(e.Problems, "\n  ")
}

func (e *IncomparableRunsError) add(format string, args ...any) {
	e.Problems = append(e.Problems, fmt.Sprintf(format, args...))
}

// finishedRun is a run read from its directory.
type finishedRun struct {
	Result
	label, folder string
	spec          Spec
	values        config.Values
}

// readRuns reads all runs.
func readRuns(folders []string, wrong *IncomparableRunsError) (runs []finishedRun) {
	if len(folders) < 2 {
		wrong.add("must be at least two runs, got %d", len(folders))
	}
	for k, folder := range folders {
		if slices.ContainsFunc(folders[:k],
			func(other string) bool { return filepath.Clean(other) == filepath.Clean(folder) }) {
			wrong.add("%s is named twice", folder)
			continue
		}
		r := finishedRun{folder: filepath.ToSlash(filepath.Clean(folder))}
		var err error
		if r.Result, err = ReadRun(folder); err != nil {
			wrong.add("%s", strings.TrimPrefix(err.Error(), "experiment: "))
			continue
		}
		at, text := specOf(folder)
		if at == "" {
			wrong.add("%s is missing", filepath.Join(folder, specNames[0]))
			continue
		}
		read := config.Decode(at, text)
		if err = read.Err(); err == nil {
			r.spec = read.Spec
			r.values, err = config.ValuesOf(at, text)
		}
		if err != nil {
			wrong.add("%s", err.Error())
			continue
		}
		runs = append(runs, r)
	}
	label(runs)
	return runs
}

// label gives each run the shortest end of its path that no other has.
func label(runs []finishedRun) {
	for most := 1; ; most++ {
		seen, whole := map[string]bool{}, true
		for k := range runs {
			parts := strings.Split(runs[k].folder, "/")
			whole = whole && most >= len(parts)
			runs[k].label = strings.Join(parts[max(0, len(parts)-most):], "/")
			seen[runs[k].label] = true
		}
		if whole || len(seen) == len(runs) {
			return
		}
	}
}

// comparableSettings reports whether two runs have comparable settings, and records the differences.
func comparableSettings(first, other finishedRun, wrong *IncomparableRunsError) bool {
	before := len(wrong.Problems)
	differ := func(what, then, now string) {
		if then != now {
			wrong.add("%s: %s is %s, that of %s is %s", other.folder, what, valueOrNone(now), first.folder, valueOrNone(then))
		}
	}
	differ("the task", first.Task, other.Task)
	a, b := first.spec.Data, other.spec.Data
	if len(a.Target) > 0 && len(b.Target) > 0 {
		differ("the target", strings.Join(a.Target, ", "), strings.Join(b.Target, ", "))
	}
	differ("the positive class", first.Positive, other.Positive)
	if strings.Join(a.Positive, "\x00") != strings.Join(b.Positive, "\x00") && first.Positive == other.Positive {
		differ("data.positive", strings.Join(a.Positive, ", "), strings.Join(b.Positive, ", "))
	}
	differ("the column of weights", a.Weight, b.Weight)
	if len(wrong.Problems) > before {
		return false // then the rest is other, too
	}
	what, then, now := "the training file, which its test rows are from,", first.SHA256.Train, other.SHA256.Train
	if first.SHA256.Test != "" || other.SHA256.Test != "" {
		what, then, now = "the test file", first.SHA256.Test, other.SHA256.Test
	}
	switch {
	case first.Rows.Test > 0 != (other.Rows.Test > 0):
		with, without := first, other
		if other.Rows.Test > 0 {
			with, without = other, first
		}
		wrong.add("%s has no test rows, %s has %d", without.folder, with.folder, with.Rows.Test)
	case first.Rows.Test == 0 && first.SHA256.Train != other.SHA256.Train:
		wrong.add("%s has learned from other data than %s (SHA-256 %s and %s), and neither has test rows", other.folder,
			first.folder, start(other.SHA256.Train), start(first.SHA256.Train))
	case first.Rows.Test > 0 && then != now:
		wrong.add("%s: %s has other contents than that of %s (SHA-256 %s and %s)", other.folder, what, first.folder,
			start(now), start(then))
	case first.Rows.Test != other.Rows.Test:
		wrong.add("%s has %d test rows, %s has %d", other.folder, other.Rows.Test, first.folder, first.Rows.Test)
	}
	return len(wrong.Problems) == before
}

// valueOrNone returns a quoted value, or "none" if it is empty.
func valueOrNone(value string) string {
	if value == "" {
		return "none"
	}
	return value
}
