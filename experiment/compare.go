package experiment

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/experiment/document"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/internal/files"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/report"
)

// Comparison is runs side by side.
type Comparison = result.Comparison

// Incomparable is the error of runs that cannot be compared: their folders are not whole, or they have been tested on
// other rows, or asked for something else.
type Incomparable struct{ Faults []string }

// Error lists all that is wrong.
func (e *Incomparable) Error() string {
	return "experiment: these runs cannot be compared:\n  " + strings.Join(e.Faults, "\n  ")
}

func (e *Incomparable) add(format string, args ...any) {
	e.Faults = append(e.Faults, fmt.Sprintf(format, args...))
}

// finished is a run as its folder has it.
type finished struct {
	Result
	label, folder string
	spec          Spec
	values        document.Values
}

// Compare puts runs side by side by what they have written into their folders: what differs in their experiments, their
// scores, times and memory, and whether the others differ from the first by more than chance would make.
//
// Where there are test rows, they have to be the same ones with the same truths. For classes the test is
// [compare.McNemar], for numbers [compare.Paired], for each target. Where searches have used the same folds of the same
// rows, the scores of the candidates that they chose are compared by [compare.CorrectedT]. The tests of one list have
// Holm's correction. What cannot be tested is among the notes. Files of predictions are read row by row beside each other,
// in memory that does not grow with them.
//
// Runs that cannot be compared are an [*Incomparable] with all that is in the way. It returns ctx.Err() with its cause when the context
// ends.
//
// [compare.McNemar]: https://pkg.go.dev/github.com/bochner-ml/bochner/compare#McNemar
// [compare.Paired]: https://pkg.go.dev/github.com/bochner-ml/bochner/compare#Paired
// [compare.CorrectedT]: https://pkg.go.dev/github.com/bochner-ml/bochner/compare#CorrectedT
func Compare(ctx context.Context, folders ...string) (Comparison, error) {
	return CompareBy(ctx, "", folders...)
}

// CompareBy is [Compare] by a metric, which all runs have a score of; "" stands for that of their
// searches.
func CompareBy(ctx context.Context, score string, folders ...string) (Comparison, error) {
	wrong := &Incomparable{}
	read := readRuns(folders, wrong)
	var runs []finished // those that were asked the same
	for k, r := range read {
		if k == 0 || sameQuestion(read[0], r, wrong) {
			runs = append(runs, r)
		}
	}
	if len(runs) < 2 {
		return Comparison{}, wrong
	}
	first := runs[0]
	c := Comparison{
		Task: first.Task, Positive: first.Positive, TestRows: first.Rows.Test,
		Differences: settings(runs), OnTestRows: []result.Tested{}, OnFolds: []result.Tested{}, Notes: []string{},
	}
	for _, r := range runs {
		c.Runs = append(c.Runs, result.Compared{
			Label: r.label, Folder: r.folder, Rows: r.Rows, Test: r.Test, Train: r.Train, Search: r.Search, Auto: r.Auto,
			Seconds: r.Seconds, Memory: r.Memory, Version: r.Versions.Bochner,
		})
	}
	if err := compareScores(&c, score); err != nil {
		return Comparison{}, err
	}
	if err := compareRows(ctx, runs, &c, wrong); err != nil {
		return Comparison{}, err
	}
	if len(wrong.Faults) > 0 {
		return Comparison{}, wrong
	}
	if err := compareFolds(runs, &c); err != nil {
		return Comparison{}, err
	}
	if len(c.OnTestRows) > 0 && c.Score != "" && !slices.Contains(testedBy[c.OnTestRows[0].Score], c.Score) {
		c.Notes = append(c.Notes, fmt.Sprintf("The tests on the test rows are of %s, not of %s.", c.OnTestRows[0].Score, c.Score))
	}
	return c, nil
}

// testedBy lists the metrics whose order of two runs is that of a tested score.
var testedBy = map[string][]string{
	"accuracy":      {"accuracy", "zero_one_loss"},
	"squared_error": {"r2", "mean_squared_error", "root_mean_squared_error", "relative_rmse"},
}

// compareScores sets the metric that runs are compared by, and which of them is ahead by it.
func compareScores(c *Comparison, score string) error {
	part, of := "test rows", func(r result.Compared) map[string]float64 { return r.Test }
	if c.TestRows == 0 {
		part, of = "training rows", func(r result.Compared) map[string]float64 { return r.Train }
	}
	common := slices.Sorted(maps.Keys(of(c.Runs[0])))
	var searched []string
	for _, r := range c.Runs {
		common = slices.DeleteFunc(common, func(name string) bool { _, ok := of(r)[name]; return !ok })
		if name, _, _, ok := r.Chosen(); ok && !slices.Contains(searched, name) {
			searched = append(searched, name)
		}
	}
	from := ""
	switch {
	case score != "":
		m, err := metrics.ByName(score)
		if err != nil {
			return fmt.Errorf("experiment: %w", err)
		}
		if score = m.Name; !slices.Contains(common, score) {
			return fmt.Errorf("experiment: score must be one that all runs have (%s), got %s", strings.Join(common, ", "), score)
		}
	case c.TestRows == 0: // scores of training rows name no winner
		return nil
	case len(searched) > 1:
		c.Notes = append(c.Notes, "The searches used different scores, "+strings.Join(searched, " and ")+"; choose one with --score.")
		return nil
	case len(searched) == 0 || !slices.Contains(common, searched[0]):
		return nil
	default:
		score, from = searched[0], ", the score of the search,"
	}
	m, err := metrics.ByName(score)
	if err != nil {
		return fmt.Errorf("experiment: %w", err)
	}
	best := 0
	var values []string
	for k, r := range c.Runs {
		values = append(values, fmt.Sprintf("%s %.4g", r.Label, of(r)[score]))
		if m.Better(of(r)[score], of(c.Runs[best])[score]) {
			best = k
		}
	}
	c.Score = score
	ahead := c.Runs[best].Label + " is ahead"
	if !slices.ContainsFunc(c.Runs, func(r result.Compared) bool { return m.Better(of(c.Runs[best])[score], of(r)[score]) }) {
		ahead = "no run is ahead"
	}
	c.Outcome = fmt.Sprintf("By %s%s %s on the %s: %s.", strings.ReplaceAll(score, "_", " "), from, ahead, part, strings.Join(values, ", "))
	return nil
}

// CompareHTML writes a comparison as a page of HTML.
func CompareHTML(path string, c Comparison) error {
	for _, r := range c.Runs {
		for _, name := range slices.Concat(runOutputs, autoOutputs) {
			if err := files.CheckOutput(path, filepath.Join(r.Folder, name)); err != nil {
				return err
			}
		}
	}
	return files.Replace(path, func(w *bufio.Writer) error { return report.WriteComparison(w, c) })
}

// readRuns reads all runs.
func readRuns(folders []string, wrong *Incomparable) (runs []finished) {
	if len(folders) < 2 {
		wrong.add("%d run named, wanted at least two", len(folders))
	}
	for k, folder := range folders {
		if slices.ContainsFunc(folders[:k], func(other string) bool { return filepath.Clean(other) == filepath.Clean(folder) }) {
			wrong.add("%s is named twice", folder)
			continue
		}
		r := finished{folder: filepath.ToSlash(filepath.Clean(folder))}
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
		read := document.Decode(at, text)
		if err = read.Err(); err == nil {
			r.spec = read.Spec
			r.values, err = document.ValuesOf(at, text)
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
func label(runs []finished) {
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

// sameQuestion reports whether two runs were asked the same, and notes what was not.
func sameQuestion(first, other finished, wrong *Incomparable) bool {
	before := len(wrong.Faults)
	differ := func(what, then, now string) {
		if then != now {
			wrong.add("%s: %s is %s, that of %s is %s", other.folder, what, named(now), first.folder, named(then))
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
	if len(wrong.Faults) > before {
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
		wrong.add("%s has learned from other data than %s (SHA-256 %s and %s), and neither has test rows", other.folder, first.folder, start(other.SHA256.Train), start(first.SHA256.Train))
	case first.Rows.Test > 0 && then != now:
		wrong.add("%s: %s has other contents than that of %s (SHA-256 %s and %s)", other.folder, what, first.folder, start(now), start(then))
	case first.Rows.Test != other.Rows.Test:
		wrong.add("%s has %d test rows, %s has %d", other.folder, other.Rows.Test, first.folder, first.Rows.Test)
	}
	return len(wrong.Faults) == before
}

// named is a value, or that there is none.
func named(value string) string {
	if value == "" {
		return "none"
	}
	return value
}

// settings lists what is not the same in all experiments.
func settings(runs []finished) []result.Setting {
	out := []result.Setting{}
	told := map[string]bool{}
	for _, other := range runs[1:] {
		for _, d := range runs[0].values.Differences(other.values) {
			if told[d.Path] {
				continue
			}
			told[d.Path] = true
			s := result.Setting{Path: d.Path}
			for _, r := range runs {
				s.Values = append(s.Values, r.values.At(d.Path))
			}
			at := slices.IndexFunc(out, func(in result.Setting) bool { return strings.HasPrefix(in.Path, s.Path+".") })
			if at < 0 {
				at = len(out)
			}
			out = slices.Insert(out, at, s) // a section stands before what is in it
		}
	}
	for _, file := range []struct {
		path string
		of   func(finished) string
	}{
		{"data.train (SHA-256)", func(r finished) string { return start(r.SHA256.Train) }},
		{"data.test (SHA-256)", func(r finished) string { return start(r.SHA256.Test) }},
		{continued + " (SHA-256)", func(r finished) string { return start(digestOf(r.Before)) }},
		{"bochner", func(r finished) string { return r.Versions.Bochner }},
	} {
		s := result.Setting{Path: file.path}
		for _, r := range runs {
			s.Values = append(s.Values, file.of(r))
		}
		if len(slices.Compact(slices.Clone(s.Values))) > 1 {
			out = append(out, s)
		}
	}
	return out
}
