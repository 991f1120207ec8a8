package inspection

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/internal/codec/svg"
)

// maxPlottedInputs is the maximum number of inputs in a plot.
const maxPlottedInputs = 15

// SVG returns a bar chart of the most important inputs with their standard errors. Notebooks
// display it.
func (r Importances) SVG() string {
	b := svg.Bars{Title: "Permutation importance", XLabel: "decrease of " + strings.ReplaceAll(r.Metric, "_", " ")}
	var labels []string
	for k, in := range r.Inputs[:min(len(r.Inputs), maxPlottedInputs)] {
		b.Names, b.Values, b.Errors = append(b.Names, in.Name), append(b.Values, in.Mean), append(b.Errors, in.StdError)
		b.Labels = append(b.Labels, digits(in.Mean, 3))
		if k < 5 {
			labels = append(labels, in.Name+" "+digits(in.Mean, 3))
		}
	}
	b.AltText = "Permutation importance: " + strings.Join(labels, ", ")
	return b.SVG()
}

// SVG returns a plot of the effect: a line for numeric inputs, bars for categories. Notebooks
// display it.
func (e Effect) SVG() string { return Effects{e}.SVG() }

// Effects are the effects of one input on several classes or targets.
type Effects []Effect

// SVG returns a single plot of all effects.
func (list Effects) SVG() string {
	if len(list) == 0 {
		return svg.Plot{Title: "No effect"}.SVG()
	}
	list = list[:min(len(list), svg.Reference)]
	first := list[0]
	if first.Categories != nil {
		return list.bars()
	}
	p := svg.Plot{Title: "Partial dependence on " + first.Input, X: svg.Axis{Name: first.Input},
		Y: svg.Axis{Name: "mean " + first.Output}}
	if name := cmp.Or(first.Class, first.Target); len(list) == 1 && name != "" {
		p.Y.Name += " of " + name
	}
	for k, e := range list {
		s := svg.Series{Color: k, X: e.Values, Y: e.Mean, Line: true, Dots: len(e.Values) <= 12}
		if len(list) > 1 {
			s.Name = cmp.Or(e.Class, e.Target)
		}
		p.Series = append(p.Series, s)
	}
	p.AltText = list.altText()
	return p.SVG()
}

// bars returns a bar chart with one bar per category and class.
func (list Effects) bars() string {
	first := list[0]
	b := svg.Bars{Title: "Partial dependence on " + first.Input, XLabel: "mean " + first.Output, AltText: list.altText()}
	if name := cmp.Or(first.Class, first.Target); len(list) == 1 && name != "" {
		b.XLabel += " of " + name
	}
	for i, level := range first.Categories {
		for _, e := range list {
			name := level
			if len(list) > 1 {
				name += " · " + cmp.Or(e.Class, e.Target)
			}
			b.Names, b.Values, b.Labels = append(b.Names, name), append(b.Values, e.Mean[i]),
				append(b.Labels, digits(e.Mean[i], 3))
		}
	}
	return b.SVG()
}

// altText returns the alternative text of the plot.
func (list Effects) altText() string {
	var ranges []string
	for _, e := range list {
		ranges = append(ranges, fmt.Sprintf("%s from %s to %s", cmp.Or(e.Class, e.Target, e.Output),
			digits(slices.Min(e.Mean), 4), digits(slices.Max(e.Mean), 4)))
	}
	return "Partial dependence on " + list[0].Input + ": " + strings.Join(ranges, "; ")
}

// digits formats a number for a plot with n significant digits, those before the decimal point in any case.
func digits(v float64, n int) string {
	if a := math.Abs(v); a >= math.Pow10(n) && a < 1e9 {
		return strings.Replace(strconv.FormatFloat(v, 'f', 0, 64), "-", "−", 1)
	}
	return strings.Replace(strconv.FormatFloat(v, 'g', n, 64), "-", "−", 1)
}
