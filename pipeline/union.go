package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline/internal/place"
	"github.com/bochner-ml/bochner/pipeline/internal/rows"
	"github.com/bochner-ml/bochner/transformer"
)

// Union is the spec of parallel maps of the same rows whose outputs are concatenated. It is a step
// itself. The inner product of two rows is the weighted sum over the parts,
//
//	z(x)'z(y) = Σ_p w_p z_p(x)'z_p(y),
//
// because part p is multiplied by √w_p. For example, features of two kernels with weights a and 1−a
// approximate the kernel a·k₁ + (1−a)·k₂.
//
// The output is sparse if every part is sparse; a shared value is preserved if it is the same in
// all parts. With dense and sparse parts, the output is dense up to 1024 columns or if at least a
// quarter of the columns come from dense parts, and sparse otherwise.
// Use [NewUnion]: the zero value is invalid.
type Union struct {
	Parts   []Step
	Weights []float64 // one weight ≥ 0 per part; nil means 1
}

// NewUnion returns the union of specs under their registered names.
func NewUnion(fitters ...transformer.Fitter) Union { return Union{Parts: Steps(fitters...)} }

// Params declares weights, and the parameters of the parts, prefixed by the name of the part.
func (u *Union) Params(l *param.List) {
	l.Floats(&u.Weights, "weights", "weights of the kernels of the parts; default: 1", param.AtLeast(0))
	l.Check("weights", func() error {
		if n := len(u.Weights); n != 0 && n != len(u.Parts) {
			return fmt.Errorf("%d numbers, one for each part", len(u.Parts))
		}
		return nil
	})
	u.Parts = slices.Clone(u.Parts)
	DeclareSteps(l, u.Parts)
}

// Holds describes the list of parts.
func (Union) Holds() ChildrenSpec {
	return ChildrenSpec{Key: "parts", What: "part", Doc: "steps whose outputs are concatenated", Parallel: true}
}

// Children returns the parts.
func (u Union) Children() []Step { return u.Parts }

// WithChildren returns a union of other parts with the same weights.
func (u Union) WithChildren(parts []Step) transformer.Fitter {
	return Union{Parts: parts, Weights: slices.Clone(u.Weights)}
}

// encodedBy returns the columns of a part with its name, if they have no other.
func encodedBy(part string, in datasets.InferredSchema) datasets.InferredSchema {
	in = in.Each(func(c *datasets.InferredColumn) { c.EncodedBy = cmp.Or(c.EncodedBy, part) })
	in.EncodedFrom = slices.Clone(in.EncodedFrom)
	for j := range in.EncodedFrom {
		in.EncodedFrom[j].EncodedBy = cmp.Or(in.EncodedFrom[j].EncodedBy, part)
	}
	return in
}

// concatColumns concatenates the columns of parts; they can no longer be selected by name.
func concatColumns(parts []datasets.InferredSchema) datasets.InferredSchema {
	var out datasets.InferredSchema
	known := true
	for _, p := range parts {
		known = known && (p.EncodedFrom != nil || len(p.Columns) > 0 && !p.More)
		out.EncodedFrom = append(out.EncodedFrom, p.EncodedFrom...)
		out.Columns = append(out.Columns, p.Columns...)
		out.More = out.More || p.More || len(p.Columns) == 0
		out.Unknown = out.Unknown || p.Unknown
	}
	if !known {
		out.EncodedFrom = nil
	}
	return out
}

// Route infers the output of every part and concatenates them.
func (u Union) Route(in datasets.InferredSchema, child func(i int,
	in datasets.InferredSchema) datasets.InferredSchema) (datasets.InferredSchema, error) {
	parts := make([]datasets.InferredSchema, len(u.Parts))
	for i := range parts {
		parts[i] = encodedBy(u.Parts[i].Path(), child(i, in))
	}
	return concatColumns(parts), nil
}

// Fit fits each part to the rows.
func (u Union) Fit(ctx context.Context, data datasets.Set) (transformer.Transformer, error) {
	r, err := rows.Of(data, defaultMemory)
	if err != nil {
		return nil, place.Here(err)
	}
	return u.fit(ctx, r, data.Cols())
}

// FitSource is Fit over a source. Its memory does not grow with the number of rows if every part is
// a [transformer.BlockFitter].
func (u Union) FitSource(ctx context.Context, data datasets.Source) (transformer.Transformer, error) {
	r, err := rows.From(ctx, data, defaultMemory)
	if err != nil {
		return nil, place.Here(err)
	}
	_, cols := data.Dims()
	return u.fit(ctx, r, cols)
}

func (u Union) fit(ctx context.Context, r rows.Rows, cols int) (transformer.Transformer, error) {
	parts, specs, err := u.split()
	if err != nil {
		return nil, err
	}
	a, err := fitParts(ctx, "part", r, cols, parts, specs)
	if err != nil {
		return nil, err
	}
	return unionOf(a), nil
}

// split returns the unfitted parts and their specs.
func (u Union) split() ([]*part, []transformer.Fitter, error) {
	if len(u.Parts) == 0 {
		return nil, nil, place.Here(errors.New("a union without parts (start from NewUnion())"))
	}
	if err := u.Holds().Check(u.Children()); err != nil {
		return nil, nil, place.Here(err)
	}
	if err := specs.CheckFit(&u); err != nil {
		return nil, nil, place.Here(err)
	}
	parts, specs := make([]*part, len(u.Parts)), make([]transformer.Fitter, len(u.Parts))
	for i, p := range u.Parts {
		parts[i] = &part{Step: rows.Step{Name: p.Path()}, scale: 1}
		if len(u.Weights) > 0 {
			parts[i].scale = math.Sqrt(u.Weights[i])
		}
		specs[i] = p.Fitter
	}
	return parts, specs, nil
}

// Tags returns whether every part is data-independent, and of a fixed width.
func (u Union) Tags() datasets.Tags {
	return datasets.Tags{DataIndependent: rows.FitWithoutRows(named(u.Parts)), FixedWidth: !slices.ContainsFunc(u.Parts,
		func(s Step) bool { return !datasets.TagsOf(s.Fitter).FixedWidth })}
}

// fittedUnion is a fitted [Union].
type fittedUnion struct{ concatenation }

func unionOf(c *concatenation) *fittedUnion {
	return &fittedUnion{concatenation{cols: c.cols, parts: c.parts, sparse: c.sparse}}
}

// Training returns the map of training rows, or nil if every part maps them like other rows.
func (u *fittedUnion) Training(first int) transformer.Transformer {
	if training := u.training(first); training != nil {
		return unionOf(training)
	}
	return nil
}

// Inference returns the map without the data that only Training requires.
func (u *fittedUnion) Inference() transformer.Transformer { return unionOf(u.inference()) }

// Len returns the number of parts.
func (u *fittedUnion) Len() int { return len(u.parts) }

// Part returns the name, the fitted value and the factor of part i.
func (u *fittedUnion) Part(i int) (name string, fitted transformer.Transformer, scale float64) {
	return u.parts[i].Name, u.parts[i].Fitted, u.parts[i].scale
}

// State serializes every part under its name.
func (u *fittedUnion) State(s *model.State) { u.state(s) }
