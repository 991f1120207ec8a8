package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/metrics"
)

// formatNumber formats a number with four significant digits.
func formatNumber(v float64) string {
	if v-v != 0 {
		return "–"
	}
	s := strconv.FormatFloat(v, 'g', 4, 64)
	if math.Abs(v) >= 1e4 && math.Abs(v) < 1e9 {
		s = formatCount(v)
	}
	return strings.Replace(s, "-", "−", 1)
}

// formatScore formats a score with a fixed number of digits, so that columns of scores align.
func formatScore(v float64) string {
	if a := math.Abs(v); v-v != 0 || a >= 1e4 || a > 0 && a < 1e-3 {
		return formatNumber(v)
	} else if a < 10 {
		return strings.Replace(strconv.FormatFloat(v, 'f', 4, 64), "-", "−", 1)
	}
	return strings.Replace(fmt.Sprintf("%#.4g", v), "-", "−", 1)
}

// formatCount formats an integer with thin spaces as thousands separators.
func formatCount(v float64) string {
	s := strconv.FormatFloat(math.Round(v), 'f', 0, 64)
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "−", s[1:]
	}
	for at := len(s) - 3; at > 0; at -= 3 {
		s = s[:at] + "\u202f" + s[at:]
	}
	return sign + s
}

// formatStdDev formats a standard deviation with two significant digits.
func formatStdDev(v float64) string {
	if v-v != 0 {
		return "–"
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

// formatSeconds formats a duration.
func formatSeconds(v float64) string {
	switch {
	case v < 10:
		return strconv.FormatFloat(v, 'g', 2, 64) + "\u00a0s"
	case v < 120:
		return strconv.FormatFloat(v, 'f', 0, 64) + "\u00a0s"
	case v < 7200:
		return strconv.FormatFloat(v/60, 'f', 0, 64) + "\u00a0min"
	}
	return strconv.FormatFloat(v/3600, 'f', 1, 64) + "\u00a0h"
}

// formatPercent formats a fraction as a percentage.
func formatPercent(v float64) string {
	if v-v != 0 {
		return "–"
	}
	digits := 1
	if v > 0 && v < 0.01 || v < 1 && v > 0.99 {
		digits = 2
	}
	return strconv.FormatFloat(100*v, 'f', digits, 64) + "\u00a0%"
}

// formatValue formats the value of a parameter.
func formatValue(v any) string {
	if f, ok := v.(float64); ok {
		return strconv.FormatFloat(f, 'g', 4, 64)
	}
	return fmt.Sprint(v)
}

// metricLabels are display names of metrics.
var metricLabels = map[string]string{
	"r2": "R²", "root_mean_squared_error": "root mean squared error", "mean_absolute_error": "mean absolute error",
	"relative_rmse": "RMSE relative to the mean",
	"roc_auc":       "area under ROC", "roc_auc_ovr": "area under ROC", "log_loss": "log loss",
	"balanced_accuracy": "balanced accuracy", "f1_macro": "F1, mean over classes", "f1": "F1",
	"f1_micro": "F1 over all labels", "f1_samples": "F1, mean over rows",
	"average_precision": "average precision", "nlpd": "negative log predictive density",
}

// metricLabel returns the display name of a metric.
func metricLabel(name string) string {
	if w, ok := metricLabels[name]; ok {
		return w
	}
	return strings.ReplaceAll(name, "_", " ")
}

// evaluatedScores returns the test scores, or the training scores without test rows.
func evaluatedScores(r result.Result) (scores map[string]float64, rows int, part string) {
	if r.Test != nil {
		return r.Test, r.Rows.Test, "test"
	}
	return r.Train, cmp.Or(r.Rows.Judged, r.Rows.Train), "training"
}

// baselineLabel returns the display name of a baseline.
func baselineLabel(name string) string {
	if name == "mean" {
		return "mean predictor"
	}
	return name
}

// tile is a number in large type with its label.
type tile struct{ Label, Value string }

// decidingScore returns the metric that the model was chosen by: that of the search, else that of the
// threshold or its costs, else "".
func decidingScore(r result.Result) string {
	_, costs := r.Train["cost"]
	switch {
	case r.Search != nil:
		return r.Search.Score
	case r.Auto != nil:
		return r.Auto.Score
	case r.Threshold != nil:
		return r.Threshold.Score
	case costs:
		return "cost"
	}
	return ""
}

// tiles returns the main score of the model and of the baselines, and the number of evaluated rows. The
// main score is the one that the model was chosen by.
func tiles(r result.Result) (out []tile) {
	scores, rows, part := evaluatedScores(r)
	metric, label, format := "accuracy", "accuracy", formatPercent
	switch r.Task {
	case "regression":
		metric, label, format = "root_mean_squared_error", "RMSE", formatNumber
	case "multilabel":
		metric, label = "f1_micro", metricLabels["f1_micro"]
	}
	usual := metric
	if name := decidingScore(r); name != "" && name != metric {
		metric, label, format = name, metricLabel(name), formatNumber
	}
	v, ok := scores[metric]
	if !ok {
		return nil
	}
	out = []tile{{label, format(v)}}
	for _, more := range []struct{ metric, label string }{{usual, "RMSE"}, {"r2", "R²"}} {
		if v, ok := scores[more.metric]; ok && more.metric != metric && r.Task == "regression" {
			out = append(out, tile{more.label, formatNumber(v)})
		}
	}
	for _, b := range r.Baselines {
		if v, ok := b.Scores[metric]; ok {
			out = append(out, tile{baselineLabel(b.Name), format(v)})
		}
	}
	return append(out, tile{part + " rows", formatCount(float64(rows))})
}

// summary returns the sentences below the tiles. If a simpler model scores better, that comes
// first.
func summary(r result.Result) (out []string) {
	if r.Simpler != "" {
		out = append(out, strings.ToUpper(r.Simpler[:1])+r.Simpler[1:]+".")
	}
	scores, rows, part := evaluatedScores(r)
	n := formatCount(float64(rows))
	switch r.Task {
	case "classification":
		if balanced, ok := scores["balanced_accuracy"]; ok && scores["accuracy"]-balanced > 0.1 {
			out = append(out, fmt.Sprintf("Recall differs between classes: balanced accuracy is %s. Rare classes have lower "+
				"recall.", formatPercent(balanced)))
		}
	case "regression":
		if i := r.Intervals; i != nil && i.Coverage != nil && i.Width != nil {
			out = append(out, fmt.Sprintf("%s prediction intervals: coverage %s, mean width %s.", formatPercent(i.Level),
				formatPercent(*i.Coverage), formatNumber(*i.Width)))
		}
	case "clustering":
		if c := r.Clusters; c.Train != nil {
			text := fmt.Sprintf("%s rows in %d clusters", formatCount(float64(r.Rows.Train)), len(c.Train))
			if v, ok := scores["silhouette"]; ok {
				text += ", silhouette " + formatNumber(v)
			}
			out = append(out, text+".")
		}
	case "anomaly":
		if a := r.Anomalies; a.Train != nil {
			share := *a.Train
			if a.Test != nil {
				share = *a.Test
			}
			text := fmt.Sprintf("Of %s %s rows, %s are classified as anomalies", n, part, formatPercent(share))
			if v, ok := scores["roc_auc"]; ok {
				text += "; area under the ROC curve " + formatPercent(v)
			}
			out = append(out, text+".")
		}
	}
	if len(r.LeftOut) > 0 {
		out = append(out, "Left out for lack of time: "+strings.Join(r.LeftOut, ", ")+
			". To add them, run bochner report with the directory of this page.")
	}
	if part == "training" && slices.Contains([]string{"classification", "regression", "multilabel"}, r.Task) {
		out = append(out, "There were no test rows: scores on training rows are optimistic.")
	}
	return out
}

// arrow returns ↑ if higher values of a metric are better, else ↓.
func arrow(name string) string {
	m, err := metrics.ByName(name)
	if err != nil {
		return ""
	}
	if m.GreaterIsBetter {
		return "↑"
	}
	return "↓"
}
