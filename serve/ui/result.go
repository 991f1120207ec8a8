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
	"github.com/bochner-ml/bochner/internal/learning/coverage"
	"github.com/bochner-ml/bochner/serve"
)

// maxBars bounds the number of classes or targets shown.
const maxBars = 20

// result shows the prediction of a row.
type result struct {
	Text    string
	Details []string
	Range   *rangePlot
	Classes []bar
	Scores  bool // whether classes have scores instead of probabilities
	Targets []target
	Hidden  int // number of classes or targets not shown
	Effects []effectGroup
}

// bar is a class with its probability or score.
type bar struct {
	Name, Label string
	Width       string // in percent
	First       bool
}

// rangePlot places a prediction within the training range of the target, in percent.
type rangePlot struct {
	Position, IntervalStart, IntervalWidth string
	Interval                               bool
	Low, High                              string
	AltText                                string
}

// target is the prediction of one of several targets.
type target struct{ Name, Value, Std, Interval string }

// predict predicts a row and the effects of its inputs.
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
		out.Text = "normal"
		if prediction.Values[0] != 0 {
			out.Text = "an anomaly"
		}
		out.Details = append(out.Details, fmt.Sprintf("Anomaly score %s; scores above 0 are anomalies.",
			number(prediction.Anomaly[0])))
	case m.File.Task == datasets.Clustering:
		out.Text = fmt.Sprintf("cluster %d", int(prediction.Values[0]))
		out.Details = append(out.Details, "Clusters are numbered from 0.")
	case prediction.Targets != nil && len(m.File.Schema.Targets) > 1:
		out.targets(m, prediction)
	default:
		out.value(m, prediction)
	}
	var far []string
	for _, e := range f.Fields {
		if e.extrapolates {
			far = append(far, e.Name)
		}
	}
	if len(far) > 0 {
		out.Details = append(out.Details, "Far outside the training range in "+strings.Join(far, ", ")+
			": the prediction is unreliable.")
	}
	out.Effects = effects(ctx, s, m, f, row, typical, prediction)
	return out, nil
}

// classes shows a predicted class.
func (r *result) classes(m *serve.Model, prediction estimator.Prediction, classes []string) {
	code := int(prediction.Values[0])
	r.Text = quoted(classes[code])
	switch {
	case prediction.Probabilities != nil:
		p := prediction.Probabilities.RawRowView(0)
		r.Details = append(r.Details, "probability "+percent(p[code]))
		for _, k := range descending(p) {
			r.Classes = append(r.Classes, bar{quoted(classes[k]), percent(p[k]), width(100 * p[k]), k == code})
		}
	case prediction.Scores != nil && len(classes) == 2:
		v := prediction.Scores.At(0, 0)
		r.Details = append(r.Details,
			fmt.Sprintf("Decision score of %s: %s; a score above 0 predicts this class. The model has no probabilities.",
				quoted(classes[1]), number(v)))
	case prediction.Scores != nil:
		r.Scores = true
		r.Details = append(r.Details, "Class with the largest decision score; the model has no probabilities.")
		v := prediction.Scores.RawRowView(0)
		for _, k := range descending(v) {
			r.Classes = append(r.Classes, bar{Name: quoted(classes[k]), Label: number(v[k]), First: k == code})
		}
	}
	if r.Hidden = len(r.Classes) - maxBars; r.Hidden > 0 {
		r.Classes = r.Classes[:maxBars]
	}
	if prediction.Sets != nil {
		var in []string
		for k, is := range prediction.Sets.RawRowView(0) {
			if is != 0 {
				in = append(in, quoted(classes[k]))
			}
		}
		text := strings.Join(in, ", ")
		switch len(in) {
		case 0:
			text = "empty: the row differs from all classes"
		case 1:
			text = in[0]
		}
		r.Details = append(r.Details, fmt.Sprintf("%s prediction set: %s.", coverageLevel(m), text))
	}
}

// descending returns the indices that sort v in descending order.
func descending(v []float64) []int {
	order := make([]int, len(v))
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(v[b], v[a]) })
	return order
}

// coverageLevel formats the nominal coverage of the intervals and sets.
func coverageLevel(m *serve.Model) string {
	return levelPercent(cmp.Or(estimator.FittedTags(m.File.Predictor).Level, coverage.DefaultLevel))
}

// value shows a predicted number.
func (r *result) value(m *serve.Model, prediction estimator.Prediction) {
	v := prediction.Values[0]
	r.Text = number(v)
	if prediction.Lower != nil {
		r.Details = append(r.Details, fmt.Sprintf("%s interval: %s to %s", coverageLevel(m), number(prediction.Lower[0]),
			number(prediction.Upper[0])))
	}
	if prediction.Std != nil {
		r.Details = append(r.Details, "standard deviation "+number(prediction.Std[0]))
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
	percentOf := func(v float64) string { return width(100 * (v - low) / (high - low)) }
	b := &rangePlot{Position: percentOf(v), Low: number(low), High: number(high)}
	b.AltText = fmt.Sprintf("%s on a scale from %s to %s; training range %s to %s", number(v), b.Low, b.High,
		number(t.Min), number(t.Max))
	if prediction.Lower != nil {
		b.Interval, b.IntervalStart, b.IntervalWidth = true, percentOf(prediction.Lower[0]),
			percentOf(low+prediction.Upper[0]-prediction.Lower[0])
	}
	r.Range = b
	r.Details = append(r.Details, fmt.Sprintf("Training range: %s to %s.", number(t.Min), number(t.Max)))
}

// targets shows the predictions of several targets.
func (r *result) targets(m *serve.Model, prediction estimator.Prediction) {
	r.Text = fmt.Sprintf("%d targets", len(m.File.Schema.Targets))
	at := func(part *mat.Dense, k int) string {
		if part == nil {
			return ""
		}
		return number(part.At(0, k))
	}
	for k, t := range m.File.Schema.Targets {
		if k == maxBars {
			r.Hidden = len(m.File.Schema.Targets) - k
			break
		}
		one := target{Name: t.Name, Value: at(prediction.Targets, k), Std: at(prediction.StdTargets, k)}
		if prediction.LowerTargets != nil {
			one.Interval = at(prediction.LowerTargets, k) + " to " + at(prediction.UpperTargets, k)
		}
		r.Targets = append(r.Targets, one)
	}
	if prediction.LowerTargets != nil {
		r.Details = append(r.Details, fmt.Sprintf("Intervals at the %s level.", coverageLevel(m)))
	}
}
