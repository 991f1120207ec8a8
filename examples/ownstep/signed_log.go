package main

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/transformer"
)

// SignedLog pulls in long tails: it maps x in column j to sign(x)·log(1 + Strength·|x|/s_j), where
// s_j is the mean of |x| over the training rows.
//
// Shapes: n×d → n×d, dense. Cost: one pass over the rows. Fit returns an error for a missing or
// infinite value and for no rows.
type SignedLog struct {
	Strength float64 // how strongly, the larger the stronger
}

// NewSignedLog returns the spec with Strength 1.
func NewSignedLog() SignedLog { return SignedLog{Strength: 1} }

// Params declares strength.
func (s *SignedLog) Params(l *param.List) {
	l.Float(&s.Strength, "strength", "how strongly long tails are pulled in", param.Positive())
}

// Fit computes the mean of |x| in each column; it returns a [*FittedSignedLog].
func (s SignedLog) Fit(ctx context.Context, data datasets.Set) (transformer.Transformer, error) {
	if err := data.Check(); err != nil {
		return nil, fmt.Errorf("signed_log: %w", err)
	}
	return s.FitSource(ctx, data.Source())
}

// FitSource is Fit over a stream of blocks: the step then works on files larger than memory.
func (s SignedLog) FitSource(ctx context.Context, data datasets.Source) (transformer.Transformer, error) {
	if err := param.Check(s); err != nil {
		return nil, fmt.Errorf("signed_log: %w", err)
	}
	_, d := data.Dims()
	rows, size := 0, make([]float64, d)
	err := data.Blocks(ctx, func(block datasets.Set) error {
		if err := block.CheckFinite(); err != nil {
			return err
		}
		rows += block.Rows()
		for j := range size {
			for _, x := range mat.Col(nil, j, block.X) {
				size[j] += math.Abs(x)
			}
		}
		return ctx.Err()
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("signed_log: %w", err)
	case rows == 0 || d == 0:
		return nil, fmt.Errorf("signed_log: %w", datasets.ErrEmpty)
	}
	factor := make([]float64, d)
	for j := range factor {
		if size[j] > 0 { // a column of zeros is unchanged
			factor[j] = s.Strength * float64(rows) / size[j]
		}
	}
	return &FittedSignedLog{factor}, nil
}

// FittedSignedLog is a fitted [SignedLog].
type FittedSignedLog struct {
	factor []float64 // Strength/s_j
}

// Transform returns the mapped rows of X as a new matrix.
func (f *FittedSignedLog) Transform(ctx context.Context, X mat.Matrix) (mat.Matrix, error) {
	if err := datasets.CheckInput(ctx, X, len(f.factor)); err != nil {
		return nil, fmt.Errorf("signed_log: %w", err)
	}
	out := mat.DenseCopyOf(X)
	for i := range out.RawMatrix().Rows {
		row := out.RawRowView(i)
		for j, x := range row {
			row[j] = math.Copysign(math.Log1p(f.factor[j]*math.Abs(x)), x)
		}
	}
	return out, nil
}

// OutputWidth returns the number of columns, which equals that of the input.
func (f *FittedSignedLog) OutputWidth() int { return len(f.factor) }

// OutputSchema keeps the column names.
func (f *FittedSignedLog) OutputSchema(in datasets.Schema) datasets.Schema { return in }

// Export adds Transform to g, for ONNX, Go and Python.
func (f *FittedSignedLog) Export(g *graph.Graph, rows graph.Value) (graph.Value, error) {
	size := g.Log1p(g.Mul(g.Abs(rows), g.Row(f.factor)))
	return g.Where(g.Less(rows, g.Scalar(0)), g.Neg(size), size), nil
}

// State serializes the fitted parameters. Require validates a possibly damaged file, so that
// Transform cannot fail.
func (f *FittedSignedLog) State(s *model.State) {
	s.Floats("factor", &f.factor)
	ok := len(f.factor) > 0
	for _, v := range f.factor {
		ok = ok && v >= 0 && !math.IsInf(v, 0)
	}
	s.Require(ok, "factor is empty or not finite")
}
