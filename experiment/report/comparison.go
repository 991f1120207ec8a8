package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/internal/codec/svg"
	"github.com/bochner-ml/bochner/internal/learning/coverage"
)

// NewComparison returns the page of a comparison of runs. The output is deterministic.
func NewComparison(c result.Comparison) (Page, error) { return render(comparisonPage(c)) }

// comparisonPage fills the page of a comparison.
func comparisonPage(c result.Comparison) page {
	var names []string
	for _, r := range c.Runs {
		names = append(names, r.Label)
	}
	p := page{Title: strings.Join(names, ", ")}
	if n := len(names); n > 1 {
		p.Title = strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	if c.Outcome != "" {
		p.Summary = append(p.Summary, c.Outcome)
	}
	tests := decidingTests(c, c.OnTestRows)
	if len(tests) == 0 {
		tests = decidingTests(c, c.OnFolds)
	}
	for _, t := range tests {
		p.Summary = append(p.Summary, testSummary(c, t))
	}
	for _, one := range []func(result.Comparison) section{scoresSection, significance, settingsSection, costSection} {
		if s := one(c); len(s.Text)+len(s.Tables) > 0 {
			s.ID = strings.ReplaceAll(strings.ToLower(s.Title), " ", "-")
			p.Sections = append(p.Sections, s)
		}
	}
	var folders []string
	for _, r := range c.Runs {
		folders = append(folders, r.Folder)
	}
	p.Footer = "bochner compare " + strings.Join(folders, " ")
	return p
}

// decidingTests returns the tests of the score that the runs are compared by.
func decidingTests(c result.Comparison, tests []result.TestResult) (out []result.TestResult) {
	for _, t := range tests {
		if t.Ranks(c.Score) {
			out = append(out, t)
		}
	}
	return out
}

// testSummary describes the result of a test.
func testSummary(c result.Comparison, t result.TestResult) string {
	run, first := c.Runs[t.Run], c.Runs[0]
	write, lead := formatNumber, fmt.Sprintf("On %s test rows", formatCount(float64(t.Pairs)))
	differ, of := "", ""
	if t.Target != "" {
		of = " of " + t.Target
	}
	switch {
	case t.Score == "accuracy" && t.Only+t.OnlyFirst > 0 && run.Test != nil:
		write = func(v float64) string { return strings.Replace(strconv.FormatFloat(100*v, 'f', 2, 64), "-", "−", 1) }
		differ = fmt.Sprintf("%s the accuracy of %s is %s and that of %s %s: difference in percentage points", lead,
			run.Label, formatPercent(run.Test["accuracy"]), first.Label, formatPercent(first.Test["accuracy"]))
	case t.Score == "squared_error":
		differ = fmt.Sprintf("%s, mean squared error%s: difference between %s and %s", lead, of, run.Label, first.Label)
	case slices.Contains(c.OnTestRows, t) && t.Score != "accuracy":
		differ = fmt.Sprintf("%s, %s%s: difference between %s and %s", lead, metricLabel(t.Score), of, run.Label, first.Label)
	case slices.Contains(c.OnTestRows, t):
		differ = fmt.Sprintf("%s, accuracy: difference between %s and %s", lead, run.Label, first.Label)
	default:
		differ = fmt.Sprintf("On %d cross-validation folds, %s: difference between %s and %s", t.Pairs, metricLabel(t.Score),
			run.Label, first.Label)
	}
	verdict := "The difference is not significant"
	if t.Differs() {
		by := ""
		if c.Score != "" && c.Score != t.Score {
			by = " by " + strings.ReplaceAll(t.Score, "_", " ")
		}
		verdict = run.Label + " is significantly better" + by
		if !t.Better() {
			verdict = run.Label + " is significantly worse" + by
		}
	}
	return fmt.Sprintf("%s: %s (%[5]g\u00a0%% confidence interval %[3]s to %[4]s). %[6]s (p %[7]s).", differ,
		write(t.Difference), write(t.Low), write(t.High), 100*coverage.TestLevel, verdict, probability(t.Holm))
}

// probability formats a p-value.
func probability(p float64) string {
	if p < 1e-4 && p >= 0 {
		return "< 0.0001"
	}
	return formatStdDev(p)
}

// runHeader returns the header of a table with one column per run.
func runHeader(c result.Comparison, first string) []string {
	out := []string{first}
	for _, r := range c.Runs {
		out = append(out, r.Label)
	}
	return out
}

// scoresSection compares the scores.
func scoresSection(c result.Comparison) (s section) {
	s.Title = "Scores"
	for _, part := range []struct {
		caption string
		of      func(result.RunSummary) map[string]float64
	}{
		{"Test rows (↑ higher is better, ↓ lower is better)", func(r result.RunSummary) map[string]float64 { return r.Test }},
		{"Training rows", func(r result.RunSummary) map[string]float64 { return r.Train }},
		{"Cross-validation", func(r result.RunSummary) map[string]float64 {
			score, mean, _, ok := r.Chosen()
			if !ok {
				return nil
			}
			return map[string]float64{score: mean}
		}},
	} {
		names := map[string]bool{}
		for _, r := range c.Runs {
			for name := range part.of(r) {
				names[name] = true
			}
		}
		t := table{Caption: part.caption, Head: runHeader(c, "score")}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			row := []string{metricLabel(name) + " " + arrow(name)}
			for _, r := range c.Runs {
				value := "–"
				if v, ok := part.of(r)[name]; ok {
					value = formatScore(v)
				}
				row = append(row, value)
			}
			t.Rows = append(t.Rows, row)
		}
		if len(t.Rows) > 0 {
			s.Tables = append(s.Tables, t)
		}
	}
	if c.Positive != "" {
		s.Text = append(s.Text, fmt.Sprintf("The positive class is %s.", c.Positive))
	}
	return s
}

// significance lists the significance tests and the tests that were omitted.
func significance(c result.Comparison) (s section) {
	s.Title = "Significance"
	for _, list := range []struct {
		on    string
		tests []result.TestResult
	}{{"test rows", c.OnTestRows}, {"folds", c.OnFolds}} {
		if len(list.tests) == 0 {
			continue
		}
		s.Figures = append(s.Figures, differences(c, list.on, list.tests)...)
		t := table{Caption: fmt.Sprintf("Difference of %s on the %s, relative to %s", metricLabel(list.tests[0].Score),
			list.on, c.Runs[0].Label),
			Head: []string{"run", "difference", fmt.Sprintf("%g\u00a0%% interval", 100*coverage.TestLevel),
				"p", "Holm's p"}}
		counted := list.tests[0].Score == "accuracy" && list.on == "test rows"
		if counted {
			t.Head = append(t.Head, "only it correct", "only "+truncate(c.Runs[0].Label)+" correct")
		}
		var methods []string
		for _, one := range list.tests {
			name := c.Runs[one.Run].Label
			if one.Target != "" {
				name += ", " + one.Target
			}
			row := []string{name, formatNumber(one.Difference), formatNumber(one.Low) + " to " + formatNumber(one.High),
				probability(one.P), probability(one.Holm)}
			if counted {
				row = append(row, formatCount(float64(one.Only)), formatCount(float64(one.OnlyFirst)))
			}
			t.Rows = append(t.Rows, row)
			if !slices.Contains(methods, one.Method) {
				methods = append(methods, one.Method)
			}
		}
		t.Caption += "; " + strings.Join(methods, " or ")
		s.Tables = append(s.Tables, t)
	}
	if len(s.Tables) > 0 {
		s.Text = append(s.Text, fmt.Sprintf("Differences are relative to %s. p is the probability of a difference at "+
			"least as large between two equally good models. Holm's p corrects for the number of tests; a value below 0.05 "+
			"is significant.", c.Runs[0].Label))
	}
	s.Text = append(s.Text, c.Notes...)
	return s
}

// differences plots the differences to the first run, one figure per score and target.
func differences(c result.Comparison, on string, tests []result.TestResult) (out []figure) {
	for at := range tests {
		one := tests[at]
		if slices.ContainsFunc(tests[:at], func(t result.TestResult) bool {
			return t.Score == one.Score && t.Target == one.Target
		}) {
			continue
		}
		name := metricLabel(one.Score)
		if one.Target != "" {
			name += " of " + one.Target
		}
		title := "Difference on the " + on
		if one.Target != "" {
			title += ", " + truncate(one.Target)
		}
		s := svg.Series{Dots: true}
		x := svg.Axis{Labels: []string{}}
		var descriptions []string
		for _, t := range tests {
			if t.Score != one.Score || t.Target != one.Target {
				continue
			}
			s.X, s.Y = append(s.X, float64(len(x.Labels))), append(s.Y, t.Difference)
			s.Low, s.High = append(s.Low, t.Low), append(s.High, t.High)
			x.Labels = append(x.Labels, truncate(c.Runs[t.Run].Label))
			descriptions = append(descriptions, fmt.Sprintf("%s %s (%s to %s)", c.Runs[t.Run].Label, formatNumber(t.Difference),
				formatNumber(t.Low), formatNumber(t.High)))
		}
		none := svg.Series{Name: truncate(c.Runs[0].Label), Color: svg.Reference,
			X: []float64{-0.5, float64(len(x.Labels)) - 0.5}, Y: []float64{0, 0}, Line: true, Dashed: true}
		p := svg.Plot{Title: title, X: x, Y: svg.Axis{Name: name}, Series: []svg.Series{s, none}}
		p.AltText = fmt.Sprintf("%s in %s relative to %s: %s", title, name, c.Runs[0].Label, strings.Join(descriptions, "; "))
		out = append(out, figure{Title: title, SVG: trustedSVG(p.SVG())})
	}
	return out
}

// settingsSection compares the experiment files and the selected hyperparameters.
func settingsSection(c result.Comparison) (s section) {
	s.Title = "Settings"
	if len(c.Differences) > 0 {
		t := table{Caption: "Differences of the experiment files and data", Head: runHeader(c, "")}
		for _, d := range c.Differences {
			t.Rows = append(t.Rows, append([]string{d.Path}, d.Values...))
		}
		s.Tables = append(s.Tables, t)
	} else {
		s.Text = append(s.Text, "The experiments differ only in names and diagnostics.")
	}
	paths := map[string]bool{}
	for _, r := range c.Runs {
		if r.Search != nil {
			for path := range r.Search.Best.Params {
				paths[path] = true
			}
		}
	}
	t := table{Caption: "Selected by the searches", Head: runHeader(c, "")}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		row := []string{path}
		for _, r := range c.Runs {
			value := "–"
			if r.Search != nil && r.Search.Best.Params[path] != nil {
				value = formatValue(r.Search.Best.Params[path])
			}
			row = append(row, value)
		}
		t.Rows = append(t.Rows, row)
	}
	if len(t.Rows) > 0 {
		s.Tables = append(s.Tables, t)
	}
	return s
}

// costSection compares time and memory.
func costSection(c result.Comparison) (s section) {
	s.Title = "Time and memory"
	t := table{Caption: "Cost of the runs", Head: runHeader(c, "")}
	add := func(name string, value func(result.RunSummary) string) {
		row := []string{name}
		for _, r := range c.Runs {
			row = append(row, value(r))
		}
		t.Rows = append(t.Rows, row)
	}
	add("training rows", func(r result.RunSummary) string { return formatCount(float64(r.Rows.Train)) })
	add("total", func(r result.RunSummary) string { return formatSeconds(r.Seconds.Total) })
	add("search", func(r result.RunSummary) string { return formatSeconds(r.Seconds.Search) })
	add("refit on all rows", func(r result.RunSummary) string { return formatSeconds(r.Seconds.Refit) })
	add("peak memory", func(r result.RunSummary) string {
		if r.Memory == 0 {
			return "–"
		}
		return fmt.Sprintf("%.0f MiB", float64(r.Memory)/(1<<20))
	})
	s.Tables = []table{t}
	return s
}
