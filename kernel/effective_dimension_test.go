package kernel

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// The effective dimension is the trace of the matrix that takes targets to ridge predictions, which
// explicit features give without any eigenvalues; and it is known for simple kernels.
func TestEffectiveDimension(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n, d, alpha = 40, 5, 0.7
	z := mat.NewDense(n, d, nil)
	for i := range n {
		for j := range d {
			z.Set(i, j, rng.NormFloat64())
		}
	}
	var k, system, solved, hat mat.Dense
	k.Mul(z, z.T())
	system.Mul(z.T(), z)
	for j := range d {
		system.Set(j, j, system.At(j, j)+alpha)
	}
	if err := solved.Solve(&system, z.T()); err != nil {
		t.Fatal(err)
	}
	hat.Mul(z, &solved)
	identity, ones := mat.NewDense(n, n, nil), mat.NewDense(n, n, nil)
	for i := range n {
		identity.Set(i, i, 1)
		for j := range n {
			ones.Set(i, j, 1)
		}
	}
	for name, c := range map[string]struct {
		k    *mat.Dense
		want float64
	}{"linear": {&k, mat.Trace(&hat)}, "no two rows alike": {identity, n / (1 + alpha)},
		"all rows alike": {ones, n / (n + alpha)}} {
		got, err := EffectiveDimension(t.Context(), c.k, alpha)
		if err != nil || math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, %v, want %v", name, got, err, c.want)
		}
	}
}

func TestEffectiveDimensionRefuses(t *testing.T) {
	bad := mat.NewDense(2, 2, []float64{1, 0.5, 0.4, 1})
	for _, c := range []struct {
		k     *mat.Dense
		alpha float64
		want  string
	}{
		{mat.NewDense(2, 3, nil), 1, "2×3"}, {bad, 1, "symmetric"}, {mat.NewDense(1, 1, []float64{math.NaN()}), 1, "finite"},
		{mat.NewDense(1, 1, nil), 0, "alpha"}, {mat.NewDense(1, 1, nil), math.NaN(), "alpha"},
	} {
		if _, err := EffectiveDimension(t.Context(), c.k, c.alpha); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.alpha, err, c.want)
		}
	}
}

// gonum's eigenvalues panic on numbers that are all small.
func TestEffectiveDimensionOfSmallNumbers(t *testing.T) {
	K := mat.NewDense(2, 2, []float64{2e-200, 1e-200, 1e-200, 2e-200})
	d, err := EffectiveDimension(t.Context(), K, 1e-200)
	if want := 3.0/4 + 1.0/2; err != nil || !(d > want-1e-12 && d < want+1e-12) {
		t.Errorf("%v, %v, want %v", d, err, want)
	}
}
