package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline/internal/place"
	"github.com/bochner-ml/bochner/pipeline/internal/rows"
)

// A pipeline supports incremental learning if its model does.

// PartialFit updates a fitted pipeline: its fitted steps map the new rows, which have the same
// columns and codes, and the model continues its training. The pipeline must equal the fitted one,
// except for the number of epochs. The result is a [*FittedPipeline]; previous is not modified.
func (p Pipeline) PartialFit(ctx context.Context, previous estimator.Predictor,
	data datasets.Source) (estimator.Predictor, error) {
	if err := p.Continues(previous); err != nil {
		return nil, err
	}
	f := Find(previous)
	if err := sameColumns(f.in, f.chain.cols, data); err != nil {
		return nil, place.Here(err)
	}
	src := datasets.Source(withSchema{data, f.in})
	for _, s := range f.chain.steps {
		src = rows.Mapped(src, s)
	}
	fitted, err := p.Estimator.(estimator.IncrementalEstimator).PartialFit(ctx, f.model, src)
	if err != nil {
		return nil, place.At("step", p.path(), err)
	}
	return &FittedPipeline{spec: p.clone().withoutFrozen(), chain: f.chain, in: f.in, precision: f.precision, name: f.name,
		model: fitted}, nil
}

// Continues returns an error if the pipeline cannot update previous, before any rows are read.
func (p Pipeline) Continues(previous estimator.Predictor) error {
	if err := p.check(); err != nil {
		return place.Here(err)
	}
	f := Find(previous)
	if f == nil {
		return place.Here(fmt.Errorf("incremental learning requires a fitted pipeline, got %T", previous))
	}
	if _, ok := p.Estimator.(estimator.IncrementalEstimator); !ok {
		return place.At("step", p.path(), errCannotContinue(p.Estimator))
	}
	if other := p.differences(f.spec); len(other) > 0 {
		return place.Here(errors.New("incremental learning requires the pipeline of the model, except for epochs: " +
			strings.Join(other, "; ")))
	}
	return nil
}

// errCannotContinue returns the error of a model without incremental learning, with the
// alternatives. A saved pass accepts further rows only if the model is learned in a single pass:
// all passes of an iterative solver read the same rows.
func errCannotContinue(spec estimator.Estimator) error {
	reason, remedy := "does not support incremental learning", "fit it to all rows, or use sgd_classifier or sgd_regressor"
	if _, passes := spec.(estimator.PassEstimator); passes && datasets.TagsOf(spec).SinglePass {
		reason, remedy = "learns from sums over its rows, which a fitted model does not keep",
			"keep its pass to add rows to, or fit it to all rows"
	}
	return fmt.Errorf("%w: %s %s; %s", estimator.ErrNoPartialFit, specName(spec), reason, remedy)
}

// differences returns the parameters in which a pipeline differs from the fitted one.
func (p Pipeline) differences(fitted Pipeline) (out []string) {
	if now, then := p.String(), fitted.String(); now != then {
		return []string{fmt.Sprintf("it is %s, and the model's %s", now, then)}
	}
	params, fittedParams := param.All(&p), param.All(&fitted)
	if len(params) != len(fittedParams) {
		return []string{"its steps have other parts"}
	}
	for i, v := range params {
		now, then := fmt.Sprint(v.Value), fmt.Sprint(fittedParams[i].Value)
		switch {
		case v.Path != fittedParams[i].Path:
			return append(out, fmt.Sprintf("it has a parameter %s, and the model %s", v.Path, fittedParams[i].Path))
		case now != then && v.Path != p.path()+".epochs":
			out = append(out, fmt.Sprintf("%s is %s, and the model's %s", v.Path, now, then))
		}
	}
	return out
}

// sameColumns returns an error if data has other columns or codes than the rows of the fit.
func sameColumns(then datasets.Schema, cols int, data datasets.Source) error {
	if _, now := data.Dims(); now != cols {
		return fmt.Errorf("%d columns at fit, %d now", cols, now)
	}
	now := data.Schema()
	for _, pair := range [][2][]datasets.Column{{then.Columns, now.Columns}, {then.Targets, now.Targets}} {
		if err := (datasets.Schema{Columns: pair[0]}).CheckColumns(datasets.Schema{Columns: pair[1]}); err != nil {
			return fmt.Errorf("%w; read new rows by the schema of the model", err)
		}
	}
	return nil
}

// withSchema is a source with another schema.
type withSchema struct {
	datasets.Source
	schema datasets.Schema
}

func (l withSchema) Schema() datasets.Schema { return l.schema }

// Blocks calls yield with the blocks, with the schema replaced.
func (l withSchema) Blocks(ctx context.Context, yield func(block datasets.Set) error) error {
	return l.Source.Blocks(ctx, func(block datasets.Set) error {
		block.Schema = l.schema
		return yield(block)
	})
}
