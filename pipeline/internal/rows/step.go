package rows

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/pipeline/internal/place"
	"github.com/bochner-ml/bochner/single"
	"github.com/bochner-ml/bochner/transformer"
)

// Step is a fitted transformer with its place in a chain.
type Step struct {
	Name    string
	Fitted  transformer.Transformer
	Width   int  // number of output columns
	Dense   bool // whether they are dense and can be written into a tile
	Float32 bool // whether they are written in single precision; then Dense is true
	Train   bool // during a fit: whether the rows of a source or of MapAll are training rows
}

// Training returns the step for the training rows from row first on, and whether it differs from that for other rows.
func (s *Step) Training(first int) (own *Step, differs bool) {
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

// Inference returns the step without state that is only needed for the fit.
func (s *Step) Inference() *Step {
	own := *s
	own.Train = false
	if t, ok := s.Fitted.(transformer.TrainingTransformer); ok && t.Training(0) != nil {
		own.Fitted = t.Inference()
	}
	return &own
}

// at returns the step for the rows from row first on.
func (s *Step) at(first int) *Step {
	if s.Train {
		s, _ = s.Training(first)
	}
	return s
}

// ApplyTile maps X: into t where the features are dense, else into a matrix of the step's own.
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

// applySingle maps X to float32 rows in dst; t is a buffer for steps without a float32 path.
func (s *Step) applySingle(ctx context.Context, dst *single.Dense, t *Tile, X mat.Matrix) error {
	if f, ok := s.Fitted.(transformer.SingleTransformer); ok {
		return place.At("step", s.Name, f.TransformSingle(ctx, dst, X))
	}
	n, _ := X.Dims()
	wide := t.Shape(n, s.Width)
	if _, err := s.Apply(ctx, wide, X); err != nil {
		return err
	}
	round(dst, wide)
	return nil
}

// Apply maps X, into dst if it is not nil and the step supports it, else into a new matrix.
func (s *Step) Apply(ctx context.Context, dst *mat.Dense, X mat.Matrix) (mat.Matrix, error) {
	if dst != nil && s.Dense {
		err := s.Fitted.(transformer.DenseTransformer).TransformTo(ctx, dst, X)
		return dst, place.At("step", s.Name, err)
	}
	Z, err := s.Fitted.Transform(ctx, X)
	if err != nil {
		return nil, place.At("step", s.Name, err)
	}
	if _, w := Z.Dims(); w != s.Width {
		return nil, place.At("step", s.Name, fmt.Errorf("%d columns come out, %d at fit", w, s.Width))
	}
	return Z, nil
}

// Learn determines width and format of the fitted step's output by mapping a sample row.
func (s *Step) Learn(ctx context.Context, sample mat.Matrix) (mat.Matrix, error) {
	Z, err := s.Fitted.Transform(ctx, sample)
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
