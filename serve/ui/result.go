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

// maxBars is the maximum number of classes or targets that are shown.
const maxBars = 20

// result shows the prediction of a row.
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

// between is a picture of a number within the range of the training rows, in percent of its width.
type between struct {
	At, From, Width string
	Interval        bool
	Low, High       string
	Says            string
}

// target is the prediction of one of several targets.
type target struct{ Name, Value, Std, Interval string }

// predict returns the prediction of a row, and which inputs moved it.
func predict(ctx context.Context, s *serve.Server, m *serve.Model, f *form, row, typical []float64) (*result, error) {
	prediction, err := s.Predict(ctx, m, slices.Clone(row))
	if err != nil {
		return nil, err
	}
	out := &result{}
	switch classes := m.Classes; {
	case classes != nil:
		out.classes(m, prediction, classes)
	case prediction.Anomaly != nil:
		out.Says = "like the training rows"
		if prediction.Values[0] != 0 {
			out.Says = "an anomaly"
		}
		out.Under = append(out.Under, fmt.Sprintf("Its anomaly score is %s; above 0 it is an anomaly, the more the greater.", number(prediction.Anomaly[0])))
	case m.File.Task == datasets.Clustering:
		out.Says = fmt.Sprintf("cluster %d", int(prediction.Values[0]))
		out.Under = append(out.Under, "Clusters count from 0, in no order.")
	case prediction.Targets != nil && len(m.File.Schema.Targets) > 1:
		out.targets(m, prediction)
	default:
		out.value(m, prediction)
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
	out.Moved = effects(ctx, s, m, f, row, typical, prediction)
	return out, nil
}

// classes shows the prediction of a class.
func (r *result) classes(m *serve.Model, prediction estimator.Prediction, classes []string) {
	code := int(prediction.Values[0])
	r.Says = quoted(classes[code])
	switch {
	case prediction.Probabilities != nil:
		p := prediction.Probabilities.RawRowView(0)
		r.Under = append(r.Under, "with a probability of "+percent(p[code]))
		for _, k := range descending(p) {
			r.Classes = append(r.Classes, bar{quoted(classes[k]), percent(p[k]), width(100 * p[k]), k == code})
		}
	case prediction.Scores != nil && len(classes) == 2:
		v := prediction.Scores.At(0, 0)
		r.Under = append(r.Under, fmt.Sprintf("The score of %s is %s; where it is above 0 that class is predicted. The model has no probabilities.", quoted(classes[1]), number(v)))
	case prediction.Scores != nil:
		r.Scores = true
		r.Under = append(r.Under, "The class of the greatest score; the model has no probabilities.")
		v := prediction.Scores.RawRowView(0)
		for _, k := range descending(v) {
			r.Classes = append(r.Classes, bar{Name: quoted(classes[k]), Label: number(v[k]), First: k == code})
		}
	}
	if r.More = len(r.Classes) - maxBars; r.More > 0 {
		r.Classes = r.Classes[:maxBars]
	}
	if prediction.Sets != nil {
		var in []string
		for k, is := range prediction.Sets.RawRowView(0) {
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

// descending returns the indices of values, that of the maximum first.
func descending(v []float64) []int {
	order := make([]int, len(v))
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(v[b], v[a]) })
	return order
}

// level returns the probability level of the intervals and sets.
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

// value shows the prediction of a number.
func (r *result) value(m *serve.Model, prediction estimator.Prediction) {
	v := prediction.Values[0]
	r.Says = number(v)
	if prediction.Lower != nil {
		r.Under = append(r.Under, fmt.Sprintf("between %s and %s in %s of cases", number(prediction.Lower[0]), number(prediction.Upper[0]), level(m)))
	}
	if prediction.Std != nil {
		r.Under = append(r.Under, "standard deviation "+number(prediction.Std[0]))
	}
	known := m.File.Profile
	if known == nil || len(known.Targets) != 1 || !(known.Targets[0].Min < known.Targets[0].Max) {
		return
	}
	t := known.Targets[0]
	low, high := min(t.Min, v), max(t.Max, v)
	if prediction.Lower != nil {
		low, high = min(low, prediction.Lower[0]), max(high, prediction.Upper[0])
	}
	place := func(v float64) string { return width(100 * (v - low) / (high - low)) }
	b := &between{At: place(v), Low: number(low), High: number(high)}
	b.Says = fmt.Sprintf("%s on a line from %s to %s; the training rows have %s to %s", number(v), b.Low, b.High, number(t.Min), number(t.Max))
	if prediction.Lower != nil {
		b.Interval, b.From, b.Width = true, place(prediction.Lower[0]), place(low+prediction.Upper[0]-prediction.Lower[0])
	}
	r.Range = b
	r.Under = append(r.Under, fmt.Sprintf("The training rows have %s to %s.", number(t.Min), number(t.Max)))
}

// targets shows the predictions of several targets.
func (r *result) targets(m *serve.Model, prediction estimator.Prediction) {
	r.Says = fmt.Sprintf("%d numbers", len(m.File.Schema.Targets))
	at := func(part *mat.Dense, k int) string {
		if part == nil {
			return ""
		}
		return number(part.At(0, k))
	}
	for k, t := range m.File.Schema.Targets {
		if k == maxBars {
			r.More = len(m.File.Schema.Targets) - k
			break
		}
		one := target{Name: t.Name, Value: at(prediction.Targets, k), Std: at(prediction.StdTargets, k)}
		if prediction.LowerTargets != nil {
			one.Interval = at(prediction.LowerTargets, k) + " to " + at(prediction.UpperTargets, k)
		}
		r.Targets = append(r.Targets, one)
	}
	if prediction.LowerTargets != nil {
		r.Under = append(r.Under, fmt.Sprintf("Each is in its interval in %s of cases.", level(m)))
	}
}
