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

// Log takes the natural logarithm of 1 + |x|.
type Log struct{}

// Fit learns the number of columns.
func (Log) Fit(ctx context.Context, data datasets.Set) (transformer.Transformer, error) {
	return &FittedLog{width: data.Cols()}, nil
}

// RFF is a Log, unlike the type of the same name in package transformer.
type RFF struct{}

// Fit learns the number of columns.
func (RFF) Fit(ctx context.Context, data datasets.Set) (transformer.Transformer, error) {
	return Log{}.Fit(ctx, data)
}

// FittedLog is a fitted Log.
type FittedLog struct{ width int }

// Transform returns log(1 + |x|) of each entry.
func (f *FittedLog) Transform(ctx context.Context, X mat.Matrix) (mat.Matrix, error) {
	out := mat.DenseCopyOf(X)
	out.Apply(func(i, j int, v float64) float64 { return math.Log1p(math.Abs(v)) }, out)
	return out, nil
}

// State serializes the width.
func (f *FittedLog) State(s *model.State) { s.Int("width", &f.width) }
