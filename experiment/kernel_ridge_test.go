package experiment

import (
	"context"
	"slices"
	"testing"
)

// Kernel ridge regression supports settings, leave-one-out searches, plans, model files and
// inspect; its model stores its rows.
func TestKernelRidgeFromFileToModel(t *testing.T) {
	t.Chdir(t.TempDir())
	const text = "data: {dataset: iris}\npipeline: [{kernel_ridge_classifier: {gamma: 0.5}}]\noutput: {dir: out}\n" +
		"search: {grid: {kernel_ridge_classifier.alpha: [0.01, 0.1, 1.0]}, cv: {kind: loo}}\n"
	s := spec(t, text, set("pipeline.kernel_ridge_classifier.kernel", "exponential"))
	if _, err := NewPlan(context.Background(), s); err != nil {
		t.Fatal(err)
	}
	r := execute(t, s)
	if r.Train["accuracy"] < 0.95 || r.Search.Best.Mean < 0.93 || !slices.Contains(r.Search.Shared, "alpha") {
		t.Errorf("%+v, %+v", r.Train, r.Search)
	}
	m, err := Inspect("out/model.bochner")
	if err != nil || m.KeptRows != 150 || m.Bytes == 0 {
		t.Errorf("%d rows in %d bytes: %v", m.KeptRows, m.Bytes, err)
	}
	execute(t, spec(t, "data: {dataset: iris}\npipeline: [{rff: {features: 20}}, logistic]\noutput: {dir: none}\n"))
	if m, err := Inspect("none/model.bochner"); err != nil || m.KeptRows != 0 || m.Bytes != 0 {
		t.Errorf("a model of weights keeps %d rows: %v", m.KeptRows, err)
	}
}
