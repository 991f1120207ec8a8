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
	maxMoving  = 200 // inputs of a model whose effects are computed
	maxEffects = 30  // that are shown
	maxMoved   = 3   // targets whose effects are shown
	maxNamed   = 20  // inputs in a sentence
)

// moved shows the effects of inputs on a prediction.
type moved struct {
	Title   string
	Words   []string
	Effects []effect
	Head    string // of the numbers
	Drawn   bool   // whether they have bars
	Rest    []string
}

// effect is the change of the prediction when one input is set to its typical value.
type effect struct {
	Name, Value, Typical string
	Label                string
	From, Width          string // of the bar, in percent; "" for none
	Up                   bool

	size float64
}

// measure is a number of a prediction.
type measure struct {
	of    string // its name
	head  string
	value func(prediction estimator.Prediction, i int) float64
	write func(v float64) string
}

// measures returns the numbers of a prediction whose changes are shown.
func measures(m *serve.Model, prediction estimator.Prediction) (out []measure) {
	classes, targets := m.Classes, m.File.Schema.Targets
	switch {
	case prediction.Probabilities != nil:
		code := int(prediction.Values[0])
		out = append(out, measure{"the probability of " + quoted(classes[code]), "points",
			func(p estimator.Prediction, i int) float64 { return p.Probabilities.At(i, code) }, points})
	case classes != nil && prediction.Scores != nil:
		code, column, sign := int(prediction.Values[0]), int(prediction.Values[0]), 1.0
		if len(classes) == 2 {
			column, sign = 0, 2*prediction.Values[0]-1
		}
		out = append(out, measure{"the score of " + quoted(classes[code]), "score",
			func(p estimator.Prediction, i int) float64 { return sign * p.Scores.At(i, column) }, signed})
	case prediction.Anomaly != nil:
		out = append(out, measure{"the anomaly score", "score", func(p estimator.Prediction, i int) float64 { return p.Anomaly[i] }, signed})
	case m.File.Task == datasets.Clustering:
		out = append(out, measure{of: "the cluster", head: "then", value: func(p estimator.Prediction, i int) float64 { return p.Values[i] }})
	case prediction.Targets != nil && len(targets) > 1:
		for k, t := range targets[:min(len(targets), maxMoved)] {
			out = append(out, measure{t.Name, t.Name, func(p estimator.Prediction, i int) float64 { return p.Targets.At(i, k) }, signed})
		}
	default:
		out = append(out, measure{"the prediction", "effect", func(p estimator.Prediction, i int) float64 { return p.Values[i] }, signed})
	}
	return out
}

// effects returns for each measure how much it changes when one input at a time is set to its typical value.
func effects(ctx context.Context, s *serve.Server, m *serve.Model, f *form, row, typical []float64, prediction estimator.Prediction) []moved {
	none := func(text string) []moved { return []moved{{Title: "Which inputs moved it", Words: []string{text}}} }
	if len(f.Fields) > maxMoving {
		return none(fmt.Sprintf("The model has more than %d inputs; it is not worked out for each of them.", maxMoving))
	}
	rows := slices.Clone(row)
	var changed []entry
	var usual []string
	for _, e := range f.Fields {
		if isSame(row, typical, e.field.Columns) {
			usual = append(usual, e.Name)
			continue
		}
		back := slices.Clone(row)
		for _, j := range e.field.Columns {
			back[j] = typical[j]
		}
		rows, changed = append(rows, back...), append(changed, e)
	}
	if len(changed) == 0 {
		return none("None: every input has its typical value.")
	}
	all, err := s.Predict(ctx, m, rows)
	if err != nil {
		return none("That cannot be said: of a row with a typical value in it the model says: " + short(err.Error(), 300) + ".")
	}
	var out []moved
	for _, one := range measures(m, prediction) {
		out = append(out, one.moved(all, changed, usual))
	}
	return out
}

// moved returns the effects of the changed inputs, where row 0 of all is the row that was sent and row k+1 that without
// the change of input k. Usual are the inputs that have their typical value.
func (m measure) moved(all estimator.Prediction, changed []entry, usual []string) moved {
	far := "How far "
	if m.head == "points" {
		far += "in percentage points "
	}
	out := moved{Title: "Which inputs moved " + m.of, Head: m.head, Drawn: m.write != nil, Words: []string{
		far + m.of + " is from where it would be if this input alone had its typical value, the median or the most frequent level, and all others stayed.",
		"What inputs do together is not the sum of this.",
	}}
	base, most := m.value(all, 0), 0.0
	for k, e := range changed {
		v := m.value(all, k+1)
		one := effect{Name: e.Name, Value: shownValue(e.Value), Typical: shownValue(e.typical), size: base - v}
		if m.write == nil {
			one.Label = "the same"
			if v != base {
				one.Label = fmt.Sprintf("cluster %d", int(v))
			}
		} else if math.Abs(one.size) <= 1e-9*(math.Abs(base)+math.Abs(v)) { // rounding
			one.size, one.Label = 0, "0"
		} else {
			one.Label = m.write(one.size)
		}
		most = max(most, math.Abs(one.size))
		out.Effects = append(out.Effects, one)
	}
	if m.write == nil {
		out.Words = []string{"The cluster that the row would be of if this input alone had its typical value, the median or the most frequent level, and all others stayed."}
		most = 0
	}
	slices.SortStableFunc(out.Effects, func(a, b effect) int { return cmp.Compare(math.Abs(b.size), math.Abs(a.size)) })
	for k := range out.Effects {
		e := &out.Effects[k]
		e.Up = e.size > 0
		if most > 0 && e.size != 0 {
			wide := 50 * math.Abs(e.size) / most
			e.From, e.Width = "50", width(wide)
			if !e.Up {
				e.From = width(50 - wide)
			}
		}
	}
	if more := len(out.Effects) - maxEffects; more > 0 {
		out.Effects = out.Effects[:maxEffects]
		out.Rest = append(out.Rest, fmt.Sprintf("And %d more, which moved it less.", more))
	}
	if len(usual) > 0 {
		names := strings.Join(usual[:min(len(usual), maxNamed)], ", ")
		if more := len(usual) - maxNamed; more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		out.Rest = append(out.Rest, "With their typical value, so that they moved nothing: "+names+".")
	}
	return out
}

// shownValue returns a value of the form.
func shownValue(text string) string {
	if text == "" {
		return "not known"
	}
	return quoted(short(text, 60))
}

// isSame reports whether two rows are equal in some columns, where NaN is equal to NaN.
func isSame(a, b []float64, columns []int) bool {
	return !slices.ContainsFunc(columns, func(j int) bool { return a[j] != b[j] && !(math.IsNaN(a[j]) && math.IsNaN(b[j])) })
}
