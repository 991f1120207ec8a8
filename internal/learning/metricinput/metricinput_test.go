package metricinput_test

import (
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/learning/metricinput"
)

func TestDefaultScore(t *testing.T) {
	for _, c := range []struct {
		task   datasets.Task
		counts []int
		want   string
	}{
		{datasets.Regression, nil, "r2"},
		{datasets.Classification, []int{50, 50}, "accuracy"},
		{datasets.Classification, []int{960, 40}, "roc_auc"},
		{datasets.Classification, []int{50, 50, 50}, "accuracy"},
		{datasets.Classification, []int{60, 60, 3}, "balanced_accuracy"},
		{datasets.Classification, []int{90, 5, 5}, "balanced_accuracy"},
	} {
		if got := metricinput.DefaultMetric(c.task, c.counts); got != c.want {
			t.Errorf("%s of %v: %s, must be %s", c.task, c.counts, got, c.want)
		}
	}
}
