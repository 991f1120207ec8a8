package transformer

import (
	"context"
	"errors"
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
	"github.com/bochner-ml/bochner/internal/spec/suggest"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// RFF maps rows to random Fourier features, whose inner products approximate a shift-invariant
// kernel: E[z(x)'z(y)] = k(x − y).
//
//	paired:  z(x) = sqrt(1/m)·[cos ω₁'x, sin ω₁'x, …, cos ω_m'x, sin ω_m'x],   D = 2m
//	phase:   z(x) = sqrt(2/D)·[cos(ω₁'x + b₁), …, cos(ω_D'x + b_D)],  b ~ U[0, 2π)
//
// with frequencies ω drawn from the kernel's spectral measure (Bochner's theorem):
//
//	kernel              k(Δ)                    ω_j
//	gaussian            exp(−γ‖Δ‖₂²)            N(0, 2γ)
//	laplacian           exp(−γ‖Δ‖₁)             Cauchy of scale γ
//	cauchy              Π 1/(1 + γ²Δ_j²)        Laplace of scale γ
//	exponential         exp(−γ‖Δ‖₂)             γ·multivariate t with 1 degree of freedom
//	matern              Matérn(ν, ℓ = 1/γ)      γ·multivariate t with 2ν degrees of freedom
//	rational_quadratic  (1 + γ‖Δ‖₂²/a)^−a       sqrt(2γτ)·N(0, 1), τ ~ Gamma(a, a), a = Shape
//	powered_exponential exp(−(γ‖Δ‖₂)^p)         γ·sqrt(2τ)·N(0, 1), τ positive stable with index p/2
//
// A kernel of columns ([kernel.Product], [kernel.Sum]) has terms with these kernels and γ of their own.
// A frequency of a product consists of independent draws of its terms; one of a sum is drawn from a
// product with a probability proportional to its weight. Gamma multiplies the differences of all
// columns; a rule is 1.
//
// The variance of z(x)'z(y) for independent frequencies is [1 + k(2Δ) − 2k(Δ)²]/D for paired, which
// is almost always smaller for the gaussian kernel, and [1 + k(2Δ)/2 − k(Δ)²]/D for phase;
// z(x)'z(x) is exactly 1 for paired. Other draws reduce it:
//
//	draw        frequencies                                                 kernels
//	iid         independent                                                 all
//	orthogonal  orthogonal in blocks of d: ‖g_j‖·q_j with g_j normal        mixtures of gaussians
//	            and q_j from the QR factors of d of them
//	qmc         points of a randomized Halton sequence, mapped by the       all but custom
//	            quantiles of the spectral measure
//	structured  sqrt(w)·H·D₁·H·D₂·H·D₃ in blocks of w, the smallest power   mixtures of gaussians
//	            of two ≥ max(d, 64); H is the Walsh–Hadamard matrix over
//	            sqrt(w), the D are random signs; inputs padded by 0
//
// Mixtures of gaussians are the kernels gaussian, exponential, matern, rational_quadratic,
// powered_exponential (0 < p ≤ 2), and sums of products of one such term of all columns. Orthogonal draws
// have a tenth of the variance for the gaussian kernel and many inputs if D ≥ 4d; qmc suits about
// ten inputs or fewer. All but structured are unbiased; structured has E[z(x)'z(y)] low by about
// k·(2γ‖Δ‖²)²/(4w), at most 0.0085 for w = 64.
//
// Maps of one seed and draw are nested: the first D₁ columns of a map with D₂ features are the map
// with D₁ features, up to the factor sqrt(D₁/D₂). For one seed and draw, the frequencies of
// mixtures of gaussians are the same numbers times a factor that depends on the kernel: a search
// over these kernels projects the rows once. Those of laplacian and cauchy are drawn separately for
// each input.
//
// Shapes: n×d → n×D, dense; sparse input is supported. Cost: 2·n·d·m flops (nnz instead of n·d for
// sparse rows) and n·D cosines; 20·d·m bytes for the frequencies. Structured draws: 3·n·m·log₂w
// flops and 36 bytes per frequency, with m rounded up to blocks; they are faster from about 150
// inputs on if D ≥ 2w. Orthogonal draws take 4·d²·m flops in the fit. Unless Gamma is a rule, the
// fit depends on the number of columns only.
//
// Sources: Rahimi and Recht, "Random features for large-scale kernel machines", NIPS 2007,
// algorithm 1; Sutherland and Schneider, "On the error of random Fourier features", UAI 2015, for
// the two maps' variances; Yu et al., "Orthogonal random features", NIPS 2016, for orthogonal and
// structured; Avron, Sindhwani, Yang and Mahoney, "Quasi-Monte Carlo feature maps for
// shift-invariant kernels", JMLR 2016.
//
// Fit returns an error for a draw that does not support the kernel, a categorical column, a missing
// or infinite value, no rows, and a list of γ whose length is not the number of columns. Transform
// returns an error if ω'x would overflow. Use [NewRFF]: the zero value is invalid.
type RFF struct {
	Kernel   kernel.Name  // one of the kernels above, a kernel of columns, or custom
	Gamma    kernel.Gamma // γ
	Features int          // D, even for the paired map
	Map      string       // paired or phase
	Draw     string       // sampling of the frequencies: iid, orthogonal, qmc or structured
	Nu       float64      // ν of the matern kernel
	Shape    float64      // a of the rational_quadratic kernel
	Exponent float64      // p of the powered_exponential kernel
	Seed     uint64
	Custom   *CustomKernel // with Kernel "custom", a kernel of your own
}

// CustomKernel is a shift-invariant kernel given by its spectral measure, for [RFF], or by its pitch
// distribution, for [Binning]. Its γ multiplies the frequencies and divides the pitches: k_γ(Δ) = k(γΔ). A
// model file contains the draws but not the functions: a loaded model predicts, and only a fit of its spec
// requires the kernel again.
type CustomKernel struct {
	// Frequency fills omega with one draw of ω, using no other randomness than rng's.
	Frequency func(rng *rand.Rand, omega []float64)
	// Pitch draws δ > 0 from p(δ) = δ·k″(δ), for a kernel Π_j k(Δ_j) where k is convex on Δ > 0, decreases to
	// 0, and has k(0) = 1. It must use rng as its only source of randomness.
	Pitch func(rng *rand.Rand) float64
	// Exact returns k(Δ); may be nil. Only diagnostics need it.
	Exact func(delta []float64) float64
}

// NewRFF returns the spec of 1000 paired features of the gaussian kernel, γ by [kernel.GammaScale].
func NewRFF() RFF {
	return RFF{Kernel: "gaussian", Gamma: kernel.GammaScale(), Features: 1000, Map: "paired", Draw: "iid", Nu: 1.5,
		Shape: 1, Exponent: 1}
}

// maxFeatures is the maximum width of a map, above any practical value.
const maxFeatures = 1 << 26

// Params declares kernel, gamma, features, map, draw, nu, alpha, exponent and seed. Custom has no plain form.
func (s *RFF) Params(l *param.List) {
	s.Kernel.Declare(l, "kernel to approximate", spectral.AllFourierKernels...)
	l.Unlisted("kernel", string(kernel.Custom))
	l.Value(&s.Gamma, "gamma", "scale γ of the kernel; larger values make it narrower")
	l.Rougher("gamma")
	l.Int(&s.Features, "features", "output width D", param.Between(1, maxFeatures))
	l.MoreUnits("features")
	l.Choice(&s.Map, "map", "form of the features: pairs of cosine and sine, or "+
		"cosine with a random phase", "paired", "phase")
	l.Choice(&s.Draw, "draw", "sampling method of the frequencies", fourier.Laws...)
	l.Float(&s.Nu, "nu", "smoothness ν of the matern kernel", param.Positive())
	l.Float(&s.Shape, "shape", "shape of the rational_quadratic kernel", param.Positive())
	l.Float(&s.Exponent, "exponent", "exponent p of the powered_exponential kernel", exponents)
	l.Seed(&s.Seed, "seed", "seed of the draws")
	l.Check("features", func() error {
		if s.Map == "paired" && s.Features%2 != 0 {
			return errors.New("an even number for the paired map")
		}
		return nil
	})
	l.Check("kernel", func() error {
		return checkCustom(s.Kernel, s.Custom != nil, s.Custom != nil && s.Custom.Frequency != nil, "Frequency")
	})
	l.Check("draw", s.checkDraw)
}

// checkCustom reports a custom kernel without its function, which the spec of a model file has, and another kernel
// with one. isSet reports whether the field Custom is set, hasFunction whether its function is.
func checkCustom(name kernel.Name, isSet, hasFunction bool, function string) error {
	switch {
	case isSet && (name != kernel.Custom || !hasFunction):
		return fmt.Errorf("custom, with a %s function, where Custom is set", function)
	case name == kernel.Custom && !isSet:
		return param.FieldError{Hint: "a custom kernel requires the field Custom with a " + function + " function, which " +
			"only Go programs can set"}
	}
	return nil
}

// checkDraw reports a draw that the kernel cannot be drawn by.
func (s *RFF) checkDraw() error {
	k, ok := s.knownKernel()
	if !ok || fourier.Suits(s.Draw, k) {
		return nil
	}
	laws := slices.DeleteFunc(slices.Clone(fourier.Laws), func(law string) bool { return !fourier.Suits(law, k) })
	why := "which is no mixture of gaussian kernels"
	if s.Draw == "qmc" {
		why = "whose distribution of frequencies is not known well enough"
	}
	return fmt.Errorf("%s for kernel: %v, %s", suggest.Alternatives(laws), s.Kernel, why)
}

// shape returns the parameters of the kernel.
func (s RFF) shape() spectral.Shape {
	return spectral.Shape{Nu: s.Nu, Alpha: s.Shape, Exponent: s.Exponent}
}

// knownKernel returns the kernel, and whether its name is known.
func (s *RFF) knownKernel() (spectral.Kernel, bool) {
	f := FittedRFF{kernelName: string(s.Kernel), shape: s.shape()}
	ok := f.name(s.Custom)
	return f.kernel, ok
}

// Tags returns that only the number of columns is learned if γ is fixed.
func (s RFF) Tags() datasets.Tags {
	return datasets.Tags{DataIndependent: hasFixedGamma(s.Kernel, s.Gamma), SparseInvariant: true, FixedWidth: true}
}

// Fit draws the frequencies; it returns a [*FittedRFF].
func (s RFF) Fit(ctx context.Context, data datasets.Set) (Transformer, error) {
	return fitFinite(ctx, "rff", s, data)
}

// FitSource is Fit over a source, which it reads for [kernel.GammaScale] and [kernel.GammaMedian] only.
func (s RFF) FitSource(ctx context.Context, data datasets.Source) (Transformer, error) {
	if err := checkNumericSpec("rff", s, data.Schema()); err != nil {
		return nil, err
	}
	name, err := resolveKernel(ctx, "rff", s.Kernel, data, s.Seed)
	if err != nil {
		return nil, err
	}
	f := &FittedRFF{kernelName: string(name), shape: s.shape()}
	f.name(s.Custom)
	if f.gamma, err = resolveGamma(ctx, s.Gamma, "rff", f.kernel, data, s.Seed); err != nil {
		return nil, err
	}
	draws, err := s.law().Draw(ctx, f.kernel, len(f.gamma), s.frequencies(), s.Map == "paired")
	if err != nil {
		return nil, wrapError(ctx, "rff", err)
	}
	if err := f.finish(draws); err != nil {
		return nil, err
	}
	return f, nil
}

func (s RFF) law() fourier.Law { return fourier.Law{Name: s.Draw, Seed: s.Seed} }

// frequencies returns m.
func (s RFF) frequencies() int {
	if s.Map == "paired" {
		return s.Features / 2
	}
	return s.Features
}

// soonProjected is of how many entries of a row a feature is made again sooner than passes of
// Newton's method read it in double precision; it was measured.
const soonProjected = 60

// Cost returns the cost of mapping the rows and the memory of frequencies and features.
func (s RFF) Cost(shape datasets.Shape) datasets.Cost {
	n, d, m, D := float64(shape.Rows), float64(shape.Cols), float64(s.frequencies()), float64(s.Features)
	const cosine = 90 // to write it and to read it, too
	project, bytes := s.law().Cost(shape.Entries(), d, m)
	return datasets.Cost{Flops: n * (project + cosine*D), Bytes: int64(bytes + 8*float64(shape.RowsInMemory())*D),
		OutputWidth:      s.Features,
		CheapToRecompute: s.Draw == "structured" || shape.Entries() <= soonProjected}
}

// FittedRFF is a fitted [RFF].
type FittedRFF struct {
	kernelName string
	shape      spectral.Shape
	kernel     spectral.Kernel // of that name
	gamma      []float64       // d
	features   fourier.Map     // draws scaled for γ
}

// name looks up the kernel.
func (f *FittedRFF) name(custom *CustomKernel) bool {
	k, ok := spectral.FourierKernel(f.kernelName, f.shape)
	if f.kernelName == "custom" {
		k, ok = spectral.Kernel{Power: 1}, true
		if custom != nil {
			k.Exact, k.Frequency = custom.Exact, custom.Frequency
		}
	}
	f.kernel = k
	return ok
}

// finish scales the draws for γ.
func (f *FittedRFF) finish(draws fourier.Draws) (err error) {
	if f.features, err = draws.Map(f.kernel.Factors(f.gamma)); err != nil {
		return fmt.Errorf("transformer: rff: %w", err)
	}
	return nil
}

// Transform returns the features of the rows of X in a new matrix.
func (f *FittedRFF) Transform(ctx context.Context, X mat.Matrix) (mat.Matrix, error) {
	return transformDense(ctx, f, X)
}

// TransformTo writes the features of the rows of X into dst.
func (f *FittedRFF) TransformTo(ctx context.Context, dst *mat.Dense, X mat.Matrix) error {
	X, err := checkMap("rff", X, len(f.gamma), f.features.Float64.Limit, dst, f.OutputWidth())
	if err != nil {
		return err
	}
	return f.features.Float64.Transform(ctx, design.View(dst), X)
}

// TransformSingle writes the features of the rows of X into dst in single precision. Angles of dense inputs
// far from 0 are computed in double precision, so that offsets of columns cost no accuracy.
func (f *FittedRFF) TransformSingle(ctx context.Context, dst *matrices.Dense32, X mat.Matrix) error {
	if f.features.Float32().Limit < 0 {
		return errors.New("transformer: rff: gamma times a frequency overflows in single precision")
	}
	X, err := checkMap("rff", X, len(f.gamma), f.features.Float32().Limit, dst, f.OutputWidth())
	if err != nil {
		return err
	}
	return f.features.Float32().Transform(ctx, design.ViewFloat32(dst), X)
}

// Export adds to g the features of the rows, structured frequencies as a matrix like others.
func (f *FittedRFF) Export(g *graph.Graph, rows graph.Value) (graph.Value, error) {
	return f.features.Export(g, rows), nil
}

// Tags returns the number of input columns.
func (f *FittedRFF) Tags() datasets.Tags { return datasets.Tags{InputWidth: len(f.gamma)} }

// OutputWidth returns D.
func (f *FittedRFF) OutputWidth() int { return f.features.Width() }

// OutputSchema returns a schema of numeric columns without names.
func (f *FittedRFF) OutputSchema(in datasets.Schema) datasets.Schema { return in.WithColumns(nil) }

// NumFrequencies returns m, the number of frequencies.
func (f *FittedRFF) NumFrequencies() int { return f.features.Len() }

// Frequencies returns the frequencies ω, d×m, a copy.
func (f *FittedRFF) Frequencies() *mat.Dense { return f.features.Frequencies() }

// Gamma returns γ for each column.
func (f *FittedRFF) Gamma() []float64 { return slices.Clone(f.gamma) }

// Kernel returns k(x, y), which the features approximate, and an error where the
// kernel is one's own and only its draws are known, as after loading it from a file.
func (f *FittedRFF) Kernel(x, y []float64) (float64, error) {
	return kernelOf("rff", f.kernel, f.features.Factor, x, y)
}

// KernelMatrix returns k of every row of X and every row of Y, rows of X × rows of Y.
func (f *FittedRFF) KernelMatrix(ctx context.Context, X, Y mat.Matrix) (*mat.Dense, error) {
	return kernelMatrix(ctx, "rff", f.kernel, f.features.Factor, X, Y)
}

// WithGamma returns the map of the same draws for another γ, one number or one for each column.
func (f *FittedRFF) WithGamma(gamma ...float64) (*FittedRFF, error) {
	g := kernel.FixedGamma(gamma...)
	if err := g.Check(); err != nil {
		return nil, fmt.Errorf("transformer: rff: gamma: must be %w", err)
	}
	out := *f
	switch {
	case len(gamma) == 1:
		out.gamma = slices.Repeat(gamma, len(f.gamma))
	case len(gamma) == len(f.gamma):
		out.gamma = slices.Clone(gamma)
	default:
		return nil, fmt.Errorf("transformer: rff: gamma has %d numbers, the map %d columns", len(gamma), len(f.gamma))
	}
	return &out, out.finish(f.features.Draws)
}

// WithFeatures returns the nested map of the first features, at most all: its columns are the first
// of this map, up to scale.
func (f *FittedRFF) WithFeatures(features int) (*FittedRFF, error) {
	m := features
	if f.features.Paired {
		m /= 2
	}
	if m < 1 || features > f.OutputWidth() || f.features.Paired && features%2 != 0 {
		return nil, fmt.Errorf("transformer: rff: number of features must be at most %[2]d, and even for the paired map, "+
			"got %[1]d", features, f.OutputWidth())
	}
	out := *f
	out.features = f.features.First(m)
	return &out, nil
}

// State serializes the fitted parameters.
func (f *FittedRFF) State(s *model.State) {
	draws, mapName := f.features.Draws, "phase"
	if draws.Paired {
		mapName = "paired"
	}
	s.String("kernel", &f.kernelName)
	s.String("map", &mapName)
	s.Float("nu", &f.shape.Nu)
	s.Float("alpha", &f.shape.Alpha)
	f.shape.State(s, f.kernelName)
	s.Matrix("base", &draws.Base)
	s.Floats("gamma", &f.gamma)
	s.Floats("phase", &draws.Phase)
	if s.Err() == nil && draws.Base == nil {
		stateOfSigns(s, &draws, len(f.gamma))
	}
	if !s.Restoring() || s.Err() != nil {
		return
	}
	draws.Paired = mapName == "paired"
	s.Require(draws.Paired || mapName == "phase", "map is neither paired nor phase")
	s.Require(f.name(nil), "the kernel is not known")
	if s.Err() != nil {
		return
	}
	d, m := len(f.gamma), draws.Len()
	if draws.Base != nil {
		d, _ = draws.Base.Dims()
	}
	phases := m
	if draws.Paired {
		phases = 0
	}
	s.Require(len(f.gamma) == d && len(draws.Phase) == phases, "frequencies, gamma and phases do not fit")
	s.Require(draws.Base == nil || allFinite(draws.Base.RawMatrix().Data), "frequencies are not finite")
	requireGamma(s, f.gamma)
	s.Require(allFinite(draws.Phase), "phases are not finite")
	s.Require(!slices.ContainsFunc(draws.Phase, func(b float64) bool { return b < 0 || b > 2*math.Pi }),
		"a phase is not an angle")
	requireShape(s, f.kernelName, f.shape, len(f.gamma))
	if s.Err() != nil {
		return
	}
	if err := f.finish(draws); err != nil {
		s.Fail("%v", err)
	}
}

// stateOfSigns serializes structured frequencies of d inputs.
func stateOfSigns(s *model.State, draws *fourier.Draws, d int) {
	var bits []uint64
	if !s.Restoring() {
		bits = draws.Signs.Bits
	}
	s.Uint64s("signs", &bits)
	s.Floats("spread", &draws.Spread)
	if !s.Restoring() || s.Err() != nil {
		return
	}
	s.Require(allFinite(draws.Spread), "spreads are not finite")
	var ok bool
	draws.Signs, ok = fourier.SignsOf(d, len(draws.Spread), bits)
	s.Require(ok, "there are no frequencies, or signs, spreads and gamma do not fit")
}
