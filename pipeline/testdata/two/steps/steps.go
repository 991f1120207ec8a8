// Package steps has the same name as a second package, for tests of the identification of types.
package steps

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/transformer"
)

// Log computes 10·log(1 + |x|).
type Log struct{}

// Fit learns the number of columns.
func (Log) Fit(ctx context.Context, data datasets.Set) (transformer.Transformer, error) {
	return &FittedLog{width: data.Cols()}, nil
}

// FittedLog is a fitted Log.
type FittedLog struct{ width int }

// Transform returns 10·log(1 + |x|) of each entry.
func (f *FittedLog) Transform(ctx context.Context, X mat.Matrix) (mat.Matrix, error) {
	out := mat.DenseCopyOf(X)
	out.Apply(func(i, j int, v float64) float64 { return 10 * math.Log1p(math.Abs(v)) }, out)
	return out, nil
}

// State serializes the width.
func (f *FittedLog) State(s *model.State) { s.Int("width", &f.width) }
