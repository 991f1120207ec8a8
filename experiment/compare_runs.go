package experiment

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/experiment/internal/config"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/internal/learning/metricinput"
)

// incomparableRunsError reports runs that cannot be compared: incomplete directories, different
// test rows, or different tasks and metrics.
type incomparableRunsError struct{ Problems []string }

// Error lists all that is wrong.
func (e *incomparableRunsError) Error() string {
	return "experiment: cannot compare these runs:\n  " + strings.Join(e.Problems, "\n  ")
}

func (e *incomparableRunsError) add(format string, args ...any) {
	e.Problems = append(e.Problems, fmt.Sprintf(format, args...))
}

// finishedRun is a run read from its directory.
type finishedRun struct {
	result.Result
	label, folder string
	spec          Spec
	values        config.Values
}

// readRuns reads all runs.
func readRuns(folders []string, wrong *incomparableRunsError) (runs []finishedRun) {
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
func comparableSettings(first, other finishedRun, wrong *incomparableRunsError) bool {
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

// runCosts are the costs of mistakes between the classes of all runs.
type runCosts struct {
	classes []string
	table   *mat.Dense // nil for none
}

// of returns the cost of predicting a class for a row of another.
func (c runCosts) of(truth, predicted string) (float64, bool) {
	i, j := slices.Index(c.classes, truth), slices.Index(c.classes, predicted)
	if i < 0 || j < 0 {
		return 0, false
	}
	return c.table.At(i, j), true
}

// compareCosts returns the costs of the thresholds of the runs, if they agree, and computes by them the
// cost of the other runs from their confusion matrices.
func compareCosts(runs []finishedRun, c *result.Comparison) (out runCosts) {
	for _, r := range runs {
		if r.Confusion.Classes == nil {
			continue
		}
		table := metricinput.Costs(r.spec.Pipeline, r.Confusion.Classes)
		switch {
		case table == nil:
		case out.table == nil:
			out = runCosts{r.Confusion.Classes, table}
		case !slices.Equal(out.classes, r.Confusion.Classes) || !mat.Equal(out.table, table):
			c.Notes = append(c.Notes, "The costs of mistakes differ between the runs: cost is not compared.")
			for k := range c.Runs {
				one := &c.Runs[k]
				one.Test, one.Train = dropScore(one.Test, "cost"), dropScore(one.Train, "cost")
			}
			return runCosts{}
		}
	}
	if out.table == nil {
		return out
	}
	for k, r := range runs {
		one, all, total := &c.Runs[k], 0.0, 0.0
		if !slices.Equal(r.Confusion.Classes, out.classes) {
			continue
		}
		for i, row := range r.Confusion.Counts {
			for j, n := range row {
				all, total = all+n, total+n*out.table.At(i, j)
			}
		}
		scores := &one.Test
		if r.On == "train" {
			scores = &one.Train
		}
		if _, ok := (*scores)["cost"]; !ok && all > 0 {
			*scores = maps.Clone(*scores)
			(*scores)["cost"] = total / all
		}
	}
	return out
}

// dropScore returns scores without one of them.
func dropScore(scores map[string]float64, name string) map[string]float64 {
	out := maps.Clone(scores)
	delete(out, name)
	return out
}
