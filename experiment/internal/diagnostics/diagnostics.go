// Package diagnostics computes diagnostics of predictions with known true values: confusion
// matrices, ROC and precision-recall curves, calibration, errors, baselines and learning curves.
//
//	err := diagnostics.Judged(&out, predicted, task, schema, number)
//	simple, err := diagnostics.Baselines(ctx, train, task)
//	err = diagnostics.Learning(ctx, &out, spec, train, points, judge)
package diagnostics

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/metrics"
)

// maxCurves is the maximum number of classes with curves: the most frequent ones.
const maxCurves = 8

const (
	maxClasses  = 200  // maximum order of a confusion matrix
	curvePoints = 200  // points of a curve
	bins        = 10   // bins of a calibration curve
	worstRows   = 10   // rows with the largest errors
	sampleRows  = 1000 // rows of a scatter plot
)

// Judged adds the diagnostics of predictions to out. number returns the number of a row in its
// file. Quantile is the quantile that the model predicts, 0 for a mean.
func Judged(f *result.Findings, output metrics.Input, task datasets.Task, schema datasets.Schema, quantile float64,
	number func(row int) int) error {
	classes := schema.Classes()
	switch {
	case len(output.YTrue) == 0 && (output.YTrueTargets == nil || output.YTrueTargets.IsEmpty()):
	case task == datasets.Regression:
		regression(f, output, schema, number)
		switch {
		case len(f.Errors) != 1:
		case quantile > 0:
			reliability(f, quantile, output.YTrue, output.YPred)
		case output.Weights == nil:
			f.Counts.Observed, f.Counts.Expected = countsOf(output.YTrue, output.YPred)
		}
	case task == datasets.MultiLabel:
		return labels(f, output, schema.Labels())
	case (task == datasets.Classification || task == datasets.Anomaly) && output.YTrue != nil && len(classes) > 1:
		if task == datasets.Anomaly {
			classes = []string{classes[0], classes[1]}
		}
		return classification(f, output, classes)
	}
	return nil
}

// classification adds the diagnostics of a classifier.
func classification(f *result.Findings, output metrics.Input, classes []string) error {
	output.Classes = len(classes)
	counted, err := output.Confusion(classes)
	if err != nil {
		return err
	}
	if len(classes) <= maxClasses {
		f.Confusion.Classes = classes
		for i := range classes {
			f.Confusion.Counts = append(f.Confusion.Counts, mat.Row(nil, i, counted.Counts))
		}
	}
	addClasses(f, counted.Report())
	for _, class := range curved(f.PerClass) {
		curves(f, output, class, classes[class])
	}
	return nil
}

// labels adds the diagnostics of several labels per row.
func labels(f *result.Findings, output metrics.Input, names []string) error {
	report, err := output.LabelReport(names)
	if err != nil {
		return err
	}
	addClasses(f, report)
	for _, k := range byFrequency(f.PerClass) {
		one := metrics.Input{YTrue: mat.Col(nil, k, output.YTrueTargets), Weights: output.Weights, Classes: 2}
		if scores := output.Scores; scores != nil && !scores.IsEmpty() {
			one.Scores = mat.NewDense(len(one.YTrue), 1, mat.Col(nil, k, scores))
		}
		if p := output.Probabilities; p != nil && !p.IsEmpty() {
			one.Probabilities = mat.NewDense(len(one.YTrue), 2, nil)
			for i := range one.YTrue {
				one.Probabilities.SetRow(i, []float64{1 - p.At(i, k), p.At(i, k)})
			}
		}
		curves(f, one, 1, names[k])
	}
	return nil
}

// addClasses adds the scores of each class or label.
func addClasses(f *result.Findings, report metrics.ClassReport) {
	for _, c := range report {
		f.PerClass = append(f.PerClass, result.Class{Name: c.Class, Precision: c.Precision, Recall: c.Recall, F1: c.F1,
			Support: c.Support})
	}
}

// curved returns the classes with curves: the second of two, else the most frequent.
func curved(list []result.Class) []int {
	if len(list) == 2 {
		return []int{1}
	}
	return byFrequency(list)
}

// byFrequency returns the most frequent classes, in order.
func byFrequency(list []result.Class) []int {
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(list[b].Support, list[a].Support) })
	order = order[:min(maxCurves, len(order))]
	slices.Sort(order)
	return order
}

// curves adds the curves of a class, if the model has scores and the rows contain positives and
// negatives.
func curves(f *result.Findings, output metrics.Input, class int, name string) {
	if roc, err := output.ROC(class); err == nil {
		c := result.Curve{Class: name, Area: roc.Area()}
		for _, k := range alongside(roc.FPR, roc.TPR) {
			c.X, c.Y = append(c.X, roc.FPR[k]), append(c.Y, roc.TPR[k])
		}
		f.ROC = append(f.ROC, c)
	}
	if pr, err := output.PrecisionRecall(class); err == nil {
		c := result.Curve{Class: name}
		for k := 1; k < len(pr.Recall); k++ {
			c.Area += (pr.Recall[k-1] - pr.Recall[k]) * pr.Precision[k-1]
		}
		for _, k := range alongside(pr.Recall, pr.Precision) {
			c.X, c.Y = append(c.X, pr.Recall[k]), append(c.Y, pr.Precision[k])
		}
		f.PrecisionRecall = append(f.PrecisionRecall, c)
	}
	if output.Probabilities == nil || output.Probabilities.IsEmpty() {
		return
	}
	if cal, err := output.Calibration(class, bins); err == nil {
		f.Calibration = slices.Grow(f.Calibration, 1)[:len(f.Calibration)+1]
		c := &f.Calibration[len(f.Calibration)-1]
		c.Class, c.Predicted, c.Observed, c.Rows = name, cal.Predicted, cal.Observed, cal.Weight
		all := 0.0
		for k, w := range cal.Weight {
			c.Error += w * math.Abs(cal.Predicted[k]-cal.Observed[k])
			all += w
		}
		c.Error /= all
	}
}

// alongside returns the indices of at most curvePoints points of a curve, spaced about evenly along
// it, including both ends.
func alongside(x, y []float64) []int {
	for step := 2.0 / curvePoints; ; step *= 1.5 {
		out := []int{0}
		for k := 1; k < len(x); k++ {
			last := out[len(out)-1]
			if k == len(x)-1 || math.Abs(x[k]-x[last])+math.Abs(y[k]-y[last]) >= step {
				out = append(out, k)
			}
		}
		if len(out) <= curvePoints {
			return out
		}
	}
}

// thinned returns at most the given number of evenly spaced integers in [0, n), including both
// ends.
func thinned(n, most int) []int {
	k := min(n, most)
	out := make([]int, k)
	for i := range out {
		if out[i] = i; n > most {
			out[i] = int(math.Round(float64(i) * float64(n-1) / float64(most-1)))
		}
	}
	return out
}

// regression adds the error statistics of each target.
func regression(f *result.Findings, output metrics.Input, schema datasets.Schema, number func(int) int) {
	truth, predicted := [][]float64{output.YTrue}, [][]float64{output.YPred}
	if output.YTrueTargets != nil && !output.YTrueTargets.IsEmpty() {
		_, targets := output.YTrueTargets.Dims()
		truth, predicted = nil, nil
		for t := range targets {
			truth, predicted = append(truth, mat.Col(nil, t, output.YTrueTargets)),
				append(predicted, mat.Col(nil, t, output.YPredTargets))
		}
	}
	for t := range truth {
		if len(truth[t]) == 0 {
			continue
		}
		name := "target"
		if t < len(schema.Targets) {
			name = schema.Targets[t].Name
		}
		f.Errors = append(f.Errors, errorsOf(name, truth[t], predicted[t], output.Weights, number))
	}
}

func errorsOf(target string, truth, predicted, weights []float64, number func(int) int) result.Errors {
	out := result.Errors{Target: target}
	off, order := make([]float64, len(truth)), make([]int, len(truth))
	total := 0.0
	for i := range truth {
		w := 1.0
		if weights != nil {
			w = weights[i]
		}
		off[i], order[i] = math.Abs(predicted[i]-truth[i]), i
		out.Mean += w * (predicted[i] - truth[i])
		out.Absolute += w * off[i]
		total += w
	}
	out.Mean /= total
	out.Absolute /= total
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(off[b], off[a]) })
	row := func(i int) result.Row { return result.Row{Number: number(i), Truth: truth[i], Predicted: predicted[i]} }
	for _, i := range order[:min(worstRows, len(order))] {
		out.Worst = append(out.Worst, row(i))
	}
	for _, i := range thinned(len(truth), sampleRows) {
		out.Sample = append(out.Sample, row(i))
	}
	for _, q := range []float64{0.5, 0.75, 0.9, 0.95, 0.99, 1} {
		k := max(0, int(math.Ceil(q*float64(len(order))))-1)
		out.Quantiles = append(out.Quantiles, quantile{Share: q, Error: off[order[len(order)-1-k]]})
	}
	return out
}

// AddBeyond adds the predictions of each target of a regression that are outside of its range in the
// training rows, with the minimum and maximum of each target.
func AddBeyond(f *result.Findings, output metrics.Input, low, high []float64, number func(row int) int) {
	predicted, truth := [][]float64{output.YPred}, [][]float64{output.YTrue}
	if output.YTrueTargets != nil && !output.YTrueTargets.IsEmpty() {
		predicted, truth = nil, nil
		for t := range f.Errors {
			predicted, truth = append(predicted, mat.Col(nil, t, output.YPredTargets)),
				append(truth, mat.Col(nil, t, output.YTrueTargets))
		}
	}
	for t := range min(len(f.Errors), len(predicted), len(low)) {
		away := func(i int) float64 { return max(low[t]-predicted[t][i], predicted[t][i]-high[t]) }
		var rows []int
		for i := range predicted[t] {
			if away(i) > 0 {
				rows = append(rows, i)
			}
		}
		if len(rows) == 0 {
			continue
		}
		slices.SortStableFunc(rows, func(a, b int) int { return cmp.Compare(away(b), away(a)) })
		out := &f.Errors[t].Beyond
		out.Min, out.Max, out.Count = low[t], high[t], len(rows)
		for _, i := range rows[:min(len(rows), worstRows)] {
			out.Rows = append(out.Rows, result.Row{Number: number(i), Truth: truth[t][i], Predicted: predicted[t][i]})
		}
	}
}

// reliability sets f.Quantile.
func reliability(f *result.Findings, quantile float64, truth, predicted []float64) {
	out, order := &f.Quantile, make([]int, len(truth))
	out.Quantile = quantile
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(predicted[a], predicted[b]) })
	const minRows = 20 // of a bin
	parts := max(1, min(bins, len(order)/minRows))
	for k := range parts {
		rows := order[k*len(order)/parts : (k+1)*len(order)/parts]
		mean, below := 0.0, 0.0
		for _, i := range rows {
			if mean += predicted[i] / float64(len(rows)); truth[i] <= predicted[i] {
				below++
			}
		}
		out.Predicted, out.Below = append(out.Predicted, mean), append(out.Below, below/float64(len(rows)))
		out.Rows = append(out.Rows, len(rows))
	}
}

// countsOf returns the frequencies of counts, nil for targets that are no counts, or mostly large
// ones, and for predictions that are not positive.
func countsOf(truth, predicted []float64) (observed, expected []float64) {
	const most = 20
	small, top := 0, 0.0
	for i, y := range truth {
		if y < 0 || y != math.Trunc(y) || !(predicted[i] > 0) {
			return nil, nil
		}
		if top = max(top, y); y <= most {
			small++
		}
	}
	if 2*small < len(truth) {
		return nil, nil
	}
	last := int(min(top, most)) + 1
	observed, expected = make([]float64, last+1), make([]float64, last+1)
	for i, y := range truth {
		observed[int(min(y, float64(last)))]++
		p, rest := math.Exp(-predicted[i]), 1.0
		for k := range last {
			expected[k] += p
			rest -= p
			p *= predicted[i] / float64(k+1)
		}
		expected[last] += max(0, rest)
	}
	return observed, expected
}

// quantile is a quantile of the absolute error.
type quantile = struct {
	Share float64 `json:"share"`
	Error float64 `json:"error"`
}
