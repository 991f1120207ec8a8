package transformer

import (
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/param"
)

// Robust subtracts the median of each column and divides by its interquartile range, which makes it
// insensitive to outliers:
//
//	y_j = (x_j − median_j) / (q75_j − q25_j)
//
// Shapes: n×d → n×d. Quantiles are exact and interpolated as by numpy's linear method. Missing
// values are ignored and stay missing. A column with equal quartiles keeps scale 1. It is
// scikit-learn's RobustScaler. Sparse rows stay sparse; this requires Median = false or every
// median 0. Fit returns an error otherwise.
//
// Passes merge counts rather than quantiles, so the result is exact for any partition of the rows.
//
// Cost: one pass over up to ten thousand rows, three to five over more. Memory is 400 KB per
// column, at most 64 MB, for any number of rows. Fit returns an error for a categorical column, a
// column without values, an infinite value, and no rows.
// Use [NewRobust]: the zero value is invalid.
type Robust struct {
	Median bool // subtract the median
	IQR    bool // divide by the interquartile range
}

// NewRobust returns the spec with both options on.
func NewRobust() Robust { return Robust{Median: true, IQR: true} }

// Params declares median and iqr.
func (s *Robust) Params(l *param.List) {
	l.Bool(&s.Median, "median", "whether to subtract the median; false for sparse input")
	l.Bool(&s.IQR, "iqr", "whether to divide by the interquartile range")
	l.Check("median", func() error { return anyOf(s.Median, s.IQR, "iqr") })
}

// Fit learns the quartiles of the columns; it returns a *fittedScaler.
func (s Robust) Fit(ctx context.Context, data datasets.Set) (Transformer, error) {
	return fitSet(ctx, "robust", s, data)
}

// FitSource is Fit over a source. It makes several passes if there are many rows.
func (s Robust) FitSource(ctx context.Context, data datasets.Source) (Transformer, error) {
	return learn(ctx, s, data)
}

// Start returns the first pass, which counts; the later ones select.
func (s Robust) Start(ctx context.Context, schema datasets.Schema, cols int) (datasets.Pass, error) {
	return beginScaler(ctx, "robust", s, schema, cols, func() inputSums {
		return newQuantiles([]float64{0.25, 0.5, 0.75}, schema, cols)
	})
}

// Finish returns the *fittedScaler of the last pass.
func (s Robust) Finish(ctx context.Context, last datasets.Pass) (Transformer, error) {
	q, in, err := lastSums[*quantiles](ctx, "robust", s, last)
	if err != nil {
		return nil, err
	}
	quartiles, err := q.values()
	if err != nil {
		return nil, fmt.Errorf("transformer: robust: %w", err)
	}
	f := &fittedScaler{step: "robust", center: make([]float64, in.cols), scale: make([]float64, in.cols)}
	for j, quartile := range quartiles {
		if s.Median {
			f.center[j] = quartile[1]
		}
		if s.IQR {
			f.scale[j] = quartile[2] - quartile[0]
		}
	}
	return newFittedScaler(f, in.sparse, in.schema)
}

// Cost returns the cost of four selection passes.
func (s Robust) Cost(shape datasets.Shape) datasets.Cost {
	c := scalerCost(selectedFlops, shape)
	c.Bytes += planQuantiles(shape.Cols, 3).bytes(shape.Rows)
	return c
}
