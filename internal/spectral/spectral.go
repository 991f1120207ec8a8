// Package spectral holds shift-invariant kernels and the measures that their random features are drawn from:
// plain functions of numbers, and streams of random numbers.
//
// A continuous k(x − y) with k(0) = 1 is a positive definite kernel exactly where it is the mean of
// cos ω'(x − y) over frequencies ω of a probability measure, its spectral measure (Bochner, 1932).
// The features of package fourier draw ω from it. A product of functions that are convex on Δ > 0
// is also the mean of Π max(0, 1 − |Δ_j|/δ_j) over pitches δ of the density p(δ) = δ·k″(δ): the
// chance that both rows fall into one bin of a random grid. The features of package bins draw δ
// from that.
//
// [Kernel] is one kernel with what is known of it, [FourierKernel] and [BinningKernel] find it by name, [Sum] and
// [Times] make one of several. Widths that suit some rows are in gamma.go, streams of random numbers in stream.go,
// points that fill space more evenly than random ones in orthogonal.go and halton.go.
//
// Sources: Rahimi and Recht, "Random features for large-scale kernel machines", NIPS 2007; Rasmussen and
// Williams, "Gaussian processes for machine learning", 2006, chapter 4.
package spectral

import (
	"context"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
)

// Kernel is a shift-invariant kernel as its random features see it. Every one is a scale family:
//
//	k_γ(Δ) = k_1(γ^power ∘ Δ),  ω(γ) = γ^power ∘ ω(1),  pitch(γ) = pitch(1) / γ
//
// so that draws for γ = 1 serve every γ.
type Kernel struct {
	Power float64 // exponent of γ
	L1    bool    // whether it is a function of the L1 distance
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
	// Pitch draws the reciprocal of a pitch of k_1's grids, finite and not negative.
	Pitch func(rng *rand.Rand) float64
	// Smooth means that entries are smooth functions of the position in the bin.
	Smooth bool
}

// FourierKernels are the kernels with Fourier features by name.
var FourierKernels = []string{"gaussian", "laplacian", "cauchy", "exponential", "matern", "rational_quadratic"}

// FourierKernel returns the kernel with the given name and shape parameters.
func FourierKernel(name string, nu, alpha float64) (Kernel, bool) {
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
	default:
		return Kernel{}, false
	}
	return k, true
}

// tiny keeps draws finite where the generator returns 0.
const tiny = 0x1p-1022

// Normal fills x with normal numbers of the given standard deviation.
func Normal(rng *rand.Rand, sd float64, x []float64) {
	for j := range x {
		x[j] = sd * rng.NormFloat64()
	}
}

// BinningKernels are the kernels with binning features by name.
var BinningKernels = []string{"laplacian", "hyperbolic", "triangular", "smooth"}

// BinningKernel returns a kernel by name.
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
// (Rasmussen and Williams, GPML, 2006, eq. 4.14), with K_ν by the trapezoidal rule on
// ∫ exp(−z·cosh t)·cosh(νt) dt over t > 0, whose error falls faster than any power of the step: longest bounds it, and
// 1/8 is short enough for nearly all digits.
func Matern(nu, r, longest float64) float64 {
	z := math.Sqrt(2*nu) * r
	switch {
	case z < 1e-12:
		return 1
	case !Finite(z):
		return 0
	case nu > 1e8: // its limit, to nearly all digits
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

// Between returns k(x, y) for inputs scaled by factor; all three are as long.
func (k Kernel) Between(factor, x, y []float64) float64 {
	delta := make([]float64, len(factor))
	for j, f := range factor {
		delta[j] = f * (x[j] - y[j])
	}
	return k.Exact(delta)
}

// Matrix returns k of every row of X and every row of Y, inputs scaled by factor.
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

// Uniform reports whether all factors are the same.
func Uniform(factors []float64) bool {
	for _, f := range factors {
		if f != factors[0] {
			return false
		}
	}
	return true
}

// Finite reports whether all numbers are neither infinite nor NaN.
func Finite(list ...float64) bool {
	for _, v := range list {
		if v-v != 0 {
			return false
		}
	}
	return true
}
