package transformer

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/dsp/fourier"
	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// PolynomialSketch maps rows to random features whose inner products are the polynomial kernel in
// the mean:
//
//	E[z(x)'z(y)] = (γ·x'y + c₀)^p
//
// Each of p count sketches C_k adds ±sqrt(γ)·x_j, and ±sqrt(c₀), to one of D columns. The features
// are the circular convolution of the sketches, a count sketch of all products of p inputs:
//
//	z(x) = C₁u ∗ … ∗ C_pu,   (C_ku)_h = Σ_{j: h_k(j) = h} ξ_k(j)·u_j,   u = (sqrt(γ)·x, sqrt(c₀))
//
// with γ·x'y = Σ γ_j·x_j·y_j where γ has a number for each column. The variance of z(x)'z(y) is
// at most (2 + 3^p)·‖u‖^2p·‖v‖^2p/D: it suits rows of about one length, and a small p.
//
// Shapes: n×d → n×D, dense; sparse input is supported. Cost: for each row p·d additions (its entries
// if sparse) and p + 1 Fourier transforms of D log D flops, which are slow if D has a large prime
// factor; 8·p·d bytes. Unless Gamma is a rule, the fit depends on the number of columns only. The
// export has matrices of d×D and D×D numbers in place of the transforms.
//
// Sources: Pham and Pagh, "Fast and scalable polynomial kernels via explicit feature maps", KDD
// 2013; Avron, Nguyen and Woodruff, "Subspace embeddings for the polynomial kernel", NIPS 2014, for the
// variance. It is scikit-learn's PolynomialCountSketch, where γ is 1 by default.
//
// Fit returns an error for a categorical column, a missing or infinite value, no rows, and a list of
// γ that is not as long as there are columns. Transform returns one for values so large that
// features would overflow. Use [NewPolynomialSketch]: the zero value is invalid.
type PolynomialSketch struct {
	Degree   int          // p
	Gamma    kernel.Gamma // γ
	Coef0    float64      // c₀
	Features int          // D
	Seed     uint64
}

// NewPolynomialSketch returns the spec of 1000 features of degree 2 without c₀, γ by [kernel.GammaScale].
func NewPolynomialSketch() PolynomialSketch {
	return PolynomialSketch{Degree: 2, Gamma: kernel.GammaScale(), Features: 1000}
}

// maxDegree bounds the degree of a polynomial: sketches of a larger one have no digits left.
const maxDegree = 64

// Params declares degree, gamma, coef0, features and seed.
func (s *PolynomialSketch) Params(l *param.List) {
	l.Int(&s.Degree, "degree", "degree p of the kernel", param.Between(1, maxDegree))
	l.Value(&s.Gamma, "gamma", "factor of the inner products of rows")
	l.Float(&s.Coef0, "coef0", "constant c₀ that is added to inner products", param.AtLeast(0))
	l.Int(&s.Features, "features", "output width D", param.Between(1, maxFeatures))
	l.MoreUnits("features")
	l.Seed(&s.Seed, "seed", "seed of the draws")
}

// Tags returns that only the number of columns is learned if γ is fixed.
func (s PolynomialSketch) Tags() datasets.Tags {
	return datasets.Tags{DataIndependent: s.Gamma.Rule() == "", SparseInvariant: true, FixedWidth: true}
}

// Fit draws the sketches.
func (s PolynomialSketch) Fit(ctx context.Context, data datasets.Set) (Transformer, error) {
	return fitFinite(ctx, "polynomial_sketch", s, data)
}

// FitSource is Fit over a source, which it reads for [kernel.GammaScale] and [kernel.GammaMedian] only.
func (s PolynomialSketch) FitSource(ctx context.Context, data datasets.Source) (Transformer, error) {
	if err := checkNumericSpec("polynomial_sketch", s, data.Schema()); err != nil {
		return nil, err
	}
	gaussian, _ := spectral.FourierKernel("gaussian", spectral.Shape{})
	gamma, err := resolveGamma(ctx, s.Gamma, "polynomial_sketch", gaussian, data, s.Seed)
	if err != nil {
		return nil, err
	}
	f := &fittedPolynomialSketch{gamma: gamma, coef0: s.Coef0, features: s.Features, degree: s.Degree}
	f.finish()
	if err := memory.Check(8 * int64(s.Degree) * int64(len(gamma))); err != nil {
		return nil, wrapError(ctx, "polynomial_sketch", err)
	}
	rng := spectral.NewStream()
	for k := range s.Degree {
		if err := ctxerr.Check(ctx); err != nil {
			return nil, err
		}
		rng.At(s.Seed, spectral.Sketches, k)
		for range f.factor {
			column := rng.IntN(s.Features)
			if rng.Uint64()&1 == 1 {
				column = ^column
			}
			f.columns = append(f.columns, column)
		}
	}
	return f, nil
}

// Cost returns the cost of sketching the rows and the memory of the features.
func (s PolynomialSketch) Cost(shape datasets.Shape) datasets.Cost {
	n, p, D := float64(shape.Rows), float64(s.Degree), float64(s.Features)
	return datasets.Cost{Flops: n * (4*p*shape.Entries() + 5*(p+1)*D*math.Log2(D+1)),
		Bytes: int64(8*p*float64(shape.Cols) + 8*float64(shape.RowsInMemory())*D), OutputWidth: s.Features}
}

// fittedPolynomialSketch is a fitted [PolynomialSketch].
type fittedPolynomialSketch struct {
	gamma            []float64 // d
	coef0            float64
	degree, features int
	columns          []int     // of sketch k and input j at k·len(factor) + j; ^column where it subtracts
	factor           []float64 // sqrt(γ) of the inputs, and sqrt(c₀) if that is not 0
	limit            float64   // of the inputs
}

// finish derives the factors and the largest input whose features are finite: features are at most
// the 1-norm of u to the power p, and their transforms at most D times as large.
func (f *fittedPolynomialSketch) finish() {
	sum := 0.0
	for _, g := range f.gamma {
		f.factor = append(f.factor, math.Sqrt(g))
		sum += math.Sqrt(g)
	}
	norm := math.Pow(math.MaxFloat64/float64(f.features), 1/float64(f.degree)) / 8
	f.limit = (norm - math.Sqrt(f.coef0)) / max(1, sum)
	if f.coef0 > 0 {
		f.factor = append(f.factor, math.Sqrt(f.coef0))
	}
}

// add adds input j times v to the sketch k.
func (f *fittedPolynomialSketch) add(sketch []float64, k, j int, v float64) {
	if column := f.columns[k*len(f.factor)+j]; column >= 0 {
		sketch[column] += f.factor[j] * v
	} else {
		sketch[^column] -= f.factor[j] * v
	}
}

// Transform returns the features of the rows of X in a new matrix.
func (f *fittedPolynomialSketch) Transform(ctx context.Context, X mat.Matrix) (mat.Matrix, error) {
	return transformDense(ctx, f, X)
}

// TransformTo writes the features of the rows of X into dst.
func (f *fittedPolynomialSketch) TransformTo(ctx context.Context, dst *mat.Dense, X mat.Matrix) error {
	X, err := checkMap("polynomial_sketch", X, len(f.gamma), f.limit, dst, f.features)
	if err != nil {
		return err
	}
	n, _ := X.Dims()
	kern.Parallel(n, 64, func(lo, hi int) {
		fft := fourier.NewFFT(f.features)
		product, one := make([]complex128, f.features/2+1), make([]complex128, f.features/2+1)
		for i := lo; i < hi && ctx.Err() == nil; i++ {
			f.writeRow(dst.RawRowView(i), X, i, fft, product, one)
		}
	})
	return ctxerr.Check(ctx)
}

// writeRow writes the features of row i of X to dst: a convolution is a product of transforms.
func (f *fittedPolynomialSketch) writeRow(dst []float64, X mat.Matrix, i int, fft *fourier.FFT,
	product, one []complex128) {
	for k := range f.degree {
		clear(dst)
		f.sketch(dst, k, X, i)
		if k == 0 {
			fft.Coefficients(product, dst)
			continue
		}
		fft.Coefficients(one, dst)
		for h, c := range one {
			product[h] *= c
		}
	}
	if f.degree > 1 {
		fft.Sequence(dst, product)
		kern.Scale(1/float64(f.features), dst)
	}
}

// sketch adds sketch k of row i of X to dst.
func (f *fittedPolynomialSketch) sketch(dst []float64, k int, X mat.Matrix, i int) {
	if f.coef0 > 0 {
		f.add(dst, k, len(f.gamma), 1)
	}
	switch m := X.(type) {
	case *mat.Dense:
		for j, v := range m.RawRowView(i) {
			f.add(dst, k, j, v)
		}
	case *matrices.CSR:
		columns, values := m.Row(i)
		v, _ := m.Shared()
		for e, j := range columns {
			if values != nil {
				v = values[e]
			}
			f.add(dst, k, int(j), v)
		}
	}
}

// Export adds to g the features of the rows, with matrices in place of the Fourier transforms.
func (f *fittedPolynomialSketch) Export(g *graph.Graph, rows graph.Value) (graph.Value, error) {
	D, half := f.features, f.features/2+1
	wave := func(t, h int) (sin, cos float64) { return math.Sincos(2 * math.Pi * float64(t*h%D) / float64(D)) }
	var re, im graph.Value
	for k := range f.degree {
		cosines, sines := mat.NewDense(len(f.factor), half, nil), mat.NewDense(len(f.factor), half, nil)
		for j, v := range f.factor {
			column := f.columns[k*len(f.factor)+j]
			if column < 0 {
				column, v = ^column, -v
			}
			for h := range half {
				sin, cos := wave(column, h)
				cosines.Set(j, h, v*cos)
				sines.Set(j, h, -v*sin)
			}
		}
		a, b := f.exportProduct(g, rows, cosines), f.exportProduct(g, rows, sines)
		if k == 0 {
			re, im = a, b
		} else {
			re, im = g.Sub(g.Mul(re, a), g.Mul(im, b)), g.Add(g.Mul(re, b), g.Mul(im, a))
		}
	}
	inverse := mat.NewDense(2*half, D, nil)
	for h := range half {
		weight := 2 / float64(D) // of a frequency and its conjugate
		if h == 0 || 2*h == D {
			weight = 1 / float64(D)
		}
		for t := range D {
			sin, cos := wave(t, h)
			inverse.Set(h, t, weight*cos)
			inverse.Set(half+h, t, -weight*sin)
		}
	}
	return g.MatMul(g.Concat(re, im), g.Matrix(inverse)), nil
}

// exportProduct returns the product of u = (x, 1) and a matrix, whose last row is that of c₀ if there is one.
func (f *fittedPolynomialSketch) exportProduct(g *graph.Graph, rows graph.Value, m *mat.Dense) graph.Value {
	d := len(f.gamma)
	product := g.MatMul(rows, g.Matrix(m.Slice(0, d, 0, m.RawMatrix().Cols)))
	if f.coef0 > 0 {
		product = g.Add(product, g.Row(m.RawRowView(d)))
	}
	return product
}

// Tags returns the number of input columns.
func (f *fittedPolynomialSketch) Tags() datasets.Tags { return datasets.Tags{InputWidth: len(f.gamma)} }

// OutputWidth returns D.
func (f *fittedPolynomialSketch) OutputWidth() int { return f.features }

// OutputSchema returns a schema of numeric columns without names.
func (f *fittedPolynomialSketch) OutputSchema(in datasets.Schema) datasets.Schema {
	return in.WithColumns(nil)
}

// Gamma returns γ for each column.
func (f *fittedPolynomialSketch) Gamma() []float64 { return slices.Clone(f.gamma) }

// State serializes the fitted parameters.
func (f *fittedPolynomialSketch) State(s *model.State) {
	s.Int("degree", &f.degree)
	s.Floats("gamma", &f.gamma)
	s.Float("coef0", &f.coef0)
	s.Count("features", &f.features)
	s.Ints("columns", &f.columns)
	if !s.Restoring() || s.Err() != nil {
		return
	}
	requireGamma(s, f.gamma)
	s.Require(len(f.gamma) > 0 && f.degree > 0 && f.degree <= maxDegree, "there is no degree or no gamma")
	s.Require(param.AtLeast(0).Contains(f.coef0), "coef0 is not a number of at least 0")
	s.Require(f.features > 0, "there are no features")
	if s.Err() != nil {
		return
	}
	f.finish()
	s.Require(len(f.columns) == f.degree*len(f.factor), "columns and gamma do not fit")
	s.Require(!slices.ContainsFunc(f.columns, func(c int) bool { return c >= f.features || ^c >= f.features }),
		"a column is out of bounds")
}
