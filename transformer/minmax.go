package transformer

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/pass"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// MinMax maps the training range of each column to an interval:
//
//	y_j = (x_j − min_j) / (max_j − min_j) · (high − low) + low
//
// Shapes: n×d → n×d. Missing values are ignored and stay missing. Later rows may fall outside the
// interval unless Clip is set. It is scikit-learn's MinMaxScaler, except that a column which is
// constant in training becomes low in all rows, where scikit-learn has (x_j − min_j)·(high − low) +
// low.
//
// Sparse rows stay sparse; this requires low = 0 and a minimum of 0 in every column. Fit returns an
// error otherwise.
//
// Cost: one pass over the rows, 2 comparisons for each entry; memory 2·d numbers. Fit returns an
// error for a categorical column, a column without values, an infinite value, and no rows.
// Use [NewMinMax]: the zero value is invalid.
type MinMax struct {
	Low, High float64 // ends of the interval
	Clip      bool    // clip outputs to the interval
}

// NewMinMax returns the spec with the interval [0, 1] and no clipping.
func NewMinMax() MinMax { return MinMax{Low: 0, High: 1} }

// Params declares low, high and clip.
func (s *MinMax) Params(l *param.List) {
	l.Float(&s.Low, "low", "output for the minimum of the training rows", param.Any())
	l.Float(&s.High, "high", "output for the maximum of the training rows", param.Any())
	l.Bool(&s.Clip, "clip", "whether to clip values of new rows to the interval")
	l.Check("high", func() error {
		if !(s.High > s.Low) {
			return fmt.Errorf("a number > low, which is %g", s.Low)
		}
		return nil
	})
}

// Fit learns the ranges of the columns; it returns a *fittedScaler.
func (s MinMax) Fit(ctx context.Context, data datasets.Set) (Transformer, error) {
	return fitSet(ctx, "minmax", s, data)
}

// FitSource is Fit over a source. It makes one pass.
func (s MinMax) FitSource(ctx context.Context, data datasets.Source) (Transformer, error) {
	return learn(ctx, s, data)
}

// Start returns the only pass, which computes minima and maxima.
func (s MinMax) Start(ctx context.Context, schema datasets.Schema, cols int) (datasets.Pass, error) {
	return beginScaler(ctx, "minmax", s, schema, cols, func() inputSums { return newRanges(cols) })
}

// Finish returns the *fittedScaler of the pass.
func (s MinMax) Finish(ctx context.Context, last datasets.Pass) (Transformer, error) {
	r, in, err := lastSums[*ranges](ctx, "minmax", s, last)
	if err != nil {
		return nil, err
	}
	if err := checkCounts("minmax", r.count, in.schema); err != nil {
		return nil, err
	}
	f := &fittedScaler{step: "minmax", center: slices.Clone(r.least), scale: make([]float64, len(r.least)), low: s.Low,
		high: s.High, clip: s.Clip}
	for j := range r.least {
		f.scale[j] = scaleOf((r.most[j] - r.least[j]) / (s.High - s.Low))
	}
	return newFittedScaler(f, in.sparse, in.schema)
}

// ranges accumulates the minimum, the maximum and the number of values of each column.
type ranges struct{ least, most, count []float64 }

func newRanges(width int) *ranges {
	r := &ranges{least: make([]float64, width), most: make([]float64, width), count: make([]float64, width)}
	for j := range r.least {
		r.least[j], r.most[j] = math.Inf(1), math.Inf(-1)
	}
	return r
}

func (r *ranges) add(_ context.Context, _ int, X mat.Matrix) error {
	design.EachEntry(X, func(j int, v, times float64) {
		r.least[j], r.most[j] = min(r.least[j], v), max(r.most[j], v)
		r.count[j] += times
	})
	return nil
}

func (r *ranges) merge(other inputSums) error {
	o := other.(*ranges)
	for j := range r.count {
		r.least[j], r.most[j] = min(r.least[j], o.least[j]), max(r.most[j], o.most[j])
		r.count[j] += o.count[j]
	}
	return nil
}

func (r *ranges) next(context.Context) (inputSums, error) { return nil, nil }

func (r *ranges) state(s *model.State) {
	width := len(r.count)
	pass.Floats(s, "least", &r.least, width, notNaN)
	pass.Floats(s, "most", &r.most, width, notNaN)
	pass.Floats(s, "count", &r.count, width, pass.NonNegative)
}

// Cost returns the cost of one pass of comparisons.
func (s MinMax) Cost(shape datasets.Shape) datasets.Cost { return scalerCost(summedFlops, shape) }

func notNaN(v float64) bool { return v == v }
