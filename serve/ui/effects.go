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
	"github.com/bochner-ml/bochner/serve"
)

const (
	maxEffectInputs  = 200 // maximum number of inputs for which effects are computed
	maxEffects       = 30  // effects shown
	maxEffectTargets = 3   // targets with effects
	maxListedInputs  = 20  // inputs listed in a sentence
)

// effectGroup shows the effects of the inputs on one output.
type effectGroup struct {
	Title   string
	Text    []string
	Effects []effect
	Unit    string // heading of the numbers
	HasBars bool   // whether effects have bars
	Notes   []string
}

// effect is the change of an output relative to the row with one input at its typical value.
type effect struct {
	Name, Value, Typical string
	Label                string
	BarStart, BarWidth   string // position of the bar in percent; "" without a bar
	Positive             bool

	size float64
}

// output is a number of a prediction.
type output struct {
	name   string // name in a sentence
	unit   string
	value  func(prediction estimator.Prediction, i int) float64
	format func(v float64) string
}

// outputsOf returns the numbers of a prediction whose changes are shown.
func outputsOf(m *serve.Model, prediction estimator.Prediction) (out []output) {
	classes, targets := m.Classes, m.File.Schema.Targets
	switch {
	case prediction.Probabilities != nil:
		class := int(prediction.Values[0])
		out = append(out, output{"the probability of " + quoted(classes[class]), "points",
			func(p estimator.Prediction, i int) float64 { return p.Probabilities.At(i, class) }, percentagePoints})
	case classes != nil && prediction.Scores != nil:
		class, column, sign := int(prediction.Values[0]), int(prediction.Values[0]), 1.0
		if len(classes) == 2 {
			column, sign = 0, 2*prediction.Values[0]-1
		}
		out = append(out, output{"the score of " + quoted(classes[class]), "score",
			func(p estimator.Prediction, i int) float64 { return sign * p.Scores.At(i, column) }, signed})
	case prediction.Anomaly != nil:
		out = append(out, output{"the anomaly score", "score", func(p estimator.Prediction, i int) float64 {
			return p.Anomaly[i]
		}, signed})
	case m.File.Task == datasets.Clustering:
		out = append(out, output{name: "the cluster", unit: "cluster",
			value: func(p estimator.Prediction, i int) float64 { return p.Values[i] }})
	case prediction.Targets != nil && len(targets) > 1:
		for k, t := range targets[:min(len(targets), maxEffectTargets)] {
			out = append(out, output{t.Name, t.Name, func(p estimator.Prediction, i int) float64 { return p.Targets.At(i, k) },
				signed})
		}
	default:
		out = append(out, output{"the prediction", "effect", func(p estimator.Prediction, i int) float64 {
			return p.Values[i]
		}, signed})
	}
	return out
}

// effects returns the effects of the inputs on each output.
func effects(ctx context.Context, s *serve.Server, m *serve.Model, f *form, row, typical []float64,
	prediction estimator.Prediction) []effectGroup {
	none := func(text string) []effectGroup {
		return []effectGroup{{Title: "Effects of the inputs", Text: []string{text}}}
	}
	if len(f.Fields) > maxEffectInputs {
		return none(fmt.Sprintf("Effects are computed for models of at most %d inputs.", maxEffectInputs))
	}
	rows := slices.Clone(row)
	var changed []formField
	var usual []string
	for _, e := range f.Fields {
		if isSame(row, typical, e.column.Columns) {
			usual = append(usual, e.Name)
			continue
		}
		back := slices.Clone(row)
		for _, j := range e.column.Columns {
			back[j] = typical[j]
		}
		rows, changed = append(rows, back...), append(changed, e)
	}
	if len(changed) == 0 {
		return none("Every input has its typical value.")
	}
	all, err := s.Predict(ctx, m, rows)
	if err != nil {
		return none("Cannot compute the effects: " + truncate(err.Error(), 300) + ".")
	}
	var out []effectGroup
	for _, one := range outputsOf(m, prediction) {
		out = append(out, one.effects(all, changed, usual))
	}
	return out
}

// effects returns the effects of the changed inputs. Row 0 of all is the given row; row k+1 has input k
// set to its typical value. Usual lists the inputs that have their typical value.
func (m output) effects(all estimator.Prediction, changed []formField, usual []string) effectGroup {
	out := effectGroup{Title: "Effects of the inputs on " + m.name, Unit: m.unit, HasBars: m.format != nil, Text: []string{
		"Change of " + m.name + " relative to the same row with this input set to its typical value (median or most " +
			"frequent category).",
		"Effects do not add up if inputs interact.",
	}}
	base, maxSize := m.value(all, 0), 0.0
	for k, e := range changed {
		v := m.value(all, k+1)
		one := effect{Name: e.Name, Value: displayValue(e.Value), Typical: displayValue(e.typical), size: base - v}
		if m.format == nil {
			one.Label = "the same"
			if v != base {
				one.Label = fmt.Sprintf("cluster %d", int(v))
			}
		} else if math.Abs(one.size) <= 1e-9*(math.Abs(base)+math.Abs(v)) { // rounding
			one.size, one.Label = 0, "0"
		} else {
			one.Label = m.format(one.size)
		}
		maxSize = max(maxSize, math.Abs(one.size))
		out.Effects = append(out.Effects, one)
	}
	if m.format == nil {
		out.Text = []string{"The cluster of the same row with this input set to its typical value (median or most " +
			"frequent category)."}
		maxSize = 0
	}
	slices.SortStableFunc(out.Effects, func(a, b effect) int { return cmp.Compare(math.Abs(b.size), math.Abs(a.size)) })
	for k := range out.Effects {
		e := &out.Effects[k]
		e.Positive = e.size > 0
		if maxSize > 0 && e.size != 0 {
			wide := 50 * math.Abs(e.size) / maxSize
			e.BarStart, e.BarWidth = "50", width(wide)
			if !e.Positive {
				e.BarStart = width(50 - wide)
			}
		}
	}
	if more := len(out.Effects) - maxEffects; more > 0 {
		out.Effects = out.Effects[:maxEffects]
		out.Notes = append(out.Notes, fmt.Sprintf("%d inputs with smaller effects are not shown.", more))
	}
	if len(usual) > 0 {
		names := strings.Join(usual[:min(len(usual), maxListedInputs)], ", ")
		if more := len(usual) - maxListedInputs; more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		out.Notes = append(out.Notes, "Inputs at their typical value: "+names+".")
	}
	return out
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
