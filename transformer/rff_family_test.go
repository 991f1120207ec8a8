package transformer

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/features/fourier"
	"github.com/bochner-ml/bochner/kernel"
)

// TestKernelsShareAProjection checks that kernels that are mixtures of gaussian kernels share one
// projection of the rows, and that each map equals the map fitted from its own spec.
func TestKernelsShareAProjection(t *testing.T) {
	ctx := context.Background()
	data := datasets.Set{X: uniform(50, 6)}
	for at := range 2 * len(fourier.Laws) {
		draw, form := fourier.Laws[at/2], []string{"paired", "phase"}[at%2]
		var specs []Fitter
		for i, name := range []string{"gaussian", "exponential", "matern", "matern", "rational_quadratic",
			"rational_quadratic", "matern", "mixture"} {
			s := NewRFF()
			s.Kernel, s.Map, s.Features, s.Gamma, s.Seed, s.Draw = kernel.Name(name), form, 40, kernel.FixedGamma(0.4), 5, draw
			switch i {
			case 3:
				s.Nu = 4
			case 5:
				s.Shape, s.Features = 3, 12
			case 6:
				s.Gamma = kernel.GammaScale()
			case 7:
				s.Kernel = columnKernels()["mixture"]
			}
			specs = append(specs, s)
		}
		family, err := specs[0].(RFF).FitFamily(ctx, data, specs)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(family.Shared, []string{"projection"}) || len(family.Widths()) != len(specs) {
			t.Fatalf("%d maps that share %v", len(family.Widths()), family.Shared)
		}
		seen := 0
		which := []int{0, 1, 2, 3, 4, 5, 6, 7}
		err = family.Each(ctx, data.X, which, func(i int, Z mat.Matrix) error {
			seen++
			want := mustTransform(t, mustFit(t, specs[slices.IndexFunc(family.Members,
				func(m FamilyMember) bool { return m.Map == i })], data), data.X)
			if !mat.EqualApprox(Z, want, 1e-12) {
				t.Errorf("%s: map %d is not that of its spec", draw, i)
			}
			return nil
		})
		if err != nil || seen != len(specs) {
			t.Fatalf("%d maps, %v", seen, err)
		}
	}
}

// TestCustomKernelsAreRelatedToThemselvesOnly checks that a custom kernel is related only to
// itself, because two custom kernels may have different draws.
func TestCustomKernelsAreRelatedToThemselvesOnly(t *testing.T) {
	of := func(scale float64) RFF {
		s := NewRFF()
		s.Gamma, s.Features, s.Kernel = kernel.FixedGamma(1), 8, "custom"
		s.Custom = &CustomKernel{Frequency: func(rng *rand.Rand, omega []float64) {
			for j := range omega {
				omega[j] = scale * rng.NormFloat64()
			}
		}}
		return s
	}
	a, b := of(1), of(2)
	wide := a
	wide.Features = 16
	if !a.SameFamily(wide) || a.SameFamily(b) || b.SameFamily(a) {
		t.Errorf("related to its own kernel %v, to another %v and %v", a.SameFamily(wide), a.SameFamily(b), b.SameFamily(a))
	}
	data := datasets.Set{X: mat.NewDense(3, 2, []float64{1, 2, 3, 4, 5, 6})}
	if _, err := a.FitFamily(context.Background(), data, []Fitter{a, b}); err == nil {
		t.Error("two kernels make one family")
	}
	if _, err := a.FitFamily(context.Background(), data, []Fitter{a, wide}); err != nil {
		t.Error(err)
	}
}

func TestRelated(t *testing.T) {
	of := func(name kernel.Name) RFF {
		s := NewRFF()
		s.Kernel = name
		return s
	}
	for _, c := range []struct {
		a, b RFF
		want bool
	}{
		{of("gaussian"), of("matern"), true},
		{of("rational_quadratic"), of("exponential"), true},
		{of("laplacian"), of("laplacian"), true},
		{of("gaussian"), of("laplacian"), false}, // a draw for each input
		{of("cauchy"), of("laplacian"), false},
	} {
		if got := c.a.SameFamily(c.b); got != c.want {
			t.Errorf("%s and %s: %v", c.a.Kernel, c.b.Kernel, got)
		}
	}
	seed, form, draw, mixture := of("matern"), of("matern"), of("matern"), of("gaussian")
	seed.Seed, form.Map, draw.Draw = 9, "phase", "qmc"
	if seed.SameFamily(of("matern")) || form.SameFamily(of("matern")) || draw.SameFamily(of("matern")) {
		t.Error("another seed, map or draw is related")
	}
	mixture.Kernel = columnKernels()["mixture"]
	rough, other := mixture, mixture
	rough.Kernel, other.Kernel = columnKernels()["rough mixture"], columnKernels()["rough product"]
	if !mixture.SameFamily(of("matern")) || rough.SameFamily(mixture) || rough.SameFamily(other) ||
		!rough.SameFamily(rough) {
		t.Error("mixtures of gaussian kernels are related to each other, any other kernel to itself")
	}
}

// TestFamilyRefusesHugeValues checks that values beyond the limit of a family are errors, not NaN.
func TestFamilyRefusesHugeValues(t *testing.T) {
	narrow := NewRFF()
	narrow.Gamma, narrow.Features = kernel.FixedGamma(1e-300), 8
	other := narrow
	other.Kernel = "matern"
	data := datasets.Set{X: uniform(20, 3)}
	family, err := narrow.FitFamily(context.Background(), data, []Fitter{narrow, other})
	if err != nil {
		t.Fatal(err)
	}
	X := mat.NewDense(1, 3, []float64{math.MaxFloat64, math.MaxFloat64, math.MaxFloat64})
	if err := family.Each(context.Background(), X, []int{0, 1}, func(int, mat.Matrix) error { return nil }); err == nil {
		t.Error("values that overflow are taken")
	}
}
