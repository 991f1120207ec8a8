package inspection

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/internal/codec/svg"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
)

const (
	maxWaterfallInputs = 10   // bars of a waterfall, without the bar of the others
	maxSwarmRows       = 1000 // rows of a summary plot
	maxDependenceRows  = 500  // rows of a dependence plot
	maxPlottedLevels   = 8    // categories on an axis
)

// figure is a plot. Notebooks display it.
type figure struct{ svg string }

// SVG returns the plot as SVG.
func (f figure) SVG() string { return f.svg }

// SVG returns the summary plot of the first output. Notebooks display it.
func (v ShapleyValues) SVG() string { return v.Summary(0).SVG() }

// order returns the inputs in descending order of size.
func order(size []float64) []int {
	out := make([]int, len(size))
	for j := range out {
		out[j] = j
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(size[b], size[a]) })
	return out
}

// Top returns the inputs of an output in descending order of mean absolute value.
func (o ShapleyOutput) Top() []int { return order(o.MeanAbs()) }

// Partner returns the input with the largest mean absolute interaction with input j, −1 without interactions.
func (o ShapleyOutput) Partner(j int) int {
	best, largest := -1, 0.0
	for l := range len(o.MeanAbs()) {
		sum := 0.0
		for _, matrix := range o.Interactions {
			sum += math.Abs(matrix[j][l])
		}
		if l != j && sum > largest {
			best, largest = l, sum
		}
	}
	return best
}

// unit describes the explained number.
func (v ShapleyValues) unit(o ShapleyOutput) string {
	kind := map[string]string{"decision": "score"}
	if o.Name == "" {
		return cmp.Or(kind[v.Output], v.Output)
	}
	return cmp.Or(kind[v.Output], v.Output) + " of " + o.Name
}

// figure checks the number of an output and draws it.
func (v ShapleyValues) figure(output int, draw func(o ShapleyOutput) string) figure {
	if output < 0 || output >= len(v.Outputs) || len(v.Outputs[output].Values) == 0 {
		return figure{svg.Plot{Title: fmt.Sprintf("No output %d", output)}.SVG()}
	}
	return figure{draw(v.Outputs[output])}
}

// Waterfall returns how the inputs move the prediction of a row from the base, in descending order of absolute value.
func (v ShapleyValues) Waterfall(row, output int) figure {
	return v.figure(output, func(o ShapleyOutput) string {
		if row < 0 || row >= len(o.Values) {
			return svg.Plot{Title: fmt.Sprintf("No row %d", row)}.SVG()
		}
		b := svg.Bars{Title: fmt.Sprintf("Row %d: %s %s", row, v.unit(o), digits(o.Predictions[row], 4)),
			XLabel: v.unit(o)}
		at := o.Base
		bar := func(name string, value float64, label string) {
			b.Names, b.Labels = append(b.Names, name), append(b.Labels, label)
			b.Starts, b.Values = append(b.Starts, at), append(b.Values, value)
			at += value
		}
		bar("mean of background", 0, digits(o.Base, 4))
		size := make([]float64, len(v.Inputs))
		for j, phi := range o.Values[row] {
			size[j] = math.Abs(phi)
		}
		inputs, rest, words := order(size), 0.0, []string{}
		shown := inputs
		if len(inputs) > maxWaterfallInputs+1 {
			shown = inputs[:maxWaterfallInputs]
		}
		for _, j := range shown {
			name := v.Inputs[j] + " = " + v.Data[j].String(row)
			bar(name, o.Values[row][j], signed(o.Values[row][j]))
			words = append(words, name+" "+signed(o.Values[row][j]))
		}
		for _, j := range inputs[len(shown):] {
			rest += o.Values[row][j]
		}
		if more := len(inputs) - len(shown); more > 0 {
			bar(fmt.Sprintf("%d other inputs", more), rest, signed(rest))
		}
		bar("prediction", 0, digits(o.Predictions[row], 4))
		b.AltText = b.Title + ", mean of background " + digits(o.Base, 4) + "; " + strings.Join(words, ", ")
		return b.SVG()
	})
}

// Summary returns the values of the rows for each of the most important inputs, colored by the value of the input.
func (v ShapleyValues) Summary(output int) figure {
	return v.figure(output, func(o ShapleyOutput) string {
		s := svg.Swarm{Title: "Shapley values", XLabel: "change of the " + v.unit(o)}
		rows, mean := rowblock.EvenlySpaced(len(o.Values), maxSwarmRows), o.MeanAbs()
		var words []string
		codes := false
		for _, j := range order(mean)[:min(len(mean), maxPlottedInputs)] {
			values, colors := make([]float64, len(rows)), make([]int, len(rows))
			edges := quantileEdges(v.Data[j])
			for k, i := range rows {
				values[k], colors[k] = o.Values[i][j], svg.Reference
				if at := v.Data[j].Values[i]; edges != nil && !math.IsNaN(at) {
					colors[k] = svg.Gradient + 4*bin(edges, at)/max(1, len(edges))
				} else {
					codes = true
				}
			}
			s.Names, s.Values, s.Colors = append(s.Names, v.Inputs[j]), append(s.Values, values), append(s.Colors, colors)
			words = append(words, v.Inputs[j]+" "+digits(mean[j], 3))
		}
		s.AltText = "Shapley values; mean absolute values: " + strings.Join(words, ", ")
		s.Legend = []svg.Series{{Name: "low", Color: svg.Gradient}, {Name: "medium", Color: svg.Gradient + 2},
			{Name: "high", Color: svg.Gradient + 4}}
		if codes {
			s.Legend = append(s.Legend, svg.Series{Name: "category, missing", Color: svg.Reference})
		}
		return s.SVG()
	})
}

// Dependence returns the values of an input over the input, colored by another input; −1 for none.
func (v ShapleyValues) Dependence(output, input, by int) figure {
	return v.figure(output, func(o ShapleyOutput) string {
		if input < 0 || input >= len(v.Inputs) || by >= len(v.Inputs) {
			return svg.Plot{Title: fmt.Sprintf("No input %d", max(input, by))}.SVG()
		}
		rows := rowblock.EvenlySpaced(len(o.Values), maxDependenceRows)
		title, words := v.Inputs[input], "Shapley values of "+v.Inputs[input]+" over its values"
		series, color := []svg.Series{{Dots: true}}, func(int) int { return 0 }
		if by >= 0 {
			title, words = title+", by "+v.Inputs[by], words+", colored by "+v.Inputs[by]
			series, color = v.Data[by].colors(rows)
		}
		data, change := v.Data[input], "change of the "+v.unit(o)
		if data.Categories != nil {
			s := svg.Swarm{Title: title, AltText: words, XLabel: change}
			line := data.lines(&s, rows)
			for _, i := range rows {
				k := line(i)
				s.Values[k] = append(s.Values[k], o.Values[i][input])
				s.Colors[k] = append(s.Colors[k], series[color(i)].Color)
			}
			if s.Legend = series; by < 0 {
				s.Legend = nil
			}
			return s.SVG()
		}
		for _, i := range rows {
			s := &series[color(i)]
			s.X, s.Y = append(s.X, data.Values[i]), append(s.Y, o.Values[i][input])
		}
		return svg.Plot{Title: title, AltText: words, X: svg.Axis{Name: v.Inputs[input]}, Y: svg.Axis{Name: change},
			Series: series}.SVG()
	})
}

// quantileEdges returns at most four quantiles that divide the values of a numeric input, nil for categories.
func quantileEdges(c InputValues) []float64 {
	if c.Categories != nil {
		return nil
	}
	sorted := slices.DeleteFunc(slices.Clone(c.Values), math.IsNaN)
	slices.Sort(sorted)
	out := []float64{}
	for q := 1; q < 5 && len(sorted) > 0; q++ {
		out = append(out, sorted[q*(len(sorted)-1)/5])
	}
	out = slices.Compact(out)
	if n := len(out); n > 0 && out[n-1] == sorted[len(sorted)-1] { // nothing is above
		out = out[:n-1]
	}
	return out
}

// bin returns the number of edges below v.
func bin(edges []float64, v float64) int {
	k, _ := slices.BinarySearch(edges, v)
	return k
}

// frequent returns the codes of the most frequent categories of rows, at most k, in descending order.
func (c InputValues) frequent(rows []int, k int) (out []int) {
	count := make([]float64, len(c.Categories))
	for _, i := range rows {
		if v := c.Values[i]; v >= 0 && int(v) < len(count) {
			count[int(v)]++
		}
	}
	for _, code := range order(count)[:min(k, len(count))] {
		if count[code] > 0 {
			out = append(out, code)
		}
	}
	return out
}

// lines names a line for each of the most frequent categories of rows, one for other categories if there are any, and
// returns the line of a row.
func (c InputValues) lines(s *svg.Swarm, rows []int) func(i int) int {
	at := map[int]int{}
	for k, code := range c.frequent(rows, maxPlottedLevels) {
		at[code] = k
		s.Names = append(s.Names, c.Categories[code])
	}
	others := len(s.Names)
	if slices.ContainsFunc(rows, func(i int) bool { _, ok := at[code(c.Values[i])]; return !ok }) {
		s.Names = append(s.Names, "other")
	}
	s.Values, s.Colors = make([][]float64, len(s.Names)), make([][]int, len(s.Names))
	return func(i int) int {
		if k, ok := at[code(c.Values[i])]; ok {
			return k
		}
		return others
	}
}

// code is the code of a category, Unknown of a missing value.
func code(v float64) int {
	if math.IsNaN(v) {
		return -1
	}
	return int(v)
}

// colors returns a series for each range or category of an input, and the number of the series of a row.
func (c InputValues) colors(rows []int) (list []svg.Series, of func(i int) int) {
	if c.Categories != nil {
		at := map[int]int{}
		for k, code := range c.frequent(rows, svg.Reference) {
			at[code] = k
			list = append(list, svg.Series{Name: c.Categories[code], Color: k, Dots: true})
		}
		list = append(list, svg.Series{Color: svg.Reference, Dots: true})
		others := &list[len(list)-1]
		return list, func(i int) int {
			if k, ok := at[code(c.Values[i])]; ok {
				return k
			}
			others.Name = "other"
			return len(list) - 1
		}
	}
	edges := quantileEdges(c)
	for k := range len(edges) + 1 {
		s := svg.Series{Color: svg.Gradient + 4*k/max(1, len(edges)), Dots: true}
		switch {
		case len(edges) == 0:
		case k == len(edges):
			s.Name = "> " + digits(edges[k-1], 3)
		default:
			s.Name = "≤ " + digits(edges[k], 3)
		}
		list = append(list, s)
	}
	list = append(list, svg.Series{Color: svg.Reference, Dots: true})
	missing := &list[len(list)-1]
	return list, func(i int) int {
		if math.IsNaN(c.Values[i]) {
			missing.Name = "missing"
			return len(list) - 1
		}
		return bin(edges, c.Values[i])
	}
}

// signed formats a number with its sign.
func signed(v float64) string {
	if v > 0 {
		return "+" + digits(v, 3)
	}
	return digits(v, 3)
}
