package spectral

import (
	"math"
	"testing"
)

// Kernels have closed forms for some shapes.
func TestKernelsAgainstClosedForms(t *testing.T) {
	for _, r := range []float64{0, 1e-9, 0.01, 0.3, 1, 2.5, 10, 40} {
		for nu, want := range map[float64]float64{
			0.5: math.Exp(-r),
			1.5: (1 + math.Sqrt(3)*r) * math.Exp(-math.Sqrt(3)*r),
			2.5: (1 + math.Sqrt(5)*r + 5*r*r/3) * math.Exp(-math.Sqrt(5)*r),
		} {
			if got := matern(nu, r); math.Abs(got-want) > 1e-12 {
				t.Errorf("matern(%v, %v) is %v, want %v", nu, r, got, want)
			}
		}
		// Matérn tends to the gaussian kernel, at the rate 1/ν.
		if got, want := matern(1e5, r), math.Exp(-r*r/2); math.Abs(got-want) > 1e-5 {
			t.Errorf("matern(1e5, %v) is %v, want about %v", r, got, want)
		}
	}
}

// The smooth kernel against numeric integration over the pitches of the chance that two weights meet.
func TestSmoothKernelAgainstIntegration(t *testing.T) {
	for _, delta := range []float64{0, 0.3, 1, 4} {
		sum, h := 0.0, 0.005
		for w := delta + h/2; w < 60; w += h {
			s := delta / w
			sum += h * (1 - 5*s*s + 5*s*s*s - math.Pow(s, 5)) * math.Pow(w, 5) * math.Exp(-w) / 120
		}
		if got := smoothExact(-delta); math.Abs(got-sum) > 1e-5 {
			t.Errorf("the kernel at %v is %v, by integration %v", delta, got, sum)
		}
	}
}
