package spectral

import (
	"math"
	"testing"
)

// parts are a mixture of gaussian kernels, and one with a kernel that is none.
func parts(names ...string) (out []Part) {
	for i, name := range names {
		k, _ := FourierKernel(name, Shape{Nu: 0.7, Alpha: 2, Exponent: 1.4})
		out = append(out, Part{Kernel: k, Factor: 0.5 + float64(i), Weight: 1 + 2*float64(i)})
	}
	return out
}

// The mean of cos ω·t over uniform numbers is the kernel, for every kernel that maps them to frequencies.
func TestUniformNumbersMakeTheKernel(t *testing.T) {
	kernels := map[string]Kernel{
		"sum":       Sum(parts("gaussian", "matern", "exponential")),
		"rough sum": Sum(parts("gaussian", "laplacian")),
		"wide sum":  Sum(parts("gaussian", "powered_exponential")),
	}
	for _, name := range FourierKernels {
		kernels[name], _ = FourierKernel(name, Shape{Nu: 0.7, Alpha: 2})
	}
	for name, k := range kernels {
		for _, at := range []float64{0.2, 1, 2.5} {
			want := k.Exact([]float64{at})
			steps := 2000
			if k.Uniforms > 1 || k.SpreadOf == nil {
				steps = 80
			}
			got := mean(steps, max(1, k.Uniforms), func(u []float64) float64 {
				if k.SpreadOf != nil { // the normal factor has a known mean
					s := k.SpreadOf(u[:k.Uniforms])
					return math.Exp(-s * s * at * at / 2)
				}
				return mean(10_000, 1, func(v []float64) float64 {
					omega := []float64{0}
					k.FrequencyAt(u[:k.Uniforms], v, omega)
					return math.Cos(omega[0] * at)
				})
			})
			if math.Abs(got-want) > 4e-3 {
				t.Errorf("%s: the mean at %v is %v, the kernel %v", name, at, got, want)
			}
		}
	}
}

// mean returns the mean of f over a grid with steps points in each of one or two dimensions.
func mean(steps, dims int, f func(u []float64) float64) float64 {
	sum, u := 0.0, make([]float64, dims)
	inner := 1
	if dims == 2 {
		inner = steps
	}
	for i := range steps {
		for j := range inner {
			u[0] = (float64(i) + 0.5) / float64(steps)
			if dims == 2 {
				u[1] = (float64(j) + 0.5) / float64(steps)
			}
			sum += f(u) / float64(steps*inner)
		}
	}
	return sum
}

// TestExactSumsAndProducts checks that weights are normalized, and that factors rescale the
// kernels.
func TestExactSumsAndProducts(t *testing.T) {
	of := parts("gaussian", "cauchy")
	at := []float64{0.3, -1}
	a, b := of[0].Exact([]float64{0.15, -0.5}), of[1].Exact([]float64{0.45, -1.5})
	if got, want := Sum(of).Exact(at), (a+3*b)/4; math.Abs(got-want) > 1e-15 {
		t.Errorf("the sum is %v, want %v", got, want)
	}
	product := productOfTerms([]termPart{{of[0].Kernel, []int{1, 3}, []float64{0.5}},
		{of[1].Kernel, []int{2, 0}, []float64{1.5}}})
	if got, want := product.Exact([]float64{-1, 0.3, 0.3, -1}), a*b; math.Abs(got-want) > 1e-15 {
		t.Errorf("the product is %v, want %v", got, want)
	}
}
