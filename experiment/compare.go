package experiment

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/experiment/report"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/internal/runtime/files"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/metrics/compare"
)

// Compare compares runs by the files in their directories: settings, scores, times and memory, with
// significance tests of each run against the first. The score is a metric of all runs; "" is the
// metric of their searches. By cost, runs without costs of mistakes have those of the others.
//
// The test is [compare.McNemar] for classes, [compare.Paired] for costs of mistakes, and for numbers,
// per target, on the same test rows. For searches with the same folds of the same rows, [compare.CorrectedT] compares
// the scores of their best candidates. Holm's correction applies to each list of tests. Notes
// explain omitted tests. Predictions are streamed.
//
// Runs that cannot be compared cause an error that lists why.
//
// [compare.McNemar]: https://pkg.go.dev/github.com/bochner-ml/bochner/metrics/compare#McNemar
// [compare.Paired]: https://pkg.go.dev/github.com/bochner-ml/bochner/metrics/compare#Paired
// [compare.CorrectedT]: https://pkg.go.dev/github.com/bochner-ml/bochner/metrics/compare#CorrectedT
func Compare(ctx context.Context, score string, folders ...string) (result.Comparison, error) {
	wrong := &incomparableRunsError{}
	read := readRuns(folders, wrong)
	var runs []finishedRun // runs with comparable settings
	for k, r := range read {
		if k == 0 || comparableSettings(read[0], r, wrong) {
			runs = append(runs, r)
		}
	}
	if len(runs) < 2 {
		return result.Comparison{}, wrong
	}
	first := runs[0]
	c := result.Comparison{
		Task: first.Task, Positive: first.Positive, TestRows: first.Rows.Test,
		Differences: settings(runs), OnTestRows: []result.TestResult{}, OnFolds: []result.TestResult{}, Notes: []string{},
	}
	for _, r := range runs {
		c.Runs = append(c.Runs, result.RunSummary{
			Label: r.label, Folder: r.folder, Rows: r.Rows, Test: r.Test, Train: r.Train, Search: r.Search, Auto: r.Auto,
			Seconds: r.Seconds, Memory: r.Memory, Version: r.Versions.Bochner,
		})
	}
	costs := compareCosts(runs, &c)
	if err := compareScores(&c, score); err != nil {
		return result.Comparison{}, err
	}
	if err := compareRows(ctx, runs, &c, costs, wrong); err != nil {
		return result.Comparison{}, err
	}
	if len(wrong.Problems) > 0 {
		return result.Comparison{}, wrong
	}
	if err := compareFolds(runs, &c); err != nil {
		return result.Comparison{}, err
	}
	for _, tests := range [][]result.TestResult{c.OnTestRows, c.OnFolds} {
		if err := correct(tests); err != nil {
			return result.Comparison{}, err
		}
	}
	if len(c.OnTestRows) > 0 && !c.OnTestRows[0].Ranks(c.Score) {
		c.Notes = append(c.Notes, fmt.Sprintf("The tests on the test rows are of %s, not of %s.", c.OnTestRows[0].Score,
			c.Score))
	}
	return c, nil
}

// compareScores sets the metric of the comparison and the sentence that names the best run.
func compareScores(c *result.Comparison, score string) error {
	part, of := "test rows", func(r result.RunSummary) map[string]float64 { return r.Test }
	if c.TestRows == 0 {
		part, of = "training rows", func(r result.RunSummary) map[string]float64 { return r.Train }
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
		c.Notes = append(c.Notes, "The searches used different scores, "+strings.Join(searched, " and ")+
			"; choose one with --score.")
		return nil
	case len(searched) == 0 && slices.Contains(common, "cost"):
		score = "cost"
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
	if !slices.ContainsFunc(c.Runs, func(r result.RunSummary) bool {
		return m.Better(of(c.Runs[best])[score], of(r)[score])
	}) {
		ahead = "no run is ahead"
	}
	c.Outcome = fmt.Sprintf("By %s%s %s on the %s: %s.", strings.ReplaceAll(score, "_", " "), from, ahead, part,
		strings.Join(values, ", "))
	return nil
}

// correct applies Holm's correction to the tests of one list.
func correct(tests []result.TestResult) error {
	p := make([]float64, len(tests))
	for k, t := range tests {
		p[k] = t.P
	}
	corrected, err := compare.Holm(p)
	if err != nil {
		return fmt.Errorf("experiment: %w", err)
	}
	for k := range tests {
		tests[k].Holm = corrected[k]
	}
	return nil
}

// CompareHTML writes a comparison as an HTML page.
func CompareHTML(path string, c result.Comparison) error {
	for _, r := range c.Runs {
		for _, name := range slices.Concat(runOutputs, autoOutputs) {
			if err := files.CheckOutput(path, filepath.Join(r.Folder, name)); err != nil {
				return err
			}
		}
	}
	page, err := report.NewComparison(c)
	if err != nil {
		return err
	}
	return files.Replace(path, func(w *bufio.Writer) error { _, err := page.WriteTo(w); return err })
}

// setting is a value that differs between runs.
type setting = struct {
	Path   string   `json:"path"`
	Values []string `json:"values"` // one for each run
}

// settings returns the settings that are not equal in all experiments.
func settings(runs []finishedRun) []setting {
	out := []setting{}
	known := map[string]bool{}
	for _, other := range runs[1:] {
		for _, d := range runs[0].values.Differences(other.values) {
			if known[d.Path] {
				continue
			}
			known[d.Path] = true
			s := setting{Path: d.Path}
			for _, r := range runs {
				s.Values = append(s.Values, r.values.At(d.Path))
			}
			at := slices.IndexFunc(out, func(in setting) bool { return strings.HasPrefix(in.Path, s.Path+".") })
			if at < 0 {
				at = len(out)
			}
			out = slices.Insert(out, at, s) // a section precedes its keys
		}
	}
	for _, file := range []struct {
		path string
		of   func(finishedRun) string
	}{
		{"data.train (SHA-256)", func(r finishedRun) string { return start(r.SHA256.Train) }},
		{"data.test (SHA-256)", func(r finishedRun) string { return start(r.SHA256.Test) }},
		{continued + " (SHA-256)", func(r finishedRun) string { return start(r.Before.SHA256) }},
		{"bochner", func(r finishedRun) string { return r.Versions.Bochner }},
	} {
		s := setting{Path: file.path}
		for _, r := range runs {
			s.Values = append(s.Values, file.of(r))
		}
		if len(slices.Compact(slices.Clone(s.Values))) > 1 {
			out = append(out, s)
		}
	}
	return out
}
