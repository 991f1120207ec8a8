package metrics_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/metrics"
)

// Plain slices have the scores of the metrics by name; types and the order of classes do not matter.
func TestSlices(t *testing.T) {
	truth := []string{"yes", "no", "yes", "yes", "no", "no"}
	predicted := []string{"yes", "no", "no", "yes", "yes", "no"}
	codes := map[string]int{"no": 0, "yes": 1}
	var a []int
	var b []float64
	var c []bool
	for i := range truth {
		a, b, c = append(a, codes[truth[i]]), append(b, float64(codes[predicted[i]])), append(c, truth[i] == "yes")
	}
	three := []int{1, 2, 10, 10, 2, 1}
	wrong := []int{1, 10, 10, 2, 2, 1}
	y, z := []float64{1, 2, 3, 4}, []float64{1, 2, 3, 6}
	for name, c := range map[string]struct {
		run  func() (float64, error)
		want float64
	}{
		"accuracy of names":   {func() (float64, error) { return metrics.Score("accuracy", truth, predicted) }, 4. / 6},
		"accuracy of codes":   {func() (float64, error) { return metrics.Score("accuracy", a, b) }, 4. / 6},
		"accuracy, all right": {func() (float64, error) { return metrics.Score("accuracy", c[:1], c[:1]) }, 1},
		"balanced accuracy":   {func() (float64, error) { return metrics.Score("balanced_accuracy", truth, predicted) }, 4. / 6},
		"f1 of two":           {func() (float64, error) { return metrics.Score("f1", truth, predicted) }, 2. / 3},
		"f1 of three":         {func() (float64, error) { return metrics.Score("f1_macro", three, wrong) }, (1 + .5 + .5) / 3},
		"roc auc":             {func() (float64, error) { return metrics.Score("roc_auc", c, []float64{3, 1, 2, 5, 2.5, 0}) }, 8. / 9},
		"rmse":                {func() (float64, error) { return metrics.Score("root_mean_squared_error", y, z) }, 1},
		"mae":                 {func() (float64, error) { return metrics.Score("mean_absolute_error", y, z) }, 0.5},
		"r2":                  {func() (float64, error) { return metrics.Score("r2", y, z) }, 1 - 4./5},
	} {
		if got, err := c.run(); err != nil || math.Abs(got-c.want) > 1e-15 {
			t.Errorf("%s: %v, %v, want %v", name, got, err, c.want)
		}
	}
	m, err := metrics.Confusion(three, wrong)
	if err != nil || !slices.Equal(m.Classes, []string{"1", "2", "10"}) || m.Counts.At(2, 1) != 1 {
		t.Fatalf("%v, %v", m, err)
	}
	report := m.Report()
	if r := report[1]; r.Precision != 0.5 || r.Recall != 0.5 || r.F1 != 0.5 || r.Support != 2 {
		t.Errorf("%+v", r)
	}
	if want := "class  precision  recall  f1      support\n1      1.0000     1.0000  1.0000  " +
		"2\n"; !strings.HasPrefix(report.String(),
		want) {
		t.Errorf("%s, want %s", report, want)
	}
}

func TestSliceErrors(t *testing.T) {
	for want, run := range map[string]func() (float64, error){
		"predicted must have 2 values as truth, got 1": func() (float64, error) {
			return metrics.Score("accuracy", []int{1, 2}, []int{1})
		},
		"truth must be a slice of strings, numbers or bools, got int": func() (float64, error) {
			return metrics.Score("accuracy", 1, []int{1})
		},
		"predicted must be a slice of strings, numbers or bools, got []struct {}": func() (float64, error) {
			return metrics.Score("accuracy", []int{1}, []struct{}{{}})
		},
		"truth[1] must be a class, got NaN": func() (float64, error) {
			return metrics.Score("f1", []float64{1, math.NaN()}, []float64{1, 2})
		},
		"predicted must have 2 scores of type float64 as truth, got 1": func() (float64, error) {
			return metrics.Score("roc_auc", []bool{true, false}, []float64{1})
		},
		"accuracy: truth must not be empty": func() (float64, error) { return metrics.Score("accuracy", []int{}, []int{}) },
		"roc_auc: ":                         func() (float64, error) { return metrics.Score("roc_auc", []bool{true, true}, []float64{1, 2}) },
		"r2: truth and predicted must be slices of float64, got <nil> and []int": func() (float64, error) {
			return metrics.Score("r2", nil, []int{1})
		},
		"log_loss requires probabilities; use Metric.Score": func() (float64, error) {
			return metrics.Score("log_loss", []int{1}, []float64{1})
		},
		"r2: YPred must have 2 rows": func() (float64, error) { return metrics.Score("r2", []float64{1, 2}, []float64{1}) },
	} {
		if v, err := run(); err == nil || !strings.HasPrefix(err.Error(), "metrics: "+want) || v == v {
			t.Errorf("%v, %v, want NaN, metrics: %s", v, err, want)
		}
	}
}
