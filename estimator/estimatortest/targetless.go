package estimatortest

import (
	"context"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
)

// requireUnsupervised skips invariants of unsupervised models.
func (s *suite) requireUnsupervised(t testing.TB) {
	t.Helper()
	if s.task == "" {
		t.Skip("the model learns from targets")
	}
}

// targetless checks that an unsupervised fit does not depend on the targets.
func (s *suite) targetless(t testing.TB) {
	s.requireUnsupervised(t)
	want := predictions(t, s.fit(t, s.data), s.probe)
	for name, y := range map[string][]float64{"no targets": nil, "other targets": make([]float64, s.data.Rows()),
		"missing targets": slices.Repeat([]float64{math.NaN()}, s.data.Rows())} {
		data := cloneSet(s.data)
		if data.Y = y; y == nil {
			data.Schema.Targets = nil
		}
		agree(t, name, predictions(t, s.fit(t, data), s.probe), want, 0)
		if e, ok := s.spec.(estimator.BlockEstimator); ok {
			p, err := e.FitSource(context.Background(), data.Source())
			if err != nil {
				t.Fatalf("%s, streamed: %v", name, err)
			}
			agree(t, name+", streamed", predictions(t, p, s.probe), want, s.Tolerance)
		}
	}
}

// numbered checks that the predictions for the training rows are consecutive numbers from 0, and
// that exactly the rows predicted as anomalies have positive scores.
func (s *suite) numbered(t testing.TB) {
	s.requireUnsupervised(t)
	p := s.fit(t, s.data)
	all, err := estimator.Predict(context.Background(), p, s.data.X, estimator.Request{})
	if err != nil {
		t.Fatal(err)
	}
	numbers := slices.Clone(all.Values)
	slices.Sort(numbers)
	for i, v := range slices.Compact(numbers) {
		if v != float64(i) {
			t.Fatalf("the rows have the numbers %v", numbers)
		}
	}
	if s.task != datasets.Anomaly {
		return
	}
	if len(all.Anomaly) != len(all.Values) {
		t.Fatalf("%d scores of anomalies for %d rows: is the fit an estimator.AnomalyScorer?", len(all.Anomaly),
			len(all.Values))
	}
	for i, v := range all.Values {
		if (v == 1) != (all.Anomaly[i] > 0) {
			t.Fatalf("row %d: %v predicted, score %v", i, v, all.Anomaly[i])
		}
	}
}

// scale checks that scaling all inputs by the same factor does not change an unsupervised fit.
func (s *suite) scale(t testing.TB) {
	s.requireUnsupervised(t)
	want, err := s.fit(t, s.data).Predict(context.Background(), s.probe)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []float64{0.3, 64} {
		data, probe := cloneSet(s.data), mat.DenseCopyOf(s.probe)
		data.X.(*mat.Dense).Scale(f, data.X)
		probe.Scale(f, probe)
		got, err := s.fit(t, data).Predict(context.Background(), probe)
		if err != nil {
			t.Fatal(err)
		}
		agree(t, "inputs scaled", got, want, 0)
	}
}
