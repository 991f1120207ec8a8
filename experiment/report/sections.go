package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/inspection"
	"github.com/bochner-ml/bochner/metrics"
)

// scoreSection compares the scores of the model with those of baselines.
func scoreSection(r result.Result) (s section) {
	t, ok := scoreTable(r)
	if !ok {
		return s
	}
	s.Title, s.Tables = "Scores", []table{t}
	if f := r.Search; f != nil {
		s.Text = append(s.Text, fmt.Sprintf("Cross-validation of the selected candidate, %d folds: %s %s ± %s (standard "+
			"deviation).", f.Folds, metricLabel(f.Score), formatNumber(f.Best.Mean), formatStdDev(f.Best.Std)))
	}
	if a := r.Auto; a != nil {
		text := fmt.Sprintf("Cross-validation of %s: %s %s ± %s (standard error).", a.Recipe, metricLabel(a.Score),
			formatNumber(a.Mean), formatStdDev(a.StdError))
		if a.Optimism != 0 {
			text += fmt.Sprintf(" This estimates the score on new rows: %s is the mean over the folds, that of the best of %d "+
				"candidates.", formatNumber(a.Mean+a.Optimism), a.Candidates)
		}
		s.Text = append(s.Text, text)
		if len(a.Costs) > 1 {
			s.Figures = append(s.Figures, figure{Title: frontTitle, SVG: trustedSVG(costPlot(frontTitle, *a).SVG())})
		}
	}
	if r.Rows.Fitted > 0 {
		s.Text = append(s.Text, fmt.Sprintf("The scores are those of the model of the %d training rows. model.bochner was "+
			"then fitted to all %d rows.", r.Rows.Train, r.Rows.Fitted))
	}
	if r.Positive != "" {
		s.Text = append(s.Text, fmt.Sprintf("The positive class is %s.", r.Positive))
	}
	if t := r.Threshold; t != nil {
		verb := "minimizes"
		if comparison(t.Score)(1, 0) {
			verb = "maximizes"
		}
		s.Text = append(s.Text, fmt.Sprintf("Rows with a score of at least %s are classified as %s. The threshold %s "+
			"%s: %s on out-of-fold rows, %s at the default threshold %s.",
			formatNumber(t.Value), r.Positive, verb, metricLabel(t.Score), formatNumber(t.Best), formatNumber(t.AtUsual),
			formatNumber(t.Usual)))
	}
	s.Sources = resultLinks("test", "train", "baselines")
	return s
}

// scoreTable has a row for each score, and a column for the model and for each baseline.
func scoreTable(r result.Result) (t table, ok bool) {
	all := map[string]bool{}
	for _, m := range []map[string]float64{r.Train, r.Test} {
		for name := range m {
			all[name] = true
		}
	}
	if len(all) == 0 {
		return t, false
	}
	t = table{Caption: "Scores (↑ higher is better, ↓ lower is better)", Head: []string{"score"}}
	add := func(name string, scores map[string]float64) {
		if len(scores) == 0 {
			return
		}
		t.Head = append(t.Head, name)
		if t.Rows == nil {
			for _, name := range slices.Sorted(maps.Keys(all)) {
				t.Rows = append(t.Rows, []string{metricLabel(name) + " " + arrow(name)})
			}
		}
		for k, name := range slices.Sorted(maps.Keys(all)) {
			value := "–"
			if v, ok := scores[name]; ok {
				value = formatScore(v)
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
		add(baselineLabel(b.Name)+on, b.Scores)
	}
	add("training rows", r.Train)
	return t, true
}

// classSection has the confusion matrix, curves and scores by class.
func classSection(r result.Result) (s section) {
	if r.Confusion.Classes == nil && len(r.PerClass) == 0 {
		return s
	}
	title, one := "Classes", "class"
	if r.Task == "multilabel" {
		title, one = "Labels", "label"
	}
	s.Title = title
	if n := len(r.Confusion.Classes); n > 0 && n <= 26 {
		s.Figures = append(s.Figures, figure{Title: "Confusion matrix", SVG: confusionPlot(r.Findings), Wide: n > 5})
	}
	for _, c := range []struct {
		title, x, y string
		curves      []result.Curve
		roc         bool
	}{{"ROC", "false positive rate", "true positive rate", r.ROC, true},
		{"Precision and recall", "recall", "precision", r.PrecisionRecall, false}} {
		if len(c.curves) > 0 {
			s.Figures = append(s.Figures, figure{Title: c.title, SVG: rocPlot(c.title, c.x, c.y, c.curves, c.roc)})
		}
	}
	if t := r.Threshold; t != nil && len(t.At) > 1 {
		s.Figures = append(s.Figures, figure{Title: "Threshold", SVG: thresholdPlot(*t)})
	}
	if pairs := topConfusions(r.Findings); len(pairs.Rows) > 0 && len(r.Confusion.Classes) > 2 {
		s.Tables = append(s.Tables, pairs)
	}
	t := table{Caption: "Scores by " + one, Head: []string{one, "precision", "recall", "F1", "rows"}}
	for _, c := range r.PerClass {
		row := []string{c.Name, formatScore(c.Precision), formatScore(c.Recall), formatScore(c.F1), formatCount(c.Support)}
		if c.Threshold != nil {
			row = append(row, formatScore(*c.Threshold))
		}
		t.Rows = append(t.Rows, row)
	}
	if len(r.PerClass) > 0 && r.PerClass[0].Threshold != nil {
		t.Head = append(t.Head, "threshold")
	}
	s.Tables = append(s.Tables, t)
	s.Sources = resultLinks("confusion", "per_class", "roc", "precision_recall")
	return s
}

// topConfusions lists the most frequent confusions.
func topConfusions(f result.Findings) table {
	c := f.Confusion
	type pair struct {
		truth, output int
		rows          float64
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
	t := table{Caption: "Most frequent confusions", Head: []string{"class", "predicted", "rows"}}
	for _, p := range pairs[:min(len(pairs), 6)] {
		t.Rows = append(t.Rows, []string{c.Classes[p.truth], c.Classes[p.output], formatCount(p.rows)})
	}
	return t
}

// errorSection describes the residuals.
func errorSection(r result.Result) (s section) {
	if len(r.Errors) == 0 {
		return s
	}
	s.Title = "Errors"
	for _, e := range r.Errors {
		ofTarget := ""
		if len(r.Errors) > 1 {
			ofTarget = " of " + e.Target
		}
		s.Figures = append(s.Figures, figure{Title: "Predicted and true values" + ofTarget, SVG: predictedPlot(e, ofTarget)},
			figure{Title: "Residuals" + ofTarget, SVG: residualPlot(e, ofTarget)},
			figure{Title: "Absolute errors" + ofTarget, SVG: errorPlot(e, ofTarget)})
		t := table{Caption: "Largest errors" + ofTarget, Head: []string{"row", "true", "predicted", "error"}}
		for _, w := range e.Worst {
			t.Rows = append(t.Rows, []string{fmt.Sprint(w.Number), formatNumber(w.Truth), formatNumber(w.Predicted),
				formatNumber(w.Predicted - w.Truth)})
		}
		s.Tables = append(s.Tables, t)
		if b := e.Beyond; b.Count > 0 {
			t := table{Caption: "Predictions beyond the training targets" + ofTarget,
				Head: []string{"row", "true", "predicted"}}
			for _, w := range b.Rows {
				t.Rows = append(t.Rows, []string{fmt.Sprint(w.Number), formatNumber(w.Truth), formatNumber(w.Predicted)})
			}
			s.Tables = append(s.Tables, t)
			s.Text = append(s.Text, fmt.Sprintf("Predictions%s of %s rows are outside of the range of the training targets, "+
				"%s to %s.", ofTarget, formatCount(float64(b.Count)), formatNumber(b.Min), formatNumber(b.Max)))
		}
		median, quantile95 := 0.0, 0.0
		for _, q := range e.Quantiles {
			switch q.Share {
			case 0.5:
				median = q.Error
			case 0.95:
				quantile95 = q.Error
			}
		}
		s.Text = append(s.Text, fmt.Sprintf("Absolute error%s: median %s, 95 %% quantile %s, mean %s. Mean error (bias): %s.",
			ofTarget, formatNumber(median), formatNumber(quantile95), formatNumber(e.Absolute), formatNumber(e.Mean)))
	}
	s.Sources = resultLinks("errors")
	if len(r.Quantile.Rows) > 0 {
		s.Figures = append(s.Figures, figure{Title: "Reliability of the quantile", SVG: quantilePlot(r.Findings)})
		s.Sources = append(s.Sources, resultLinks("quantile_reliability")...)
	}
	if len(r.Counts.Observed) > 0 {
		s.Figures = append(s.Figures, figure{Title: "Rootogram", SVG: rootogram(r.Counts.Observed, r.Counts.Expected)})
		s.Text = append(s.Text, "The rootogram compares the numbers of rows by count with those of Poisson distributions "+
			"with the predicted means: a bar that ends below 0 is a count that is more frequent than expected.")
		s.Sources = append(s.Sources, resultLinks("counts")...)
	}
	return s
}

// uncertaintySection has calibration and interval coverage.
func uncertaintySection(r result.Result) (s section) {
	s.Title = "Uncertainty"
	if len(r.Calibration) > 0 {
		s.Figures = append(s.Figures, figure{Title: "Calibration", SVG: calibrationPlot(r.Findings)})
		for _, c := range r.Calibration[:min(len(r.Calibration), 3)] {
			s.Text = append(s.Text, fmt.Sprintf("Expected calibration error of %s: %s.", c.Class, formatPercent(c.Error)))
		}
		s.Sources = resultLinks("calibration")
	}
	if i := r.Intervals; i != nil {
		text := fmt.Sprintf("Intervals by %s: nominal coverage %s", i.Method, formatPercent(i.Level))
		if i.Coverage != nil {
			text += fmt.Sprintf(", observed coverage %s", formatPercent(*i.Coverage))
		}
		if i.Width != nil {
			text += "; mean width " + formatNumber(*i.Width)
		}
		if i.Size != nil {
			text += "; mean set size " + formatNumber(*i.Size)
		}
		s.Text = append(s.Text, text+".")
		if len(i.Pooled) > 0 {
			s.Text = append(s.Text, "Groups with too few calibration rows, which share one calibration: "+
				strings.Join(i.Pooled, ", ")+".")
		}
		s.Sources = append(s.Sources, resultLinks("intervals")...)
	}
	return s
}

// clusters lists the cluster sizes.
func clusters(r result.Result) (s section) {
	if c := r.Clusters; c.Train != nil {
		s.Title = "Clusters"
		t := table{Caption: "Cluster sizes", Head: []string{"cluster", "rows"}}
		if c.Test != nil {
			t.Head = append(t.Head, "test rows")
		}
		for k, n := range c.Train {
			row := []string{fmt.Sprint(k), formatCount(float64(n))}
			if c.Test != nil {
				row = append(row, formatCount(float64(c.Test[k])))
			}
			t.Rows = append(t.Rows, row)
		}
		s.Tables, s.Sources = []table{t}, resultLinks("clusters")
	}
	return s
}

// inputSection has importance, partial dependence and learned relevance.
func inputSection(r result.Result) (s section) {
	s.Title = "Inputs"
	if i := r.Importance; i != nil && len(i.Inputs) > 0 {
		const maxInputs = 15
		s.Text = append(s.Text, fmt.Sprintf("Permutation importance: the decrease of %s when the values of one input are "+
			"permuted over %s rows, mean of %d repeats. Correlated inputs share their "+
			"importance.", metricLabel(i.Metric), formatCount(float64(i.Rows)), i.Repeats))
		s.Figures = append(s.Figures, figure{Title: "Permutation importance", SVG: trustedSVG(i.SVG())})
		if len(i.Inputs) > maxInputs {
			t := table{Caption: "All inputs", Head: []string{"input", "decrease", "±"}}
			for _, one := range i.Inputs[:min(len(i.Inputs), 100)] {
				t.Rows = append(t.Rows, []string{one.Name, formatNumber(one.Mean), formatStdDev(one.StdError)})
			}
			s.Tables = append(s.Tables, t)
		}
		s.Sources = resultLinks("importance", "effects")
	}
	for _, group := range effectsByInput(r) {
		s.Figures = append(s.Figures, figure{Title: "Partial dependence on " + group[0].Input, SVG: trustedSVG(group.SVG())})
	}
	for _, step := range r.Relevance {
		s.Figures = append(s.Figures, figure{Title: relevanceTitle(step), SVG: relevancePlot(step)})
		if unused := step.Unused(); unused > 0 {
			s.Text = append(s.Text, fmt.Sprintf("%d of %d inputs of %s have relevance 0: predictions do not depend on them.",
				unused, len(step.Inputs), step.Step))
		}
		s.Sources = append(s.Sources, resultLinks("relevance")...)
	}
	return s
}

// contributionSection has Shapley values and the decomposition of the variance.
func contributionSection(r result.Result) (s section) {
	s.Title = "Which inputs move predictions"
	if v := r.Shapley; v.Outputs != nil {
		s.Text = append(s.Text, fmt.Sprintf("Shapley values divide the difference between the prediction of a row and the "+
			"mean prediction of %s training rows among the inputs. Each point is one of %s rows; its color is the value of "+
			"the input.", formatCount(float64(v.Sample.Background)), formatCount(float64(v.Rows))))
		for q, o := range v.Sample.Outputs {
			s.Figures = append(s.Figures, figure{Title: "Shapley values " + o.Name, SVG: trustedSVG(v.Sample.Summary(q).SVG())})
		}
		s.Sources = resultLinks("shapley")
	}
	if a := r.ANOVA; a != nil {
		for k := range min(len(a.Outputs), 3) {
			if t := varianceTable(*a, k); len(t.Rows) > 0 {
				s.Tables = append(s.Tables, t)
			}
		}
		s.Text = append(s.Text, "Variance by input and pair: functional ANOVA of the model, with independent inputs.")
		s.Sources = append(s.Sources, resultLinks("anova")...)
	}
	return s
}

// varianceTable lists the inputs and pairs of inputs with the largest shares of the variance.
func varianceTable(a inspection.ANOVA, output int) table {
	const maxTerms = 12
	o := a.Outputs[output]
	t := table{Caption: "Variance of the predictions", Head: []string{"input or pair", "share"}}
	if o.Name != "" {
		t.Caption += " of " + o.Name
	}
	type term struct {
		name  string
		share float64
	}
	var terms []term
	rest := 1.0
	for j, name := range a.Inputs {
		terms = append(terms, term{name, o.Inputs[j] / o.Total})
		for l := range j {
			terms = append(terms, term{a.Inputs[l] + " × " + name, o.Pairs[j][l] / o.Total})
		}
	}
	slices.SortStableFunc(terms, func(x, y term) int { return cmp.Compare(y.share, x.share) })
	for k, one := range terms {
		if k >= maxTerms || !(one.share >= 0.001) {
			break
		}
		rest -= one.share
		t.Rows = append(t.Rows, []string{one.name, formatPercent(one.share)})
	}
	if len(t.Rows) > 0 {
		t.Rows = append(t.Rows, []string{"all others", formatPercent(max(0, rest))})
	}
	return t
}

// searchSection describes the search.
func searchSection(r result.Result) (s section) {
	s.Title = "Search"
	if a := r.Auto; a != nil {
		t := table{Caption: "Rounds", Head: []string{"rows", "size", "recipes", "candidates", metricLabel(a.Score), "best",
			"s"}}
		for _, round := range a.Rounds {
			t.Rows = append(t.Rows, []string{formatCount(float64(round.Rows)), formatCount(float64(round.Size)),
				fmt.Sprint(round.Recipes), fmt.Sprint(round.Candidates), formatNumber(round.Mean), round.Best,
				formatStdDev(round.Seconds)})
		}
		s.Tables = append(s.Tables, t)
		s.Text = append(s.Text, fmt.Sprintf("%d candidates were evaluated; %s was selected.", a.Candidates, a.Recipe))
		s.Text = append(s.Text, a.Decided...)
		s.Sources = resultLinks("auto")
	}
	f := r.Search
	if f == nil {
		return s
	}
	s.Sources = append(resultLinks("search"), link{"cv_results.csv", "cv_results.csv"})
	number := fmt.Sprint(f.Candidates)
	if from := f.Started; from.Run != "" {
		s.Text = append(s.Text, "The search started from the candidates of "+from.Run+".")
		number += " of " + formatCount(from.GridSize)
	}
	s.Text = append(s.Text, fmt.Sprintf("%s candidates on %d folds, %d fits, by %s: %s.", number, f.Folds, f.Fits,
		metricLabel(f.Score), formatSeconds(r.Seconds.Search)))
	if len(f.Shared) > 0 {
		s.Text = append(s.Text, "Shared between candidates: "+strings.Join(f.Shared, ", ")+".")
	}
	if len(f.OnGridEdge) > 0 {
		s.Text = append(s.Text, "The best value of "+strings.Join(f.OnGridEdge, ", ")+
			" is at the edge of the grid: a wider grid may improve the score.")
	}
	if len(f.Rounds) > 1 {
		t := table{Caption: "Successive halving", Head: []string{"resource", "candidates", "best", "±"}}
		for _, round := range f.Rounds {
			t.Rows = append(t.Rows, []string{formatCount(float64(round.Resource)), fmt.Sprint(round.Candidates),
				formatNumber(round.Best.Mean), formatStdDev(round.Best.Std)})
		}
		s.Tables = append(s.Tables, t)
		s.Text = append(s.Text, "Figures show the last round.")
	}
	axes := variedParams(f.All)
	s.Figures = append(s.Figures, scorePlots(f, axes)...)
	s.Figures = append(s.Figures, heatMaps(f, axes)...)
	t := table{Caption: "Best candidates", Head: append([]string{"rank"},
		append(slices.Clone(axes), "mean", "±", "s per fit")...)}
	for _, c := range topCandidates(f.All, 10) {
		row := []string{fmt.Sprint(c.Rank)}
		for _, a := range axes {
			row = append(row, formatValue(c.Params[a]))
		}
		t.Rows = append(t.Rows, append(row, formatScore(c.Mean), formatStdDev(c.Std), formatStdDev(c.Seconds)))
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
		s.Text = append(s.Text, fmt.Sprintf("%d candidates failed; see cv_results.csv.", failed))
	}
	return s
}

// topCandidates returns the best n candidates.
func topCandidates(all []result.Candidate, n int) []result.Candidate {
	var list []result.Candidate
	for _, c := range all {
		if c.Failed == "" {
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b result.Candidate) int { return a.Rank - b.Rank })
	return list[:min(len(list), n)]
}

// variedParams returns the parameters that differ between candidates.
func variedParams(all []result.Candidate) (out []string) {
	if len(all) == 0 {
		return nil
	}
	for _, path := range slices.Sorted(maps.Keys(all[0].Params)) {
		if slices.ContainsFunc(all, func(c result.Candidate) bool {
			return formatValue(c.Params[path]) != formatValue(all[0].Params[path])
		}) {
			out = append(out, path)
		}
	}
	return out
}

// curvesSection has learning curves over rows and map sizes.
func curvesSection(r result.Result) (s section) {
	s.Title = "Learning curves"
	if r.LearningCurve.Rows != nil {
		s.Figures = append(s.Figures, figure{Title: "Learning curve",
			SVG: learningCurvePlot(r.Findings, learningCurveText(r.Findings))})
		s.Text = append(s.Text, learningCurveText(r.Findings))
		s.Sources = resultLinks("learning_curve")
	}
	if f := r.Search; f != nil {
		for _, axis := range variedParams(f.All) {
			if !isMapSize(axis) {
				continue
			}
			drawn, text := plateauPlot(f, axis)
			if text != "" {
				s.Figures = append(s.Figures, figure{Title: "Score by " + axis, SVG: drawn})
				s.Text = append(s.Text, text)
			}
		}
	}
	return s
}

// isMapSize reports whether a parameter is the size of a feature map.
func isMapSize(path string) bool {
	last := path[strings.LastIndexByte(path, '.')+1:]
	return last == "features" || last == "grids" || last == "landmarks" || last == "components"
}

// learningCurveText states whether more rows are likely to help.
func learningCurveText(f result.Findings) string {
	l := f.LearningCurve
	n := len(l.Rows)
	m, err := metrics.ByName(l.Score)
	if err != nil || n < 2 {
		return ""
	}
	half, full := l.Scores[n-2], l.Scores[n-1] // distance to a perfect score
	if m.GreaterIsBetter {
		half, full = 1-half, 1-full
	}
	gain := (half - full) / math.Abs(half)
	text := fmt.Sprintf("With half of the rows, %s is %s; with all rows, %s", metricLabel(l.Score),
		formatNumber(l.Scores[n-2]), formatNumber(l.Scores[n-1]))
	switch {
	case !(gain > 0.005):
		return text + ". More rows are unlikely to help."
	case gain > 0.05:
		return text + ". More rows would help."
	}
	return text + ". More rows may help slightly."
}

// dataSection describes the rows.
func dataSection(r result.Result) (s section) {
	s.Title = "Data"
	s.Text = []string{fmt.Sprintf("%s training rows, %s test rows, %d inputs.", formatCount(float64(r.Rows.Train)),
		formatCount(float64(r.Rows.Test)), r.Features)}
	if n := r.Rows.Judged; n > 0 {
		s.Text = append(s.Text, fmt.Sprintf("Training scores use a sample of %s rows.", formatCount(float64(n))))
	}
	if p := r.Profile; p != nil {
		t := table{Caption: "Inputs of the training rows", Head: []string{"input", "missing", "values"}}
		const maxColumns = 60
		for _, c := range p.Columns[:min(len(p.Columns), maxColumns)] {
			t.Rows = append(t.Rows, []string{c.Name, formatPercent(c.Missing), columnSummary(c)})
		}
		if len(t.Rows) > 0 {
			s.Tables = append(s.Tables, t)
		}
		if more := len(p.Columns) + p.Omitted - maxColumns; more > 0 {
			s.Text = append(s.Text, fmt.Sprintf("The table shows the first %d inputs.", maxColumns))
		}
		for _, c := range p.Targets {
			s.Text = append(s.Text, fmt.Sprintf("Target %s: %s.", c.Name, columnSummary(c)))
		}
		s.Sources = resultLinks("profile")
	}
	if d := r.Drift; d != nil {
		t := table{Caption: "Inputs of the test rows that differ from the training rows",
			Head: []string{"input", "missing", "missing in training", "unknown", "out of range", "PSI"}}
		for _, i := range d.Drifted() {
			t.Rows = append(t.Rows, []string{i.Name, formatPercent(i.Missing), formatPercent(i.MissingTraining),
				formatPercent(i.Unknown), formatPercent(i.OutOfRange), formatNumber(i.PSI)})
		}
		if len(t.Rows) > 0 {
			s.Tables, s.Sources = append(s.Tables, t), append(s.Sources, resultLinks("drift")...)
		}
	}
	return s
}

// pipelineSection has the pipeline diagram and the experiment file.
func pipelineSection(r result.Result) (s section) {
	s.Title = "Pipeline"
	if r.Diagram != "" {
		s.Figures = []figure{{Title: "Pipeline", SVG: trustedSVG(r.Diagram), Wide: true}}
	}
	if len(r.Members) > 0 {
		t := table{Caption: "Members of the ensemble", Head: []string{"member", "weight"}}
		for _, m := range r.Members {
			t.Rows = append(t.Rows, []string{m.Name, formatNumber(m.Weight)})
		}
		s.Tables = []table{t}
	}
	if r.Spec != "" {
		s.Details = []details{{"Experiment file with all defaults", r.Spec}}
	}
	if len(r.Skipped) > 0 {
		s.Text = append(s.Text, "Not in this report: "+strings.Join(r.Skipped, "; ")+".")
	}
	return s
}
