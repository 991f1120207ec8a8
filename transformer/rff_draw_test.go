package transformer

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/fourier"
	"github.com/bochner-ml/bochner/internal/spectral"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/param"
)

// drawnMaps are specs of every draw and every kernel that suits it.
func drawnMaps() map[string]RFF {
	smooth := []KernelPart{NewKernelPart("gaussian", 0.5), NewKernelPart("matern", 1.5)}
	smooth[1].Weight = 0.4
	rough := []KernelPart{NewKernelPart("laplacian", 0.4), NewKernelPart("gaussian", 1)}
	specs := map[string]RFF{}
	for _, draw := range fourier.Laws {
		for _, name := range append(slices.Clone(spectral.FourierKernels), "mixture", "product", "rough mixture",
			"rough product") {
			s := NewRFF()
			s.Kernel, s.Draw, s.Features, s.Gamma, s.Of = kernel.Name(name), draw, 128, kernel.FixedGamma(0.8), smooth
			if of, ok := strings.CutPrefix(name, "rough "); ok {
				s.Kernel, s.Of = kernel.Name(of), rough
			}
			if k, _ := s.knownKernel(); fourier.Suits(draw, k) {
				specs[draw+" "+name] = s
			}
		}
	}
	phase := specs["structured gaussian"]
	phase.Map = "phase"
	specs["structured phase"] = phase
	phase.Draw = "orthogonal"
	specs["orthogonal phase"] = phase
	return specs
}

// TestEveryDrawApproximatesItsKernel checks that the inner products of the features have the kernel
// as mean, for every draw; structured draws have a bias of at most max_t t²·exp(−t/2)/(4w) ≈
// 2.2/(4w) for mixtures of gaussian kernels.
func TestEveryDrawApproximatesItsKernel(t *testing.T) {
	const seeds, w = 150, 64
	for name, spec := range drawnMaps() {
		for _, p := range [][2][]float64{pairs[1], pairs[3]} {
			fit := func(seed uint64, X *mat.Dense) Transformer {
				s := spec
				s.Seed = seed
				return mustFit(t, s, datasets.Set{X: X})
			}
			k, err := fit(0, mat.NewDense(1, len(p[0]), p[0])).(kernelled).Kernel(p[0], p[1])
			if err != nil {
				t.Fatal(err)
			}
			mean, _, se := estimate(t, seeds, p[0], p[1], fit)
			bias := 0.0
			if spec.Draw == "structured" {
				bias = 16 * math.Exp(-2) / (4 * w)
			}
			if mean-k > 4.5*se || mean-k < -4.5*se-1.1*bias {
				t.Errorf("%s: E[z(x)'z(y)] is %.4f ± %.4f for %v, the kernel %.4f", name, mean, se, p, k)
			}
		}
	}
}

// TestDrawsLowerTheVariance checks that orthogonal and structured draws have a lower variance of
// z(x)'z(y) than independent draws at moderate distances, for the gaussian kernel, and that the
// bias of structured draws is the theoretical one.
func TestDrawsLowerTheVariance(t *testing.T) {
	const seeds = 400
	p := pairs[3]
	for draw, most := range map[string]float64{"iid": 1.3, "orthogonal": 0.7, "qmc": 0.2, "structured": 0.1} {
		s := NewRFF()
		s.Draw, s.Features, s.Gamma = draw, 128, kernel.FixedGamma(0.8)
		fit := func(seed uint64, X *mat.Dense) Transformer {
			s.Seed = seed
			return mustFit(t, s, datasets.Set{X: X})
		}
		square := 0.0
		for j := range p[0] {
			square += 0.8 * (p[0][j] - p[1][j]) * (p[0][j] - p[1][j])
		}
		k, k2 := math.Exp(-square), math.Exp(-4*square)
		mean, variance, se := estimate(t, seeds, p[0], p[1], fit)
		if part := variance / ((1 + k2 - 2*k*k) / 128); part > most || draw == "iid" && part < 0.7 {
			t.Errorf("%s: the variance is %.3f of what independent draws have, want up to %v", draw, part, most)
		}
		if draw == "structured" {
			k *= 1 - square*square/64 // −(2γΔ²)²/4w, w = 64
		}
		if math.Abs(mean-k) > 4.5*se {
			t.Errorf("%s: the mean is %.5f ± %.5f, want %.5f", draw, mean, se, k)
		}
	}
}

// Sixteen times the features have at most a quarter of the error, but for chance.
func TestErrorsOfEveryDrawFallWithFeatures(t *testing.T) {
	X := uniform(30, 3)
	for _, draw := range fourier.Laws {
		for _, name := range []string{"gaussian", "matern"} {
			few, many := 0.0, 0.0
			for seed := range uint64(12) {
				s := NewRFF()
				s.Kernel, s.Draw, s.Features, s.Gamma, s.Seed = kernel.Name(name), draw, 512, kernel.FixedGamma(1), seed
				errors, err := mustFit(t, s, datasets.Set{X: X}).(*FittedRFF).KernelErrors(context.Background(), X, []int{32, 512})
				if err != nil {
					t.Fatal(err)
				}
				few, many = few+errors[0].RMS*errors[0].RMS, many+errors[1].RMS*errors[1].RMS
			}
			if ratio := math.Sqrt(few / many); ratio < 3 {
				t.Errorf("%s %s: 16 times the features have 1/%.2f of the error", draw, name, ratio)
			}
		}
	}
}

// Draws that a kernel does not support are rejected before drawing, with all other errors.
func TestUnsupportedDraws(t *testing.T) {
	of := func(name kernel.Name, draw string, parts ...KernelPart) RFF {
		s := NewRFF()
		s.Kernel, s.Draw, s.Of = name, draw, parts
		return s
	}
	rough := NewKernelPart("laplacian", 1)
	own := of("custom", "qmc")
	own.Custom = &CustomKernel{Frequency: func(_ *rand.Rand, omega []float64) { clear(omega) }}
	bad := of("laplacian", "orthogonal")
	bad.Features = 3
	wrong := NewKernelPart("matern", 1)
	wrong.Nu = -1
	for _, c := range []struct {
		spec RFF
		want []string
	}{
		{of("laplacian", "orthogonal"),
			[]string{`draw: must be iid or qmc for kernel: laplacian, which is no mixture of gaussian kernels`}},
		{of("cauchy", "structured"), []string{`draw: must be iid or qmc for kernel: cauchy`}},
		{own, []string{`draw: must be iid for kernel: custom, whose distribution`}},
		{of("product", "qmc", rough, rough), []string{`draw: must be iid for kernel: product`}},
		{of("mixture", "orthogonal", rough), []string{`iid or qmc for kernel: mixture`}},
		{of("mixture", "iid"), []string{`of: must be at least one kernel for kernel: mixture`}},
		{of("product", "iid", wrong),
			[]string{"of: must be a list of kernels, as {kernel: gaussian, gamma: 1.0, weight: 1.0}, with nu or alpha where " +
				"they have one, got [map[gamma:1 kernel:matern nu:-1 weight:1]] (element 0: nu must be a number > 0, got " +
				"-1)", `element 0: nu must be a number > 0, got -1`}},
		{of("product", "iid", NewKernelPart("mixture", 1)),
			[]string{`element 0: kernel must be gaussian, laplacian, cauchy, exponential, matern or rational_quadratic, got "mixture"`}},
		{bad, []string{"features: must be an even number for the paired map, got 3",
			`draw: must be iid or qmc for kernel: laplacian, which is no mixture of gaussian kernels, got "orthogonal"`}},
		{of("gaussian", "sobol"), []string{`draw: must be iid, orthogonal, qmc or structured`}},
	} {
		f, err := c.spec.Fit(context.Background(), datasets.Set{X: uniform(4, 2)})
		for _, want := range c.want {
			if err == nil || f != nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s %s: %v, want %q", c.spec.Kernel, c.spec.Draw, err, want)
			}
		}
	}
}

// TestKernelPartsByPath checks that components can be set as plain values, read back, and replaced
// by path.
func TestKernelPartsByPath(t *testing.T) {
	s := NewRFF()
	s.Kernel = "mixture"
	list := []any{map[string]any{"kernel": "gaussian", "gamma": 2},
		map[string]any{"kernel": "matern", "nu": 0.5, "weight": 3.0}}
	s, err := param.Replace(s, param.Setting{Path: "of", Value: list}, param.Setting{Path: "of.0.weight", Value: 7},
		param.Setting{Path: "of.1.nu", Value: 2.5})
	if err != nil {
		t.Fatal(err)
	}
	want := []KernelPart{NewKernelPart("gaussian", 2), NewKernelPart("matern", 1)}
	want[0].Weight, want[1].Weight, want[1].Nu = 7, 3, 2.5
	if !slices.Equal(s.Of, want) {
		t.Errorf("%+v, want %+v", s.Of, want)
	}
	for wrong, printf := range map[any]string{
		"gaussian": "a list of kernels",
		"gama":     "",
	} {
		if _, err := param.With(s, param.Setting{Path: "of", Value: wrong}); err == nil ||
			!strings.Contains(err.Error(), printf) {
			t.Errorf("%v: %v", wrong, err)
		}
	}
	for name, part := range map[string]any{"did you mean gamma?": map[string]any{"gama": 1},
		"gamma is x": map[string]any{"gamma": "x"}, "element 0 is 3": 3} {
		if _, err := param.With(s, param.Setting{Path: "of", Value: []any{part}}); err == nil ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("%v: %v, want %q", part, err, name)
		}
	}
}
