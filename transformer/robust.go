package transformer

import (
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/param"
)

// Robust moves every column by its median and divides it by its interquartile range, so that a few
// extreme values do not matter:
//
//	y_j = (x_j − median_j) / (q75_j − q25_j)
//
// Shapes: n×d → n×d. Quantiles are exact and interpolated as numpy's linear method does; missing
// values are left out and stay missing. A column whose quartiles are equal keeps scale 1. It is
// scikit-learn's RobustScaler. Sparse rows stay sparse, for which Median must be false or every
// median 0; Fit returns an error otherwise.
//
// Quantiles of parts of the rows do not make those of all, so it is counts that are merged, in every pass:
// what comes out is exact however the rows are cut into parts.
//
// Cost: one pass over some ten thousand rows, three to five over more; memory 400 KB for a column, 64 MB at
// most, in both cases for any number of rows. Fit returns an error for a categorical column, a column with missing
// values only, an infinite value, and for no rows.
type Robust struct {
	Median bool // subtract the median
	IQR    bool // divide by the interquartile range
}

// NewRobust returns the spec with both steps on.
func NewRobust() Robust { return Robust{Median: true, IQR: true} }

// Params declares median and iqr.
func (s *Robust) Params(l *param.List) {
	l.Bool(&s.Median, "median", "subtract the median; false for sparse input")
	l.Bool(&s.IQR, "iqr", "divide by the interquartile range")
	l.Check("median", func() error { return anyOf(s.Median, s.IQR, "iqr") })
}

// Fit learns the quartiles of the columns; it returns a [*FittedScaler].
func (s Robust) Fit(ctx context.Context, data datasets.Set) (Transformer, error) {
	return fitSet(ctx, "robust", s, data)
}

// FitSource is Fit over a source, which it reads several times.
func (s Robust) FitSource(ctx context.Context, data datasets.Source) (Transformer, error) {
	return Learn(ctx, s, data)
}

// Start begins the first pass, which counts; those that follow select.
func (s Robust) Start(ctx context.Context, schema datasets.Schema, cols int) (datasets.Pass, error) {
	return beginScaler(ctx, "robust", s, schema, cols, func() inputSums {
		return newQuantiles([]float64{0.25, 0.5, 0.75}, schema, cols)
	})
}

// Finish returns the [*FittedScaler] of what the passes have learned.
func (s Robust) Finish(ctx context.Context, last datasets.Pass) (Transformer, error) {
	q, in, err := finished[*quantiles](ctx, "robust", s, last)
	if err != nil {
		return nil, err
	}
	quartiles, err := q.values()
	if err != nil {
		return nil, fmt.Errorf("transformer: robust: %w", err)
	}
	f := &FittedScaler{step: "robust", center: make([]float64, in.cols), scale: make([]float64, in.cols)}
	for j, quartile := range quartiles {
		if s.Median {
			f.center[j] = quartile[1]
		}
		if s.IQR {
			f.scale[j] = quartile[2] - quartile[0]
		}
	}
	return fittedScaler(f, in.sparse, in.schema)
}

// Cost returns the cost of four passes of selection.
func (s Robust) Cost(shape datasets.Shape) datasets.Cost {
	c := scalerCost(selectedFlops, shape)
	c.Bytes += planQuantiles(shape.Cols, 3).bytes(shape.Rows)
	return c
}
