package transformer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/kern"
)

// kernel is a shift-invariant kernel as its random features see it. Every one is a scale family:
//
//	k_γ(Δ) = k_1(γ^power ∘ Δ),  ω(γ) = γ^power ∘ ω(1),  pitch(γ) = pitch(1) / γ
//
// so that draws for γ = 1 serve every γ.
type kernel struct {
	power float64 // of γ
	l1    bool    // whether its distance is that of the L1 norm
	// exact is k_1; nil where only draws are known.
	exact func(delta []float64) float64
	// frequency fills omega with a draw of the spectral measure of k_1.
	frequency func(rng *rand.Rand, omega []float64)
	// spread, instead of frequency, draws what standard normal numbers are multiplied by to be such a
	// draw: the kernel is a mixture of gaussian ones, a function of ‖Δ‖₂.
	spread func(rng *rand.Rand) float64
	// pitch draws the reciprocal of a pitch of k_1's grids, finite and not negative.
	pitch func(rng *rand.Rand) float64
	// smooth says that entries are bumps of the place in the bin.
	smooth bool
}

// fourierKernels are the kernels with Fourier features by name.
var fourierKernels = []string{"gaussian", "laplacian", "cauchy", "exponential", "matern", "rational_quadratic"}

// fourierKernel returns a kernel by name; nu and alpha are the shapes of those that have one.
func fourierKernel(name string, nu, alpha float64) (kernel, bool) {
	k := kernel{power: 1}
	switch name {
	case "gaussian":
		k.power = 0.5
		k.exact = func(delta []float64) float64 { return math.Exp(-kern.Dot(delta, delta)) }
		k.spread = func(*rand.Rand) float64 { return math.Sqrt2 }
	case "laplacian":
		k.l1 = true
		k.exact = laplacianExact
		k.frequency = func(rng *rand.Rand, omega []float64) {
			for j := range omega {
				omega[j] = math.Tan(math.Pi * (rng.Float64() - 0.5))
			}
		}
	case "cauchy":
		k.exact = product(func(t float64) float64 { return 1 / (1 + t*t) })
		k.frequency = func(rng *rand.Rand, omega []float64) {
			for j := range omega {
				omega[j] = math.Copysign(rng.ExpFloat64(), rng.Float64()-0.5)
			}
		}
	case "exponential":
		k.exact = func(delta []float64) float64 { return math.Exp(-math.Sqrt(kern.Dot(delta, delta))) }
		k.spread = func(rng *rand.Rand) float64 { return 1 / max(math.Abs(rng.NormFloat64()), tiny) }
	case "matern":
		k.exact = func(delta []float64) float64 { return matern(nu, math.Sqrt(kern.Dot(delta, delta))) }
		k.spread = func(rng *rand.Rand) float64 {
			half := distuv.Gamma{Alpha: nu, Beta: 1, Src: rng}.Rand() // χ²(2ν)/2
			return math.Sqrt(nu / max(half, tiny))
		}
	case "rational_quadratic":
		k.power = 0.5
		k.exact = func(delta []float64) float64 {
			return math.Exp(-alpha * math.Log1p(kern.Dot(delta, delta)/alpha))
		}
		k.spread = func(rng *rand.Rand) float64 {
			return math.Sqrt(2 * distuv.Gamma{Alpha: alpha, Beta: alpha, Src: rng}.Rand())
		}
	default:
		return kernel{}, false
	}
	return k, true
}

// tiny keeps draws finite where the generator returns 0.
const tiny = 0x1p-1022

// normal fills x with normal numbers of the given standard deviation.
func normal(rng *rand.Rand, sd float64, x []float64) {
	for j := range x {
		x[j] = sd * rng.NormFloat64()
	}
}

// binningKernels are the kernels with binning features by name.
var binningKernels = []string{"laplacian", "hyperbolic", "triangular", "smooth"}

// binningKernel returns a kernel by name.
func binningKernel(name string) (kernel, bool) {
	k := kernel{power: 1, l1: true}
	switch name {
	case "laplacian":
		k.exact = laplacianExact
		// The pitch is Gamma(2, 1), the sum of two exponential numbers.
		k.pitch = func(rng *rand.Rand) float64 { return 1 / max(rng.ExpFloat64()+rng.ExpFloat64(), 0x1p-64) }
	case "hyperbolic":
		k.exact = product(func(t float64) float64 { return 1 / (1 + math.Abs(t)) })
		// p(δ) = 2δ/(1+δ)³ has the distribution function (δ/(1+δ))², inverted here for 1/δ.
		k.pitch = func(rng *rand.Rand) float64 {
			u := max(rng.Float64(), 0x1p-64)
			s := math.Sqrt(u)
			return (1 - u) / (s * (1 + s))
		}
	case "triangular":
		k.exact = product(func(t float64) float64 { return max(0, 1-math.Abs(t)) })
		k.pitch = func(*rand.Rand) float64 { return 1 }
	case "smooth":
		k.smooth, k.exact = true, product(smoothExact)
		// The pitch is Gamma(6, 1).
		k.pitch = func(rng *rand.Rand) float64 {
			sum := 0.0
			for range 6 {
				sum += rng.ExpFloat64()
			}
			return 1 / max(sum, 0x1p-64)
		}
	default:
		return kernel{}, false
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

// product returns the kernel that is the product of f over the inputs.
func product(f func(t float64) float64) func(delta []float64) float64 {
	return func(delta []float64) float64 {
		p := 1.0
		for _, t := range delta {
			p *= f(t)
		}
		return p
	}
}

// matern returns the Matérn function of smoothness nu at distance r,
//
//	2^(1−ν)/Γ(ν) · z^ν · K_ν(z),  z = sqrt(2ν)·r
//
// (Rasmussen and Williams, GPML, 2006, eq. 4.14), with K_ν by the trapezoidal rule on
// ∫ exp(−z·cosh t)·cosh(νt) dt over t > 0, whose error falls faster than any power of the step.
func matern(nu, r float64) float64 {
	z := math.Sqrt(2*nu) * r
	switch {
	case z < 1e-12:
		return 1
	case !finite(z):
		return 0
	case nu > 1e8: // its limit, to nearly all digits
		return math.Exp(-r * r / 2)
	}
	exponent := func(t float64) float64 {
		return -z*math.Cosh(t) + nu*t + math.Log1p(math.Exp(-2*nu*t)) - math.Ln2
	}
	peak := math.Asinh(nu / z)
	top, sum := exponent(peak), 0.0
	step := min(1.0/64, 0.25/math.Sqrt(math.Hypot(nu, z)))
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

// errNoKernel is a user's own kernel of which only draws are known.
var errNoKernel = errors.New("the exact kernel is not known, only its draws")

// between returns k(x, y) for inputs scaled by factor.
func (k kernel) between(step string, factor, x, y []float64) (float64, error) {
	if k.exact == nil {
		return 0, fmt.Errorf("transformer: %s: %w", step, errNoKernel)
	}
	if len(x) != len(factor) || len(y) != len(factor) {
		return 0, fmt.Errorf("transformer: %s: %d columns at fit, %d and %d now", step, len(factor), len(x), len(y))
	}
	if !allFinite(x, y) {
		return 0, fmt.Errorf("transformer: %s: the kernel of values that are missing or infinite", step)
	}
	delta := make([]float64, len(factor))
	for j, f := range factor {
		delta[j] = f * (x[j] - y[j])
	}
	return k.exact(delta), nil
}

// matrix returns k of every row of X and every row of Y, inputs scaled by factor.
func (k kernel) matrix(ctx context.Context, step string, factor []float64, X, Y mat.Matrix) (*mat.Dense, error) {
	if k.exact == nil {
		return nil, fmt.Errorf("transformer: %s: %w", step, errNoKernel)
	}
	inputs := [2]mat.Matrix{X, Y}
	for i := range inputs {
		var err error
		if inputs[i], err = checkRows(step, inputs[i], len(factor)); err != nil {
			return nil, err
		}
		if err = checkEntries(step, inputs[i], datasets.Schema{}, 0, math.MaxFloat64, false); err != nil {
			return nil, err
		}
	}
	n, _ := X.Dims()
	m, _ := Y.Dims()
	out := mat.NewDense(n, m, nil)
	x, y, delta := make([]float64, len(factor)), make([]float64, len(factor)), make([]float64, len(factor))
	for i := range n {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		a := denseRow(inputs[0], i, x)
		for l := range m {
			b := denseRow(inputs[1], l, y)
			for j, f := range factor {
				delta[j] = f * (a[j] - b[j])
			}
			out.Set(i, l, k.exact(delta))
		}
	}
	return out, nil
}
