package experiment

import (
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/experiment/internal/predictions"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// surenessOf returns what a model says of itself, nil where that is nothing.
func surenessOf(m estimator.Predictor) *result.Sureness {
	var sure meta.Sure
	if estimator.AsWithin(m, &sure) {
		method, level := sure.Sureness()
		return &result.Sureness{Method: method, Level: level}
	}
	var deviates estimator.StdPredictor
	if estimator.As(m, &deviates) {
		return &result.Sureness{Method: "normal", Level: estimator.DefaultLevel}
	}
	return nil
}

// isSure reports whether a model is one that intervals, or sets, were put around.
func isSure(m estimator.Predictor) bool {
	_, sure := m.(meta.Sure)
	return sure
}

// judged adds what rows with a truth tell of it.
func judgeSureness(s *result.Sureness, v predictions.Verdict) error {
	if s == nil || v.Rows == 0 {
		return nil
	}
	found, err := v.Sureness()
	if err != nil {
		return err
	}
	for _, one := range []struct {
		to   **float64
		from []string
	}{{&s.Coverage, []string{"coverage", "set_coverage"}}, {&s.Width, []string{"mean_width"}}, {&s.Size, []string{"mean_set_size"}}} {
		for _, name := range one.from {
			if value, ok := found[name]; ok {
				*one.to = &value
			}
		}
	}
	return nil
}

// lastPipeline is a pipeline as it is fitted to all training rows, with intervals where there are to be some. Streamed,
// it has little memory for mapped rows, which are mapped afresh instead.
func lastPipeline(spec Spec, p pipeline.Pipeline, shape datasets.Shape, streamed bool) pipeline.Pipeline {
	if streamed {
		p.Memory = streamedRows
	}
	return spec.Fitted(p, shape)
}

// checkLevel says that there are too few training rows for the level of the intervals.
func checkLevel(spec Spec, shape datasets.Shape) error {
	var wrapped meta.Intervals
	switch e := spec.Fitted(spec.Pipeline, shape).Estimator.(type) {
	case meta.Intervals:
		wrapped = e
	default:
		return nil
	}
	if spec.Intervals == nil || shape.Rows < 0 {
		return nil
	}
	if err := wrapped.CheckRows(shape.Rows); err != nil {
		return param.Faults{spec.Fault("intervals.level", param.Fault{Problem: err.Error()})}.Err()
	}
	return nil
}
