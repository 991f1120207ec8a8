package bins

import (
	"math"
	"testing"
)

// Weights of smooth bins, folded with themselves, against numeric integration.
func TestBumpsAgainstIntegration(t *testing.T) {
	const steps = 4000
	convolved := func(s float64) (sum float64) { // ∫ bump(t)·bump(t−s) dt by the midpoint rule
		for k := range steps {
			t := (float64(k)+0.5)/steps - 0.5
			if math.Abs(t-s) <= 0.5 {
				sum += bump(t) * bump(t-s) / steps
			}
		}
		return sum
	}
	for _, s := range []float64{0, 0.1, 0.5, 0.9} {
		if got, want := convolved(s), 1-5*s*s+5*s*s*s-math.Pow(s, 5); math.Abs(got-want) > 1e-5 {
			t.Errorf("bump∗bump at %v is %v, want %v", s, got, want)
		}
	}
}
