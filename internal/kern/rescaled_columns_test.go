package kern

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestRescaledColumns checks that features of angles with one factor each are the cosines and sines
// of the products.
func TestRescaledColumns(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 10))
	for _, shape := range [][2]int{{1, 1}, {5, 7}, {48, 24}, {103, 61}} {
		n, m := shape[0], shape[1]
		angles, phases, factors := make([]float64, n*m), make([]float64, m), make([]float64, m)
		for i := range angles {
			angles[i] = 20 * rng.NormFloat64()
		}
		for j := range phases {
			phases[j], factors[j] = rng.Float64(), rng.ExpFloat64()
		}
		factors[m/2], phases[0] = 1e11, 0
		const scale = 0.25
		paired, phased := make([]float64, 2*n*m), make([]float64, n*m)
		SinCosRescaledColumns(Dense(n, 2*m, 2*m, paired), Dense(n, m, m, angles), factors, scale)
		CosRescaledColumns(Dense(n, m, m, phased), Dense(n, m, m, angles), phases, factors, scale)
		for at, a := range angles {
			v := float64(factors[at%m] * a) // rounded, where v + phase would be fused
			for _, c := range [][2]float64{
				{paired[2*at], scale * math.Cos(v)}, {paired[2*at+1], scale * math.Sin(v)},
				{phased[at], scale * math.Cos(v+phases[at%m])},
			} {
				if math.Abs(c[0]-c[1]) > 1e-14*(1+math.Abs(v)/1e9) {
					t.Fatalf("%d×%d, element %d: %v, want %v", n, m, at, c[0], c[1])
				}
			}
		}
	}
}
