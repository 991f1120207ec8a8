package pipeline_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// lonely is an anomaly detector that fails if it gets a target.
type lonely struct{ Limit float64 }

func (s *lonely) Params(l *param.List) { l.Float(&s.Limit, "limit", "border", param.Any()) }

func (lonely) Tags() datasets.Tags { return datasets.Tags{Task: datasets.Anomaly} }

func (s lonely) Fit(_ context.Context, data datasets.Set) (estimator.Predictor, error) {
	if data.Y != nil || data.Targets != nil || data.Schema.Targets != nil {
		return nil, errors.New("lonely: there are targets")
	}
	return s, nil
}

func (lonely) Outputs() estimator.Outputs {
	return estimator.Outputs{Has: estimator.OutputValues | estimator.OutputAnomalyScores}
}

func (s lonely) PredictFull(_ context.Context, X mat.Matrix, _ estimator.Request) (out estimator.Prediction,
	err error) {
	out.Anomaly = mat.Col(nil, 0, X)
	out.Values = make([]float64, len(out.Anomaly))
	for i := range out.Anomaly {
		if out.Anomaly[i] -= s.Limit; out.Anomaly[i] > 0 {
			out.Values[i] = 1
		}
	}
	return out, nil
}

func (s lonely) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	out, err := s.PredictFull(ctx, X, estimator.Request{})
	return out.Values, err
}

// untargeting is a step that fails if it gets a target.
type untargeting struct{}

func (untargeting) Fit(ctx context.Context, data datasets.Set) (transformer.Transformer, error) {
	if _, err := (lonely{}).Fit(ctx, data); err != nil {
		return nil, err
	}
	return transformer.NewStandardize().Fit(ctx, data)
}

// A pipeline hides the targets from its steps if its model is unsupervised, for any kind of fit,
// and has all outputs of the model.
func TestTargetlessFits(t *testing.T) {
	data := numbers(40, 1)
	if data.Y == nil {
		t.Fatal("the rows have no targets to hide")
	}
	p := pipeline.Steps(transformer.NewStandardize()).Then(lonely{Limit: 0.5})
	p.Steps = append(p.Steps, pipeline.Step{Name: "look", Fitter: untargeting{}})
	if task := p.Tags().Task; task != datasets.Anomaly {
		t.Errorf("the task is %q", task)
	}
	fitted, err := p.Fit(ctx, data)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.FitSource(ctx, data.Source()); err != nil {
		t.Error(err)
	}
	search := gridsearch.NewSearch(p, gridsearch.Axis{Path: "lonely.limit", Values: []any{0.0, 1.0}})
	labeled := data
	labeled.Y = make([]float64, data.Rows())
	for i := range labeled.Y {
		labeled.Y[i] = float64(i % 2)
	}
	labeled.Schema.Targets = nil
	if _, err := search.Run(ctx, labeled); err != nil {
		t.Error(err)
	}
	other := p
	other.Estimator = lonely{Limit: 1}
	b := batch.Job{Data: data, Shape: data.Shape(), Folds: []datasets.Fold{{Train: []int{0, 1, 2, 3},
		Test: []int{4, 5}}}, Candidates: batch.Candidates(p, other)}
	b.Include = func(int, int) bool { return true }
	b.Yield = func(_, _ int, out batch.Outcome) error { return out.Err }
	if _, err := p.FitBatch(ctx, b); err != nil {
		t.Error(err)
	}

	one, err := estimator.Predict(ctx, fitted, data.X, estimator.Request{Outputs: estimator.OutputAnomalyScores})
	if err != nil || one.Anomaly == nil {
		t.Fatal("a fitted pipeline has not the anomaly scores of its model", err)
	}
	scores := one.Anomaly
	all, err := estimator.Predict(ctx, fitted, data.X, estimator.Request{})
	if err != nil {
		t.Fatal(err)
	}
	Z := transform(t, fit(t, transformer.NewStandardize(), data), data.X)
	for i := range scores {
		want := Z.At(i, 0) - 0.5
		if d := scores[i] - want; d*d > 1e-18 || all.Anomaly[i] != scores[i] || (all.Values[i] == 1) != (scores[i] > 0) {
			t.Fatalf("row %d: %v and %v with %v, want %v", i, scores[i], all.Anomaly[i], all.Values[i], want)
		}
	}
	if none, err := estimator.Predict(ctx, fitted, &mat.Dense{}, estimator.Request{}); err != nil || none.Anomaly == nil ||
		len(none.Anomaly) > 0 {
		t.Errorf("of no rows: %v %v", none.Anomaly, err)
	}
}

// TestUnsupervisedRejectsSupervisedSteps checks that a step that uses targets is rejected before an
// unsupervised model, at any position, and accepted before a supervised one.
func TestUnsupervisedRejectsSupervisedSteps(t *testing.T) {
	steps := pipeline.Steps(transformer.NewStandardize(), transformer.NewRFM(),
		pipeline.NewUnion(transformer.NewARD(), transformer.NewRFF()))
	err := steps.Then(lonely{}).CheckTargets()
	want := "rfm: rfm learns from targets, and lonely, which is for anomaly, learns without (leave it out)\n" +
		"union.ard: ard learns from targets, and lonely, which is for anomaly, learns without (leave it out)"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if _, err := steps.Then(lonely{}).Fit(ctx, numbers(40, 1)); err == nil ||
		!strings.Contains(err.Error(), "rfm learns from targets") {
		t.Errorf("fitted: %v", err)
	}
	if err := steps.Then(estimator.NewRidge()).CheckTargets(); err != nil {
		t.Error(err)
	}
}

// The output of a wrapper of an unsupervised model is unknown, but the inner model is reported.
func TestForetellTargetless(t *testing.T) {
	if has, task := pipeline.Steps().Then(lonely{}).Capabilities(); has == 0 || task != datasets.Anomaly {
		t.Errorf("outputs %v, task %v", has, task)
	}
	for name, spec := range map[string]estimator.Estimator{
		"target":     meta.NewTarget(lonely{}),
		"threshold":  meta.NewThreshold(lonely{}),
		"calibrated": meta.NewCalibrated(pipeline.Steps(transformer.NewRFF()).Then(lonely{})),
	} {
		if has, task := pipeline.Steps().Then(spec).Capabilities(); has != 0 || task != datasets.Anomaly {
			t.Errorf("%s: outputs %v, task %v", name, has, task)
		}
	}
}
