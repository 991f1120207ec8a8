package report

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/inspection"
	"github.com/bochner-ml/bochner/internal/codec/svg"
	"github.com/bochner-ml/bochner/internal/rows/profile"
	"github.com/bochner-ml/bochner/metrics"
)

// trustedSVG marks SVG of this module, in which all strings are escaped, as safe.
func trustedSVG(drawn string) template.HTML { return template.HTML(drawn) }

func confusionPlot(f result.Findings) template.HTML {
	c := f.Confusion
	t := svg.Table{Title: "Confusion matrix", RowLabel: "true", ColumnLabel: "predicted", Row: -1}
	var descriptions []string
	for i, row := range c.Counts {
		total := 0.0
		for _, v := range row {
			total += v
		}
		shares, labels := make([]float64, len(row)), make([]string, len(row))
		for j, v := range row {
			labels[j] = formatCount(v)
			if total > 0 {
				shares[j] = v / total
			}
		}
		t.Values, t.Labels = append(t.Values, shares), append(t.Labels, labels)
		descriptions = append(descriptions, fmt.Sprintf("%s rows of %s: %s correct", formatCount(total), c.Classes[i],
			formatPercent(shares[i])))
	}
	for _, name := range c.Classes {
		t.Rows, t.Columns = append(t.Rows, truncate(name)), append(t.Columns, truncate(name))
	}
	t.AltText = "Confusion matrix; " + strings.Join(descriptions, "; ")
	return trustedSVG(svg.HeatMap(t))
}

// truncate shortens a name to fit a table.
func truncate(name string) string {
	if r := []rune(name); len(r) > 16 {
		return string(r[:15]) + "…"
	}
	return name
}

func rocPlot(title, x, y string, list []result.Curve, diagonal bool) template.HTML {
	p := svg.Plot{Title: title, X: svg.Axis{Name: x, High: 1}, Y: svg.Axis{Name: y, High: 1}}
	var descriptions []string
	for k, c := range list {
		if k == svg.Reference {
			break
		}
		name := fmt.Sprintf("%s, area %s", truncate(c.Class), formatNumber(c.Area))
		p.Series = append(p.Series, svg.Series{Name: name, Color: k, X: c.X, Y: c.Y, Line: true})
		descriptions = append(descriptions, name)
	}
	if diagonal {
		p.Series = append(p.Series, svg.Series{Name: "chance", Color: svg.Reference, X: []float64{0, 1}, Y: []float64{0, 1},
			Line: true, Dashed: true})
	}
	p.AltText = title + ": " + strings.Join(descriptions, "; ")
	return trustedSVG(p.SVG())
}

func thresholdPlot(t meta.Cutoff) template.HTML {
	p := svg.Plot{Title: "Threshold", X: svg.Axis{Name: "decision threshold"}, Y: svg.Axis{Name: metricLabel(t.Score)}}
	low, high := slices.Min(t.Scores), slices.Max(t.Scores)
	p.Series = []svg.Series{
		{Name: metricLabel(t.Score) + " on out-of-fold rows", X: t.At, Y: t.Scores, Line: true},
		{Name: "selected: " + formatNumber(t.Value), Color: 1, X: []float64{t.Value, t.Value}, Y: []float64{low, high},
			Line: true, Dashed: true},
	}
	p.AltText = fmt.Sprintf("%s by decision threshold; selected threshold %s", metricLabel(t.Score), formatNumber(t.Value))
	return trustedSVG(p.SVG())
}

func calibrationPlot(f result.Findings) template.HTML {
	list := f.Calibration
	p := svg.Plot{Title: "Calibration", X: svg.Axis{Name: "predicted probability", High: 1},
		Y: svg.Axis{Name: "observed frequency", High: 1}}
	var descriptions []string
	for k, c := range list[:min(len(list), svg.Reference)] {
		s := svg.Series{Name: truncate(c.Class), Color: k, X: c.Predicted, Y: c.Observed, Line: true, Dots: true}
		if len(list) == 1 {
			for i, v := range c.Observed {
				spread := 1.96 * math.Sqrt(max(v*(1-v), 0.25/max(c.Rows[i], 1))/max(c.Rows[i], 1))
				s.Low, s.High = append(s.Low, max(0, v-spread)), append(s.High, min(1, v+spread))
			}
		}
		p.Series = append(p.Series, s)
		descriptions = append(descriptions, fmt.Sprintf("%s: calibration error %s", c.Class, formatPercent(c.Error)))
	}
	p.Series = append(p.Series, svg.Series{Name: "perfect calibration", Color: svg.Reference, X: []float64{0, 1},
		Y: []float64{0, 1}, Line: true, Dashed: true})
	p.AltText = "Calibration: " + strings.Join(descriptions, "; ")
	return trustedSVG(p.SVG())
}

func predictedPlot(e result.Errors, ofTarget string) template.HTML {
	var actual, predicted []float64
	for _, r := range e.Sample {
		actual, predicted = append(actual, r.Truth), append(predicted, r.Predicted)
	}
	low, high := slices.Min(actual), slices.Max(actual)
	return trustedSVG(svg.Plot{
		Title: "Predicted and true values" + ofTarget,
		AltText: fmt.Sprintf("Predicted against true values of %s, from %s to %s",
			e.Target, formatNumber(low), formatNumber(high)),
		X: svg.Axis{Name: "true " + e.Target}, Y: svg.Axis{Name: "predicted"},
		Series: []svg.Series{{X: actual, Y: predicted, Dots: true},
			{Name: "perfect", Color: svg.Reference, X: []float64{low, high}, Y: []float64{low, high}, Line: true, Dashed: true}},
	}.SVG())
}

// frontTitle is the title of the figure of scores and times.
const frontTitle = "Score and time of predictions"

// costPlot shows the scores of candidates against the time of their predictions, and as steps the best score within a
// time: the front of the candidates without a faster one that is as good.
func costPlot(title string, a result.Auto) svg.Plot {
	better := comparison(a.Score)
	list := slices.Clone(a.Costs)
	slices.SortFunc(list, func(a, b result.AutoCost) int {
		if c := cmp.Compare(a.PredictSeconds, b.PredictSeconds); c != 0 || a.Mean == b.Mean {
			return c
		} else if better(a.Mean, b.Mean) {
			return -1
		}
		return 1
	})
	steps := svg.Series{Name: "front", Color: 1, Line: true}
	front, others := svg.Series{Color: 1, Dots: true}, svg.Series{Name: "other candidates", Dots: true}
	chosen := svg.Series{Name: "chosen", Color: 2, Dots: true}
	add := func(s *svg.Series, x, y float64) { s.X, s.Y = append(s.X, x), append(s.Y, y) }
	for _, c := range list {
		time, n, to := 1e6*c.PredictSeconds, len(steps.Y), &others
		if n == 0 || better(c.Mean, steps.Y[n-1]) {
			if n > 0 {
				add(&steps, time, steps.Y[n-1])
			}
			add(&steps, time, c.Mean)
			to = &front
		}
		if c.Recipe == a.Recipe && c.PredictSeconds == a.PredictSeconds {
			to = &chosen
		}
		add(to, time, c.Mean)
	}
	p := svg.Plot{
		Title: title,
		AltText: fmt.Sprintf("Scores of %d candidates against microseconds per row: the front is from %s at %s to %s at %s",
			len(list), formatNumber(steps.Y[0]), formatNumber(steps.X[0]),
			formatNumber(steps.Y[len(steps.Y)-1]), formatNumber(steps.X[len(steps.X)-1])),
		X: svg.Axis{Name: "microseconds per row", Log: true}, Y: svg.Axis{Name: metricLabel(a.Score)},
	}
	for _, s := range []svg.Series{others, steps, front, chosen} {
		if len(s.X) > 0 {
			p.Series = append(p.Series, s)
		}
	}
	return p
}

func residualPlot(e result.Errors, ofTarget string) template.HTML {
	var predicted, residual []float64
	for _, r := range e.Sample {
		predicted, residual = append(predicted, r.Predicted), append(residual, r.Predicted-r.Truth)
	}
	return trustedSVG(svg.Plot{
		Title: "Residuals" + ofTarget, AltText: fmt.Sprintf("Residuals of %s against predictions; mean %s", e.Target,
			formatNumber(e.Mean)),
		X: svg.Axis{Name: "predicted " + e.Target}, Y: svg.Axis{Name: "predicted − true"},
		Series: []svg.Series{{X: predicted, Y: residual, Dots: true},
			{Color: svg.Reference, X: []float64{slices.Min(predicted), slices.Max(predicted)}, Y: []float64{0, 0}, Line: true,
				Dashed: true}},
	}.SVG())
}

func errorPlot(e result.Errors, ofTarget string) template.HTML {
	b := svg.Bars{Title: "Absolute errors" + ofTarget, XLabel: "absolute error"}
	var descriptions []string
	for _, q := range e.Quantiles {
		b.Names = append(b.Names, fmt.Sprintf("%g %% of rows", 100*q.Share))
		b.Values = append(b.Values, q.Error)
		b.Labels = append(b.Labels, formatNumber(q.Error))
		descriptions = append(descriptions, fmt.Sprintf("%g %% of rows at most %s", 100*q.Share, formatNumber(q.Error)))
	}
	b.AltText = "Quantiles of the absolute error: " + strings.Join(descriptions, ", ")
	return trustedSVG(b.SVG())
}

// rootogram draws the square roots of the observed numbers of rows, hanging from those of the expected
// ones, so that equal differences are about equally likely by chance.
func rootogram(observed, counted []float64) template.HTML {
	n := len(observed)
	hanging := svg.Series{Name: "observed, hanging", Color: 1}
	expected := svg.Series{Name: "expected", Line: true, Dots: true}
	for k, e := range counted {
		top := math.Sqrt(e)
		expected.X, expected.Y = append(expected.X, float64(k)), append(expected.Y, top)
		hanging.Low, hanging.High = append(hanging.Low, top-math.Sqrt(observed[k])), append(hanging.High, top)
	}
	hanging.X, hanging.Y, hanging.Dots = expected.X, hanging.Low, true
	return trustedSVG(svg.Plot{Title: "Rootogram", X: svg.Axis{Name: fmt.Sprintf("count, %d: more", n-1)},
		Y: svg.Axis{Name: "√ rows"},
		AltText: fmt.Sprintf("Rows with count 0: %s observed, %s expected", formatNumber(observed[0]),
			formatNumber(counted[0])),
		Series: []svg.Series{expected, hanging, {Color: svg.Reference, X: []float64{0, float64(n - 1)}, Y: []float64{0, 0},
			Line: true, Dashed: true}}}.SVG())
}

// quantilePlot draws the shares of targets below predicted quantiles, with the range in which 95 % of
// such shares are by chance.
func quantilePlot(f result.Findings) template.HTML {
	q := f.Quantile
	s := svg.Series{Name: "observed", X: q.Predicted, Y: q.Below, Line: true, Dots: true}
	for i, n := range q.Rows {
		spread := 1.96 * math.Sqrt(q.Quantile*(1-q.Quantile)/float64(n))
		s.Low, s.High = append(s.Low, max(0, q.Below[i]-spread)), append(s.High, min(1, q.Below[i]+spread))
	}
	ends := []float64{q.Predicted[0], q.Predicted[len(q.Predicted)-1]}
	return trustedSVG(svg.Plot{Title: "Reliability of the quantile", X: svg.Axis{Name: "predicted quantile"},
		Y: svg.Axis{Name: "share of targets below", High: 1},
		AltText: fmt.Sprintf("Shares of targets below the predicted quantile %v, from %s to %s", q.Quantile,
			formatPercent(slices.Min(q.Below)), formatPercent(slices.Max(q.Below))),
		Series: []svg.Series{s, {Name: fmt.Sprint(q.Quantile), Color: svg.Reference, X: ends,
			Y: []float64{q.Quantile, q.Quantile}, Line: true, Dashed: true}}}.SVG())
}

// relevanceTitle returns the title of the plot of relevance.
func relevanceTitle(step result.Relevance) string {
	if step.Terms {
		return "Variance by term of " + step.Step
	}
	return "Relevance learned by " + step.Step
}

func relevancePlot(step result.Relevance) template.HTML {
	b := svg.Bars{Title: relevanceTitle(step), XLabel: "relevance (maximum 1)"}
	if step.Terms {
		b.XLabel = "share of the variance of the predictions"
	}
	for _, one := range step.Inputs[:min(len(step.Inputs), 15)] {
		b.Names, b.Values = append(b.Names, one.Name), append(b.Values, one.Relevance)
		b.Labels = append(b.Labels, fmt.Sprintf("%.2f", one.Relevance))
	}
	b.AltText = "Inputs by relevance in " + step.Step + ": " + strings.Join(b.Names, ", ")
	return trustedSVG(b.SVG())
}

// effectsByInput groups partial dependence by input, for all classes or targets.
func effectsByInput(r result.Result) (out []inspection.Effects) {
	for _, e := range r.Effects {
		at := slices.IndexFunc(out, func(g inspection.Effects) bool { return g[0].Input == e.Input })
		if at < 0 {
			out, at = append(out, nil), len(out)
		}
		out[at] = append(out[at], e)
	}
	return out
}

func learningCurvePlot(f result.Findings, altText string) template.HTML {
	l := f.LearningCurve
	rows := make([]float64, len(l.Rows))
	for k, n := range l.Rows {
		rows[k] = float64(n)
	}
	return trustedSVG(svg.Plot{
		Title: "Learning curve", AltText: altText, X: svg.Axis{Name: "training rows", Log: true},
		Y: svg.Axis{Name: metricLabel(l.Score)},
		Series: []svg.Series{{Name: "test rows", X: rows, Y: l.Scores, Line: true, Dots: true},
			{Name: "training rows", Color: svg.Reference, X: rows, Y: l.Train, Line: true, Dots: true, Dashed: true}},
	}.SVG())
}

// asNumber converts a parameter value to float64 if it is numeric.
func asNumber(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int:
		return float64(v), true
	case uint64:
		return float64(v), true
	}
	return 0, false
}

// comparison returns the function that reports whether score a is better than b.
func comparison(score string) func(a, b float64) bool {
	m, err := metrics.ByName(score)
	if err != nil {
		return func(a, b float64) bool { return a > b }
	}
	return m.Better
}

// bestByValue returns the best candidate for each value of a parameter.
func bestByValue(f *result.Search, axis string) (values []any, top []result.Candidate) {
	wins := comparison(f.Score)
	for _, c := range f.All {
		if c.Failed != "" {
			continue
		}
		v := c.Params[axis]
		at := slices.IndexFunc(values, func(o any) bool { return formatValue(o) == formatValue(v) })
		if at < 0 {
			values, top = append(values, v), append(top, c)
		} else if wins(c.Mean, top[at].Mean) {
			top[at] = c
		}
	}
	return values, top
}

// scoreSeries returns the best score for each value of a parameter as a plot series.
func scoreSeries(f *result.Search, axis string) (svg.Axis, svg.Series) {
	values, top := bestByValue(f, axis)
	x := svg.Axis{Name: axis}
	s := svg.Series{Name: "best candidate, ± standard error", Line: true, Dots: true}
	low, high, numbers := math.Inf(1), math.Inf(-1), true
	for _, v := range values {
		n, ok := asNumber(v)
		numbers = numbers && ok
		low, high = min(low, n), max(high, n)
	}
	order := make([]int, len(values))
	for k := range order {
		order[k] = k
	}
	if numbers {
		slices.SortFunc(order, func(a, b int) int {
			x, _ := asNumber(values[a])
			y, _ := asNumber(values[b])
			return cmp.Compare(x, y)
		})
		x.Log = low > 0 && high/low >= 8
	}
	for at, k := range order {
		v, _ := asNumber(values[k])
		if !numbers {
			v = float64(at)
			x.Labels = append(x.Labels, truncate(formatValue(values[k])))
			s.Line = false
		}
		spread := top[k].Std / math.Sqrt(max(1, float64(f.Folds-1)))
		s.X, s.Y = append(s.X, v), append(s.Y, top[k].Mean)
		s.Low, s.High = append(s.Low, top[k].Mean-spread), append(s.High, top[k].Mean+spread)
	}
	return x, s
}

func scorePlots(f *result.Search, axes []string) (out []figure) {
	for _, axis := range axes[:min(len(axes), 6)] {
		x, s := scoreSeries(f, axis)
		if len(s.X) < 2 {
			continue
		}
		title := "Score by " + axis
		p := svg.Plot{Title: title, X: x, Y: svg.Axis{Name: metricLabel(f.Score)}, Series: []svg.Series{s}}
		p.AltText = fmt.Sprintf("%s: best at %s", title, formatValue(f.Best.Params[axis]))
		out = append(out, figure{Title: title, SVG: trustedSVG(p.SVG())})
	}
	return out
}

// heatMaps plots the best score over pairs of parameters.
func heatMaps(f *result.Search, axes []string) (out []figure) {
	const maxValues, maxMaps = 14, 6
	wins := comparison(f.Score)
	for a := range axes {
		for b := a + 1; b < len(axes) && len(out) < maxMaps; b++ {
			rows, columns := axisValues(f, axes[a]), axisValues(f, axes[b])
			if len(rows) > maxValues || len(columns) > maxValues || len(rows)*len(columns) < 4 {
				continue
			}
			t := svg.Table{Title: "Best " + metricLabel(f.Score), RowLabel: axes[a], ColumnLabel: axes[b], Rows: rows,
				Columns: columns, Row: -1, Reverse: !wins(1, 0)}
			for range rows {
				t.Values = append(t.Values, slices.Repeat([]float64{math.NaN()}, len(columns)))
				t.Labels = append(t.Labels, make([]string, len(columns)))
			}
			for _, c := range f.All {
				i, j := slices.Index(rows, formatValue(c.Params[axes[a]])), slices.Index(columns, formatValue(c.Params[axes[b]]))
				if c.Failed == "" && (math.IsNaN(t.Values[i][j]) || wins(c.Mean, t.Values[i][j])) {
					t.Values[i][j], t.Labels[i][j] = c.Mean, formatNumber(c.Mean)
				}
			}
			t.Row, t.Column = slices.Index(rows, formatValue(f.Best.Params[axes[a]])),
				slices.Index(columns, formatValue(f.Best.Params[axes[b]]))
			t.AltText = fmt.Sprintf("Best %s by %s and %s; the frame marks the selected candidate, %s and %s",
				metricLabel(f.Score), axes[a], axes[b], formatValue(f.Best.Params[axes[a]]), formatValue(f.Best.Params[axes[b]]))
			out = append(out, figure{Title: axes[a] + " and " + axes[b], SVG: trustedSVG(svg.HeatMap(t)),
				Wide: len(columns) > 5})
		}
	}
	return out
}

// axisValues returns the values of a parameter in ascending order.
func axisValues(f *result.Search, axis string) (out []string) {
	values, _ := bestByValue(f, axis)
	slices.SortStableFunc(values, func(a, b any) int {
		x, ok := asNumber(a)
		y, too := asNumber(b)
		if !ok || !too {
			return 0
		}
		return cmp.Compare(x, y)
	})
	for _, v := range values {
		out = append(out, formatValue(v))
	}
	return out
}

// plateauPlot plots the score against the size of a map and describes where it levels off.
func plateauPlot(f *result.Search, axis string) (template.HTML, string) {
	x, s := scoreSeries(f, axis)
	if len(s.X) < 2 || x.Labels != nil {
		return "", ""
	}
	wins := comparison(f.Score)
	top := 0
	for k, v := range s.Y {
		if wins(v, s.Y[top]) {
			top = k
		}
	}
	limit := s.Low[top]
	if !wins(1, 0) {
		limit = s.High[top]
	}
	first := top
	for first > 0 && !wins(limit, s.Y[first-1]) {
		first--
	}
	text := fmt.Sprintf("For %s of %s or more, the score is within one standard error of the best.", axis,
		formatValue(s.X[first]))
	if first == len(s.X)-1 {
		text = fmt.Sprintf("The largest %s, %s, improves on the next smaller value by more than one standard error: a "+
			"larger value may help.", axis, formatValue(s.X[first]))
	}
	p := svg.Plot{Title: "Score by " + axis, AltText: text, X: x, Y: svg.Axis{Name: metricLabel(f.Score)},
		Series: []svg.Series{s,
			{Name: "one standard error from the best", Color: svg.Reference, X: []float64{s.X[0], s.X[len(s.X)-1]},
				Y: []float64{limit, limit}, Line: true, Dashed: true}}}
	return trustedSVG(p.SVG()), text
}

// columnSummary summarizes the values of a column.
func columnSummary(c profile.Column) string {
	if c.Missing >= 1 {
		return "none"
	}
	if c.Kind == "categorical" {
		var list []string
		for _, l := range c.Categories[:min(len(c.Categories), 5)] {
			list = append(list, truncate(l.Name)+" "+formatPercent(l.Fraction))
		}
		if more := len(c.Categories) + c.OtherCategories - 5; more > 0 {
			list = append(list, fmt.Sprintf("%d more", more))
		}
		return strings.Join(list, ", ")
	}
	text := formatNumber(c.Min) + " to " + formatNumber(c.Max)
	if len(c.Quantiles) == 11 {
		text += ", median " + formatNumber(c.Quantiles[5])
	}
	if c.Kind == "text" {
		text += " characters"
	}
	return text
}
