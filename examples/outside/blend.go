package outside

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/pass"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// Blend adds up the features of maps of one width, each times a weight:
//
//	z(x) = Σ_p w_p·z_p(x).
//
// If the maps are random, independent and of mean 0, cross products vanish in expectation, so that
// z(x)'z(y) ≈ Σ w_p²·k_p(x, y): the kernel of a pipeline.Union with the width of one part.
//
// Shapes: n×d → n×D, dense. Cost: that of the parts.
type Blend struct {
	Parts   []pipeline.Step
	Weights []float64 // one > 0 for each part; nil means 1
}

// NewBlend returns the spec with equal weights.
func NewBlend(parts ...transformer.Fitter) Blend { return Blend{Parts: pipeline.Steps(parts...)} }

// Params declares the weights, and the parameters of the parts below their names.
func (b *Blend) Params(l *param.List) {
	l.Floats(&b.Weights, "weights", "what the features of each part are multiplied by; none stands for 1",
		param.Positive())
	l.Check("weights", func() error {
		if n := len(b.Weights); n != 0 && n != len(b.Parts) {
			return fmt.Errorf("%d numbers, one for each part", len(b.Parts))
		}
		return nil
	})
	b.Parts = slices.Clone(b.Parts)
	pipeline.DeclareSteps(l, b.Parts)
}

// Holds describes the parts.
func (Blend) Holds() pipeline.ChildrenSpec {
	return pipeline.ChildrenSpec{Key: "parts", What: "part", Doc: "the maps whose features are added up", Parallel: true}
}

// Children returns the parts.
func (b Blend) Children() []pipeline.Step { return b.Parts }

// WithChildren returns the blend of other parts.
func (b Blend) WithChildren(parts []pipeline.Step) transformer.Fitter {
	return Blend{Parts: parts, Weights: slices.Clone(b.Weights)}
}

// Route calls child for every part; the output is numeric.
func (b Blend) Route(in datasets.InferredSchema, child func(i int,
	in datasets.InferredSchema) datasets.InferredSchema) (datasets.InferredSchema, error) {
	out := datasets.InferredSchema{}
	for i := range b.Parts {
		out.Unknown = child(i, in).Unknown || out.Unknown
	}
	return out, nil
}

// Tags returns whether every part is data-independent.
func (b Blend) Tags() datasets.Tags {
	return datasets.Tags{DataIndependent: !slices.ContainsFunc(b.Parts,
		func(part pipeline.Step) bool { return !datasets.TagsOf(part.Fitter).DataIndependent })}
}

// Cost adds up the costs of the parts. The width is that of the first.
func (b Blend) Cost(shape datasets.Shape) datasets.Cost {
	out := datasets.Cost{OutputWidth: -1}
	for i, part := range b.Parts {
		cost := pipeline.NewChain(part.Fitter).Cost(shape)
		out.Flops, out.Bytes, out.WidthEstimated = out.Flops+cost.Flops, max(out.Bytes, cost.Bytes), out.WidthEstimated ||
			cost.WidthEstimated
		if i == 0 {
			out.OutputWidth = cost.OutputWidth
		}
	}
	return out
}

func (b Blend) check() error {
	if err := errors.Join(param.Check(b), b.Holds().Check(b.Children())); err != nil {
		return err
	}
	if len(b.Parts) == 0 {
		return errors.New("there are no parts")
	}
	return nil
}

// chain is part i as a chain, which is fitted in memory, from a stream and by passes, rowless or not.
func (b Blend) chain(i int) pipeline.Chain { return pipeline.Chain{Steps: b.Parts[i : i+1]} }

// fit fits every part by the given function.
func (b Blend) fit(ctx context.Context, fit func(part pipeline.Chain) (transformer.Transformer,
	error)) (transformer.Transformer, error) {
	if err := b.check(); err != nil {
		return nil, fmt.Errorf("blend: %w", err)
	}
	parts := make([]transformer.Transformer, len(b.Parts))
	for i := range parts {
		var err error
		if parts[i], err = fit(b.chain(i)); err != nil {
			return nil, fmt.Errorf("blend: %w", err)
		}
	}
	return b.fitted(ctx, parts)
}

// fitted returns the fitted step, given the fitted parts.
func (b Blend) fitted(ctx context.Context, parts []transformer.Transformer) (transformer.Transformer, error) {
	f := &FittedBlend{weights: slices.Clone(b.Weights), parts: parts}
	if len(f.weights) == 0 {
		f.weights = slices.Repeat([]float64{1}, len(parts))
	}
	for i, part := range b.Parts {
		f.names = append(f.names, part.Path())
		if have, want := f.chain(i).OutputWidth(), f.chain(0).OutputWidth(); have != want {
			return nil, fmt.Errorf("blend: part %s makes %d columns, part %s %d: they have to be as many", f.names[0], want,
				f.names[i], have)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return f, nil
}

// Fit fits every part to the rows; it returns a [*FittedBlend].
func (b Blend) Fit(ctx context.Context, data datasets.Set) (transformer.Transformer, error) {
	if err := data.Check(); err != nil {
		return nil, fmt.Errorf("blend: %w", err)
	}
	return b.fit(ctx, func(part pipeline.Chain) (transformer.Transformer, error) { return part.Fit(ctx, data) })
}

// FitSource is Fit over a stream of blocks.
func (b Blend) FitSource(ctx context.Context, data datasets.Source) (transformer.Transformer, error) {
	return b.fit(ctx, func(part pipeline.Chain) (transformer.Transformer, error) { return part.FitSource(ctx, data) })
}

// FirstStage returns the blend without weights, which are applied after the parts are fitted: a
// search over weights fits the parts once.
func (b Blend) FirstStage() transformer.Fitter {
	b.Weights = nil
	return b
}

// FinishFit gives the fitted parts other weights.
func (b Blend) FinishFit(learned transformer.Transformer) (transformer.Transformer, error) {
	f, ok := learned.(*FittedBlend)
	if !ok || f == nil || len(f.parts) != len(b.Parts) {
		return nil, fmt.Errorf("blend: a %T is not what these parts were fitted to", learned)
	}
	if err := b.check(); err != nil {
		return nil, fmt.Errorf("blend: %w", err)
	}
	derived := *f
	if derived.weights = slices.Clone(b.Weights); len(b.Weights) == 0 {
		derived.weights = slices.Repeat([]float64{1}, len(f.parts))
	}
	return &derived, nil
}

// Start starts the passes of all parts.
func (b Blend) Start(ctx context.Context, schema datasets.Schema, cols int) (datasets.Pass, error) {
	if err := b.check(); err != nil {
		return nil, fmt.Errorf("blend: %w", err)
	}
	sums := &blendSums{spec: b, parts: make([]partSums, len(b.Parts))}
	for i := range sums.parts {
		begun, err := b.chain(i).Start(ctx, schema, cols)
		if err != nil {
			return nil, fmt.Errorf("blend: %w", err)
		}
		sums.parts[i].pass = begun
	}
	return pass.Begin(pass.Config{Name: "blend", Spec: b, Schema: schema, Cols: cols}, sums), ctx.Err()
}

// Finish returns the [*FittedBlend].
func (b Blend) Finish(ctx context.Context, last datasets.Pass) (transformer.Transformer, error) {
	all, _, err := pass.Last(ctx, "blend", b, last)
	if err != nil {
		return nil, err
	}
	parts := make([]transformer.Transformer, len(b.Parts))
	for i, part := range all.(*blendSums).parts {
		if parts[i], err = b.chain(i).Finish(ctx, part.pass); err != nil {
			return nil, fmt.Errorf("blend: %w", err)
		}
	}
	return b.fitted(ctx, parts)
}

// blendSums are the passes of the parts. A finished part stores its last pass until the others
// finish.
type blendSums struct {
	spec  Blend
	parts []partSums
}

type partSums struct {
	pass datasets.Pass
	done bool
}

// Add adds a block to the passes of the parts that are not done.
func (b *blendSums) Add(ctx context.Context, first int, block datasets.Set) error {
	for _, part := range b.parts {
		if part.done {
			continue
		}
		if err := part.pass.Add(ctx, block); err != nil {
			return fmt.Errorf("blend: %w", err)
		}
	}
	return ctx.Err()
}

// Merge merges part by part. Finished parts are equal.
func (b *blendSums) Merge(ctx context.Context, other pass.Sums) error {
	for i, part := range other.(*blendSums).parts {
		if part.done != b.parts[i].done {
			return errors.New("blend: these are not passes over the same rows")
		}
		if part.done {
			continue
		}
		if err := b.parts[i].pass.Merge(ctx, part.pass); err != nil {
			return fmt.Errorf("blend: %w", err)
		}
	}
	return nil
}

// Next starts the next pass of each unfinished part.
func (b *blendSums) Next(ctx context.Context) (pass.Sums, error) {
	next, left := &blendSums{spec: b.spec, parts: slices.Clone(b.parts)}, false
	for i, part := range b.parts {
		if part.done {
			continue
		}
		begun, err := part.pass.Next(ctx)
		if err != nil {
			return nil, fmt.Errorf("blend: %w", err)
		}
		if next.parts[i].done = begun == nil; begun != nil {
			next.parts[i].pass, left = begun, true
		}
	}
	if !left {
		return nil, ctx.Err()
	}
	return next, ctx.Err()
}

// State carries the passes of the parts to a file and back.
func (b *blendSums) State(s *model.State) {
	for i := range b.parts {
		c := s.Child(b.spec.Parts[i].Path())
		c.Bool("done", &b.parts[i].done)
		if s.Err() == nil {
			b.parts[i].pass.State(c.Child("pass"))
		}
	}
}

// FittedBlend is a fitted [Blend].
type FittedBlend struct {
	names   []string
	weights []float64
	parts   []transformer.Transformer // each a *pipeline.FittedChain
}

func (f *FittedBlend) chain(i int) *pipeline.FittedChain { return f.parts[i].(*pipeline.FittedChain) }

// InputWidth returns the number of input columns.
func (f *FittedBlend) InputWidth() int { return f.chain(0).InputWidth() }

// Tags returns the number of input columns.
func (f *FittedBlend) Tags() datasets.Tags { return datasets.Tags{InputWidth: f.InputWidth()} }

// OutputWidth returns that of each part.
func (f *FittedBlend) OutputWidth() int { return f.chain(0).OutputWidth() }

// Transform returns the sums of the features of every row.
func (f *FittedBlend) Transform(ctx context.Context, X mat.Matrix) (mat.Matrix, error) {
	if X == nil {
		return nil, errors.New("blend: no matrix")
	}
	var out *mat.Dense
	for k, part := range f.parts {
		Z, err := part.Transform(ctx, X)
		if err != nil {
			return nil, fmt.Errorf("blend: %w", err)
		}
		if n, width := Z.Dims(); out == nil {
			out = mat.NewDense(n, width, nil)
		}
		weight := f.weights[k]
		out.Apply(func(i, j int, sum float64) float64 { return sum + weight*Z.At(i, j) }, out)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return out, nil
}

// Export adds the step to g, and reports every part without export.
func (f *FittedBlend) Export(g *graph.Graph, rows graph.Value) (graph.Value, error) {
	var sum graph.Value
	var errs []error
	for i := range f.parts {
		z, err := f.chain(i).Export(g, rows)
		errs = append(errs, graph.WithPath(f.names[i], err))
		if z = g.Mul(z, g.Scalar(f.weights[i])); i > 0 {
			z = g.Add(sum, z)
		}
		sum = z
	}
	return sum, graph.Join(errs...)
}

// State serializes every part under its name.
func (f *FittedBlend) State(s *model.State) {
	s.Strings("parts", &f.names)
	s.Floats("weights", &f.weights)
	if s.Restoring() {
		s.Require(len(f.names) > 0 && len(f.names) == len(f.weights), "there are no parts, or other weights")
		s.Require(!slices.ContainsFunc(f.weights, func(w float64) bool { return !(w > 0) || math.IsInf(w, 0) }),
			"a weight is not a number > 0")
		if s.Err() != nil {
			return
		}
		f.parts = make([]transformer.Transformer, len(f.names))
	}
	for i, name := range f.names {
		if s.Err() != nil {
			return
		}
		pipeline.KeepTransformer(s.Child(fmt.Sprintf("%d.%s", i, name)), &f.parts[i])
		chain, ok := f.parts[i].(*pipeline.FittedChain)
		s.Require(ok, "a part is no chain")
		if s.Err() == nil {
			s.Require(chain.InputWidth() == f.InputWidth() && chain.OutputWidth() == f.OutputWidth(), "parts differ in width")
		}
	}
}

var (
	_ pipeline.Composite         = Blend{}
	_ transformer.PassFitter     = Blend{}
	_ transformer.TwoStageFitter = Blend{}
	_ datasets.Tagger            = Blend{}
	_ datasets.CostEstimator     = Blend{}
	_ graph.StepExporter         = (*FittedBlend)(nil)
	_ model.Stateful             = (*FittedBlend)(nil)
)
