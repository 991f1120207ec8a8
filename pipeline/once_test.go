package pipeline_test

import (
	"context"
	"math"
	"sync/atomic"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// scoredRows is an estimator whose fitted model counts the rows that it scores.
type scoredRows struct {
	estimator.Estimator
	rows *atomic.Int64
	std  bool
}

func (s scoredRows) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	fitted, err := s.Estimator.Fit(ctx, data)
	if err != nil {
		return nil, err
	}
	return scoredModel{fitted.(estimator.FullPredictor), s}, nil
}

type scoredModel struct {
	estimator.FullPredictor
	spec scoredRows
}

func (m scoredModel) Outputs() estimator.Outputs {
	out := m.FullPredictor.Outputs()
	if m.spec.std {
		out.Has |= estimator.OutputStd
	}
	return out
}

func (m scoredModel) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	out, err := m.PredictFull(ctx, X, estimator.Request{Outputs: estimator.OutputValues})
	return out.Values, err
}

func (m scoredModel) PredictFull(ctx context.Context, X mat.Matrix, want estimator.Request) (estimator.Prediction,
	error) {
	n, _ := X.Dims()
	m.spec.rows.Add(int64(n))
	out, err := m.FullPredictor.PredictFull(ctx, X, want)
	if m.spec.std {
		out.Std = make([]float64, n)
		for i := range out.Std {
			out.Std[i] = math.Abs(X.At(i, 0)) + 1
		}
	}
	return out, err
}

// TestEachRowIsScoredOnce checks that a prediction scores each row once, whichever outputs are
// requested and however many wrappers there are.
func TestEachRowIsScoredOnce(t *testing.T) {
	var rows atomic.Int64
	numbers, classes := amounts(people(200, 3)), people(200, 3)
	model := scoredRows{estimator.NewRidge(), &rows, true}
	classifier := scoredRows{estimator.NewLogistic(), &rows, false}
	normal := meta.NewIntervals(model)
	normal.Method = "normal"
	normalized := meta.NewIntervals(model)
	normalized.Method, normalized.Normalize = "split", true
	target := func(of estimator.Estimator) meta.Target {
		out := meta.NewTarget(of)
		out.Transform = "signed_log"
		return out
	}
	for name, c := range map[string]struct {
		spec estimator.Estimator
		data datasets.Set
	}{
		"model":                            {model, numbers},
		"target":                           {target(model), numbers},
		"target of normal intervals":       {target(normal), numbers},
		"normalized intervals of a target": {target(normalized), numbers},
		"ensemble":                         {meta.NewEnsemble(meta.Member{Name: "a", Estimator: model}), numbers},
		"classifier":                       {classifier, classes},
		"calibrated":                       {meta.NewCalibrated(classifier), classes},
		"threshold of calibrated":          {meta.NewThreshold(meta.NewCalibrated(classifier)), classes},
		"sets of a threshold":              {meta.NewIntervals(meta.NewThreshold(classifier)), classes},
	} {
		search := gridsearch.NewSearch(pipeline.Steps(encoder(), transformer.NewStandardize()).Then(c.spec))
		fitted, err := search.Fit(ctx, c.data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		requests := []estimator.Request{{}, {Level: 0.8}}
		for output := estimator.OutputValues; output != 0; output <<= 1 {
			requests = append(requests, estimator.Request{Outputs: output})
		}
		for _, want := range requests {
			rows.Store(0)
			out, err := estimator.Predict(ctx, fitted, c.data.X, want)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			scored, expect := rows.Load(), int64(200)
			if want.Outputs != 0 && !estimator.OutputsOf(fitted).Has.Has(want.Outputs) {
				vectors, _ := out.Parts()
				if *vectors[0] != nil || scored > expect {
					t.Errorf("%s: output %b, which the model does not have: %d rows scored", name, want.Outputs, scored)
				}
			} else if scored != expect {
				t.Errorf("%s: outputs %b at level %v: %d rows scored for %d", name, want.Outputs, want.Level, scored, expect)
			}
		}
		rows.Store(0)
		if _, err := fitted.Predict(ctx, c.data.X); err != nil || rows.Load() != 200 {
			t.Errorf("%s: Predict scored %d rows for 200, %v", name, rows.Load(), err)
		}
	}
}
