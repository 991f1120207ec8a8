package transformer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/transformer/internal/softmax"
)

// SoftmaxFeatures maps rows to positive random features whose inner products are unbiased estimates
// of the softmax kernel exp(γ·x'y).
//
//	z(x) = m^−½·[exp(ω₁'u − ‖u‖²/2), …, exp(ω_m'u − ‖u‖²/2)],   u = sqrt(γ)·x,   ω ~ N(0, I)
//
// If γ has one number per column, γ·x'y is Σ γ_j·x_j·y_j. The kernel is not shift-invariant: it
// grows with the norms of the rows and the cosine of their angle. It suits directions and rows with
// meaningful norms; for rows of equal norm it is a multiple of the gaussian kernel with γ/2. All
// features are positive. Package attention uses the same kernel.
//
// The variance of z(x)'z(y) is exp(2γ·x'y)·(exp(γ‖x + y‖²) − 1)/m for independent draws, so γ‖x‖²
// should not be much above 1. Orthogonal draws, in blocks of the number of columns, reduce it. Maps
// of one seed are nested: the first features of a wide map equal the narrow map up to the factor
// sqrt(m₁/m₂).
//
// Shapes: n×d → n×m, dense and positive; sparse input is supported. Cost: 2·n·d·m flops (nnz
// instead of n·d for sparse rows) and n·m exponentials, 4·d²·m flops for orthogonal draws; 20·d·m
// bytes for the draws. Unless Gamma is a rule, the fit depends on the number of columns only.
//
// Source: Choromanski et al., "Rethinking attention with Performers", ICLR 2021.
//
// Fit returns an error for a categorical column, a missing or infinite value, no rows, and a list
// of γ whose length is not the number of columns. Transform returns an error that names the row if
// the squares of its features could overflow; features that underflow become 0.
// Use [NewSoftmaxFeatures]: the zero value is invalid.
type SoftmaxFeatures struct {
	Gamma    kernel.Gamma // γ
	Features int          // m
	Draw     string       // distribution of ω: iid or orthogonal
	Seed     uint64
}

// NewSoftmaxFeatures returns the spec with 1000 features, orthogonal draws, and γ by
// [kernel.GammaScale].
func NewSoftmaxFeatures() SoftmaxFeatures {
	return SoftmaxFeatures{Gamma: kernel.GammaScale(), Features: 1000, Draw: "orthogonal"}
}

// Params declares gamma, features, draw and seed.
func (s *SoftmaxFeatures) Params(l *param.List) {
	l.Value(&s.Gamma, "gamma", "factor γ of the inner products of rows")
	l.Rougher("gamma")
	l.Int(&s.Features, "features", "output width m", param.Between(1, maxFeatures))
	l.MoreUnits("features")
	l.Choice(&s.Draw, "draw", "sampling method of the normal vectors", softmax.Draws...)
	l.Seed(&s.Seed, "seed", "seed of the draws")
}

// Tags returns that only the number of columns is learned if γ is fixed.
func (s SoftmaxFeatures) Tags() datasets.Tags {
	return datasets.Tags{DataIndependent: s.Gamma.Rule() == "", SparseInvariant: true, FixedWidth: true}
}

// Fit draws the features; it returns a *fittedSoftmaxFeatures.
func (s SoftmaxFeatures) Fit(ctx context.Context, data datasets.Set) (Transformer, error) {
	return fitFinite(ctx, "softmax_features", s, data)
}

// FitSource is Fit over a source. It reads the rows only if γ is a rule.
func (s SoftmaxFeatures) FitSource(ctx context.Context, data datasets.Source) (Transformer, error) {
	if err := checkNumericSpec("softmax_features", s, data.Schema()); err != nil {
		return nil, err
	}
	gamma, err := s.resolve(ctx, data)
	if err != nil {
		return nil, err
	}
	normal, err := softmax.Draw(ctx, s.Draw, s.Seed, len(gamma), s.Features)
	if err != nil {
		return nil, wrapError(ctx, "softmax_features", err)
	}
	return newSoftmaxFeatures(normal, gamma)
}

// resolve returns γ for each column. Rules are those of the gaussian kernel.
func (s SoftmaxFeatures) resolve(ctx context.Context, data datasets.Source) ([]float64, error) {
	gaussian, _ := spectral.FourierKernel("gaussian", spectral.Shape{})
	return resolveGamma(ctx, s.Gamma, "softmax_features", gaussian, data, s.Seed)
}

// Cost returns the cost of mapping the rows and the memory of draws and features.
func (s SoftmaxFeatures) Cost(shape datasets.Shape) datasets.Cost {
	n, d, m := float64(shape.Rows), float64(shape.Cols), float64(s.Features)
	const (
		exponential   = 16
		soonExponents = 157 // as soonProjected
	)
	cost := datasets.Cost{Flops: n * m * (2*shape.Entries() + exponential),
		Bytes: int64(20*d*m + 8*float64(shape.RowsInMemory())*m), OutputWidth: s.Features,
		CheapToRecompute: shape.Entries() <= soonExponents}
	if s.Draw == "orthogonal" {
		cost.Flops += 4 * d * d * m
	}
	return cost
}

// fittedSoftmaxFeatures is a fitted [SoftmaxFeatures].
type fittedSoftmaxFeatures struct {
	gamma    []float64 // d
	features softmax.Map
}

// newSoftmaxFeatures returns the map with the draws normal, d×m, and γ of each column.
func newSoftmaxFeatures(normal *mat.Dense, gamma []float64) (*fittedSoftmaxFeatures, error) {
	factor := make([]float64, len(gamma))
	for j, g := range gamma {
		factor[j] = math.Sqrt(g)
	}
	features, err := softmax.New(normal, factor)
	if err != nil {
		return nil, fmt.Errorf("transformer: softmax_features: %w", err)
	}
	return &fittedSoftmaxFeatures{gamma, features}, nil
}

// Transform returns the features of the rows of X in a new matrix.
func (f *fittedSoftmaxFeatures) Transform(ctx context.Context, X mat.Matrix) (mat.Matrix, error) {
	return transformDense(ctx, f, X)
}

// TransformTo writes the features of the rows of X to dst.
func (f *fittedSoftmaxFeatures) TransformTo(ctx context.Context, dst *mat.Dense, X mat.Matrix) error {
	X, err := checkMap("softmax_features", X, len(f.gamma), f.features.Float64.Limit, dst, f.OutputWidth())
	if err != nil {
		return err
	}
	return locateOverflow(ctx, f.features.Float64.Transform(ctx, design.View(dst), X))
}

// TransformSingle writes the features of the rows of X to dst, computed in float32.
func (f *fittedSoftmaxFeatures) TransformSingle(ctx context.Context, dst *matrices.Dense32, X mat.Matrix) error {
	if f.features.Float32.Limit < 0 {
		return errors.New("transformer: softmax_features: a normal number overflows in single precision")
	}
	X, err := checkMap("softmax_features", X, len(f.gamma), f.features.Float32.Limit, dst, f.OutputWidth())
	if err != nil {
		return err
	}
	return locateOverflow(ctx, f.features.Float32.Transform(ctx, design.ViewFloat32(dst), X))
}

// locateOverflow adds the row to an overflow error.
func locateOverflow(ctx context.Context, err error) error {
	if large := (*softmax.OverflowError)(nil); errors.As(err, &large) {
		err = &datasets.RowError{Row: large.Row, Err: err}
	}
	return wrapError(ctx, "softmax_features", err)
}

// Export adds the features of the rows to g.
func (f *fittedSoftmaxFeatures) Export(g *graph.Graph, rows graph.Value) (graph.Value, error) {
	return f.features.Export(g, rows), nil
}

// InputWidth returns the number of input columns.
func (f *fittedSoftmaxFeatures) InputWidth() int { return len(f.gamma) }

// Tags returns the number of input columns.
func (f *fittedSoftmaxFeatures) Tags() datasets.Tags {
	return datasets.Tags{InputWidth: f.InputWidth()}
}

// OutputWidth returns m.
func (f *fittedSoftmaxFeatures) OutputWidth() int { return f.features.Width() }

// OutputSchema returns a schema of numeric columns without names.
func (f *fittedSoftmaxFeatures) OutputSchema(in datasets.Schema) datasets.Schema {
	return in.WithColumns(nil)
}

// Normal returns a copy of the draws ω, d×m.
func (f *fittedSoftmaxFeatures) Normal() *mat.Dense { return mat.DenseCopyOf(f.features.Normal) }

// Gamma returns γ for each column.
func (f *fittedSoftmaxFeatures) Gamma() []float64 { return slices.Clone(f.gamma) }

// Kernel returns exp(γ·x'y), which the features approximate.
func (f *fittedSoftmaxFeatures) Kernel(x, y []float64) (float64, error) {
	if len(x) != len(f.gamma) || len(y) != len(f.gamma) {
		return 0, fmt.Errorf("transformer: softmax_features: %d columns at fit, %d and %d now", len(f.gamma), len(x), len(y))
	}
	product := 0.0
	for j, g := range f.gamma {
		product += g * x[j] * y[j]
	}
	if k := math.Exp(product); !math.IsNaN(k) && !math.IsInf(k, 0) {
		return k, nil
	}
	return 0, fmt.Errorf("transformer: softmax_features: the kernel is exp(%g), which is no number", product)
}

// WithFeatures returns the nested map of the first features. Its columns are the first columns of
// this map, up to scale.
func (f *fittedSoftmaxFeatures) WithFeatures(features int) (*fittedSoftmaxFeatures, error) {
	if features < 1 || features > f.OutputWidth() {
		return nil, fmt.Errorf("transformer: softmax_features: number of features must be from 1 to %[2]d, got %[1]d",
			features, f.OutputWidth())
	}
	return &fittedSoftmaxFeatures{f.gamma, f.features.First(features)}, nil
}

// State serializes the fitted parameters.
func (f *fittedSoftmaxFeatures) State(s *model.State) {
	normal := f.features.Normal
	s.Matrix("normal", &normal)
	s.Floats("gamma", &f.gamma)
	if !s.Restoring() || s.Err() != nil {
		return
	}
	s.Require(normal != nil, "there are no draws")
	if s.Err() != nil {
		return
	}
	d, _ := normal.Dims()
	s.Require(len(f.gamma) == d, "draws and gamma do not fit")
	s.Require(allFinite(normal.RawMatrix().Data), "draws are not finite")
	requireGamma(s, f.gamma)
	if s.Err() != nil {
		return
	}
	read, err := newSoftmaxFeatures(normal, f.gamma)
	if err != nil {
		s.Fail("%v", err)
		return
	}
	*f = *read
}
