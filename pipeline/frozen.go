package pipeline

import (
	"context"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/transformer"
)

// Frozen is a fitted step: its fit returns Fitted for any rows, at no cost. A fitted pipeline
// contains Spec in its place, so that it is saved and inspected like any other. Use it to share a
// fitted prefix among pipelines that are fitted to the same rows.
type Frozen struct {
	Spec   transformer.Fitter
	Fitted transformer.Transformer
}

// Fit returns Fitted.
func (f Frozen) Fit(context.Context, datasets.Set) (transformer.Transformer, error) {
	return f.Fitted, nil
}

// FrozenModel is a fitted model used as an estimator, the counterpart of [Frozen].
type FrozenModel struct {
	Spec   estimator.Estimator
	Fitted estimator.Predictor
}

// Fit returns Fitted.
func (f FrozenModel) Fit(context.Context, datasets.Set) (estimator.Predictor, error) {
	return f.Fitted, nil
}

// withoutFrozen returns the pipeline with frozen steps and models replaced by their specs.
func (p Pipeline) withoutFrozen() Pipeline {
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
