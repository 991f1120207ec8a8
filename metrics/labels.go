package metrics

import (
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
)

// labelMetrics are the metrics of several labels per row. The averages of precision, recall and F1
// evaluate them too.
var labelMetrics = []Metric{
	{
		Name: "subset_accuracy", Task: datasets.MultiLabel, Requires: RequiresPredictions, GreaterIsBetter: true,
		Func: func(in Input) (float64, error) {
			return in.mean(func(i int) float64 {
				return indicator(slices.Equal(in.YTrueTargets.RawRowView(i), in.YPredTargets.RawRowView(i)))
			}), nil
		},
		Doc: "Fraction of rows of which all labels are predicted correctly; accuracy_score of scikit-learn.",
	},
	{
		Name: "hamming_loss", Task: datasets.MultiLabel, Requires: RequiresPredictions,
		Func: func(in Input) (float64, error) {
			return in.mean(func(i int) float64 {
				wrong, truth := 0.0, in.YTrueTargets.RawRowView(i)
				for k, p := range in.YPredTargets.RawRowView(i) {
					wrong += indicator(p != truth[k])
				}
				return wrong / float64(len(truth))
			}), nil
		},
		Doc: "Fraction of labels, over all rows, that are predicted wrongly.",
	},
	{
		Name: "f1_samples", Task: datasets.MultiLabel, Requires: RequiresPredictions, GreaterIsBetter: true,
		Func: meanOverRows(classCounts.f1),
		Doc:  "Mean over rows of the F1 score of their labels, 0 for a row without true and predicted labels.",
	},
	{
		Name: "jaccard_samples", Task: datasets.MultiLabel, Requires: RequiresPredictions, GreaterIsBetter: true,
		Func: meanOverRows(func(c classCounts) float64 {
			return ratioOrZero(c.truePositives, c.actual+c.predicted-c.truePositives)
		}),
		Doc: "Mean over rows of the number of labels both true and predicted, divided by that of labels true or predicted.",
	},
	{
		Name:    "label_ranking_average_precision",
		Aliases: []string{"lrap", "label_ranking_average_precision_score"}, Task: datasets.MultiLabel,
		Requires: RequiresScores, GreaterIsBetter: true, Func: rankingPrecision,
		Doc: "Mean over rows and their true labels of the fraction of true labels among those that score at least as high; " +
			"1 for a row with no label or all.",
	},
}

// countLabels returns the counts of each label.
func countLabels(in Input) confusionCounts {
	_, labels := in.YTrueTargets.Dims()
	hit, truth, predicted := make([]sum, labels), make([]sum, labels), make([]sum, labels)
	for i := range in.rows() {
		w, t := in.weight(i), in.YTrueTargets.RawRowView(i)
		for k, p := range in.YPredTargets.RawRowView(i) {
			hit[k].add(w * t[k] * p)
			truth[k].add(w * t[k])
			predicted[k].add(w * p)
		}
	}
	out := confusionCounts{classes: make([]classCounts, labels), multiLabel: true}
	for k := range out.classes {
		c := classCounts{hit[k].value(), truth[k].value(), predicted[k].value()}
		out.classes[k] = c
		out.all = classCounts{out.all.truePositives + c.truePositives, out.all.actual + c.actual,
			out.all.predicted + c.predicted}
	}
	return out
}

// meanOverRows returns the mean of the ratio of each row's counts over its labels.
func meanOverRows(ratio func(classCounts) float64) func(in Input) (float64, error) {
	return func(in Input) (float64, error) {
		return in.mean(func(i int) float64 {
			var c classCounts
			t := in.YTrueTargets.RawRowView(i)
			for k, p := range in.YPredTargets.RawRowView(i) {
				c = classCounts{c.truePositives + t[k]*p, c.actual + t[k], c.predicted + p}
			}
			return ratio(c)
		}), nil
	}
}

// rankingPrecision sorts the labels of each row: O(n L log L).
func rankingPrecision(in Input) (float64, error) {
	_, labels := in.YTrueTargets.Dims()
	order := make([]int, labels)
	return in.mean(func(i int) float64 {
		truth, scores := in.YTrueTargets.RawRowView(i), in.Scores.RawRowView(i)
		for k := range order {
			order[k] = k
		}
		slices.SortFunc(order, func(a, b int) int {
			switch {
			case scores[a] > scores[b]:
				return -1
			case scores[a] < scores[b]:
				return 1
			}
			return 0
		})
		total, hits := 0.0, 0.0
		for from := 0; from < labels; {
			to, tied := from, 0.0
			for ; to < labels && scores[order[to]] == scores[order[from]]; to++ {
				tied += truth[order[to]]
			}
			hits += tied
			total += tied * hits / float64(to)
			from = to
		}
		if hits == 0 || hits == float64(labels) {
			return 1
		}
		return total / hits
	}), nil
}

// LabelReport returns precision, recall, F1 and support of each label, by the true and predicted
// labels in in.
func (in Input) LabelReport(names []string) (ClassReport, error) {
	in, err := in.validate(datasets.MultiLabel, RequiresPredictions)
	if err != nil {
		return nil, fmt.Errorf("metrics: label report: %w", err)
	}
	counts := countLabels(in).classes
	if len(names) != len(counts) {
		return nil, fmt.Errorf("metrics: label report: label names must be %d, got %d", len(counts), len(names))
	}
	out := make(ClassReport, len(counts))
	for k, c := range counts {
		one := &out[k]
		one.Class, one.Precision, one.Recall, one.F1, one.Support = names[k], c.precision(), c.recall(), c.f1(), c.actual
	}
	return out, nil
}
