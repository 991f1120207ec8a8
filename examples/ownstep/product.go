package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// Product multiplies kernels: its features are all products of one feature of each part, times Scale, so
// that z(x)'z(y) = Scale²·Π_p z_p(x)'z_p(y). It holds other steps, as [pipeline.Union] does.
//
// Shapes: n×d → n×Π D_p, dense. Cost: that of the parts, and n·Π D_p products.
type Product struct {
	Parts []pipeline.Step
	Scale float64
}

// NewProduct returns the spec with Scale 1.
func NewProduct(parts ...transformer.Fitter) Product {
	return Product{Parts: pipeline.Steps(parts...), Scale: 1}
}

// Params declares the scale, and the parameters of the parts below their names.
func (p *Product) Params(l *param.List) {
	l.Float(&p.Scale, "scale", "what every feature is multiplied by", param.Positive())
	p.Parts = append([]pipeline.Step(nil), p.Parts...)
	pipeline.DeclareSteps(l, p.Parts)
}

// Holds describes the parts.
func (Product) Holds() pipeline.ChildrenSpec {
	return pipeline.ChildrenSpec{Key: "parts", What: "part", Doc: "the maps whose kernels are multiplied", Parallel: true}
}

// Children returns the parts.
func (p Product) Children() []pipeline.Step { return p.Parts }

// WithChildren returns the product of other parts.
func (p Product) WithChildren(parts []pipeline.Step) transformer.Fitter {
	p.Parts = parts
	return p
}

// Route calls child for every part; the output is numeric.
func (p Product) Route(in datasets.InferredSchema, child func(i int,
	in datasets.InferredSchema) datasets.InferredSchema) (datasets.InferredSchema, error) {
	var out datasets.InferredSchema
	for i := range p.Parts {
		out.Unknown = child(i, in).Unknown || out.Unknown
	}
	return out, nil
}

// Tags returns whether every part is data-independent; a search then fits them once for all folds.
func (p Product) Tags() datasets.Tags {
	return datasets.Tags{DataIndependent: !slices.ContainsFunc(p.Parts,
		func(part pipeline.Step) bool { return !datasets.TagsOf(part.Fitter).DataIndependent })}
}

// Cost returns the width, if every part declares its width.
func (p Product) Cost(shape datasets.Shape) datasets.Cost {
	out := datasets.Cost{OutputWidth: 1}
	for _, part := range p.Parts {
		c, ok := part.Fitter.(datasets.CostEstimator)
		if !ok {
			return datasets.Cost{OutputWidth: shape.Cols, WidthEstimated: true}
		}
		cost := c.Cost(shape)
		out.Flops, out.OutputWidth, out.WidthEstimated = out.Flops+cost.Flops, out.OutputWidth*cost.OutputWidth,
			out.WidthEstimated || cost.WidthEstimated
	}
	out.Flops += float64(shape.Rows) * float64(out.OutputWidth)
	return out
}

// Fit fits every part to the rows; it returns a [*FittedProduct].
func (p Product) Fit(ctx context.Context, data datasets.Set) (transformer.Transformer, error) {
	if err := data.Check(); err != nil {
		return nil, fmt.Errorf("product: %w", err)
	}
	return p.fit(ctx, func(part transformer.Fitter) (transformer.Transformer, error) { return part.Fit(ctx, data) })
}

// FitSource is Fit over a stream, for parts that can be fitted to one.
func (p Product) FitSource(ctx context.Context, data datasets.Source) (transformer.Transformer, error) {
	return p.fit(ctx, func(part transformer.Fitter) (transformer.Transformer, error) {
		if b, ok := part.(transformer.BlockFitter); ok {
			return b.FitSource(ctx, data)
		}
		set, err := datasets.ReadAll(ctx, data)
		if err != nil {
			return nil, err
		}
		return part.Fit(ctx, set)
	})
}

func (p Product) fit(ctx context.Context, fit func(part transformer.Fitter) (transformer.Transformer,
	error)) (transformer.Transformer, error) {
	if err := errors.Join(param.Check(p), p.Holds().Check(p.Children())); err != nil {
		return nil, fmt.Errorf("product: %w", err)
	}
	if len(p.Parts) == 0 {
		return nil, errors.New("product: there are no parts")
	}
	f := &FittedProduct{scale: p.Scale}
	for _, part := range p.Parts {
		fitted, err := fit(part.Fitter)
		if err != nil {
			return nil, fmt.Errorf("product: part %s: %w", part.Path(), err)
		}
		f.names, f.parts = append(f.names, part.Path()), append(f.parts, fitted)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return f, nil
}

// FittedProduct is a fitted [Product].
type FittedProduct struct {
	scale float64
	names []string
	parts []transformer.Transformer
}

// Transform returns the products of the features of every row.
func (f *FittedProduct) Transform(ctx context.Context, X mat.Matrix) (mat.Matrix, error) {
	if X == nil {
		return nil, errors.New("product: no matrix")
	}
	n, _ := X.Dims()
	if n == 0 {
		return nil, errors.New("product: no rows")
	}
	out := mat.NewDense(n, 1, nil)
	out.Apply(func(int, int, float64) float64 { return f.scale }, out)
	for k, part := range f.parts {
		Z, err := part.Transform(ctx, X)
		if err != nil {
			return nil, fmt.Errorf("product: part %s: %w", f.names[k], err)
		}
		_, have := out.Dims()
		_, more := Z.Dims()
		wider := mat.NewDense(n, have*more, nil)
		for i := range n {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			row, z := wider.RawRowView(i), mat.Row(nil, i, Z)
			for a, v := range out.RawRowView(i) {
				for b, w := range z {
					row[a*more+b] = v * w
				}
			}
		}
		out = wider
	}
	return out, nil
}

// State serializes every part under its name.
func (f *FittedProduct) State(s *model.State) {
	s.Float("scale", &f.scale)
	s.Strings("parts", &f.names)
	if s.Restoring() {
		s.Require(f.scale > 0 && !math.IsInf(f.scale, 0), "the scale is not a number > 0")
		s.Require(len(f.names) > 0 && len(f.names) < 100, "there are no parts, or too many")
		if s.Err() != nil {
			return
		}
		f.parts = make([]transformer.Transformer, len(f.names))
	}
	for i, name := range f.names {
		if s.Err() == nil {
			pipeline.KeepTransformer(s.Child(fmt.Sprintf("%d.%s", i, name)), &f.parts[i])
		}
	}
}

var _ pipeline.Composite = Product{}
