package pipeline_test

import (
	"context"
	"math"
	"sync/atomic"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/testing/canceltest"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// stopper passes rows on. One of its calls, in the order in which a search makes them, is that during
// which the user cancels.
type stopper struct {
	calls  *atomic.Int64
	at     int64
	cancel context.CancelFunc
}

func (s *stopper) Params(*param.List) {}

func (s stopper) call(ctx context.Context) error {
	if s.calls.Add(1) > s.at {
		s.cancel()
	}
	return ctx.Err()
}

func (s stopper) Fit(ctx context.Context, _ datasets.Set) (transformer.Transformer, error) {
	return s, s.call(ctx)
}

func (s stopper) Transform(ctx context.Context, X mat.Matrix) (mat.Matrix, error) {
	return X, s.call(ctx)
}

// TestSweepStopsAnywhere checks that a sweep canceled during any call of a step returns the
// cancellation and yields no result affected by it, whatever is shared.
func TestSweepStopsAnywhere(t *testing.T) {
	data := numbers(60, 3)
	bins := transformer.NewBinning()
	bins.Grids = 8
	for name, c := range map[string]struct {
		step  transformer.Fitter
		model estimator.Estimator
		axes  []param.Setting
	}{
		"family": {fourier(8), estimator.NewRidgeClassifier(), []param.Setting{{Path: "rff.gamma", Value: []any{0.1, 0.2}},
			{Path: "ridge_classifier.alpha", Value: []any{1.0, 2.0}}}},
		"newton": {fourier(8), exactLogistic(), []param.Setting{{Path: "rff.gamma", Value: []any{0.1, 0.2}},
			{Path: "logistic.C", Value: []any{1.0, 2.0}}}},
		"grids": {bins, estimator.NewSVM(), []param.Setting{{Path: "binning.grids", Value: []any{4, 8}},
			{Path: "svm.C", Value: []any{1.0, 2.0}}}},
		"one map": {transformer.NewStandardize(), estimator.NewRidgeClassifier(),
			[]param.Setting{{Path: "ridge_classifier.alpha", Value: []any{1.0, 2.0}}}},
	} {
		run := func(at int64) (calls int64) {
			stopped, cancel := context.WithCancel(ctx)
			defer cancel()
			first := stopper{calls: new(atomic.Int64), at: at, cancel: cancel}
			base := pipeline.Steps(first, c.step).Then(c.model)
			_, err := fitAll(stopped, base, data, thirds(60), grid(t, base, c.axes...),
				func(setting, fold int, outcome batch.Outcome) error {
					if outcome.Err != nil {
						t.Errorf("%s, cancelled in call %d: setting %d on fold %d is handed over with the error %v", name, at, setting,
							fold, outcome.Err)
					}
					return nil
				})
			if calls = first.calls.Load(); calls > at && err != context.Canceled || calls <= at && err != nil {
				t.Errorf("%s, cancelled in call %d of %d: %v", name, at, calls, err)
			}
			return calls
		}
		calls := run(math.MaxInt64)
		for at := range calls {
			run(at)
		}
		if calls < 3 {
			t.Errorf("%s: the step is called %d times only", name, calls)
		}
	}
}

// TestPipelineStops checks that all pipelines can be canceled during fit and prediction.
func TestPipelineStops(t *testing.T) {
	data := people(300, 4)
	for name, spec := range map[string]pipeline.Pipeline{
		"pca":     pipeline.Steps(encoder(), transformer.NewPCA()).Then(exactLogistic()),
		"binning": pipeline.Steps(encoder(), transformer.NewBinning()).Then(estimator.NewSVM()),
	} {
		err := canceltest.Check(func(ctx context.Context) (bool, error) {
			p, err := spec.Fit(ctx, data)
			return p != nil, err
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
