package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/transformer"
)

// ReLU maps rows to a layer of rectified linear units with random weights: z_j(x) =
// sqrt(2/D)·max(0, w_j'x), w_j normal. Their inner product approximates the arc-cosine kernel of
// order 1,
//
//	k(x, y) = |x|·|y|·(sin θ + (π − θ)·cos θ)/π,  θ the angle between x and y.
//
// Shapes: n×d → n×D, dense. Cost: 2·n·d·D operations. Source: Cho and Saul, "Kernel methods for
// deep learning", NIPS 2009.
//
// Unit j is drawn from a separate random stream, so the units of a narrow map are the first ones of
// a wide map: a search over Features maps the rows once ([transformer.FamilyFitter]).
type ReLU struct {
	Features int // D
	Seed     uint64
}

// NewReLU returns the spec of 500 units.
func NewReLU() ReLU { return ReLU{Features: 500} }

// Params declares features and seed.
func (s *ReLU) Params(l *param.List) {
	l.Int(&s.Features, "features", "number of units D", param.Between(1, 1<<20))
	l.MoreUnits("features")
	l.Seed(&s.Seed, "seed", "seed of the weights")
}

// Tags returns that only the number of columns is learned.
func (ReLU) Tags() datasets.Tags { return datasets.Tags{DataIndependent: true, FixedWidth: true} }

// Cost returns the width and the work.
func (s ReLU) Cost(shape datasets.Shape) datasets.Cost {
	return datasets.Cost{Flops: 2 * float64(shape.Rows) * float64(shape.Cols) * float64(s.Features),
		OutputWidth: s.Features,
		Bytes:       8 * int64(shape.Cols) * int64(s.Features)}
}

// Fit draws the weights; it returns a [*FittedReLU].
func (s ReLU) Fit(ctx context.Context, data datasets.Set) (transformer.Transformer, error) {
	if err := errors.Join(data.Check(), data.CheckFinite()); err != nil {
		return nil, fmt.Errorf("relu: %w", err)
	}
	return s.FitSource(ctx, data.Source())
}

// FitSource depends on the number of columns only.
func (s ReLU) FitSource(ctx context.Context, data datasets.Source) (transformer.Transformer, error) {
	f, err := s.draw(ctx, data)
	if err != nil {
		return nil, fmt.Errorf("relu: %w", err)
	}
	return f, nil
}

func (s ReLU) draw(ctx context.Context, data datasets.Source) (*FittedReLU, error) {
	if err := param.Check(s); err != nil {
		return nil, err
	}
	_, d := data.Dims()
	if d == 0 {
		return nil, datasets.ErrEmpty
	}
	f := &FittedReLU{weights: mat.NewDense(d, s.Features, nil)}
	for j := range s.Features {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rng := rand.New(rand.NewPCG(s.Seed, uint64(j)))
		for i := range d {
			f.weights.Set(i, j, rng.NormFloat64())
		}
	}
	return f, nil
}

// SameFamily reports whether other draws the same weights, more or fewer of them.
func (s ReLU) SameFamily(other transformer.Fitter) bool {
	o, ok := other.(ReLU)
	return ok && o.Seed == s.Seed
}

// FitFamily draws the weights of the widest map.
func (s ReLU) FitFamily(ctx context.Context, data datasets.Set, specs []transformer.Fitter) (*transformer.Family,
	error) {
	widest := ReLU{Seed: s.Seed}
	for i, spec := range specs {
		if !s.SameFamily(spec) {
			return nil, fmt.Errorf("relu: spec %d is not of the family", i)
		}
		widest.Features = max(widest.Features, spec.(ReLU).Features)
	}
	fitted, err := widest.Fit(ctx, data)
	if err != nil {
		return nil, err
	}
	out := &transformer.Family{Maps: reluFamily{fitted.(*FittedReLU)}, Shared: []string{"projection"}}
	for _, spec := range specs {
		width := spec.(ReLU).Features
		out.Members = append(out.Members, transformer.FamilyMember{Width: width,
			Scale: math.Sqrt(float64(widest.Features) / float64(width))})
	}
	return out, nil
}

// FamilyMembers are the first units of the widest map.
func (s ReLU) FamilyMembers(_ datasets.Shape, specs []transformer.Fitter) (members []transformer.FamilyMember) {
	for _, spec := range specs {
		members = append(members, transformer.FamilyMember{Width: spec.(ReLU).Features})
	}
	return members
}

// reluFamily is the wide map.
type reluFamily struct{ wide *FittedReLU }

func (f reluFamily) Widths() []int { return []int{f.wide.OutputWidth()} }

func (f reluFamily) Each(ctx context.Context, X mat.Matrix, which []int,
	yield func(which int, Z mat.Matrix) error) error {
	for _, i := range which {
		Z, err := f.wide.Transform(ctx, X)
		if err != nil {
			return err
		}
		if err := yield(i, Z); err != nil {
			return err
		}
	}
	return nil
}

// FittedReLU is a fitted [ReLU].
type FittedReLU struct {
	weights *mat.Dense // d×D
}

// OutputWidth returns D.
func (f *FittedReLU) OutputWidth() int {
	_, width := f.weights.Dims()
	return width
}

// Transform returns the units of every row.
func (f *FittedReLU) Transform(ctx context.Context, X mat.Matrix) (mat.Matrix, error) {
	if err := datasets.CheckInput(ctx, X, f.weights.RawMatrix().Rows); err != nil {
		return nil, fmt.Errorf("relu: %w", err)
	}
	var out mat.Dense
	out.Mul(mat.DenseCopyOf(X), f.weights)
	scale := math.Sqrt(2 / float64(f.OutputWidth()))
	out.Apply(func(_, _ int, v float64) float64 { return scale * max(0, v) }, &out)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return &out, nil
}

// State serializes the fitted parameters.
func (f *FittedReLU) State(s *model.State) {
	s.Matrix("weights", &f.weights)
	s.Require(f.weights != nil && !f.weights.IsEmpty(), "there are no weights")
	if s.Err() == nil {
		s.Require((datasets.Set{X: f.weights}).CheckFinite() == nil, "a weight is not finite")
	}
}

var _ transformer.FamilyFitter = ReLU{}
