package transformer

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/fourier"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// SkewedChi2 maps rows of inputs > −c to random features whose inner products are the skewed
// chi-squared kernel in the mean:
//
//	k(x, y) = Π_j 2·sqrt(x_j + c)·sqrt(y_j + c)/(x_j + y_j + 2c)
//	z(x) = sqrt(2/D)·[cos(ω₁'u + b₁), …, cos(ω_D'u + b_D)],   u = log(x + c),   b ~ U[0, 2π)
//
// The kernel is Π_j sech((u_j − v_j)/2), whose frequencies ω_j have the density sech(πω).
//
// Shapes: n×d → n×D, dense; sparse input is supported for c = 1, where zeros stay zeros. Cost:
// 2·n·d·D flops, n·d logarithms and n·D cosines; 20·d·D bytes for the frequencies. The fit depends
// on the number of columns only.
//
// Source: Li, Ionescu and Sminchisescu, "Random Fourier approximations for skewed multiplicative
// histogram kernels", DAGM 2010. It is scikit-learn's SkewedChi2Sampler.
//
// Fit returns an error for a categorical column, a missing or infinite value and no rows; Transform
// for a value ≤ −c. Use [NewSkewedChi2]: the zero value is invalid.
type SkewedChi2 struct {
	Features   int     // D
	Skewedness float64 // c
	Seed       uint64
}

// NewSkewedChi2 returns the spec of 1000 features of skewedness 1.
func NewSkewedChi2() SkewedChi2 { return SkewedChi2{Features: 1000, Skewedness: 1} }

// Params declares features, skewedness and seed.
func (s *SkewedChi2) Params(l *param.List) {
	l.Int(&s.Features, "features", "output width D", param.Between(1, maxFeatures))
	l.MoreUnits("features")
	l.Float(&s.Skewedness, "skewedness", "constant c that is added to the inputs", param.Positive())
	l.Seed(&s.Seed, "seed", "seed of the draws")
}

// Tags returns that only the number of columns is learned. Zeros stay zeros for skewedness 1.
func (s SkewedChi2) Tags() datasets.Tags {
	return datasets.Tags{DataIndependent: true, SparseInvariant: s.Skewedness == 1, FixedWidth: true}
}

// Fit draws the frequencies.
func (s SkewedChi2) Fit(ctx context.Context, data datasets.Set) (Transformer, error) {
	fitted, err := fitFinite(ctx, "skewed_chi2", s, data)
	if _, ok := data.X.(*matrices.CSR); ok && err == nil {
		err = fitted.(*fittedSkewedChi2).keepsZeros(data.Schema)
	}
	if err != nil {
		return nil, err
	}
	return fitted, nil
}

// skewedChi2 is the kernel of the logarithms.
var skewedChi2 = spectral.Kernel{Power: 1, Frequency: func(rng *rand.Rand, omega []float64) {
	for j := range omega {
		omega[j] = math.Log(math.Tan(math.Pi/2*max(rng.Float64(), 0x1p-64))) / math.Pi
	}
}}

// FitSource is Fit over a source, which it does not read.
func (s SkewedChi2) FitSource(ctx context.Context, data datasets.Source) (Transformer, error) {
	if err := checkNumericSpec("skewed_chi2", s, data.Schema()); err != nil {
		return nil, err
	}
	width, err := widthOf(ctx, "skewed_chi2", data)
	if err != nil {
		return nil, err
	}
	draws, err := fourier.Draw(ctx, skewedChi2, s.Seed, width, s.Features, false)
	if err != nil {
		return nil, wrapError(ctx, "skewed_chi2", err)
	}
	f := &fittedSkewedChi2{skewedness: s.Skewedness}
	return f, wrapError(ctx, "skewed_chi2", f.finish(draws))
}

// Cost returns the cost of mapping the rows and the memory of frequencies and features.
func (s SkewedChi2) Cost(shape datasets.Shape) datasets.Cost {
	c := RFF{Features: s.Features, Map: "phase", Draw: "iid"}.Cost(shape)
	c.Flops += 20 * float64(shape.Rows) * shape.Entries()
	return c
}

// fittedSkewedChi2 is a fitted [SkewedChi2].
type fittedSkewedChi2 struct {
	skewedness float64
	features   fourier.Map
}

// finish derives the map from its draws.
func (f *fittedSkewedChi2) finish(draws fourier.Draws) (err error) {
	d, _ := draws.Base.Dims()
	f.features, err = draws.Map(slices.Repeat([]float64{1}, d))
	return err
}

// value returns log(x + c).
func (f *fittedSkewedChi2) value(_ int, x float64) float64 { return math.Log(x + f.skewedness) }

func (f *fittedSkewedChi2) keepsZeros(schema datasets.Schema) error {
	return keepsZeros("skewed_chi2", f.InputWidth(), f, schema, ", or use skewedness: 1")
}

// Transform returns the features of the rows of X in a new matrix.
func (f *fittedSkewedChi2) Transform(ctx context.Context, X mat.Matrix) (mat.Matrix, error) {
	return transformDense(ctx, f, X)
}

// TransformTo writes the features of the rows of X into dst.
func (f *fittedSkewedChi2) TransformTo(ctx context.Context, dst *mat.Dense, X mat.Matrix) error {
	X, err := checkMap("skewed_chi2", X, f.InputWidth(), math.MaxFloat64, dst, f.OutputWidth())
	if err != nil {
		return err
	}
	err = checkLow("skewed_chi2", X, fmt.Sprintf("must be > %v, which is -skewedness", -f.skewedness),
		func(v float64) bool { return !(v+f.skewedness > 0) })
	if err != nil {
		return err
	}
	logs := entrywise{step: "skewed_chi2", width: f.InputWidth(), limit: math.MaxFloat64, of: f}
	U, err := logs.Transform(ctx, X)
	if err != nil {
		return err
	}
	return f.features.Float64.Transform(ctx, design.View(dst), U)
}

// Export adds to g the features of the rows.
func (f *fittedSkewedChi2) Export(g *graph.Graph, rows graph.Value) (graph.Value, error) {
	return f.features.Export(g, g.Log(g.Add(rows, g.Scalar(f.skewedness)))), nil
}

// InputWidth returns the number of input columns.
func (f *fittedSkewedChi2) InputWidth() int { return len(f.features.Factor) }

// Tags returns the number of input columns.
func (f *fittedSkewedChi2) Tags() datasets.Tags { return datasets.Tags{InputWidth: f.InputWidth()} }

// OutputWidth returns D.
func (f *fittedSkewedChi2) OutputWidth() int { return f.features.Width() }

// OutputSchema returns a schema of numeric columns without names.
func (f *fittedSkewedChi2) OutputSchema(in datasets.Schema) datasets.Schema {
	return in.WithColumns(nil)
}

// State serializes the fitted parameters.
func (f *fittedSkewedChi2) State(s *model.State) {
	draws := f.features.Draws
	s.Float("skewedness", &f.skewedness)
	s.Matrix("base", &draws.Base)
	s.Floats("phase", &draws.Phase)
	if !s.Restoring() || s.Err() != nil {
		return
	}
	s.Require(param.Positive().Contains(f.skewedness), "skewedness is not a number above 0")
	s.Require(draws.Base != nil && len(draws.Phase) == draws.Base.RawMatrix().Cols, "frequencies and phases do not fit")
	if s.Err() != nil {
		return
	}
	s.Require(allFinite(draws.Base.RawMatrix().Data, draws.Phase), "frequencies or phases are not finite")
	if s.Err() != nil {
		return
	}
	if err := f.finish(draws); err != nil {
		s.Fail("%v", err)
		return
	}
	s.Require(f.features.Float64.Limit > 1000, "frequencies are too large") // the logarithm of a float64 is below 1000
}
