package report

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/inspection"
	"github.com/bochner-ml/bochner/internal/profile"
	"github.com/bochner-ml/bochner/internal/svg"
	"github.com/bochner-ml/bochner/metrics"
)

// trusted marks a picture of this house, in which every text is escaped.
func trusted(drawn string) template.HTML { return template.HTML(drawn) }

func confusion(c result.Confusion) template.HTML {
	t := svg.Table{Title: "Confusion matrix", Down: "truth", Across: "predicted", Row: -1}
	var said []string
	for i, row := range c.Counts {
		total := 0.0
		for _, v := range row {
			total += v
		}
		shares, labels := make([]float64, len(row)), make([]string, len(row))
		for j, v := range row {
			labels[j] = count(v)
			if total > 0 {
				shares[j] = v / total
			}
		}
		t.Values, t.Labels = append(t.Values, shares), append(t.Labels, labels)
		said = append(said, fmt.Sprintf("of %s %s: %s right", count(total), c.Classes[i], percent(shares[i])))
	}
	for _, name := range c.Classes {
		t.Rows, t.Columns = append(t.Rows, brief(name)), append(t.Columns, brief(name))
	}
	t.Says = "Confusion matrix; " + strings.Join(said, "; ")
	return trusted(svg.Heat(t))
}

// brief shortens a name that would make a table too wide.
func brief(name string) string {
	if r := []rune(name); len(r) > 16 {
		return string(r[:15]) + "…"
	}
	return name
}

func curve(title, x, y string, list []result.Curve, diagonal bool) template.HTML {
	p := svg.Plot{Title: title, X: svg.Axis{Name: x, High: 1}, Y: svg.Axis{Name: y, High: 1}}
	var said []string
	for k, c := range list {
		if k == svg.Reference {
			break
		}
		name := fmt.Sprintf("%s, area %s", brief(c.Class), short(c.Area))
		p.Series = append(p.Series, svg.Series{Name: name, Color: k, X: c.X, Y: c.Y, Line: true})
		said = append(said, name)
	}
	if diagonal {
		p.Series = append(p.Series, svg.Series{Name: "chance", Color: svg.Reference, X: []float64{0, 1}, Y: []float64{0, 1}, Line: true, Dashed: true})
	}
	p.Says = title + ": " + strings.Join(said, "; ")
	return trusted(p.SVG())
}

func threshold(t result.Threshold) template.HTML {
	p := svg.Plot{Title: "Threshold", X: svg.Axis{Name: "score from which on it is taken for the class"}, Y: svg.Axis{Name: called(t.Score)}}
	low, high := slices.Min(t.Scores), slices.Max(t.Scores)
	p.Series = []svg.Series{
		{Name: called(t.Score) + " on rows not learned from", X: t.At, Y: t.Scores, Line: true},
		{Name: "chosen: " + short(t.Value), Color: 1, X: []float64{t.Value, t.Value}, Y: []float64{low, high}, Line: true, Dashed: true},
	}
	p.Says = fmt.Sprintf("%s against the threshold, which was chosen to be %s", called(t.Score), short(t.Value))
	return trusted(p.SVG())
}

func calibration(list []result.Calibration) template.HTML {
	p := svg.Plot{Title: "Calibration", X: svg.Axis{Name: "probability predicted", High: 1}, Y: svg.Axis{Name: "share of the rows that are", High: 1}}
	var said []string
	for k, c := range list[:min(len(list), svg.Reference)] {
		s := svg.Series{Name: brief(c.Class), Color: k, X: c.Predicted, Y: c.Observed, Line: true, Dots: true}
		if len(list) == 1 {
			for i, v := range c.Observed {
				spread := 1.96 * math.Sqrt(max(v*(1-v), 0.25/max(c.Rows[i], 1))/max(c.Rows[i], 1))
				s.Low, s.High = append(s.Low, max(0, v-spread)), append(s.High, min(1, v+spread))
			}
		}
		p.Series = append(p.Series, s)
		said = append(said, fmt.Sprintf("%s off by %s on average", c.Class, percent(c.Error)))
	}
	p.Series = append(p.Series, svg.Series{Name: "as it should be", Color: svg.Reference, X: []float64{0, 1}, Y: []float64{0, 1}, Line: true, Dashed: true})
	p.Says = "Calibration: " + strings.Join(said, "; ")
	return trusted(p.SVG())
}

func predicted(e result.Errors, of string) template.HTML {
	var truth, said []float64
	for _, r := range e.Sample {
		truth, said = append(truth, r.Truth), append(said, r.Predicted)
	}
	low, high := slices.Min(truth), slices.Max(truth)
	return trusted(svg.Plot{
		Title: "Predicted and true" + of, Says: fmt.Sprintf("Predictions of %s against the truth, from %s to %s; on the line they are right", e.Target, short(low), short(high)),
		X: svg.Axis{Name: "true " + e.Target}, Y: svg.Axis{Name: "predicted"},
		Series: []svg.Series{{X: truth, Y: said, Dots: true}, {Name: "right", Color: svg.Reference, X: []float64{low, high}, Y: []float64{low, high}, Line: true, Dashed: true}},
	}.SVG())
}

func residuals(e result.Errors, of string) template.HTML {
	var said, off []float64
	for _, r := range e.Sample {
		said, off = append(said, r.Predicted), append(off, r.Predicted-r.Truth)
	}
	return trusted(svg.Plot{
		Title: "Residuals" + of, Says: fmt.Sprintf("Errors of %s against predictions; their mean is %s", e.Target, short(e.Mean)),
		X: svg.Axis{Name: "predicted " + e.Target}, Y: svg.Axis{Name: "predicted − true"},
		Series: []svg.Series{{X: said, Y: off, Dots: true}, {Color: svg.Reference, X: []float64{slices.Min(said), slices.Max(said)}, Y: []float64{0, 0}, Line: true, Dashed: true}},
	}.SVG())
}

func quantiles(e result.Errors, of string) template.HTML {
	b := svg.Bars{Title: "Absolute errors" + of, Across: "off by at most"}
	var words []string
	for _, q := range e.Quantiles {
		b.Names = append(b.Names, fmt.Sprintf("%g %% of rows", 100*q.Share))
		b.Values = append(b.Values, q.Error)
		b.Labels = append(b.Labels, short(q.Error))
		words = append(words, fmt.Sprintf("%g %% of the rows by at most %s", 100*q.Share, short(q.Error)))
	}
	b.Says = "Predictions are off: " + strings.Join(words, ", ")
	return trusted(b.SVG())
}

func relevance(step result.Relevance) template.HTML {
	b := svg.Bars{Title: "Learned by " + step.Step, Across: "relevance, the largest being 1"}
	for _, one := range step.Inputs[:min(len(step.Inputs), 15)] {
		b.Names, b.Values = append(b.Names, one.Name), append(b.Values, one.Relevance)
		b.Labels = append(b.Labels, fmt.Sprintf("%.2f", one.Relevance))
	}
	b.Says = "Inputs by what " + step.Step + " has learned: " + strings.Join(b.Names, ", ")
	return trusted(b.SVG())
}

// effectsByInput puts the effects of an input together, of all classes or targets.
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

func learning(l result.LearningCurve, says string) template.HTML {
	rows := make([]float64, len(l.Rows))
	for k, n := range l.Rows {
		rows[k] = float64(n)
	}
	return trusted(svg.Plot{
		Title: "Learning curve", Says: says, X: svg.Axis{Name: "rows learned from", Log: true}, Y: svg.Axis{Name: called(l.Score)},
		Series: []svg.Series{{Name: "test rows", X: rows, Y: l.Scores, Line: true, Dots: true}, {Name: "rows learned from", Color: svg.Reference, X: rows, Y: l.Train, Line: true, Dots: true, Dashed: true}},
	}.SVG())
}

// number is a value of an axis, where it is one.
func number(v any) (float64, bool) {
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

// better says which of two scores is.
func better(score string) func(a, b float64) bool {
	m, err := metrics.ByName(score)
	if err != nil {
		return func(a, b float64) bool { return a > b }
	}
	return m.Better
}

// points are the best candidates for each value of an axis.
func points(f *result.Search, axis string) (values []any, top []result.CandidateResult) {
	wins := better(f.Score)
	for _, c := range f.All {
		if c.Failed != "" {
			continue
		}
		v := c.Params[axis]
		at := slices.IndexFunc(values, func(o any) bool { return shown(o) == shown(v) })
		if at < 0 {
			values, top = append(values, v), append(top, c)
		} else if wins(c.Mean, top[at].Mean) {
			top[at] = c
		}
	}
	return values, top
}

// against is the best score for each value of an axis, as a series.
func against(f *result.Search, axis string) (svg.Axis, svg.Series) {
	values, top := points(f, axis)
	x := svg.Axis{Name: axis}
	s := svg.Series{Name: "best of all with it, ± standard error", Line: true, Dots: true}
	low, high, numbers := math.Inf(1), math.Inf(-1), true
	for _, v := range values {
		n, ok := number(v)
		numbers = numbers && ok
		low, high = min(low, n), max(high, n)
	}
	order := make([]int, len(values))
	for k := range order {
		order[k] = k
	}
	if numbers {
		slices.SortFunc(order, func(a, b int) int {
			x, _ := number(values[a])
			y, _ := number(values[b])
			return cmp.Compare(x, y)
		})
		x.Log = low > 0 && high/low >= 8
	}
	for at, k := range order {
		v, _ := number(values[k])
		if !numbers {
			v = float64(at)
			x.Labels = append(x.Labels, brief(shown(values[k])))
			s.Line = false
		}
		spread := top[k].Std / math.Sqrt(max(1, float64(f.Folds-1)))
		s.X, s.Y = append(s.X, v), append(s.Y, top[k].Mean)
		s.Low, s.High = append(s.Low, top[k].Mean-spread), append(s.High, top[k].Mean+spread)
	}
	return x, s
}

func againstAxes(f *result.Search, axes []string) (out []figure) {
	for _, axis := range axes[:min(len(axes), 6)] {
		x, s := against(f, axis)
		if len(s.X) < 2 {
			continue
		}
		title := "Score against " + axis
		p := svg.Plot{Title: title, X: x, Y: svg.Axis{Name: called(f.Score)}, Series: []svg.Series{s}}
		p.Says = fmt.Sprintf("%s: best at %s", title, shown(f.Best.Params[axis]))
		out = append(out, figure{Title: title, Drawn: trusted(p.SVG())})
	}
	return out
}

// heatMaps are the scores over pairs of axes, the best over the others.
func heatMaps(f *result.Search, axes []string) (out []figure) {
	const maxValues, maxMaps = 14, 6
	wins := better(f.Score)
	for a := range axes {
		for b := a + 1; b < len(axes) && len(out) < maxMaps; b++ {
			rows, columns := sorted(f, axes[a]), sorted(f, axes[b])
			if len(rows) > maxValues || len(columns) > maxValues || len(rows)*len(columns) < 4 {
				continue
			}
			t := svg.Table{Title: "Best " + called(f.Score), Down: axes[a], Across: axes[b], Rows: rows, Columns: columns, Row: -1, Reverse: !wins(1, 0)}
			for range rows {
				t.Values = append(t.Values, slices.Repeat([]float64{math.NaN()}, len(columns)))
				t.Labels = append(t.Labels, make([]string, len(columns)))
			}
			for _, c := range f.All {
				i, j := slices.Index(rows, shown(c.Params[axes[a]])), slices.Index(columns, shown(c.Params[axes[b]]))
				if c.Failed == "" && (math.IsNaN(t.Values[i][j]) || wins(c.Mean, t.Values[i][j])) {
					t.Values[i][j], t.Labels[i][j] = c.Mean, short(c.Mean)
				}
			}
			t.Row, t.Column = slices.Index(rows, shown(f.Best.Params[axes[a]])), slices.Index(columns, shown(f.Best.Params[axes[b]]))
			t.Says = fmt.Sprintf("Best %s over %s and %s; the frame is the candidate that was chosen, %s and %s", called(f.Score), axes[a], axes[b], shown(f.Best.Params[axes[a]]), shown(f.Best.Params[axes[b]]))
			out = append(out, figure{Title: axes[a] + " and " + axes[b], Drawn: trusted(svg.Heat(t)), Wide: len(columns) > 5})
		}
	}
	return out
}

// sorted are the values of an axis, numbers by their size.
func sorted(f *result.Search, axis string) (out []string) {
	values, _ := points(f, axis)
	slices.SortStableFunc(values, func(a, b any) int {
		x, ok := number(a)
		y, too := number(b)
		if !ok || !too {
			return 0
		}
		return cmp.Compare(x, y)
	})
	for _, v := range values {
		out = append(out, shown(v))
	}
	return out
}

// plateau is the score against the size of a map, and from where on nothing is gained.
func plateau(f *result.Search, axis string) (template.HTML, string) {
	x, s := against(f, axis)
	if len(s.X) < 2 || x.Labels != nil {
		return "", ""
	}
	wins := better(f.Score)
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
	text := fmt.Sprintf("From %s %s on nothing is gained beyond the standard error.", axis, shown(s.X[first]))
	if first == len(s.X)-1 {
		text = fmt.Sprintf("The largest %s, %s, is still better than the one before it by more than the standard error: more may help.", axis, shown(s.X[first]))
	}
	p := svg.Plot{Title: "Against " + axis, Says: text, X: x, Y: svg.Axis{Name: called(f.Score)}, Series: []svg.Series{s,
		{Name: "one standard error from the best", Color: svg.Reference, X: []float64{s.X[0], s.X[len(s.X)-1]}, Y: []float64{limit, limit}, Line: true, Dashed: true}}}
	return trusted(p.SVG()), text
}

// values says what a column holds.
func values(c profile.Column) string {
	if c.Missing >= 1 {
		return "none"
	}
	if c.Kind == "categorical" {
		var list []string
		for _, l := range c.Levels[:min(len(c.Levels), 5)] {
			list = append(list, brief(l.Name)+" "+percent(l.Share))
		}
		if more := len(c.Levels) + c.OtherLevels - 5; more > 0 {
			list = append(list, fmt.Sprintf("%d more", more))
		}
		return strings.Join(list, ", ")
	}
	text := short(c.Min) + " to " + short(c.Max)
	if len(c.Quantiles) == 11 {
		text += ", median " + short(c.Quantiles[5])
	}
	return text
}
