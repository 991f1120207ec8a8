package report

import (
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/inspection"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
)

// Limits of the page of an explanation.
const (
	maxExplainedOutputs = 6  // outputs with a summary
	maxDependencePlots  = 4  // for each output
	maxWaterfalls       = 50 // rows
	minSummaryRows      = 10
)

// newExplanation returns the page of an explanation of rows: a summary and dependence plots for each output, and a
// waterfall for each row. The output is deterministic.
func newExplanation(e result.Explanation) (Page, error) {
	n := 0
	if len(e.Outputs) > 0 {
		n = len(e.Outputs[0].Values)
	}
	p := page{Title: "Explanation of " + e.Name, Footer: "bochner explain"}
	p.Summary = []string{explanationSummary(e, n)}
	p.Tiles = []tile{{"rows", formatCount(float64(n))}, {"inputs", formatCount(float64(len(e.Inputs)))},
		{"method", string(e.Method)}, {"background", formatCount(float64(e.ShapleyValues.Background)) + " rows"}}
	if n >= minSummaryRows {
		for q, o := range e.Outputs[:min(len(e.Outputs), maxExplainedOutputs)] {
			s := shapleySection(e, q)
			s.ID = fmt.Sprintf("inputs-%d", q)
			s.Title = "Which inputs move predictions"
			if len(e.Outputs) > 1 {
				s.Title += " of " + o.Name
			}
			p.Sections = append(p.Sections, s)
		}
	}
	p.Sections = append(p.Sections, waterfallSection(e, n))
	return render(p)
}

// explanationSummary states how to read the values.
func explanationSummary(e result.Explanation, n int) string {
	how := "The values are exact."
	if e.Method == inspection.MethodSampling {
		how = "The values are sampled, because " + e.Reason + "."
		if e.Reason == "" {
			how = "The values are sampled."
		}
	}
	if e.Output == "decision" {
		how += " They explain the decision score of a class: the class is more likely where it is higher."
	}
	if len(e.Outputs) == 1 && e.Outputs[0].Threshold != nil {
		how += fmt.Sprintf(" A row is classified as %s where the score exceeds the threshold %s.", e.Outputs[0].Name,
			formatNumber(*e.Outputs[0].Threshold))
	}
	return fmt.Sprintf("Shapley values divide the difference between the prediction of a row and the mean prediction of "+
		"%s background rows (%s) among the inputs: they add up to it. %s", formatCount(float64(e.ShapleyValues.Background)),
		e.BackgroundFrom, how)
}

// shapleySection has the summary of one output, and the dependence on its most important inputs.
func shapleySection(e result.Explanation, q int) (s section) {
	o := e.Outputs[q]
	s.Text = []string{"Each point is a row. Its place is the change of the prediction by the input, its color the value " +
		"of the input. Inputs are in descending order of the mean absolute change."}
	s.Figures = []figure{{Title: "Shapley values", SVG: trustedSVG(e.Summary(q).SVG()), Tall: len(e.Inputs) > 6}}
	t := table{Caption: "Mean absolute change", Head: []string{"input", "mean", "strongest interaction"}}
	mean := o.MeanAbs()
	for k, j := range o.Top() {
		by := -1
		if e.Partners != nil {
			by = e.Partners[q][j]
		}
		partner := "–"
		if by >= 0 {
			partner = e.Inputs[by]
		}
		t.Rows = append(t.Rows, []string{e.Inputs[j], formatNumber(mean[j]), partner})
		if k < maxDependencePlots && mean[j] > 0 {
			s.Figures = append(s.Figures, figure{Title: "Dependence on " + e.Inputs[j],
				SVG: trustedSVG(e.Dependence(q, j, by).SVG())})
		}
	}
	if e.Partners == nil {
		t.Head = t.Head[:2]
		for k := range t.Rows {
			t.Rows[k] = t.Rows[k][:2]
		}
	} else {
		s.Text = append(s.Text, "The plots of single inputs show the change over the value of the input. Their colors are "+
			"the values of the input with the strongest interaction.")
	}
	s.Tables = []table{t}
	return s
}

// waterfallSection has a waterfall for each row, of the output with the largest prediction.
func waterfallSection(e result.Explanation, n int) section {
	s := section{ID: "rows", Title: "Rows"}
	s.Text = []string{"From the mean prediction of the background to the prediction of the row, the largest changes " +
		"first. Blue bars raise the prediction, orange bars lower it. Rows are numbered from 0."}
	if n > maxWaterfalls {
		s.Text = append(s.Text, fmt.Sprintf("The page shows %d evenly spaced rows of %s.", maxWaterfalls,
			formatCount(float64(n))))
	}
	if len(e.Outputs) > 1 {
		s.Text = append(s.Text, "Of several outputs, each plot shows the one with the largest prediction.")
	}
	for _, row := range rowblock.EvenlySpaced(n, maxWaterfalls) {
		var predictions []float64
		for _, o := range e.Outputs {
			predictions = append(predictions, o.Predictions[row])
		}
		best := slices.Index(predictions, slices.Max(predictions))
		s.Figures = append(s.Figures, figure{Title: fmt.Sprintf("Row %d", row),
			SVG: trustedSVG(e.Waterfall(row, best).SVG())})
	}
	return s
}
