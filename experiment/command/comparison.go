package command

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/experiment/result"
)

// showComparison prints a table of the runs, and the tests of each run against the first.
func showComparison(out io.Writer, c result.Comparison) {
	on := "no test rows"
	if c.TestRows > 0 {
		on = fmt.Sprintf("%d test rows", c.TestRows)
	}
	printf(out, "%d runs, %s, %s\n\n", len(c.Runs), c.Task, on)
	if c.Outcome != "" {
		printf(out, "%s\n\n", c.Outcome)
	}
	showRunTable(out, c)
	showPositive(out, c.Positive)
	showTests(out, c, "on the test rows", c.OnTestRows)
	showTests(out, c, "on the folds", c.OnFolds)
	for i, n := range c.Notes {
		if i == 0 {
			fmt.Fprintln(out)
		}
		printf(out, "note: %s\n", n)
	}
}

// showRunTable prints settings, scores and resources with a column for each run.
func showRunTable(out io.Writer, c result.Comparison) {
	t := columns(out)
	for _, r := range c.Runs {
		printf(t, "\t%s", r.Label)
	}
	fmt.Fprintln(t)
	for _, s := range c.Differences {
		printf(t, "%s", s.Path)
		for _, v := range s.Values {
			printf(t, "\t%s", brief(v))
		}
		fmt.Fprintln(t)
	}
	line := func(name string, of func(result.RunSummary) string) {
		printf(t, "%s", name)
		for _, r := range c.Runs {
			printf(t, "\t%s", of(r))
		}
		fmt.Fprintln(t)
	}
	for _, path := range chosenPaths(c) {
		line("chosen "+path, func(r result.RunSummary) string {
			if r.Search == nil || r.Search.Best.Params[path] == nil {
				return "–"
			}
			return brief(fmt.Sprint(r.Search.Best.Params[path]))
		})
	}
	for _, name := range foldScores(c) {
		line("folds: "+name, func(r result.RunSummary) string {
			score, mean, spread, ok := r.Chosen()
			if !ok || score != name {
				return "–"
			}
			return fmt.Sprintf("%s ± %.2g", formatScore(mean), spread)
		})
	}
	part, of := "test: ", func(r result.RunSummary) map[string]float64 { return r.Test }
	if c.TestRows == 0 {
		part, of = "train: ", func(r result.RunSummary) map[string]float64 { return r.Train }
	}
	names := map[string]bool{}
	for _, r := range c.Runs {
		for name := range of(r) {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		line(part+name, func(r result.RunSummary) string {
			if v, ok := of(r)[name]; ok {
				return formatScore(v)
			}
			return "–"
		})
	}
	line("training rows", func(r result.RunSummary) string { return fmt.Sprint(r.Rows.Train) })
	line("time", func(r result.RunSummary) string { return fmt.Sprintf("%.1f s", r.Seconds.Total) })
	line("memory", func(r result.RunSummary) string {
		if r.Memory == 0 {
			return "–"
		}
		return bytesText(r.Memory)
	})
	t.Flush()
}

// showTests prints a list of tests and their results.
func showTests(out io.Writer, c result.Comparison, where string, tests []result.TestResult) {
	if len(tests) == 0 {
		return
	}
	printf(out, "\n%s, against %s\n", where, c.Runs[0].Label)
	t := columns(out)
	head := "\tdifference in\t\t95 % interval\tp"
	if len(tests) > 1 {
		head += "\tHolm's p"
	}
	fmt.Fprintln(t, head+"\ttest")
	for _, one := range tests {
		name := one.Score
		if one.Target != "" {
			name += " of " + one.Target
		}
		printf(t, "%s\t%s\t%+.4g\t%+.3g to %+.3g\t%.2g", c.Runs[one.Run].Label, name, one.Difference, one.Low, one.High,
			one.P)
		if len(tests) > 1 {
			printf(t, "\t%.2g", one.Holm)
		}
		printf(t, "\t%s", one.Method)
		if one.Score == "accuracy" && one.OnlyFirst+one.Only > 0 {
			printf(t, "; rows that only it classifies correctly: %d, only %s: %d", one.Only, c.Runs[0].Label, one.OnlyFirst)
		}
		fmt.Fprintln(t)
	}
	t.Flush()
	for _, one := range tests {
		printf(out, "%s\n", verdictOfTest(c, one))
	}
}

// verdictOfTest returns the conclusion of a test as a sentence.
func verdictOfTest(c result.Comparison, t result.TestResult) string {
	of := ""
	if t.Target != "" {
		of = " for " + t.Target
	}
	if c.Score != "" && c.Score != t.Score {
		of = " by " + strings.ReplaceAll(t.Score, "_", " ") + of
	}
	label := c.Runs[t.Run].Label
	switch {
	case !t.Differs():
		return label + ": no significant difference" + of
	case t.Better():
		return label + " is significantly better" + of
	}
	return label + " is significantly worse" + of
}

// chosenPaths are the axes of the searches.
func chosenPaths(c result.Comparison) []string {
	paths := map[string]bool{}
	for _, r := range c.Runs {
		if r.Search != nil {
			for path := range r.Search.Best.Params {
				paths[path] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(paths))
}

// foldScores are the metrics of the searches.
func foldScores(c result.Comparison) []string {
	names := map[string]bool{}
	for _, r := range c.Runs {
		if score, _, _, ok := r.Chosen(); ok {
			names[score] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// brief shortens a value that would make a column too wide.
func brief(text string) string {
	const most = 32
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}
