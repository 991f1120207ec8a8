package transformer

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/param"
)

// MinMax maps the training range of every column to an interval:
//
//	y_j = (x_j − min_j) / (max_j − min_j) · (high − low) + low
//
// Shapes: n×d → n×d. Missing values are left out and stay missing. A column whose training values
// are all the same becomes low. Later rows may fall outside the interval, unless Clip moves them to
// its nearer end. It is scikit-learn's MinMaxScaler.
//
// Sparse rows stay sparse, for which zero must become zero in every column: low is 0 and no column's
// minimum is above or below 0. Fit returns an error otherwise.
//
// Cost: one pass over the rows, 2 comparisons for each entry; memory 2·d numbers. Fit returns an
// error for a categorical column, a column with missing values only, an infinite value, no rows.
type MinMax struct {
	Low, High float64 // ends of the interval
	Clip      bool    // move what falls outside to the nearer end
}

// NewMinMax returns the spec with the interval from 0 to 1 and no clipping.
func NewMinMax() MinMax { return MinMax{Low: 0, High: 1} }

// Params declares low, high and clip.
func (s *MinMax) Params(l *param.List) {
	l.Float(&s.Low, "low", "what the smallest training value becomes", param.Any)
	l.Float(&s.High, "high", "what the largest training value becomes", param.Any)
	l.Bool(&s.Clip, "clip", "move later values outside the interval to its nearer end")
	l.Also("high", func() error {
		if !(s.High > s.Low) {
			return fmt.Errorf("a number > low, which is %g", s.Low)
		}
		return nil
	})
}

// Fit learns the ranges of the columns; it returns a [*FittedScaler].
func (s MinMax) Fit(ctx context.Context, data datasets.Set) (Transformer, error) {
	return fitSet(ctx, "minmax", s, data)
}

// FitSource is Fit over a source, which it reads once.
func (s MinMax) FitSource(ctx context.Context, data datasets.Source) (Transformer, error) {
	return fitScaler("minmax", s, data, func(f *FittedScaler, src datasets.Source) error {
		least, most, err := columnRanges(ctx, f.step, src)
		f.center, f.scale = least, make([]float64, len(least))
		f.low, f.high, f.clip = s.Low, s.High, s.Clip
		for j := range least {
			f.scale[j] = (most[j] - least[j]) / (s.High - s.Low)
		}
		return err
	})
}

// columnRanges returns the least and the greatest value of every column.
func columnRanges(ctx context.Context, step string, src datasets.Source) (least, most []float64, err error) {
	_, width := src.Dims()
	least, most = make([]float64, width), make([]float64, width)
	count := make([]float64, width)
	for j := range least {
		least[j], most[j] = math.Inf(1), math.Inf(-1)
	}
	_, err = fold(ctx, step, src, true, func(_ int, X mat.Matrix) error {
		eachEntry(X, func(j int, v, times float64) {
			least[j], most[j] = min(least[j], v), max(most[j], v)
			count[j] += times
		})
		return nil
	})
	if err == nil {
		err = checkCounts(step, count, src.Schema())
	}
	return least, most, err
}

// Cost returns the cost of one pass of comparisons.
func (s MinMax) Cost(shape datasets.Shape) datasets.Cost { return scalerCost(2, shape) }
