package pipeline

import (
	"context"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/transformer"
)

// frozen is a fitted step: its fit returns the fitted value for any rows, at no cost.
type frozen struct {
	spec   transformer.Fitter
	fitted transformer.Transformer
}

// Fit returns the fitted value.
func (f frozen) Fit(context.Context, datasets.Set) (transformer.Transformer, error) {
	return f.fitted, nil
}

// frozenModel is a fitted model used as an estimator, the counterpart of [frozen].
type frozenModel struct {
	spec   estimator.Estimator
	fitted estimator.Predictor
}

// Fit returns the fitted value.
func (f frozenModel) Fit(context.Context, datasets.Set) (estimator.Predictor, error) {
	return f.fitted, nil
}

// WithFitted returns the step with a fitted value, which its fit returns for any rows, at no cost. A fitted
// pipeline has the spec of s in its place, so that it is saved and inspected like any other. Use it to
// share a fitted prefix among pipelines that are fitted to the same rows.
func (s Step) WithFitted(fitted transformer.Transformer) Step {
	s.Fitter = frozen{s.Fitter, fitted}
	return s
}

// WithFitted returns the pipeline with a fitted model, as [Step.WithFitted].
func (p Pipeline) WithFitted(model estimator.Predictor) Pipeline {
	p.Estimator = frozenModel{p.Estimator, model}
	return p
}

// withoutFrozen returns the pipeline with frozen steps and models replaced by their specs.
func (p Pipeline) withoutFrozen() Pipeline {
	p.Steps = slices.Clone(p.Steps)
	for i, s := range p.Steps {
		if f, ok := s.Fitter.(frozen); ok {
			p.Steps[i].Fitter = f.spec
		}
	}
	if f, ok := p.Estimator.(frozenModel); ok {
		p.Estimator = f.spec
	}
	return p
}
