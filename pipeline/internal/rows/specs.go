package rows

import (
	"context"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/pipeline/internal/place"
	"github.com/bochner-ml/bochner/transformer"
)

// Spec is an unfitted step with its name.
type Spec struct {
	Name   string
	Fitter transformer.Fitter
}

// FitWithoutRows reports whether every step is data-independent.
func FitWithoutRows(specs []Spec) bool {
	for _, s := range specs {
		if r, ok := s.Fitter.(transformer.DataIndependent); !ok || !r.IsDataIndependent() {
			return false
		}
	}
	return true
}

// FitSteps fits the steps in order and returns them with the output of the last one. cache(i)
// selects how the output of step i is cached.
func FitSteps(ctx context.Context, specs []Spec, r Rows, cache func(i int) Cache) ([]*Step, Rows, error) {
	var fitted []*Step
	for i, s := range specs {
		if err := ctxerr.Check(ctx); err != nil {
			return nil, r, err
		}
		step := &Step{Name: s.Name, Float32: r.Float32 && i == len(specs)-1, Train: true}
		var next transformer.Fitter
		if i+1 < len(specs) {
			next = specs[i+1].Fitter
		}
		var err error
		if r, err = r.FitThrough(ctx, s.Fitter, step, cache(i), next); err != nil {
			return nil, r, place.At("step", s.Name, err)
		}
		fitted = append(fitted, step)
	}
	return fitted, r, nil
}

// CostOf returns the declared cost of a spec. A spec without a cost is free and has the width of
// its input.
func CostOf(spec any, shape datasets.Shape) datasets.Cost {
	if c, ok := spec.(datasets.CostEstimator); ok {
		return c.Cost(shape)
	}
	return datasets.Cost{OutputWidth: shape.Cols, NonZeros: shape.NonZeros, WidthEstimated: true}
}

// Cost returns the total work of the steps, the maximum memory of any step, and the output width.
// The width is an estimate if that of a step is, unless a later step has a fixed width.
func Cost(specs []Spec, shape datasets.Shape) datasets.Cost {
	sum := datasets.Cost{OutputWidth: shape.Cols, NonZeros: shape.NonZeros, CheapToRecompute: true}
	for _, s := range specs {
		cost := CostOf(s.Fitter, shape)
		sum = sum.Add(cost)
		sum.CheapToRecompute = sum.CheapToRecompute && cost.CheapToRecompute
		wider := shape
		wider.Cols, wider.Columns = 2*shape.Cols+1, nil
		sum.WidthEstimated = cost.OutputWidth < 0 || cost.WidthEstimated || sum.WidthEstimated &&
			cost.OutputWidth != CostOf(s.Fitter, wider).OutputWidth
		shape = shape.After(cost)
		sum.OutputWidth, sum.NonZeros = shape.Cols, shape.NonZeros
	}
	return sum
}
