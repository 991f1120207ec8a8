package transformer

import (
	"context"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/model"
)

// Dense converts sparse rows to dense ones, so that steps which require dense rows or move zeros
// can follow. Dense rows pass unchanged. The zero value is its spec.
//
// Shapes: n×d → n×d. Memory: 8·n·d bytes. Fit returns an error if there are no rows or no columns.
type Dense struct{}

// Tags returns that only the number of columns is learned.
func (Dense) Tags() datasets.Tags { return datasets.Tags{DataIndependent: true} }

// Fit learns the number of columns.
func (s Dense) Fit(ctx context.Context, data datasets.Set) (Transformer, error) {
	return fitSet(ctx, "dense", s, data)
}

// FitSource is Fit over a source, which it does not read.
func (s Dense) FitSource(ctx context.Context, data datasets.Source) (Transformer, error) {
	width, err := widthOf(ctx, "dense", data)
	if err != nil {
		return nil, err
	}
	return &fittedDense{width: width}, nil
}

// fittedDense is a fitted [Dense].
type fittedDense struct{ width int }

// Transform returns X itself if it is a *mat.Dense, otherwise a dense copy.
func (f *fittedDense) Transform(ctx context.Context, X mat.Matrix) (mat.Matrix, error) {
	same := perEntry("dense", f.width, unchanged{})
	X, err := same.check(X)
	if err != nil {
		return nil, err
	}
	if err := ctxerr.Check(ctx); err != nil {
		return nil, err
	}
	if m, ok := X.(*mat.Dense); ok {
		return m, nil
	}
	return transformDense(ctx, same, X)
}

type unchanged struct{}

func (unchanged) value(_ int, x float64) float64   { return x }
func (unchanged) keepsZeros(datasets.Schema) error { return nil }

// Export returns rows unchanged.
func (f *fittedDense) Export(_ *graph.Graph, rows graph.Value) (graph.Value, error) {
	return rows, nil
}

// Tags returns the number of input columns.
func (f *fittedDense) Tags() datasets.Tags { return datasets.Tags{InputWidth: f.width} }

// OutputWidth returns the number of columns, which equals that of the input.
func (f *fittedDense) OutputWidth() int { return f.width }

// OutputSchema returns in.
func (f *fittedDense) OutputSchema(in datasets.Schema) datasets.Schema { return in }

// State serializes the fitted parameters.
func (f *fittedDense) State(s *model.State) {
	s.Count("width", &f.width)
	s.Require(f.width > 0, "there are no columns")
}

// Cost returns the memory of the dense rows.
func (s Dense) Cost(shape datasets.Shape) datasets.Cost {
	n, d := float64(shape.Rows), float64(shape.Cols)
	return datasets.Cost{Flops: n * d, Bytes: int64(8 * float64(shape.RowsInMemory()) * d), OutputWidth: shape.Cols,
		CheapToRecompute: true}
}
