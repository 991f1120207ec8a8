package transformer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/landmarks"
	"github.com/bochner-ml/bochner/internal/features/pairwise"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// Nystroem maps rows to their kernel values with m training rows, the landmarks l_1, …, l_m:
//
//	z(x) = L⁻¹·[k(l_1, x), …, k(l_m, x)],   L·L' = [k(l_i, l_j)],  L lower triangular
//
// so that z(x)'z(y) = k(x, l)·k(l, l)⁻¹·k(l, y), which equals k(x, y) if x or y is a landmark. The
// kernels are those of [RFF]:
//
//	kernel              k(Δ)
//	gaussian            exp(−γ‖Δ‖₂²)
//	laplacian           exp(−γ‖Δ‖₁)
//	cauchy              Π 1/(1 + γ²Δ_j²)
//	exponential         exp(−γ‖Δ‖₂)
//	matern              Matérn(ν, ℓ = 1/γ)
//	rational_quadratic  (1 + γ‖Δ‖₂²/a)^−a, a = Shape
//	powered_exponential exp(−(γ‖Δ‖₂)^p), p = Exponent, 0 < p ≤ 2
//	polynomial          (γ·x'y + c₀)^p, p = Degree
//	cosine              x'y/(‖x‖₂·‖y‖₂), 0 if one of them is 0; γ has no effect
//	chi2                exp(−γ·Σ (x_j − y_j)²/(x_j + y_j)), for inputs ≥ 0
//	precomputed         X_ij: the training rows are a Gram matrix, new rows have a value for each of them
//
// Kernels of [kernel.Register] have no γ. The landmarks of precomputed are rows of the Gram matrix, by their numbers.
//
// Landmarks are selected uniformly, or by randomly pivoted Cholesky (rpcholesky): sequentially,
// with probabilities proportional to the residual of k(x, x). Rows of weight 0 are excluded. This is much better if most of the
// kernel lies in few directions or rows form clusters. It uses up to 20,000 rows, drawn by the
// seed.
//
// L is the Cholesky factor, instead of the symmetric root of k(l, l) that scikit-learn's Nystroem
// takes; both have the same inner products, so that a linear model with a penalty on the squared
// weights predicts the same. With L, maps are nested: the first columns are the map of the first
// landmarks, and few landmarks of a seed are the first of many. A landmark of which the ones before
// leave less than 1e-7, as of one that occurs twice, is left out: there are then fewer columns than
// landmarks asked for, as there are where the training rows are fewer.
//
// Shapes: n×d → n×m, dense; the input may be sparse and stays so. Cost: n·(2·d·m + m²) flops and n·m values of the
// kernel, m³/3 flops for L, and for rpcholesky up to 20,000·m² flops and 80,000·m bytes; 12·m² bytes for L. A search
// over γ and kernels of uniform landmarks makes the distances of the rows to them once.
//
// Sources: Williams and Seeger, "Using the Nyström method to speed up kernel machines", NIPS 2001; Chen, Epperly, Tropp
// and Webber, "Randomly pivoted Cholesky", arXiv 2207.06503.
//
// Fit returns an error for a categorical column, a missing or infinite value, no rows, a list of γ
// that is not as long as there are columns, landmarks that do not fit into memory, and a kernel of the caller that is
// not finite, symmetric and positive definite at the landmarks. Transform returns one for values so large that
// distances would overflow. Use [NewNystroem]: the zero value is invalid.
type Nystroem struct {
	Kernel    kernel.Name  // one of those above, or a kernel of columns
	Gamma     kernel.Gamma // γ
	Landmarks int          // m
	Choose    string       // how landmarks are chosen: uniform or rpcholesky
	Nu        float64      // ν of the matern kernel
	Shape     float64      // a of the rational_quadratic kernel
	Exponent  float64      // p of the powered_exponential kernel
	Degree    int          // of the polynomial kernel
	Coef0     float64      // c₀ of the polynomial kernel
	Seed      uint64

	// LandmarksFrom is the path of a CSV file of rows that landmarks are selected from, instead of the
	// training rows: all of them if they are at most Landmarks. Its columns are the inputs of the
	// step, by their names if there is a header, and otherwise in their order.
	LandmarksFrom string
}

// NewNystroem returns the spec of 500 uniform landmarks of the gaussian kernel, γ by [kernel.GammaScale].
func NewNystroem() Nystroem {
	return Nystroem{Kernel: "gaussian", Gamma: kernel.GammaScale(), Landmarks: 500, Choose: "uniform", Nu: 1.5, Shape: 1,
		Exponent: 1, Degree: 3, Coef0: 1}
}

// pivotedRows is how many rows randomly pivoted Cholesky chooses from. It does not depend on the number of landmarks,
// so that few landmarks are the first of many.
const pivotedRows = 20000

// Params declares kernel, gamma, landmarks, choose, nu, alpha, exponent, degree, coef0, landmarks_from and seed.
func (s *Nystroem) Params(l *param.List) {
	s.Kernel.Declare(l, "kernel of the rows and the landmarks", pairwise.Kernels...)
	l.Value(&s.Gamma, "gamma", "scale γ of the kernel; larger values make it narrower")
	l.Rougher("gamma")
	l.Int(&s.Landmarks, "landmarks", "number of landmarks m", param.Between(1, 1<<20))
	l.MoreUnits("landmarks")
	l.Choice(&s.Choose, "selection",
		"sampling of landmarks: uniform, or by randomly pivoted Cholesky", "uniform", "rpcholesky")
	l.Float(&s.Nu, "nu", "smoothness ν of the matern kernel", param.Positive())
	l.Float(&s.Shape, "shape", "shape of the rational_quadratic kernel", param.Positive())
	l.Float(&s.Exponent, "exponent", "exponent p of the powered_exponential kernel", exponents)
	l.Int(&s.Degree, "degree", "degree of the polynomial kernel", param.Between(1, maxDegree))
	l.Float(&s.Coef0, "coef0", "constant c₀ of the polynomial kernel", param.AtLeast(0))
	l.String(&s.LandmarksFrom, "landmarks_from", "CSV file of rows from which landmarks are selected; default: the "+
		"training rows")
	l.Seed(&s.Seed, "seed", "seed of the selection")
	l.Check("landmarks_from", func() error {
		if s.Kernel == kernel.Precomputed && s.LandmarksFrom != "" {
			return errors.New("empty with kernel: precomputed, whose landmarks are training rows")
		}
		return nil
	})
	l.Check("landmarks", func() error {
		if s.Choose == "rpcholesky" && s.Landmarks > pivotedRows {
			return fmt.Errorf("at most %d with rpcholesky, which samples this number of rows", pivotedRows)
		}
		return nil
	})
}

// Fit chooses the landmarks; it returns a [*FittedNystroem].
func (s Nystroem) Fit(ctx context.Context, data datasets.Set) (Transformer, error) {
	return fitFinite(ctx, "nystroem", s, data)
}

// FitSource is Fit over a source, in one pass for the landmarks and one more for a rule for γ.
func (s Nystroem) FitSource(ctx context.Context, data datasets.Source) (Transformer, error) {
	if err := checkSpec("nystroem", s); err != nil {
		return nil, err
	}
	data, gram, err := s.precomputed(ctx, data)
	if err != nil {
		return nil, err
	}
	rows, err := s.sample(ctx, data)
	if err != nil {
		return nil, err
	}
	f, _, err := s.fitted(ctx, data, rows, gram)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// precomputed returns, for kernel: precomputed, the training rows as unit vectors and the kernel with their
// values, and the rows as they are and nil for other kernels.
func (s Nystroem) precomputed(ctx context.Context, data datasets.Source) (datasets.Source, *pairwise.Kernel, error) {
	if s.Kernel != kernel.Precomputed {
		return data, nil, nil
	}
	set, err := datasets.ReadAll(ctx, data)
	if err != nil {
		return nil, nil, err
	}
	k, _ := pairwise.NewKernel(string(s.Kernel), s.shape())
	if k, set.X, err = k.Gram(ctx, set.X, set.RowNumbers()); err != nil {
		return nil, nil, wrapError(ctx, "nystroem", err)
	}
	return set.Source(), k, nil
}

// shape returns the parameters of the kernel.
func (s Nystroem) shape() spectral.Shape {
	return spectral.Shape{Nu: s.Nu, Alpha: s.Shape, Exponent: s.Exponent, Degree: s.Degree, Coef0: s.Coef0}
}

// sample draws the rows that are landmarks, or that they are chosen from.
func (s Nystroem) sample(ctx context.Context, data datasets.Source) (mat.Matrix, error) {
	if err := checkNumeric("nystroem", data.Schema()); err != nil {
		return nil, err
	}
	rows, width := data.Dims()
	if s.LandmarksFrom != "" {
		own, err := readLandmarks(s.LandmarksFrom, data.Schema(), width)
		if err != nil {
			return nil, fmt.Errorf("transformer: nystroem: landmarks_from %s: %w", s.LandmarksFrom, err)
		}
		data = datasets.Set{X: own}.Source()
		rows, _ = own.Dims()
	}
	count := s.Landmarks
	if rows >= 0 {
		count = min(count, rows)
	}
	if err := landmarks.Check(count, max(width, 1)); err != nil {
		return nil, fmt.Errorf("transformer: nystroem: %d landmarks of %d columns: %w", count, width, err)
	}
	size := s.Landmarks
	if s.Choose == "rpcholesky" {
		size = pivotedRows
	}
	sample := landmarks.NewSample(size, s.Seed)
	_, err := fold(ctx, "nystroem", weighted{data}, false, func(_ int, X mat.Matrix) error {
		sample.Add(X)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return sample.Rows(), nil
}

// fitted returns the map of a sample and the indices of its landmarks. gram is the kernel with precomputed values,
// nil for others.
func (s Nystroem) fitted(ctx context.Context, data datasets.Source, rows mat.Matrix,
	gram *pairwise.Kernel) (*FittedNystroem, []int, error) {
	name, err := resolveKernel(ctx, "nystroem", s.Kernel, data, s.Seed)
	if err != nil {
		return nil, nil, err
	}
	f := &FittedNystroem{kernelName: string(name), shape: s.shape()}
	f.name()
	f.kernel = cmp.Or(gram, f.kernel)
	if f.gamma, err = resolveGamma(ctx, s.Gamma, "nystroem", f.kernel.Spectral(), data, s.Seed); err != nil {
		return nil, nil, err
	}
	factors := f.kernel.Factors(f.gamma)
	if !allFinite(factors) {
		return nil, nil, errors.New("transformer: nystroem: gamma overflows")
	}
	if err := checkDomain(rows, f.kernel.Domain); err != nil {
		return nil, nil, err
	}
	limit := landmarks.Limit(f.kernel, factors, rows)
	if err := checkEntries("nystroem", rows, data.Schema(), 0, limit, false); err != nil {
		return nil, nil, err
	}
	var chosen []int
	if s.Choose == "rpcholesky" {
		chosen, err = landmarks.Choose(ctx, f.kernel, factors, rows, s.Landmarks, s.Seed)
		if err != nil {
			return nil, nil, wrapError(ctx, "nystroem", err)
		}
		rows = landmarks.Take(rows, chosen)
	}
	var kept []int
	if f.features, kept, err = landmarks.NewMap(ctx, f.kernel, factors, rows); err != nil {
		return nil, nil, wrapError(ctx, "nystroem", err)
	}
	return f, kept, nil
}

// Cost returns the cost of the landmarks and of mapping the rows, and the memory of landmarks and features.
func (s Nystroem) Cost(shape datasets.Shape) datasets.Cost {
	n, d := float64(shape.Rows), float64(shape.Cols)
	m := float64(s.Landmarks)
	if shape.Rows > 0 {
		m = min(m, n)
	}
	const value, factor = 250, 10 // flops of a kernel value, and of m³ for what comes of the landmarks
	c := datasets.Cost{Flops: n*m*(2*shape.Entries()+value+m) + factor*m*m*m, OutputWidth: int(m)}
	held := float64(landmarks.Bytes(int(m), shape.Cols)) + 8*float64(shape.RowsInMemory())*m
	if s.Choose == "rpcholesky" {
		sample := min(n, pivotedRows)
		c.Flops += sample * m * (2*shape.Entries() + value + 2*m)
		held += sample * (4*m + 12*d)
	}
	c.Bytes = int64(min(held, math.MaxInt64/2))
	// Kernels of low rank leave many landmarks out.
	c.WidthEstimated = slices.Contains([]kernel.Name{kernel.Polynomial, kernel.Cosine, kernel.Chi2}, s.Kernel)
	return c
}

// FittedNystroem is a fitted [Nystroem].
type FittedNystroem struct {
	kernelName string
	shape      spectral.Shape
	kernel     *pairwise.Kernel // of that name
	gamma      []float64        // d
	features   *landmarks.Map
}

// name looks up the kernel.
func (f *FittedNystroem) name() (ok bool) {
	f.kernel, ok = pairwise.NewKernel(f.kernelName, f.shape)
	return ok
}

// Transform returns the features of the rows of X in a new matrix.
func (f *FittedNystroem) Transform(ctx context.Context, X mat.Matrix) (mat.Matrix, error) {
	return transformDense(ctx, f, X)
}

// TransformTo writes the features of the rows of X into dst.
func (f *FittedNystroem) TransformTo(ctx context.Context, dst *mat.Dense, X mat.Matrix) error {
	X, err := checkMap("nystroem", X, len(f.gamma), f.features.Limit(false), dst, f.OutputWidth())
	if err == nil {
		err = checkDomain(X, f.kernel.Domain)
	}
	if err != nil {
		return err
	}
	X = f.kernel.NewRows(X)
	return f.features.Float64(ctx, design.View(dst), X)
}

// TransformSingle writes the features of the rows of X into dst, all arithmetic in single precision.
func (f *FittedNystroem) TransformSingle(ctx context.Context, dst *matrices.Dense32, X mat.Matrix) error {
	X, err := checkMap("nystroem", X, len(f.gamma), f.features.Limit(true), dst, f.OutputWidth())
	if err == nil {
		err = checkDomain(X, f.kernel.Domain)
	}
	if err != nil {
		return err
	}
	X = f.kernel.NewRows(X)
	return f.features.Float32(ctx, design.ViewFloat32(dst), X)
}

// Export adds to g the features of the rows: kernel values of all landmarks times the inverse of L,
// whose entries may be large, so that it has some digits fewer than solving with L.
func (f *FittedNystroem) Export(g *graph.Graph, rows graph.Value) (graph.Value, error) {
	if err := f.kernel.CheckExport(f.kernelName); err != nil {
		return graph.Value{}, err
	}
	return f.features.Export(g, rows)
}

// Tags returns the number of input columns.
func (f *FittedNystroem) Tags() datasets.Tags { return datasets.Tags{InputWidth: len(f.gamma)} }

// OutputWidth returns the number of landmarks that are not left out.
func (f *FittedNystroem) OutputWidth() int { return f.features.Width() }

// OutputSchema returns a schema of numeric columns without names.
func (f *FittedNystroem) OutputSchema(in datasets.Schema) datasets.Schema { return in.WithColumns(nil) }

// Gamma returns γ for each column.
func (f *FittedNystroem) Gamma() []float64 { return slices.Clone(f.gamma) }

// Landmarks returns the landmarks, a row for each feature, a *mat.Dense or *matrices.CSR not to be changed. Those of
// kernel: precomputed are unit vectors, which mark their columns of the Gram matrix.
func (f *FittedNystroem) Landmarks() mat.Matrix { return f.features.Landmarks }

// Kernel returns k(x, y), which the features approximate.
func (f *FittedNystroem) Kernel(x, y []float64) (float64, error) {
	if len(x) == 0 || len(y) == 0 {
		return 0, fmt.Errorf("transformer: nystroem: %d columns at fit, %d and %d now", len(f.gamma), len(x), len(y))
	}
	K, err := f.KernelMatrix(context.Background(), mat.NewDense(1, len(x), x), mat.NewDense(1, len(y), y))
	if err != nil {
		return 0, err
	}
	return K.At(0, 0), nil
}

// KernelMatrix returns k of every row of X and every row of Y, rows of X × rows of Y. It returns an error for
// kernel: precomputed.
func (f *FittedNystroem) KernelMatrix(ctx context.Context, X, Y mat.Matrix) (*mat.Dense, error) {
	if f.kernelName == string(kernel.Precomputed) {
		return nil, errors.New("transformer: nystroem: kernel: must be one that can be computed, got precomputed")
	}
	inputs := [2]mat.Matrix{X, Y}
	for i := range inputs {
		var err error
		if inputs[i], err = f.checkInputs(inputs[i]); err != nil {
			return nil, err
		}
	}
	return f.features.Kernel(ctx, inputs[0], inputs[1])
}

// checkDomain reports the first input that is outside of the domain of the kernel.
func checkDomain(X mat.Matrix, domain func() (constraint string, violated func(v float64) bool)) error {
	constraint, violated := domain()
	return checkLow("nystroem", X, constraint, violated)
}

// checkInputs returns X as a *mat.Dense or *matrices.CSR whose kernel values are finite.
func (f *FittedNystroem) checkInputs(X mat.Matrix) (mat.Matrix, error) {
	X, err := checkRows("nystroem", X, len(f.gamma))
	if err == nil {
		err = checkEntries("nystroem", X, datasets.Schema{}, 0, f.features.Limit(false), false)
	}
	if err == nil {
		err = checkDomain(X, f.kernel.Domain)
	}
	return X, err
}

// WithLandmarks returns the nested map of the first landmarks, at most all: its columns are the
// first of this map.
func (f *FittedNystroem) WithLandmarks(m int) (*FittedNystroem, error) {
	if m < 1 || m > f.OutputWidth() {
		return nil, fmt.Errorf("transformer: nystroem: number of landmarks must be from 1 to %[2]d, got %[1]d", m,
			f.OutputWidth())
	}
	out := *f
	out.features = f.features.First(m)
	return &out, nil
}

// State serializes the fitted parameters.
func (f *FittedNystroem) State(s *model.State) {
	stored := landmarks.Stored{}
	if !s.Restoring() {
		stored = f.features.Stored()
	}
	s.String("kernel", &f.kernelName)
	s.Float("nu", &f.shape.Nu)
	s.Float("alpha", &f.shape.Alpha)
	f.shape.State(s, f.kernelName)
	s.Floats("gamma", &f.gamma)
	stored.State(s)
	if s.Restoring() && s.Err() == nil {
		f.restore(s, stored)
	}
}

// restore checks what was read and makes the map.
func (f *FittedNystroem) restore(s *model.State, stored landmarks.Stored) {
	requireShape(s, f.kernelName, f.shape, len(f.gamma))
	requireGamma(s, f.gamma)
	if s.Err() != nil {
		return
	}
	s.Require(f.name(), "the kernel is not known")
	if s.Err() != nil {
		return
	}
	factors := f.kernel.Factors(f.gamma)
	s.Require(allFinite(factors), "a gamma overflows")
	if s.Err() != nil {
		return
	}
	var err error
	if f.features, err = stored.Map(f.kernel, factors); err != nil {
		s.Fail("%v", err)
	}
}
