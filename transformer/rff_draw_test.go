package transformer

import (
	"context"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/features/fourier"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/param"
)

// drawnMaps are specs of every draw and every kernel that suits it.
func drawnMaps() map[string]RFF {
	specs := map[string]RFF{}
	for _, draw := range fourier.Laws {
		for _, name := range append(slices.Clone(spectral.FourierKernels), slices.Collect(maps.Keys(columnKernels()))...) {
			s := NewRFF()
			s.Kernel, s.Draw, s.Features, s.Gamma = kernel.Name(name), draw, 128, kernel.FixedGamma(0.8)
			if of, ok := columnKernels()[name]; ok {
				s.Kernel = of
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

// term returns a term of the numbered columns, of all others without numbers.
func term(name kernel.Name, gamma float64, index ...int) kernel.Term {
	t := kernel.NewTerm(name, "rest")
	t.Gamma = kernel.FixedGamma(gamma)
	if index != nil {
		t.Columns, t.Index = nil, index
	}
	return t
}

// columnKernels are kernels of columns by what they are made of.
func columnKernels() map[string]kernel.Name {
	of := func(terms ...kernel.Term) []kernel.Term { return terms }
	rational := term("rational_quadratic", 0.8, 1)
	rational.Shape = 2
	return map[string]kernel.Name{
		"mixture": kernel.Sum(kernel.Summand{Weight: 1, Product: of(term("gaussian", 0.5))},
			kernel.Summand{Weight: 0.4, Product: of(term("matern", 1.5))}),
		"rough mixture": kernel.Sum(kernel.Summand{Weight: 1, Product: of(term("laplacian", 0.4))},
			kernel.Summand{Weight: 1, Product: of(term("gaussian", 1))}),
		"product":       kernel.Product(term("gaussian", 0.5, 0), rational),
		"rough product": kernel.Product(term("laplacian", 0.4, 1), term("gaussian", 1)),
		"sum": kernel.Sum(kernel.Summand{Weight: 2, Product: of(term("exponential", 0.7, 0))},
			kernel.Summand{Weight: 1, Product: of(term("cauchy", 0.4, 1), term("matern", 0.6, 0))}),
		"sum of products": kernel.Sum(
			kernel.Summand{Weight: 1, Product: of(term("exponential", 0.7, 0), term("matern", 0.5, 1))},
			kernel.Summand{Weight: 1, Product: of(term("powered_exponential", 0.6, 1), term("exponential", 0.2, 0))}),
	}
}

// TestEveryDrawApproximatesItsKernel checks that the inner products of the features have the kernel
// as mean, for every draw; structured draws have a bias of at most max_t t²·exp(−t/2)/(4w) ≈
// 2.2/(4w) for mixtures of gaussian kernels.
func TestEveryDrawApproximatesItsKernel(t *testing.T) {
	const seeds, w = 150, 64
	for name, spec := range drawnMaps() {
		for _, p := range [][2][]float64{pairs[1], pairs[3]} {
			if strings.Contains(name, "product") || strings.Contains(name, "sum") {
				p = [2][]float64{{0.3, -0.2}, {-0.4, 0.6}} // with a column for each term
			}
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
	of := func(name kernel.Name, draw string) RFF {
		s := NewRFF()
		s.Kernel, s.Draw = name, draw
		return s
	}
	own := of("custom", "qmc")
	own.Custom = &CustomKernel{Frequency: func(_ *rand.Rand, omega []float64) { clear(omega) }}
	bad := of("laplacian", "orthogonal")
	bad.Features = 3
	wrong := term("matern", 1)
	wrong.Nu = -1
	for _, c := range []struct {
		spec RFF
		want []string
	}{
		{of("laplacian", "orthogonal"),
			[]string{`draw: must be iid or qmc for kernel: laplacian, which is no mixture of gaussian kernels`}},
		{of("cauchy", "structured"), []string{`draw: must be iid or qmc for kernel: cauchy`}},
		{own, []string{`draw: must be iid for kernel: custom, whose distribution`}},
		{of(kernel.Product(term("laplacian", 1)), "orthogonal"), []string{`iid or qmc for kernel: {product: `}},
		{of(kernel.Product(), "iid"), []string{`product must be a list of terms`}},
		{of(kernel.Product(wrong), "iid"), []string{`term 1: nu must be a number > 0, got -1`}},
		{of(kernel.Product(term("polynomial", 1)), "iid"), []string{`term 1 of a product must have kernel gaussian, laplacian, cauchy, ` +
			`exponential, matern, rational_quadratic or powered_exponential, got "polynomial"`}},
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

// TestKernelOfColumnsByPath checks that terms can be set as plain values, read back, and replaced by path.
func TestKernelOfColumnsByPath(t *testing.T) {
	s := NewRFF()
	list := map[string]any{"product": []any{map[string]any{"columns": "age", "gamma": 2},
		map[string]any{"columns": []any{"a", "b"}, "kernel": "matern", "nu": 0.5, "gamma": "median"}}}
	got, err := param.With(s, param.Setting{Path: "kernel", Value: list},
		param.Setting{Path: "kernel.product.0.gamma", Value: 7}, param.Setting{Path: "kernel.product.1.nu", Value: 2.5})
	if err != nil {
		t.Fatal(err)
	}
	s = got.(RFF)
	age, others := kernel.NewTerm("gaussian", "age"), kernel.NewTerm("matern", "a", "b")
	age.Gamma, others.Gamma, others.Nu = kernel.FixedGamma(7), kernel.GammaMedian(), 2.5
	if want := kernel.Product(age, others); s.Kernel != want {
		t.Errorf("%s, want %s", s.Kernel, want)
	}
	for want, term := range map[string]any{
		"did you mean gamma?":         map[string]any{"gama": 1},
		"gamma must be a number > 0":  map[string]any{"columns": "a", "gamma": "x"},
		"term 1: must be as {columns": 3,
		"term 1: columns must be a":   map[string]any{"gamma": 1},
		"kernel must be the name of":  map[string]any{"columns": "a", "kernel": []any{}},
	} {
		_, err := param.With(s, param.Setting{Path: "kernel", Value: map[string]any{"product": []any{term}}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", term, err, want)
		}
	}
}

// TestProductFeaturesOfSparseRows checks that the inner products of the features of a product and of a sum
// have the exact kernel as mean, for sparse rows with numbers, a one-hot block and a block as of tf-idf.
func TestProductFeaturesOfSparseRows(t *testing.T) {
	const seeds = 300
	rows := mat.NewDense(3, 9, []float64{
		0.4, -0.7, 1, 0, 0, 0.6, 0, 0.8, 0,
		-0.3, 0, 0, 0, 1, 0, 0.6, 0.8, 0,
		0.4, 0.5, 1, 0, 0, 0, 0, 0, 1, // an indicator: no known term
	})
	number, date := term("gaussian", 0.5, 0), term("laplacian", 0.4, 1)
	category, text := term("gaussian", 0.3, 2, 3, 4), term("gaussian", 0.4, 5, 6, 7, 8)
	product := func(x, y []float64, gammas ...float64) float64 {
		squared := func(lo, hi int) (sum float64) {
			for j := lo; j < hi; j++ {
				sum += (x[j] - y[j]) * (x[j] - y[j])
			}
			return sum
		}
		return math.Exp(-gammas[0]*squared(0, 1) - gammas[1]*math.Abs(x[1]-y[1]) - gammas[2]*squared(2, 5) -
			gammas[3]*squared(5, 9))
	}
	for name, c := range map[string]struct {
		kernel kernel.Name
		exact  func(x, y []float64) float64
	}{
		"product": {kernel.Product(number, date, category, text),
			func(x, y []float64) float64 { return product(x, y, 0.5, 0.4, 0.3, 0.4) }},
		"sum": {kernel.Sum(kernel.Summand{Weight: 2, Product: []kernel.Term{number, date}},
			kernel.Summand{Weight: 1, Product: []kernel.Term{date, category, text}}),
			func(x, y []float64) float64 {
				return (2*product(x, y, 0.5, 0.4, 0, 0) + product(x, y, 0, 0.4, 0.3, 0.4)) / 3
			}},
	} {
		for _, draw := range []string{"iid", "qmc"} {
			for _, form := range []string{"paired", "phase"} {
				s := NewRFF()
				s.Kernel, s.Draw, s.Map, s.Features = c.kernel, draw, form, 64
				for _, p := range [][2]int{{0, 1}, {0, 2}, {1, 2}} {
					x, y := rows.RawRowView(p[0]), rows.RawRowView(p[1])
					mean, _, se := estimate(t, seeds, x, y, func(seed uint64, X *mat.Dense) Transformer {
						s.Seed = seed
						return sparseInput{mustFit(t, s, datasets.Set{X: matrices.CSRFromDense(X)})}
					})
					if want := c.exact(x, y); math.Abs(mean-want) > 4*se || se > 0.02 {
						t.Errorf("%s, %s, %s: E[z'z] of rows %v is %.4f ± %.4f, the kernel %.4f", name, draw, form, p, mean,
							se, want)
					}
				}
			}
		}
	}
}

// sparseInput maps the sparse form of its rows.
type sparseInput struct{ Transformer }

func (f sparseInput) Transform(ctx context.Context, X mat.Matrix) (mat.Matrix, error) {
	return f.Transformer.Transform(ctx, matrices.CSRFromDense(X.(*mat.Dense)))
}
