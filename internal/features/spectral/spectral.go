// Package spectral implements shift-invariant kernels, the distributions of their random features,
// and streams of random numbers.
//
// A continuous k(x − y) with k(0) = 1 is a positive definite kernel if and only if it is the mean
// of cos ω'(x − y) over frequencies ω of a probability distribution, its spectral measure (Bochner,
// 1932). Package fourier draws ω from it. A product of functions that are convex on Δ > 0 is also
// the mean of Π max(0, 1 − |Δ_j|/δ_j) over pitches δ with density p(δ) = δ·k″(δ): the probability
// that both rows fall into the same bin of a random grid. Package bins draws δ from that density.
//
// [FourierKernel] and [BinningKernel] return a [Kernel] by name; [Sum] combines kernels, and
// kernels of columns are products in columns.go.
// Rules for kernel widths are in gamma.go, random number streams in stream.go, and quasi-random or
// orthogonal draws in halton.go and orthogonal.go.
//
// Sources: Rahimi and Recht, "Random features for large-scale kernel machines", NIPS 2007;
// Rasmussen and Williams, "Gaussian processes for machine learning", 2006, chapter 4.
package spectral

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/model"
)

// Kernel is a shift-invariant kernel with the distribution of its random features. Every kernel is
// a scale family:
//
//	k_γ(Δ) = k_1(γ^power ∘ Δ),  ω(γ) = γ^power ∘ ω(1),  pitch(γ) = pitch(1) / γ
//
// so draws for γ = 1 can be used for every γ.
type Kernel struct {
	Power   float64 // exponent of γ
	L1      bool    // whether it is a function of the L1 distance
	Columns bool    // whether it is a kernel of columns, whose terms have γ of their own
	// Exact is k_1; nil if unknown.
	Exact func(delta []float64) float64
	// Frequency fills omega with a draw of the spectral measure of k_1.
	Frequency func(rng *rand.Rand, omega []float64)
	// Spread replaces Frequency for a mixture of gaussian kernels, a function of ‖Δ‖₂: it draws the
	// factor of standard normal numbers.
	Spread func(rng *rand.Rand) float64
	// SpreadOf is Spread as a function of Uniforms uniform numbers in (0, 1).
	SpreadOf func(u []float64) float64
	// FrequencyOf is Frequency as a function of uniform numbers in (0, 1): Uniforms for the
	// frequency as a whole and one for each input; may be nil.
	FrequencyOf func(u, each, omega []float64)
	Uniforms    int
	// Pitch draws the reciprocal of a pitch of k_1's grids, finite and nonnegative.
	Pitch func(rng *rand.Rand) float64
	// Smooth means that entries are smooth functions of the position in the bin.
	Smooth bool
}

// FourierKernels lists the names of kernels with Fourier features, except powered_exponential, which
// some models do not support.
var FourierKernels = []string{"gaussian", "laplacian", "cauchy", "exponential", "matern", "rational_quadratic"}

// AllFourierKernels lists the names of all kernels with Fourier features.
var AllFourierKernels = append(slices.Clip(FourierKernels), "powered_exponential")

// Shape contains the shape parameters of kernels.
type Shape struct {
	Nu       float64 // ν of matern
	Alpha    float64 // α of rational_quadratic
	Exponent float64 // p of powered_exponential
	Degree   int     // of polynomial
	Coef0    float64 // c₀ of polynomial and sigmoid
}

// ShapeOf returns s without the parameters that the named kernel does not have, so that equal kernels
// have equal shapes.
func ShapeOf(name string, s Shape) Shape {
	switch name {
	case "matern":
		return Shape{Nu: s.Nu}
	case "rational_quadratic":
		return Shape{Alpha: s.Alpha}
	case "powered_exponential":
		return Shape{Exponent: s.Exponent}
	case "polynomial":
		return Shape{Degree: s.Degree, Coef0: s.Coef0}
	case "sigmoid":
		return Shape{Coef0: s.Coef0}
	}
	return Shape{}
}

// State serializes the exponent, degree and c₀ of a kernel that has them.
func (p *Shape) State(s *model.State, kernel string) {
	switch kernel {
	case "powered_exponential":
		s.Float("exponent", &p.Exponent)
	case "polynomial":
		s.Int("degree", &p.Degree)
		s.Float("coef0", &p.Coef0)
	case "sigmoid":
		s.Float("coef0", &p.Coef0)
	}
}

// FourierKernel returns the kernel with the given name and shape parameters, also a resolved kernel of
// columns, see [Resolve]. One that is not resolved has no draws, but the fields of one that has.
func FourierKernel(name string, s Shape) (Kernel, bool) {
	k := Kernel{Power: 1}
	switch name {
	case "gaussian":
		k.Power = 0.5
		k.Exact = func(delta []float64) float64 { return math.Exp(-kern.Dot(delta, delta)) }
		k.Spread = func(*rand.Rand) float64 { return math.Sqrt2 }
		k.SpreadOf = func([]float64) float64 { return math.Sqrt2 }
	case "laplacian":
		k.L1 = true
		k.Exact = laplacianExact
		k.Frequency = func(rng *rand.Rand, omega []float64) {
			for j := range omega {
				omega[j] = math.Tan(math.Pi * (rng.Float64() - 0.5))
			}
		}
		k.FrequencyOf = func(_, each, omega []float64) {
			for j, u := range each {
				omega[j] = math.Tan(math.Pi * (u - 0.5))
			}
		}
	case "cauchy":
		k.Exact = Product(func(t float64) float64 { return 1 / (1 + t*t) })
		k.Frequency = func(rng *rand.Rand, omega []float64) {
			for j := range omega {
				omega[j] = math.Copysign(rng.ExpFloat64(), rng.Float64()-0.5)
			}
		}
		k.FrequencyOf = func(_, each, omega []float64) {
			for j, u := range each {
				omega[j] = math.Copysign(math.Log(2*min(u, 1-u)), u-0.5)
			}
		}
	case "exponential":
		k.Exact = func(delta []float64) float64 { return math.Exp(-math.Sqrt(kern.Dot(delta, delta))) }
		k.Spread = func(rng *rand.Rand) float64 { return 1 / max(math.Abs(rng.NormFloat64()), tiny) }
		k.Uniforms, k.SpreadOf = 1, func(u []float64) float64 { return 1 / max(math.Sqrt2*math.Erfinv(u[0]), tiny) }
	case "matern", "rational_quadratic", "powered_exponential":
		k.setShape(name, s)
	default:
		list := kernel.Name(name).Summands()
		if list == nil {
			return Kernel{}, false
		}
		return columnKernel(list)
	}
	return k, true
}

// setShape sets the fields of a kernel with a shape parameter.
func (k *Kernel) setShape(name string, s Shape) {
	nu, alpha := s.Nu, s.Alpha
	switch name {
	case "matern":
		k.Exact = func(delta []float64) float64 { return matern(nu, math.Sqrt(kern.Dot(delta, delta))) }
		k.Spread = func(rng *rand.Rand) float64 {
			half := distuv.Gamma{Alpha: nu, Beta: 1, Src: rng}.Rand() // χ²(2ν)/2
			return math.Sqrt(nu / max(half, tiny))
		}
		k.Uniforms, k.SpreadOf = 1, func(u []float64) float64 {
			return math.Sqrt(nu / max(distuv.Gamma{Alpha: nu, Beta: 1}.Quantile(u[0]), tiny))
		}
	case "rational_quadratic":
		k.Power = 0.5
		k.Exact = func(delta []float64) float64 {
			return math.Exp(-alpha * math.Log1p(kern.Dot(delta, delta)/alpha))
		}
		k.Spread = func(rng *rand.Rand) float64 {
			return math.Sqrt(2 * distuv.Gamma{Alpha: alpha, Beta: alpha, Src: rng}.Rand())
		}
		k.Uniforms, k.SpreadOf = 1, func(u []float64) float64 {
			return math.Sqrt(2 * distuv.Gamma{Alpha: alpha, Beta: alpha}.Quantile(u[0]))
		}
	case "powered_exponential":
		half := s.Exponent / 2
		k.Exact = func(delta []float64) float64 { return math.Exp(-math.Pow(kern.Dot(delta, delta), half)) }
		k.Spread = func(rng *rand.Rand) float64 { return stableSpread(half, rng.Float64(), rng.ExpFloat64()) }
		k.Uniforms, k.SpreadOf = 2, func(u []float64) float64 { return stableSpread(half, u[0], -math.Log(u[1])) }
	}
}

// stableSpread returns sqrt(2τ) for τ of the positive stable distribution with E[exp(−τs)] = exp(−s^a), from a
// uniform u and a standard exponential e:
//
//	τ = sin(aπu)/sin(πu)^(1/a) · (sin((1−a)πu)/e)^((1−a)/a)
//
// (Kanter, Annals of Probability 1975; Chambers, Mallows and Stuck, JASA 1976). It is at most 1e15: a
// larger frequency makes no difference to rows that are not equal to all digits.
func stableSpread(a, u, e float64) float64 {
	if a == 1 {
		return math.Sqrt2
	}
	u, e = math.Pi*openUnit(u), max(e, tiny)
	log := math.Log(math.Sin(a*u)) - math.Log(math.Sin(u))/a + (1-a)/a*(math.Log(math.Sin((1-a)*u))-math.Log(e))
	return math.Exp(min((math.Ln2+log)/2, 15*math.Ln10))
}

// tiny is a lower bound that keeps draws finite if the generator returns 0.
const tiny = 0x1p-1022

// Normal fills x with normal numbers of the given standard deviation.
func Normal(rng *rand.Rand, sd float64, x []float64) {
	for j := range x {
		x[j] = sd * rng.NormFloat64()
	}
}

// BinningKernels lists the names of kernels with binning features.
var BinningKernels = []string{"laplacian", "hyperbolic", "triangular", "smooth"}

// BinningKernel returns the kernel with the given name.
func BinningKernel(name string) (Kernel, bool) {
	k := Kernel{Power: 1, L1: true}
	switch name {
	case "laplacian":
		k.Exact = laplacianExact
		// The pitch is Gamma(2, 1), the sum of two exponential numbers.
		k.Pitch = func(rng *rand.Rand) float64 { return 1 / max(rng.ExpFloat64()+rng.ExpFloat64(), 0x1p-64) }
	case "hyperbolic":
		k.Exact = Product(func(t float64) float64 { return 1 / (1 + math.Abs(t)) })
		// p(δ) = 2δ/(1+δ)³ has the distribution function (δ/(1+δ))², inverted here for 1/δ.
		k.Pitch = func(rng *rand.Rand) float64 {
			u := max(rng.Float64(), 0x1p-64)
			s := math.Sqrt(u)
			return (1 - u) / (s * (1 + s))
		}
	case "triangular":
		k.Exact = Product(func(t float64) float64 { return max(0, 1-math.Abs(t)) })
		k.Pitch = func(*rand.Rand) float64 { return 1 }
	case "smooth":
		k.Smooth, k.Exact = true, Product(smoothExact)
		// The pitch is Gamma(6, 1).
		k.Pitch = func(rng *rand.Rand) float64 {
			sum := 0.0
			for range 6 {
				sum += rng.ExpFloat64()
			}
			return 1 / max(sum, 0x1p-64)
		}
	default:
		return Kernel{}, false
	}
	return k, true
}

func laplacianExact(delta []float64) float64 {
	sum := 0.0
	for _, t := range delta {
		sum += math.Abs(t)
	}
	return math.Exp(-sum)
}

// smoothExact is ∫ (1 − 5s² + 5s³ − s⁵)·δ⁵·exp(−δ)/5! dδ over δ > Δ, with s = Δ/δ.
func smoothExact(delta float64) float64 {
	t := math.Abs(delta)
	return math.Exp(-t) * (1 + t + t*t/4)
}

// Product returns the kernel that is the product of f over the inputs.
func Product(f func(t float64) float64) func(delta []float64) float64 {
	return func(delta []float64) float64 {
		p := 1.0
		for _, t := range delta {
			p *= f(t)
		}
		return p
	}
}

// matern returns the Matérn function of smoothness nu at distance r.
func matern(nu, r float64) float64 { return Matern(nu, r, 1.0/64) }

// Matern returns the Matérn function of smoothness nu at distance r,
//
//	2^(1−ν)/Γ(ν) · z^ν · K_ν(z),  z = sqrt(2ν)·r
//
// (Rasmussen and Williams, GPML, 2006, eq. 4.14). K_ν is the integral of exp(−z·cosh t)·cosh(νt)
// over t > 0, computed by the trapezoidal rule, whose error decreases faster than any power of the
// step. longest is the maximum step; 1/8 gives nearly full precision.
func Matern(nu, r, longest float64) float64 {
	z := math.Sqrt(2*nu) * r
	switch {
	case z < 1e-12:
		return 1
	case !Finite(z):
		return 0
	case nu > 1e8: // the limit, accurate to nearly full precision
		return math.Exp(-r * r / 2)
	}
	exponent := func(t float64) float64 {
		return -z*math.Cosh(t) + nu*t + math.Log1p(math.Exp(-2*nu*t)) - math.Ln2
	}
	peak := math.Asinh(nu / z)
	top, sum := exponent(peak), 0.0
	step := min(longest, 0.25/math.Sqrt(math.Hypot(nu, z)))
	for i := 0; ; i++ {
		t := float64(i) * step
		e := exponent(t) - top
		if t > peak && e < -45 {
			break
		}
		weight := 1.0
		if i == 0 {
			weight = 0.5
		}
		sum += weight * math.Exp(e)
	}
	gamma, _ := math.Lgamma(nu)
	return math.Min(1, math.Exp((1-nu)*math.Ln2-gamma+nu*math.Log(z)+top+math.Log(sum*step)))
}

// Between returns k(x, y) of inputs multiplied by factor; all three slices have the same length.
func (k Kernel) Between(factor, x, y []float64) float64 {
	delta := make([]float64, len(factor))
	for j, f := range factor {
		delta[j] = f * (x[j] - y[j])
	}
	return k.Exact(delta)
}

// Matrix returns the matrix of k(x, y) for the rows x of X and y of Y, inputs multiplied by factor.
func (k Kernel) Matrix(ctx context.Context, factor []float64, X, Y mat.Matrix) (*mat.Dense, error) {
	n, _ := X.Dims()
	m, _ := Y.Dims()
	out := mat.NewDense(n, m, nil)
	x, y, delta := make([]float64, len(factor)), make([]float64, len(factor)), make([]float64, len(factor))
	for i := range n {
		if err := ctxerr.Check(ctx); err != nil {
			return nil, err
		}
		a := design.Row(X, i, x)
		for l := range m {
			b := design.Row(Y, l, y)
			for j, f := range factor {
				delta[j] = f * (a[j] - b[j])
			}
			out.Set(i, l, k.Exact(delta))
		}
	}
	return out, nil
}

// Uniform reports whether all factors are equal.
func Uniform(factors []float64) bool {
	for _, f := range factors {
		if f != factors[0] {
			return false
		}
	}
	return true
}

// Finite reports whether all numbers are finite.
func Finite(list ...float64) bool {
	for _, v := range list {
		if v-v != 0 {
			return false
		}
	}
	return true
}
