package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/compare"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/internal/svg"
)

// NewComparison returns the page of runs side by side. The same comparison gives the same bytes.
func NewComparison(c result.Comparison) (Page, error) { return render(comparisonPage(c)) }

// comparisonPage says what stands on the page.
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
		p.Lead = append(p.Lead, c.Outcome)
	}
	tests := c.OnTestRows
	if len(tests) == 0 {
		tests = c.OnFolds
	}
	for _, t := range tests {
		p.Lead = append(p.Lead, outcome(c, t))
	}
	for _, one := range []func(result.Comparison) section{comparedScores, chance, comparedSettings, comparedCosts} {
		if s := one(c); len(s.Text)+len(s.Tables) > 0 {
			s.ID = strings.ReplaceAll(strings.ToLower(s.Title), " ", "-")
			p.Sections = append(p.Sections, s)
		}
	}
	var folders []string
	for _, r := range c.Runs {
		folders = append(folders, r.Folder)
	}
	p.Foot = "made by bochner compare " + strings.Join(folders, " ")
	return p
}

// outcome says in a sentence or two what a test came to.
func outcome(c result.Comparison, t result.TestResult) string {
	run, first := c.Runs[t.Run], c.Runs[0]
	write, where := short, fmt.Sprintf("On %s test rows", count(float64(t.Pairs)))
	var differ string
	switch {
	case t.Score == "accuracy" && t.Only+t.OnlyFirst > 0 && run.Test != nil:
		write = func(v float64) string { return strings.Replace(strconv.FormatFloat(100*v, 'f', 2, 64), "-", "−", 1) }
		differ = fmt.Sprintf("%s %s puts %s into the right class and %s %s: percentage points differ by", where, run.Label, percent(run.Test["accuracy"]), first.Label, percent(first.Test["accuracy"]))
	case t.Score == "squared_error" && t.Target != "":
		differ = fmt.Sprintf("%s the mean squared errors of %s for %s and %s differ by", where, t.Target, run.Label, first.Label)
	case t.Score == "squared_error":
		differ = fmt.Sprintf("%s the mean squared errors of %s and %s differ by", where, run.Label, first.Label)
	case len(c.OnTestRows) > 0:
		differ = fmt.Sprintf("%s the accuracies of %s and %s differ by", where, run.Label, first.Label)
	default:
		differ = fmt.Sprintf("On the %d folds of the searches %s of %s and %s differs by", t.Pairs, called(t.Score), run.Label, first.Label)
	}
	verdict := "Chance alone may make such a difference"
	if t.Differs() {
		by := ""
		if c.Score != "" && c.Score != t.Score {
			by = "by " + strings.ReplaceAll(t.Score, "_", " ") + ", "
		}
		verdict = run.Label + " is better " + by + "by more than chance"
		if !t.Better() {
			verdict = run.Label + " is worse " + by + "by more than chance"
		}
	}
	return fmt.Sprintf("%s %s, from %s to %s with %g\u00a0%% confidence. %s (p %s).", differ, write(t.Difference), write(t.Low), write(t.High), 100*compare.Level, verdict, probability(t.Holm))
}

// probability writes a p value.
func probability(p float64) string {
	if p < 1e-4 && p >= 0 {
		return "< 0.0001"
	}
	return spread(p)
}

// head is that of a table with a column for each run.
func head(c result.Comparison, first string) []string {
	out := []string{first}
	for _, r := range c.Runs {
		out = append(out, r.Label)
	}
	return out
}

// comparedScores are those of all runs.
func comparedScores(c result.Comparison) (s section) {
	s.Title = "Scores"
	for _, part := range []struct {
		caption string
		of      func(result.RunSummary) map[string]float64
	}{
		{"On the test rows (↑ the greater the better, ↓ the less)", func(r result.RunSummary) map[string]float64 { return r.Test }},
		{"On the rows that they have learned from", func(r result.RunSummary) map[string]float64 { return r.Train }},
		{"Over the folds of the searches", func(r result.RunSummary) map[string]float64 {
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
		t := table{Caption: part.caption, Head: head(c, "score")}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			row := []string{called(name) + " " + direction(name)}
			for _, r := range c.Runs {
				value := "–"
				if v, ok := part.of(r)[name]; ok {
					value = short(v)
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
		s.Text = append(s.Text, fmt.Sprintf("Scores of two classes speak of %s.", c.Positive))
	}
	return s
}

// chance are the tests, and which were not made.
func chance(c result.Comparison) (s section) {
	s.Title = "More than chance"
	for _, list := range []struct {
		on    string
		tests []result.TestResult
	}{{"test rows", c.OnTestRows}, {"folds", c.OnFolds}} {
		if len(list.tests) == 0 {
			continue
		}
		s.Figures = append(s.Figures, differences(c, list.on, list.tests)...)
		t := table{Caption: fmt.Sprintf("Difference of %s on the %s, against %s", called(list.tests[0].Score), list.on, c.Runs[0].Label), Head: []string{"run", "difference", fmt.Sprintf("%g\u00a0%% interval", 100*compare.Level), "p", "Holm's p"}}
		counted := list.tests[0].Score == "accuracy" && list.on == "test rows"
		if counted {
			t.Head = append(t.Head, "only it right", "only "+brief(c.Runs[0].Label)+" right")
		}
		var methods []string
		for _, one := range list.tests {
			name := c.Runs[one.Run].Label
			if one.Target != "" {
				name += ", " + one.Target
			}
			row := []string{name, short(one.Difference), short(one.Low) + " to " + short(one.High), probability(one.P), probability(one.Holm)}
			if counted {
				row = append(row, count(float64(one.Only)), count(float64(one.OnlyFirst)))
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
		s.Text = append(s.Text, fmt.Sprintf("A difference is that to %s. p is how often two equally good models would differ by as much or more. Holm's p takes into account that there may be several tests: where it is below 0.05 the difference is taken for more than chance.", c.Runs[0].Label))
	}
	s.Text = append(s.Text, c.Notes...)
	return s
}

// differences is a picture of the differences to the first run, for each score and target one.
func differences(c result.Comparison, on string, tests []result.TestResult) (out []figure) {
	for at := range tests {
		one := tests[at]
		if slices.ContainsFunc(tests[:at], func(t result.TestResult) bool { return t.Score == one.Score && t.Target == one.Target }) {
			continue
		}
		name := called(one.Score)
		if one.Target != "" {
			name += " of " + one.Target
		}
		title := "Difference on the " + on
		if one.Target != "" {
			title += ", " + brief(one.Target)
		}
		s := svg.Series{Dots: true}
		x := svg.Axis{Labels: []string{}}
		var said []string
		for _, t := range tests {
			if t.Score != one.Score || t.Target != one.Target {
				continue
			}
			s.X, s.Y = append(s.X, float64(len(x.Labels))), append(s.Y, t.Difference)
			s.Low, s.High = append(s.Low, t.Low), append(s.High, t.High)
			x.Labels = append(x.Labels, brief(c.Runs[t.Run].Label))
			said = append(said, fmt.Sprintf("%s %s, from %s to %s", c.Runs[t.Run].Label, short(t.Difference), short(t.Low), short(t.High)))
		}
		none := svg.Series{Name: brief(c.Runs[0].Label), Color: svg.Reference, X: []float64{-0.5, float64(len(x.Labels)) - 0.5}, Y: []float64{0, 0}, Line: true, Dashed: true}
		p := svg.Plot{Title: title, X: x, Y: svg.Axis{Name: name}, Series: []svg.Series{s, none}}
		p.Says = fmt.Sprintf("%s in %s to %s: %s", title, name, c.Runs[0].Label, strings.Join(said, "; "))
		out = append(out, figure{Title: title, Drawn: trusted(p.SVG())})
	}
	return out
}

// comparedSettings are what differs in the experiments, and what searches have chosen.
func comparedSettings(c result.Comparison) (s section) {
	s.Title = "What differs"
	if len(c.Differences) > 0 {
		t := table{Caption: "In the experiments and their files", Head: head(c, "")}
		for _, d := range c.Differences {
			t.Rows = append(t.Rows, append([]string{d.Path}, d.Values...))
		}
		s.Tables = append(s.Tables, t)
	} else {
		s.Text = append(s.Text, "The experiments are the same but for names and what is looked at afterwards.")
	}
	paths := map[string]bool{}
	for _, r := range c.Runs {
		if r.Search != nil {
			for path := range r.Search.Best.Params {
				paths[path] = true
			}
		}
	}
	t := table{Caption: "Chosen by the searches", Head: head(c, "")}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		row := []string{path}
		for _, r := range c.Runs {
			value := "–"
			if r.Search != nil && r.Search.Best.Params[path] != nil {
				value = shown(r.Search.Best.Params[path])
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

// comparedCosts are times and memory.
func comparedCosts(c result.Comparison) (s section) {
	s.Title = "Time and memory"
	t := table{Caption: "What the runs took", Head: head(c, "")}
	add := func(name string, of func(result.RunSummary) string) {
		row := []string{name}
		for _, r := range c.Runs {
			row = append(row, of(r))
		}
		t.Rows = append(t.Rows, row)
	}
	add("rows learned from", func(r result.RunSummary) string { return count(float64(r.Rows.Train)) })
	add("in all", func(r result.RunSummary) string { return seconds(r.Seconds.Total) })
	add("search", func(r result.RunSummary) string { return seconds(r.Seconds.Search) })
	add("fit to all rows", func(r result.RunSummary) string { return seconds(r.Seconds.Refit) })
	add("memory at most", func(r result.RunSummary) string {
		if r.Memory == 0 {
			return "–"
		}
		return fmt.Sprintf("%.0f MiB", float64(r.Memory)/(1<<20))
	})
	s.Tables = []table{t}
	return s
}
