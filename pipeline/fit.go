package pipeline

import (
	"cmp"
	"context"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/rows/rowsource"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
	"github.com/bochner-ml/bochner/pipeline/internal/place"
	"github.com/bochner-ml/bochner/pipeline/internal/rows"
)

// Fit fits the steps in order, and the estimator to their output. The result is a [*FittedPipeline]
// with all outputs of the fitted estimator. Unsupervised estimators hide the targets from all
// steps.
func (p Pipeline) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	if err := p.check(); err != nil {
		return nil, place.Here(err)
	}
	if p.Task().Unsupervised() {
		data = data.WithoutTargets()
	}
	r, err := rows.Of(data, p.memory())
	if err != nil {
		return nil, place.Here(err)
	}
	if err := p.checkMemory(data.Shape()); err != nil {
		return nil, err
	}
	r.Float32 = p.Precision == Float32
	return p.fit(ctx, r, data.Schema, data.Cols(), data.Rows())
}

// FitSource is Fit over a source. Its memory does not grow with the number of rows if every step is
// a [transformer.BlockFitter] and the estimator a [estimator.BlockEstimator]; otherwise the rows
// are read into memory. It makes at least one pass for each step that learns from rows.
func (p Pipeline) FitSource(ctx context.Context, data datasets.Source) (estimator.Predictor, error) {
	if err := p.check(); err != nil {
		return nil, place.Here(err)
	}
	if p.Task().Unsupervised() {
		data = rowsource.DropTargets(data)
	}
	r, err := rows.From(ctx, data, p.memory())
	if err != nil {
		return nil, place.Here(err)
	}
	n, cols := data.Dims()
	if err := p.checkMemory(datasets.Shape{Rows: max(n, 0), Cols: cols, Outputs: data.Schema().Outputs(),
		Columns: data.Schema().Columns}); err != nil {
		return nil, err
	}
	r.Float32 = p.Precision == Float32
	return p.fit(ctx, r, data.Schema(), cols, n)
}

func (p Pipeline) fit(ctx context.Context, r rows.Rows, in datasets.Schema, cols, n int) (estimator.Predictor, error) {
	last := len(p.Steps) - 1
	steps, out, err := rows.FitSteps(ctx, named(p.Steps), r, func(i int) rows.Cache {
		switch {
		case i < last:
			return rows.Cached
		case p.EstimatorReadsOnce(n, cols):
			return rows.NoCache
		case p.usesFloat32(n, cols):
			return rows.CachedFloat32
		}
		return rows.Cached
	})
	if err != nil {
		return nil, err
	}
	fitted, err := out.FitEstimator(ctx, p.Estimator)
	if err != nil {
		return nil, place.At("step", p.path(), err)
	}
	return &FittedPipeline{spec: p.clone().withoutFrozen(), chain: inference(cols, steps), in: in,
		precision: cmp.Or(p.Precision, Float64), name: p.path(), model: fitted}, nil
}

// checkMemory returns an error if the estimator would exceed the available memory. It applies only
// if the width of its input is known before the steps are fitted.
func (p Pipeline) checkMemory(shape datasets.Shape) error {
	mapped := Chain{Steps: p.Steps}.Cost(shape)
	if mapped.WidthEstimated {
		return nil
	}
	return place.At("step", p.path(), memory.Check(rows.CostOf(p.Estimator, shape.After(mapped)).Bytes))
}

// EstimatorReadsOnce reports whether the estimator makes a single pass over the output of the last
// step, for a fit to n×cols inputs; n is −1 if unknown. Its features are then computed during the
// pass and never stored. For other estimators they are cached if they fit in memory, in float32 if
// there are many and the estimator supports it.
func (p Pipeline) EstimatorReadsOnce(n, cols int) bool {
	if _, ok := p.Estimator.(estimator.BlockEstimator); !ok {
		return false
	}
	return rows.CostOf(p.Estimator, datasets.Shape{Rows: n, Cols: max(p.widthAfter(n, cols), 1)}).Passes == 1
}

// widthAfter returns the output width of the steps, or −1 if it is unknown before the fit.
func (p Pipeline) widthAfter(rows, cols int) int {
	return (Chain{Steps: p.Steps}).Cost(datasets.Shape{Rows: rows, Cols: cols}).OutputWidth
}

// usesFloat32 reports whether the estimator reads mostly the float32 rows of a
// [datasets.Float32Source] without loss of accuracy. The pipeline then caches float32 rows, and
// recomputes float64 rows when they are read.
func (p Pipeline) usesFloat32(n, cols int) bool {
	e, ok := p.Estimator.(interface{ LearnsRounded(datasets.Shape) bool })
	return ok && e.LearnsRounded(datasets.Shape{Rows: n, Cols: max(p.widthAfter(n, cols), 1)})
}
