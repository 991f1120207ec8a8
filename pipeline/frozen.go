package pipeline

import (
	"context"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/pipeline/internal/place"
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
	refit  bool // whether its fit is [estimator.Refit]
}

// Fit returns the fitted value, or a refit of it.
func (f frozenModel) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	if f.refit {
		return estimator.Refit(ctx, f.spec, f.fitted, data)
	}
	return f.fitted, nil
}

// Refit fits the pipeline to data as [estimator.Refit]. The steps up to the last one that learned from the targets
// stay as they are, because they are the representation that the parameters of the model were chosen for, and are
// often the most expensive part. Steps that map their training rows differently, and those after them, are fitted
// again.
func (p *FittedPipeline) Refit(ctx context.Context, spec estimator.Estimator, data datasets.Set) (estimator.Predictor,
	error) {
	s, ok := spec.(Pipeline)
	if !ok || len(s.Steps) != len(p.chain.steps) {
		return nil, place.Here(fmt.Errorf("must be the spec of the fitted pipeline, got %T", spec))
	}
	s, kept := s.clone(), 0
	for i, step := range s.Steps {
		if !step.Supervised() {
			continue
		}
		if _, differs := p.chain.steps[i].Fitted.(transformer.TrainingTransformer); differs {
			break
		}
		kept = i + 1
	}
	for i := range kept {
		s.Steps[i] = s.Steps[i].WithFitted(p.chain.steps[i].Fitted)
	}
	if _, ok := p.model.(estimator.Refitter); ok { // other models may be fitted to streams
		s.Estimator = frozenModel{s.Estimator, p.model, true}
	}
	return s.Fit(ctx, data)
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
	p.Estimator = frozenModel{p.Estimator, model, false}
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
