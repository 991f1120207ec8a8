package spectral

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The scales of the powered exponential kernel are those of positive stable numbers τ: for a = p/2,
// E[exp(−τs)] = exp(−s^a), and for a = ½ their distribution function is erfc(1/(2·sqrt(τ))), of a
// Lévy distribution. Uniform numbers make the same distribution.
func TestPoweredExponentialScales(t *testing.T) {
	const n = 200_000
	rng := rand.New(rand.NewPCG(7, 1))
	for _, p := range []float64{0.3, 1, 1.5, 1.9, 2} {
		k, ok := FourierKernel("powered_exponential", Shape{Exponent: p})
		if !ok {
			t.Fatal("the kernel is not known")
		}
		for name, draw := range map[string]func() float64{
			"Spread":   func() float64 { return k.Spread(rng) },
			"SpreadOf": func() float64 { return k.SpreadOf([]float64{rng.Float64(), rng.Float64()}) },
		} {
			for _, s := range []float64{0.1, 1, 5} {
				sum, squares := 0.0, 0.0
				for range n {
					r := draw()
					v := math.Exp(-r * r / 2 * s) // r² is 2τ
					sum += v
					squares += v * v
				}
				mean := sum / n
				se := math.Sqrt((squares/n - mean*mean) / n)
				if want := math.Exp(-math.Pow(s, p/2)); math.Abs(mean-want) > 4.5*se+1e-12 {
					t.Errorf("p = %v, %s, s = %v: mean %v ± %v, want %v", p, name, s, mean, se, want)
				}
			}
			if p != 1 {
				continue
			}
			for _, tau := range []float64{0.1, 0.5, 3, 100} {
				below := 0
				for range n {
					if r := draw(); r*r/2 <= tau {
						below++
					}
				}
				want := math.Erfc(1 / (2 * math.Sqrt(tau)))
				if got := float64(below) / n; math.Abs(got-want) > 4.5*math.Sqrt(want*(1-want)/n) {
					t.Errorf("%s: share below %v is %v, want %v", name, tau, got, want)
				}
			}
		}
		if r := k.SpreadOf([]float64{1e-300, 1 - 1e-16}); !(r > 0 && r <= 1e15*1.0001) {
			t.Errorf("p = %v: an extreme scale is %v", p, r)
		}
	}
}
