package report

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/metrics"
)

// short writes a number with the digits that matter to a reader.
func short(v float64) string {
	if v-v != 0 {
		return "–"
	}
	s := strconv.FormatFloat(v, 'g', 4, 64)
	if math.Abs(v) >= 1e4 && math.Abs(v) < 1e9 {
		s = count(v)
	}
	return strings.Replace(s, "-", "−", 1)
}

// count writes an integer with thin groups of three digits.
func count(v float64) string {
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

// spread writes a standard deviation, with two digits.
func spread(v float64) string {
	if v-v != 0 {
		return "–"
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

// seconds writes a time.
func seconds(v float64) string {
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

// percent writes a share.
func percent(v float64) string {
	if v-v != 0 {
		return "–"
	}
	digits := 1
	if v > 0 && v < 0.01 || v < 1 && v > 0.99 {
		digits = 2
	}
	return strconv.FormatFloat(100*v, 'f', digits, 64) + "\u00a0%"
}

// shown writes a value of a parameter.
func shown(v any) string {
	if f, ok := v.(float64); ok {
		return strconv.FormatFloat(f, 'g', 4, 64)
	}
	return fmt.Sprint(v)
}

// words are what metrics are called where a sentence has them.
var words = map[string]string{
	"r2": "R²", "root_mean_squared_error": "root mean squared error", "mean_absolute_error": "mean absolute error", "relative_rmse": "error relative to the mean's",
	"roc_auc": "area under ROC", "roc_auc_ovr": "area under ROC", "log_loss": "log loss", "balanced_accuracy": "balanced accuracy", "f1_macro": "F1, mean over classes", "f1": "F1",
	"average_precision": "average precision", "nlpd": "negative log predictive density",
}

// called is a metric's name as a sentence has it.
func called(name string) string {
	if w, ok := words[name]; ok {
		return w
	}
	return strings.ReplaceAll(name, "_", " ")
}

// judged are the scores that a run stands by, those of the test rows where there are some.
func judged(r result.Result) (scores map[string]float64, rows int, part string) {
	if r.Test != nil {
		return r.Test, r.Rows.Test, "test"
	}
	return r.Train, cmp.Or(r.Rows.Judged, r.Rows.Train), "training"
}

// lead says in a sentence or two what was asked and what came out, first of all that a simple model
// is better.
func lead(r result.Result) (out []string) {
	if r.Simpler != "" {
		defer func() { out = append([]string{strings.ToUpper(r.Simpler[:1]) + r.Simpler[1:] + "."}, out...) }()
	}
	scores, rows, part := judged(r)
	n := count(float64(rows))
	of := func(name string, f func(result.Baseline, float64) string) {
		var others []string
		for _, b := range r.Baselines {
			if v, ok := b.Scores[name]; ok {
				others = append(others, f(b, v))
			}
		}
		if len(others) > 0 {
			out[0] += "; " + strings.Join(others, ", ")
		}
		out[0] += "."
	}
	switch r.Task {
	case "classification":
		out = []string{fmt.Sprintf("Of %s %s rows %s are put into the right class", n, part, percent(scores["accuracy"]))}
		of("accuracy", func(b result.Baseline, v float64) string {
			if b.Name == "linear model" {
				return "by a linear model " + percent(v)
			}
			return "always saying the " + b.Name + " is right for " + percent(v)
		})
		if balanced, ok := scores["balanced_accuracy"]; ok && scores["accuracy"]-balanced > 0.1 {
			out = append(out, fmt.Sprintf("Classes are not found equally well: the mean over classes of the share that is found is %s. The rarer ones are missed more often than this accuracy tells.", percent(balanced)))
		}
	case "regression":
		out = []string{fmt.Sprintf("On %s %s rows predictions are off by %s in the root mean square, R² %s", n, part, short(scores["root_mean_squared_error"]), short(scores["r2"]))}
		of("root_mean_squared_error", func(b result.Baseline, v float64) string {
			if b.Name == "linear model" {
				return "a linear model by " + short(v)
			}
			return "the " + b.Name + " of the training rows by " + short(v)
		})
		if i := r.Intervals; i != nil && i.Coverage != nil && i.Width != nil {
			out = append(out, fmt.Sprintf("Intervals for %s of new rows hold the truth of %s of them, and are %s wide on average.", percent(i.Level), percent(*i.Coverage), short(*i.Width)))
		}
	case "clustering":
		if c := r.Clusters; c != nil {
			out = []string{fmt.Sprintf("%s rows are in %d groups.", count(float64(r.Rows.Train)), len(c.Train))}
		}
		if v, ok := scores["silhouette"]; ok && len(out) > 0 {
			out[0] = strings.TrimSuffix(out[0], ".") + fmt.Sprintf(", with a silhouette of %s.", short(v))
		}
	case "anomaly":
		if a := r.Anomalies; a != nil {
			share := a.Train
			if a.Test != nil {
				share = *a.Test
			}
			out = []string{fmt.Sprintf("Of %s %s rows %s are taken for anomalies", n, part, percent(share))}
			if v, ok := scores["roc_auc"]; ok {
				out[0] += fmt.Sprintf("; those that are some score higher than others with probability %s", percent(v))
			}
			out[0] += "."
		}
	}
	if part == "training" && (r.Task == "classification" || r.Task == "regression") {
		out = append(out, "There were no test rows: what a model says of rows that it has learned from flatters it.")
	}
	return out
}

// direction is an arrow the way in which a metric is better.
func direction(name string) string {
	m, err := metrics.ByName(name)
	if err != nil {
		return ""
	}
	if m.GreaterIsBetter {
		return "↑"
	}
	return "↓"
}
