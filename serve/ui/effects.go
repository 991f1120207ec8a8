package ui

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/inspection"
	"github.com/bochner-ml/bochner/internal/rows/origin"
	"github.com/bochner-ml/bochner/serve"
)

const (
	maxEffectInputs  = 200 // maximum number of inputs for which effects are computed
	maxEffects       = 30  // effects shown
	maxEffectTargets = 3   // targets with effects
	maxListedInputs  = 20  // inputs listed in a sentence
)

// effectGroup shows the contributions of the inputs to one output.
type effectGroup struct {
	Title   string
	Text    []string
	Effects []effect
	Unit    string // heading of the numbers
	Notes   []string
}

// effect is the Shapley value of an input relative to the typical row.
type effect struct {
	Name, Value, Typical string
	Label                string
	BarStart, BarWidth   string // position of the bar in percent; "" without a bar
	Positive             bool

	size float64
}

// effects returns the contributions of the inputs to each output: their Shapley values with the typical row as the only
// background row.
func effects(ctx context.Context, s *serve.Server, m *serve.Model, f *form, row, typical []float64,
	prediction estimator.Prediction) []effectGroup {
	none := func(text string) []effectGroup {
		return []effectGroup{{Title: "Contributions of the inputs", Text: []string{text}}}
	}
	switch {
	case m.File.Task == datasets.Clustering:
		return nil
	case len(f.Fields) > maxEffectInputs:
		return none(fmt.Sprintf("Contributions are computed for models of at most %d inputs.", maxEffectInputs))
	case !slices.ContainsFunc(f.Fields, func(e formField) bool { return !isSame(row, typical, e.column.Columns) }):
		return none("Every input has its typical value.")
	}
	values, err := s.Explain(ctx, m, typical, slices.Clone(row))
	if err != nil {
		return none("Cannot compute the contributions: " + truncate(err.Error(), 300) + ".")
	}
	explained := values.Outputs
	sign := 1.0
	if m.Classes != nil {
		class := int(prediction.Values[0])
		if len(explained) == len(m.Classes) {
			explained = explained[class : class+1]
		} else if class == 0 { // the score is that of the second class
			sign = -1
		}
		explained = []inspection.ShapleyOutput{explained[0]}
		explained[0].Name = quoted(m.Classes[class])
	}
	var out []effectGroup
	for _, o := range explained[:min(len(explained), maxEffectTargets)] {
		out = append(out, contributions(m, f, values, o, sign, row, typical))
	}
	return out
}

// contributions shows the contributions of the inputs to an output times sign.
func contributions(m *serve.Model, f *form, values inspection.ShapleyValues, o inspection.ShapleyOutput, sign float64,
	row, typical []float64) effectGroup {
	of, _ := origin.Inputs(m.File.Schema, m.Encoding.Width)
	kind := map[string]string{"decision": "score"}[values.Output]
	name := "the " + cmp.Or(kind, values.Output)
	if o.Name != "" {
		name += " of " + o.Name
	}
	out := effectGroup{Title: "Contributions of the inputs to " + name, Unit: "contribution"}
	out.Text = []string{fmt.Sprintf("The contributions add up to the difference between %s of this row, %s, and that of "+
		"the typical row, %s (medians and most frequent categories).",
		name, number(sign*o.Predictions[0]), number(sign*o.Base))}
	if values.Output == "decision" {
		out.Text = append(out.Text, "A higher score makes the class more likely.")
	}
	if values.Method == inspection.MethodSampling {
		out.Text = append(out.Text, "The contributions are estimated by sampling.")
	}
	var usual []string
	largest := 0.0
	for _, e := range f.Fields {
		if isSame(row, typical, e.column.Columns) {
			usual = append(usual, e.Name)
			continue
		}
		one := effect{Name: e.Name, Value: displayValue(e.Value), Typical: displayValue(e.typical)}
		var inputs []int
		for _, j := range e.column.Columns {
			if !slices.Contains(inputs, of[j]) {
				inputs, one.size = append(inputs, of[j]), one.size+sign*o.Values[0][of[j]]
			}
		}
		if math.Abs(one.size) <= 1e-9*(math.Abs(o.Base)+math.Abs(o.Predictions[0])) { // rounding
			one.size = 0
		}
		one.Label, largest = signed(one.size), max(largest, math.Abs(one.size))
		out.Effects = append(out.Effects, one)
	}
	out.draw(largest)
	if len(usual) > 0 {
		names := strings.Join(usual[:min(len(usual), maxListedInputs)], ", ")
		if more := len(usual) - maxListedInputs; more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		out.Notes = append(out.Notes, "Inputs at their typical value: "+names+".")
	}
	return out
}

// draw sorts the effects by size, sets their bars and omits small ones.
func (g *effectGroup) draw(largest float64) {
	slices.SortStableFunc(g.Effects, func(a, b effect) int { return cmp.Compare(math.Abs(b.size), math.Abs(a.size)) })
	for k := range g.Effects {
		e := &g.Effects[k]
		e.Positive = e.size > 0
		if e.size != 0 {
			wide := 50 * math.Abs(e.size) / largest
			e.BarStart, e.BarWidth = "50", width(wide)
			if !e.Positive {
				e.BarStart = width(50 - wide)
			}
		}
	}
	if more := len(g.Effects) - maxEffects; more > 0 {
		g.Effects = g.Effects[:maxEffects]
		g.Notes = append(g.Notes, fmt.Sprintf("%d inputs with smaller contributions are not shown.", more))
	}
}

// displayValue formats a form value.
func displayValue(text string) string {
	if text == "" {
		return "missing"
	}
	return quoted(truncate(text, 60))
}

// isSame reports whether two rows are equal in the given columns; NaN equals NaN.
func isSame(a, b []float64, columns []int) bool {
	return !slices.ContainsFunc(columns, func(j int) bool {
		return a[j] != b[j] && !(math.IsNaN(a[j]) && math.IsNaN(b[j]))
	})
}
