package pipeline_test

import (
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// A wrapper fits several labels if its inner model does.
func TestTagsOfWrappedLabels(t *testing.T) {
	for name, c := range map[string]struct {
		model estimator.Estimator
		want  bool
	}{
		"threshold of logistic": {meta.NewThreshold(estimator.NewLogistic()), true},
		"threshold of svm":      {meta.NewThreshold(estimator.NewSVM()), true},
		"threshold of ridge":    {meta.NewThreshold(estimator.NewRidge()), false},
	} {
		if got := pipeline.Steps().Then(c.model).Tags().MultiLabel; got != c.want {
			t.Errorf("%s: several labels are %v, want %v", name, got, c.want)
		}
	}
}

// An unknown path suggests the parameters of that name in wrapped models.
func TestPathsOfWrappedModelsAreSuggested(t *testing.T) {
	spec := pipeline.Steps().Then(meta.NewThreshold(estimator.NewLogistic()))
	for _, path := range []string{"threshold.C", "logistic.C", "C"} {
		_, err := param.With(spec, param.Setting{Path: path, Value: 1})
		if err == nil || !strings.Contains(err.Error(), "did you mean threshold.estimator.C?") {
			t.Errorf("%s: the error is %v", path, err)
		}
	}
}
