package meta_test

import (
	"context"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/meta"
)

// Wrappers of classifiers refuse several labels per row.
func TestWrappersRefuseLabels(t *testing.T) {
	const n = 60
	data := datasets.Set{X: mat.NewDense(n, 1, nil), Targets: mat.NewDense(n, 2, nil)}
	for i := range n {
		data.X.(*mat.Dense).Set(i, 0, float64(i%7))
		data.Targets.SetRow(i, []float64{float64(i % 2), float64(i / 2 % 2)})
	}
	for _, name := range []string{"a", "b"} {
		data.Schema.Targets = append(data.Schema.Targets, datasets.Column{Name: name, Kind: datasets.Categorical,
			Categories: []string{"0", "1"}})
	}
	logistic := estimator.NewLogistic()
	intervals := meta.NewIntervals(logistic)
	intervals.Method = "split"
	for _, spec := range []estimator.Estimator{meta.NewCalibrated(logistic), meta.NewThreshold(logistic), intervals,
		meta.NewEnsemble(meta.Member{Name: "a", Estimator: logistic},
			meta.Member{Name: "b", Estimator: estimator.NewRidgeClassifier()}), meta.NewTarget(logistic)} {
		if _, err := spec.Fit(context.Background(), data); err == nil || !strings.Contains(err.Error(), "target") {
			t.Errorf("%T: %v", spec, err)
		}
	}
}
