package pipeline

import (
	"context"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/transformer"
)

// Frozen is a step that was fitted before: fitting it returns Fitted, whatever the rows are, and costs nothing. A
// fitted pipeline has Spec in its place, so that it is written, read and inspected as one whose steps were
// all fitted together. It serves who fits several pipelines that begin alike, and knows that the rows are the same.
type Frozen struct {
	Spec   transformer.Fitter
	Fitted transformer.Transformer
}

// Fit returns what was fitted before.
func (f Frozen) Fit(context.Context, datasets.Set) (transformer.Transformer, error) {
	return f.Fitted, nil
}

// FrozenModel is a model that was fitted before, as [Frozen] is a step.
type FrozenModel struct {
	Spec   estimator.Estimator
	Fitted estimator.Predictor
}

// Fit returns what was fitted before.
func (f FrozenModel) Fit(context.Context, datasets.Set) (estimator.Predictor, error) {
	return f.Fitted, nil
}

// thawed returns the pipeline with the specs of what was fitted before in its place.
func (p Pipeline) thawed() Pipeline {
	p.Steps = slices.Clone(p.Steps)
	for i, s := range p.Steps {
		if f, ok := s.Fitter.(Frozen); ok {
			p.Steps[i].Fitter = f.Spec
		}
	}
	if f, ok := p.Estimator.(FrozenModel); ok {
		p.Estimator = f.Spec
	}
	return p
}
