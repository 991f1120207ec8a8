package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/metrics"
)

// scores are those of the model and of simple ones, with their spread over the folds of a search.
func scores(r result.Result) (s section) {
	all := map[string]bool{}
	for _, m := range []map[string]float64{r.Train, r.Test} {
		for name := range m {
			all[name] = true
		}
	}
	if len(all) == 0 {
		return s
	}
	s.Title = "Scores"
	t := table{Caption: "Scores (↑ the greater the better, ↓ the less)", Head: []string{"score"}}
	add := func(name string, scores map[string]float64) {
		if len(scores) == 0 {
			return
		}
		t.Head = append(t.Head, name)
		if t.Rows == nil {
			for _, name := range slices.Sorted(maps.Keys(all)) {
				t.Rows = append(t.Rows, []string{called(name) + " " + direction(name)})
			}
		}
		for k, name := range slices.Sorted(maps.Keys(all)) {
			value := "–"
			if v, ok := scores[name]; ok {
				value = short(v)
			}
			t.Rows[k] = append(t.Rows[k], value)
		}
	}
	add("test rows", r.Test)
	on := ""
	if r.On == "train" {
		on = ", training rows"
	}
	for _, b := range r.Baselines {
		name := b.Name
		if name == "mean" {
			name = "always the mean"
		}
		add(name+on, b.Scores)
	}
	add("training rows", r.Train)
	s.Tables = []table{t}
	if f := r.Search; f != nil {
		s.Text = append(s.Text, fmt.Sprintf("Over the %d folds of the search the chosen candidate has %s %s ± %s (standard deviation).", f.Folds, called(f.Score), short(f.Best.Mean), spread(f.Best.Std)))
	}
	if a := r.Auto; a != nil {
		s.Text = append(s.Text, fmt.Sprintf("Over the folds of the search %s has %s %s ± %s (standard error).", a.Recipe, called(a.Score), short(a.Mean), spread(a.StdError)))
	}
	if r.Positive != "" {
		s.Text = append(s.Text, fmt.Sprintf("Scores of two classes speak of class %s.", r.Positive))
	}
	if t := r.Threshold; t != nil {
		s.Text = append(s.Text, fmt.Sprintf("Rows are taken for %s from %s on instead of %s, which was chosen by %s: %s on rows not learned from, %s without.", r.Positive, short(t.Value), short(t.Usual), called(t.Score), short(t.Best), short(t.AtUsual)))
	}
	s.Source = in("test", "train", "baselines")
	return s
}

// classes are what was taken for what.
func classes(r result.Result) (s section) {
	if r.Confusion == nil && len(r.PerClass) == 0 {
		return s
	}
	s.Title = "Classes"
	if c := r.Confusion; c != nil && len(c.Classes) <= 26 {
		s.Figures = append(s.Figures, figure{Title: "Confusion matrix", Drawn: confusion(*c), Wide: len(c.Classes) > 5})
	}
	for _, c := range []struct {
		title, x, y string
		curves      []result.Curve
		roc         bool
	}{{"ROC", "share of other rows taken for it", "share found", r.ROC, true}, {"Precision and recall", "share found (recall)", "precision", r.PrecisionRecall, false}} {
		if len(c.curves) > 0 {
			s.Figures = append(s.Figures, figure{Title: c.title, Drawn: curve(c.title, c.x, c.y, c.curves, c.roc)})
		}
	}
	if t := r.Threshold; t != nil && len(t.At) > 1 {
		s.Figures = append(s.Figures, figure{Title: "Threshold", Drawn: threshold(*t)})
	}
	if c := r.Confusion; c != nil {
		if pairs := mistaken(*c); len(pairs.Rows) > 0 && len(c.Classes) > 2 {
			s.Tables = append(s.Tables, pairs)
		}
	}
	t := table{Caption: "Each class", Head: []string{"class", "precision", "recall", "F1", "rows"}}
	for _, c := range r.PerClass {
		t.Rows = append(t.Rows, []string{c.Name, short(c.Precision), short(c.Recall), short(c.F1), count(c.Support)})
	}
	s.Tables = append(s.Tables, t)
	s.Source = in("confusion", "per_class", "roc", "precision_recall")
	return s
}

// mistaken are the pairs of classes that are taken for each other most often.
func mistaken(c result.Confusion) table {
	type pair struct {
		truth, said int
		rows        float64
	}
	var pairs []pair
	for i, row := range c.Counts {
		for j, v := range row {
			if i != j && v > 0 {
				pairs = append(pairs, pair{i, j, v})
			}
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int {
		switch {
		case a.rows > b.rows:
			return -1
		case a.rows < b.rows:
			return 1
		}
		return 0
	})
	t := table{Caption: "Mistaken most often", Head: []string{"class", "taken for", "rows"}}
	for _, p := range pairs[:min(len(pairs), 6)] {
		t.Rows = append(t.Rows, []string{c.Classes[p.truth], c.Classes[p.said], count(p.rows)})
	}
	return t
}

// errors are how far off the predictions of numbers are.
func errors(r result.Result) (s section) {
	if len(r.Errors) == 0 {
		return s
	}
	s.Title = "Errors"
	for _, e := range r.Errors {
		of := ""
		if len(r.Errors) > 1 {
			of = " of " + e.Target
		}
		s.Figures = append(s.Figures, figure{Title: "Predicted and true" + of, Drawn: predicted(e, of)}, figure{Title: "Residuals" + of, Drawn: residuals(e, of)}, figure{Title: "Absolute errors" + of, Drawn: quantiles(e, of)})
		t := table{Caption: "Rows that are off the most" + of, Head: []string{"row", "truth", "predicted", "off by"}}
		for _, w := range e.Worst {
			t.Rows = append(t.Rows, []string{fmt.Sprint(w.Number), short(w.Truth), short(w.Predicted), short(w.Predicted - w.Truth)})
		}
		s.Tables = append(s.Tables, t)
		middle, most := 0.0, 0.0
		for _, q := range e.Quantiles {
			switch q.Share {
			case 0.5:
				middle = q.Error
			case 0.95:
				most = q.Error
			}
		}
		s.Text = append(s.Text, fmt.Sprintf("Half of the predictions%s are off by at most %s, and 95 %% by at most %s. The mean absolute error is %s, the mean error (bias) %s.", of, short(middle), short(most), short(e.Absolute), short(e.Mean)))
	}
	s.Source = in("errors")
	return s
}

// probabilities are whether these hold, and whether intervals do.
func probabilities(r result.Result) (s section) {
	s.Title = "How sure"
	if len(r.Calibration) > 0 {
		s.Figures = append(s.Figures, figure{Title: "Calibration", Drawn: calibration(r.Calibration)})
		for _, c := range r.Calibration[:min(len(r.Calibration), 3)] {
			s.Text = append(s.Text, fmt.Sprintf("Probabilities of %s are off by %s on average over the rows.", c.Class, percent(c.Error)))
		}
		s.Source = in("calibration")
	}
	if i := r.Intervals; i != nil {
		text := fmt.Sprintf("Intervals by %s are to hold %s of the truths", i.Method, percent(i.Level))
		if i.Coverage != nil {
			text += fmt.Sprintf(", and hold %s of them", percent(*i.Coverage))
		}
		if i.Width != nil {
			text += "; their mean width is " + short(*i.Width)
		}
		if i.Size != nil {
			text += "; a set has " + short(*i.Size) + " classes on average"
		}
		s.Text = append(s.Text, text+".")
		s.Source = append(s.Source, in("intervals")...)
	}
	return s
}

// found are groups and anomalies.
func found(r result.Result) (s section) {
	if c := r.Clusters; c != nil {
		s.Title = "Groups"
		t := table{Caption: "Rows in each group", Head: []string{"group", "rows"}}
		if c.Test != nil {
			t.Head = append(t.Head, "test rows")
		}
		for k, n := range c.Train {
			row := []string{fmt.Sprint(k), count(float64(n))}
			if c.Test != nil {
				row = append(row, count(float64(c.Test[k])))
			}
			t.Rows = append(t.Rows, row)
		}
		s.Tables, s.Source = []table{t}, in("clusters")
	}
	return s
}

// inputs are which of them matter, and how.
func inputs(r result.Result) (s section) {
	s.Title = "Inputs"
	if i := r.Importance; i != nil && len(i.Inputs) > 0 {
		const most = 15
		s.Text = append(s.Text, fmt.Sprintf("How much worse %s gets where the values of one input are permuted over %s rows, the mean of %d times: what the model makes no use of, or what another input says as well, has none.", called(i.Score), count(float64(i.Rows)), i.Repeats))
		s.Figures = append(s.Figures, figure{Title: "What matters", Drawn: trusted(i.SVG())})
		if len(i.Inputs) > most {
			t := table{Caption: "All inputs", Head: []string{"input", "worse by", "±"}}
			for _, one := range i.Inputs[:min(len(i.Inputs), 100)] {
				t.Rows = append(t.Rows, []string{one.Name, short(one.Mean), spread(one.StdError)})
			}
			s.Tables = append(s.Tables, t)
		}
		s.Source = in("importance", "effects")
	}
	for _, group := range effectsByInput(r) {
		s.Figures = append(s.Figures, figure{Title: "Effect of " + group[0].Input, Drawn: trusted(group.SVG())})
	}
	for _, step := range r.Relevance {
		s.Figures = append(s.Figures, figure{Title: "Learned by " + step.Step, Drawn: relevance(step)})
		s.Source = append(s.Source, in("relevance")...)
	}
	return s
}

// search is what it tried.
func search(r result.Result) (s section) {
	s.Title = "Search"
	if a := r.Auto; a != nil {
		t := table{Caption: "Rounds", Head: []string{"rows", "size", "recipes", "candidates", called(a.Score), "best", "s"}}
		for _, round := range a.Rounds {
			t.Rows = append(t.Rows, []string{count(float64(round.Rows)), count(float64(round.Size)), fmt.Sprint(round.Recipes), fmt.Sprint(round.Candidates), short(round.Mean), round.Best, spread(round.Seconds)})
		}
		s.Tables = append(s.Tables, t)
		s.Text = append(s.Text, fmt.Sprintf("%d candidates were tried; %s was chosen.", a.Candidates, a.Recipe))
		s.Text = append(s.Text, a.Decided...)
		s.Source = in("auto")
	}
	f := r.Search
	if f == nil {
		return s
	}
	s.Source = append(in("search"), link{"cv_results.csv", "cv_results.csv"})
	s.Text = append(s.Text, fmt.Sprintf("%d candidates on %d folds, %d fits, by %s: %s.", f.Candidates, f.Folds, f.Fits, called(f.Score), seconds(r.Seconds.Search)))
	if len(f.Shared) > 0 {
		s.Text = append(s.Text, "Candidates shared "+strings.Join(f.Shared, ", ")+".")
	}
	if len(f.OnGridEdge) > 0 {
		s.Text = append(s.Text, "The best value of "+strings.Join(f.OnGridEdge, ", ")+" is at the end of what was tried: a wider grid may do better.")
	}
	if len(f.Rounds) > 1 {
		t := table{Caption: "Rounds of halving", Head: []string{"each with", "candidates", "best", "±"}}
		for _, round := range f.Rounds {
			t.Rows = append(t.Rows, []string{count(float64(round.Resource)), fmt.Sprint(round.Candidates), short(round.Best.Mean), spread(round.Best.Std)})
		}
		s.Tables = append(s.Tables, t)
		s.Text = append(s.Text, "Pictures are of the last round.")
	}
	axes := axesOf(f.All)
	s.Figures = append(s.Figures, againstAxes(f, axes)...)
	s.Figures = append(s.Figures, heatMaps(f, axes)...)
	t := table{Caption: "The best candidates", Head: append([]string{"rank"}, append(slices.Clone(axes), "mean", "±", "s for a fit")...)}
	for _, c := range best(f.All, 10) {
		row := []string{fmt.Sprint(c.Rank)}
		for _, a := range axes {
			row = append(row, shown(c.Params[a]))
		}
		t.Rows = append(t.Rows, append(row, short(c.Mean), spread(c.Std), spread(c.Seconds)))
	}
	if len(t.Rows) > 1 {
		s.Tables = append(s.Tables, t)
	}
	failed := 0
	for _, c := range f.All {
		if c.Failed != "" {
			failed++
		}
	}
	if failed > 0 {
		s.Text = append(s.Text, fmt.Sprintf("%d candidates have no score; cv_results.csv says why.", failed))
	}
	return s
}

// best are the candidates of the first ranks.
func best(all []result.CandidateResult, most int) []result.CandidateResult {
	var list []result.CandidateResult
	for _, c := range all {
		if c.Failed == "" {
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b result.CandidateResult) int { return a.Rank - b.Rank })
	return list[:min(len(list), most)]
}

// axesOf are the paths that differ between candidates.
func axesOf(all []result.CandidateResult) (out []string) {
	if len(all) == 0 {
		return nil
	}
	for _, path := range slices.Sorted(maps.Keys(all[0].Params)) {
		if slices.ContainsFunc(all, func(c result.CandidateResult) bool { return shown(c.Params[path]) != shown(all[0].Params[path]) }) {
			out = append(out, path)
		}
	}
	return out
}

// curves are what more rows or more features bring.
func curves(r result.Result) (s section) {
	s.Title = "Would more help"
	if l := r.LearningCurve; l != nil {
		s.Figures = append(s.Figures, figure{Title: "Learning curve", Drawn: learning(*l, moreRows(*l))})
		s.Text = append(s.Text, moreRows(*l))
		s.Source = in("learning_curve")
	}
	if f := r.Search; f != nil {
		for _, axis := range axesOf(f.All) {
			if !isSize(axis) {
				continue
			}
			drawn, text := plateau(f, axis)
			if text != "" {
				s.Figures = append(s.Figures, figure{Title: "Against " + axis, Drawn: drawn})
				s.Text = append(s.Text, text)
			}
		}
	}
	return s
}

// isSize reports whether a parameter is the size of a map: what more of costs more.
func isSize(path string) bool {
	last := path[strings.LastIndexByte(path, '.')+1:]
	return last == "features" || last == "grids" || last == "landmarks" || last == "components"
}

// moreRows says whether more rows would have helped.
func moreRows(l result.LearningCurve) string {
	n := len(l.Rows)
	m, err := metrics.ByName(l.Score)
	if err != nil || n < 2 {
		return ""
	}
	before, now := l.Scores[n-2], l.Scores[n-1] // how much is missing to a perfect score
	if m.GreaterIsBetter {
		before, now = 1-before, 1-now
	}
	gain := (before - now) / math.Abs(before)
	text := fmt.Sprintf("With half of the rows %s is %s, with all %s", called(l.Score), short(l.Scores[n-2]), short(l.Scores[n-1]))
	switch {
	case !(gain > 0.005):
		return text + ": more rows would hardly help."
	case gain > 0.05:
		return text + ": what is missing still shrinks, and more rows would help."
	}
	return text + ": more rows would help a little."
}

// data are the rows as they were seen.
func data(r result.Result) (s section) {
	s.Title = "Data"
	s.Text = []string{fmt.Sprintf("%s rows to learn from, %s to test on, %d inputs.", count(float64(r.Rows.Train)), count(float64(r.Rows.Test)), r.Features)}
	if n := r.Rows.Judged; n > 0 {
		s.Text = append(s.Text, fmt.Sprintf("Scores of the training rows are those of %s of them, evenly spread.", count(float64(n))))
	}
	if p := r.Profile; p != nil {
		t := table{Caption: "Inputs of the training rows", Head: []string{"input", "missing", "values"}}
		const most = 60
		for _, c := range p.Columns[:min(len(p.Columns), most)] {
			t.Rows = append(t.Rows, []string{c.Name, percent(c.Missing), values(c)})
		}
		if len(t.Rows) > 0 {
			s.Tables = append(s.Tables, t)
		}
		if more := len(p.Columns) + p.LeftOut - most; more > 0 {
			s.Text = append(s.Text, fmt.Sprintf("The table has the first %d inputs.", most))
		}
		for _, c := range p.Targets {
			s.Text = append(s.Text, fmt.Sprintf("Target %s: %s.", c.Name, values(c)))
		}
		s.Source = in("profile")
	}
	if d := r.Drift; d != nil {
		t := table{Caption: "Inputs of the test rows that differ from the training rows", Head: []string{"input", "missing", "in training", "unknown", "outside the range", "PSI"}}
		for _, i := range d.Differing() {
			t.Rows = append(t.Rows, []string{i.Name, percent(i.Missing), percent(i.MissingBefore), percent(i.Unknown), percent(i.Outside), short(i.PSI)})
		}
		if len(t.Rows) > 0 {
			s.Tables, s.Source = append(s.Tables, t), append(s.Source, in("drift")...)
		}
	}
	return s
}

// model is the pipeline, and the experiment as it was read.
func model(r result.Result) (s section) {
	s.Title = "Pipeline"
	if r.Diagram != "" {
		s.Figures = []figure{{Title: "Pipeline", Drawn: trusted(r.Diagram), Wide: true}}
	}
	if len(r.Members) > 0 {
		t := table{Caption: "Members of the ensemble", Head: []string{"member", "weight"}}
		for _, m := range r.Members {
			t.Rows = append(t.Rows, []string{m.Name, short(m.Weight)})
		}
		s.Tables = []table{t}
	}
	if r.Spec != "" {
		s.Folded = []folded{{"The experiment with every default", r.Spec}}
	}
	if len(r.Skipped) > 0 {
		s.Text = append(s.Text, "Left out of this report: "+strings.Join(r.Skipped, "; ")+".")
	}
	return s
}
