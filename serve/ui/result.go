package ui

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/serve"
)

// mostBars is how many classes or targets are shown.
const mostBars = 20

// result is what a model says of a row.
type result struct {
	Says    string
	Under   []string
	Range   *between
	Classes []bar
	Scores  bool // whether the classes have scores, not probabilities
	Targets []target
	More    int // classes or targets that are not shown
	Moved   []moved
}

// bar is a class with its probability or score.
type bar struct {
	Name, Label string
	Width       string // in percent
	First       bool
}

// between is a picture of a number among those of the training rows. All are in percent of its width.
type between struct {
	At, From, Width string
	Interval        bool
	Low, High       string
	Says            string
}

// target is what is said of one of several.
type target struct{ Name, Value, Std, Interval string }

// predict asks the model about the row and about those that tell which inputs moved it.
func predict(ctx context.Context, s *serve.Server, m *serve.Model, f *form, row, typical []float64) (*result, error) {
	said, err := s.Predict(ctx, m, slices.Clone(row))
	if err != nil {
		return nil, err
	}
	out := &result{}
	switch classes := m.Classes; {
	case classes != nil:
		out.classes(m, said, classes)
	case said.Anomaly != nil:
		out.Says = "like the training rows"
		if said.Values[0] != 0 {
			out.Says = "an anomaly"
		}
		out.Under = append(out.Under, fmt.Sprintf("Its anomaly score is %s; above 0 it is an anomaly, the more the greater.", number(said.Anomaly[0])))
	case m.File.Task == datasets.Clustering:
		out.Says = fmt.Sprintf("cluster %d", int(said.Values[0]))
		out.Under = append(out.Under, "Clusters count from 0, in no order.")
	case said.Targets != nil && len(m.File.Schema.Targets) > 1:
		out.targets(m, said)
	default:
		out.value(m, said)
	}
	var far []string
	for _, e := range f.Fields {
		if e.far {
			far = append(far, e.Name)
		}
	}
	if len(far) > 0 {
		out.Under = append(out.Under, "Far outside the training rows in "+strings.Join(far, ", ")+": do not rely on the prediction or its probability.")
	}
	out.Moved = effects(ctx, s, m, f, row, typical, said)
	return out, nil
}

// classes says what class it is.
func (r *result) classes(m *serve.Model, said estimator.Prediction, classes []string) {
	code := int(said.Values[0])
	r.Says = quoted(classes[code])
	switch {
	case said.Probabilities != nil:
		p := said.Probabilities.RawRowView(0)
		r.Under = append(r.Under, "with a probability of "+percent(p[code]))
		for _, k := range descending(p) {
			r.Classes = append(r.Classes, bar{quoted(classes[k]), percent(p[k]), width(100 * p[k]), k == code})
		}
	case said.Scores != nil && len(classes) == 2:
		v := said.Scores.At(0, 0)
		r.Under = append(r.Under, fmt.Sprintf("The score of %s is %s; where it is above 0 that class is predicted. The model has no probabilities.", quoted(classes[1]), number(v)))
	case said.Scores != nil:
		r.Scores = true
		r.Under = append(r.Under, "The class of the greatest score; the model has no probabilities.")
		v := said.Scores.RawRowView(0)
		for _, k := range descending(v) {
			r.Classes = append(r.Classes, bar{Name: quoted(classes[k]), Label: number(v[k]), First: k == code})
		}
	}
	if r.More = len(r.Classes) - mostBars; r.More > 0 {
		r.Classes = r.Classes[:mostBars]
	}
	if said.Sets != nil {
		var in []string
		for k, is := range said.Sets.RawRowView(0) {
			if is != 0 {
				in = append(in, quoted(classes[k]))
			}
		}
		text := "one of " + strings.Join(in, ", ")
		switch len(in) {
		case 0:
			text = "none: the row is unlike those of all classes"
		case 1:
			text = in[0] + " alone"
		}
		r.Under = append(r.Under, fmt.Sprintf("The set of classes that has the right one for %s of rows: %s.", level(m), text))
	}
}

// descending returns the numbers of values, that of the greatest first.
func descending(v []float64) []int {
	order := make([]int, len(v))
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(v[b], v[a]) })
	return order
}

// level is the probability of the intervals and sets.
func level(m *serve.Model) string {
	p := estimator.DefaultLevel
	var own interface {
		Sureness() (method string, level float64)
	}
	if estimator.As(m.File.Predictor, &own) {
		_, p = own.Sureness()
	}
	return sure(p)
}

// value says what number it is.
func (r *result) value(m *serve.Model, said estimator.Prediction) {
	v := said.Values[0]
	r.Says = number(v)
	if said.Lower != nil {
		r.Under = append(r.Under, fmt.Sprintf("between %s and %s in %s of cases", number(said.Lower[0]), number(said.Upper[0]), level(m)))
	}
	if said.Std != nil {
		r.Under = append(r.Under, "standard deviation "+number(said.Std[0]))
	}
	known := m.File.Profile
	if known == nil || len(known.Targets) != 1 || !(known.Targets[0].Min < known.Targets[0].Max) {
		return
	}
	t := known.Targets[0]
	low, high := min(t.Min, v), max(t.Max, v)
	if said.Lower != nil {
		low, high = min(low, said.Lower[0]), max(high, said.Upper[0])
	}
	place := func(v float64) string { return width(100 * (v - low) / (high - low)) }
	b := &between{At: place(v), Low: number(low), High: number(high)}
	b.Says = fmt.Sprintf("%s on a line from %s to %s; the training rows have %s to %s", number(v), b.Low, b.High, number(t.Min), number(t.Max))
	if said.Lower != nil {
		b.Interval, b.From, b.Width = true, place(said.Lower[0]), place(low+said.Upper[0]-said.Lower[0])
	}
	r.Range = b
	r.Under = append(r.Under, fmt.Sprintf("The training rows have %s to %s.", number(t.Min), number(t.Max)))
}

// targets says what numbers the targets are.
func (r *result) targets(m *serve.Model, said estimator.Prediction) {
	r.Says = fmt.Sprintf("%d numbers", len(m.File.Schema.Targets))
	at := func(part *mat.Dense, k int) string {
		if part == nil {
			return ""
		}
		return number(part.At(0, k))
	}
	for k, t := range m.File.Schema.Targets {
		if k == mostBars {
			r.More = len(m.File.Schema.Targets) - k
			break
		}
		one := target{Name: t.Name, Value: at(said.Targets, k), Std: at(said.StdTargets, k)}
		if said.LowerTargets != nil {
			one.Interval = at(said.LowerTargets, k) + " to " + at(said.UpperTargets, k)
		}
		r.Targets = append(r.Targets, one)
	}
	if said.LowerTargets != nil {
		r.Under = append(r.Under, fmt.Sprintf("Each is in its interval in %s of cases.", level(m)))
	}
}
