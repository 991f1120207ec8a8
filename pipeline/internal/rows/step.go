package rows

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/runtime/guard"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/pipeline/internal/place"
	"github.com/bochner-ml/bochner/transformer"
)

// Step is a fitted transformer with its name and the form of its output.
type Step struct {
	Name    string
	Fitted  transformer.Transformer
	Width   int  // number of output columns
	Dense   bool // whether the output is dense and can be written to a tile
	Float32 bool // whether the output is float32; implies Dense
	Train   bool // during a fit: whether MapAll and sources map training rows
}

// Training returns the step for the training rows from row first on, and whether it differs from s.
func (s *Step) Training(first int) (training *Step, differs bool) {
	t, ok := s.Fitted.(transformer.TrainingTransformer)
	if !ok {
		return s, false
	}
	fitted := t.Training(first)
	if fitted == nil {
		return s, false
	}
	view := *s
	view.Fitted = fitted
	return &view, true
}

// Inference returns the step without the data that only its fit requires.
func (s *Step) Inference() *Step {
	inference := *s
	inference.Train = false
	if t, ok := s.Fitted.(transformer.TrainingTransformer); ok && t.Training(0) != nil {
		inference.Fitted = t.Inference()
	}
	return &inference
}

// at returns the step for a block whose first row has index first.
func (s *Step) at(first int) *Step {
	if s.Train {
		s, _ = s.Training(first)
	}
	return s
}

// ApplyTile maps X, into t if the output is dense, else into a new matrix.
func (s *Step) ApplyTile(ctx context.Context, t *Tile, X mat.Matrix) (mat.Matrix, error) {
	n, _ := X.Dims()
	switch {
	case s.Float32:
		dst := t.ShapeSingle(n, s.Width)
		return dst, s.applySingle(ctx, dst, t, X)
	case s.Dense:
		return s.Apply(ctx, t.Shape(n, s.Width), X)
	}
	return s.Apply(ctx, nil, X)
}

// applySingle maps X into dst. If the step has no float32 implementation, it uses t for the float64
// result.
func (s *Step) applySingle(ctx context.Context, dst *matrices.Dense32, t *Tile, X mat.Matrix) error {
	if f, ok := s.Fitted.(transformer.SingleTransformer); ok {
		return place.At("step", s.Name, transformSingle(ctx, f, dst, X))
	}
	n, _ := X.Dims()
	wide := t.Shape(n, s.Width)
	if _, err := s.Apply(ctx, wide, X); err != nil {
		return err
	}
	round(dst, wide)
	return nil
}

// Apply maps X, into dst if it is not nil and the output is dense, else into a new matrix.
func (s *Step) Apply(ctx context.Context, dst *mat.Dense, X mat.Matrix) (mat.Matrix, error) {
	if dst != nil && s.Dense {
		return dst, place.At("step", s.Name, transformTo(ctx, s.Fitted.(transformer.DenseTransformer), dst, X))
	}
	Z, err := transform(ctx, s.Fitted, X)
	if err != nil {
		return nil, place.At("step", s.Name, err)
	}
	if _, w := Z.Dims(); w != s.Width {
		return nil, place.At("step", s.Name, fmt.Errorf("%d columns come out, %d at fit", w, s.Width))
	}
	return Z, nil
}

// transform calls Transform and checks the number of rows of its result.
func transform(ctx context.Context, t transformer.Transformer, X mat.Matrix) (Z mat.Matrix, err error) {
	defer guard.Recover(&err, t, "Transform")
	if Z, err = t.Transform(ctx, X); err != nil {
		return nil, err
	}
	n, _ := X.Dims()
	return Z, checkOutput(t, "Transform", Z, n, -1)
}

func transformTo(ctx context.Context, t transformer.DenseTransformer, dst *mat.Dense, X mat.Matrix) (err error) {
	defer guard.Recover(&err, t, "TransformTo")
	return t.TransformTo(ctx, dst, X)
}

func transformSingle(ctx context.Context, t transformer.SingleTransformer, dst *matrices.Dense32,
	X mat.Matrix) (err error) {
	defer guard.Recover(&err, t, "TransformSingle")
	return t.TransformSingle(ctx, dst, X)
}

// checkOutput returns an error if a method of owner returned no matrix, or one of other dimensions; width −1 stands
// for any.
func checkOutput(owner any, method string, Z mat.Matrix, rows, width int) error {
	if _, err := guard.NotNil(Z, nil); err != nil {
		return fmt.Errorf("%T.%s returned no matrix", owner, method)
	}
	n, w := Z.Dims()
	switch {
	case n != rows:
		return fmt.Errorf("%T.%s: the result must have a row for each of %d rows, got %d", owner, method, rows, n)
	case width >= 0 && w != width:
		return fmt.Errorf("%T.%s: the result must have %d columns as that of Transform, got %d", owner, method, width, w)
	}
	return nil
}

// Learn sets Width, Dense and Float32 from the output for one row, which it returns.
func (s *Step) Learn(ctx context.Context, sample mat.Matrix) (mat.Matrix, error) {
	Z, err := transform(ctx, s.Fitted, sample)
	if err != nil {
		return nil, err
	}
	_, s.Width = Z.Dims()
	_, isDense := Z.(*mat.Dense)
	d, canWrite := s.Fitted.(transformer.DenseTransformer)
	s.Dense = isDense && canWrite && d.OutputWidth() == s.Width
	s.Float32 = s.Float32 && s.Dense
	return Z, nil
}

// Describe returns the output schema of t.
func Describe(t transformer.Transformer, in datasets.Schema) datasets.Schema {
	if d, ok := t.(transformer.Describer); ok {
		return d.OutputSchema(in)
	}
	return in.WithColumns(nil)
}
