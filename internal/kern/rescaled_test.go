package kern

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestRescaled checks that features of rescaled angles are their cosines and sines, for widths that
// are not multiples of the vector length and angles beyond the range of the assembly.
func TestRescaled(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	for _, shape := range [][2]int{{1, 1}, {5, 7}, {48, 24}, {103, 61}, {50, 403}} {
		n, m := shape[0], shape[1]
		angles, phases := make([]float64, n*m), make([]float64, m)
		for i := range angles {
			angles[i] = 20 * rng.NormFloat64()
		}
		angles[len(angles)/2] = 1e11
		for j := range phases {
			phases[j] = rng.Float64()
		}
		const factor, scale = 0.7, 0.25
		paired, phased := make([]float64, 2*n*m), make([]float64, n*m)
		SinCosRescaled(Dense(n, 2*m, 2*m, paired), Dense(n, m, m, angles), factor, scale)
		CosRescaled(Dense(n, m, m, phased), Dense(n, m, m, angles), phases, factor, scale)
		for at, a := range angles {
			for _, c := range [][2]float64{
				{paired[2*at], scale * math.Cos(factor*a)}, {paired[2*at+1], scale * math.Sin(factor*a)},
				{phased[at], scale * math.Cos(float64(factor*a)+phases[at%m])},
			} {
				if math.Abs(c[0]-c[1]) > 1e-14*(1+math.Abs(a)/1e9) {
					t.Fatalf("%d×%d, element %d: %v, want %v", n, m, at, c[0], c[1])
				}
			}
		}
	}
}
