package transformer

import (
	"context"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/pass"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/model"
)

// columnMoments returns the moments of the columns of src and its number of rows, in one pass.
func columnMoments(ctx context.Context, step string, src datasets.Source, missing bool) (*design.Moments, int, error) {
	_, width := src.Dims()
	sums := newMomentSums(width)
	rows, err := fold(ctx, step, src, missing, func(first int, X mat.Matrix) error { return sums.add(ctx, first, X) })
	return sums.total, rows, err
}

// momentSums adapts column moments to inputSums.
type momentSums struct{ total, block *design.Moments }

func newMomentSums(width int) *momentSums {
	return &momentSums{total: design.NewMoments(width), block: design.NewMoments(width)}
}

func (m *momentSums) add(_ context.Context, _ int, X mat.Matrix) error {
	m.block.Compute(X)
	m.total.Merge(m.block)
	return nil
}

func (m *momentSums) merge(other inputSums) error {
	m.total.Merge(other.(*momentSums).total)
	return nil
}

func (m *momentSums) next(context.Context) (inputSums, error) { return nil, nil }

func (m *momentSums) state(s *model.State) {
	width := len(m.total.Mean)
	pass.Floats(s, "count", &m.total.Count, width, pass.NonNegative)
	pass.Floats(s, "mean", &m.total.Mean, width, nil)
	pass.Floats(s, "square", &m.total.SumSquares, width, nil)
	pass.Floats(s, "small", &m.total.SmallSquares, width, nil)
	pass.Floats(s, "large", &m.total.LargeSquares, width, nil)
}
