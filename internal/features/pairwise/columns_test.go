package pairwise

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/matrices"
)

// TestKernelOfColumns checks kernels of columns against sums of products of their terms, written out, on
// dense and on sparse rows whose columns are partly dense.
func TestKernelOfColumns(t *testing.T) {
	const n, d = 40, 9
	rng := rand.New(rand.NewPCG(1, 2))
	X := mat.NewDense(n, d, nil)
	for i := range n {
		for j := range d {
			if j < 3 || rng.IntN(6) == 0 {
				X.Set(i, j, 3+rng.NormFloat64())
			}
		}
	}
	term := func(name kernel.Name, gamma float64, index ...int) kernel.Term {
		t := kernel.NewTerm(name)
		t.Gamma, t.Index = kernel.FixedGamma(gamma), index
		return t
	}
	l1 := func(x, y []float64, index ...int) (sum float64) {
		for _, j := range index {
			sum += math.Abs(x[j] - y[j])
		}
		return sum
	}
	l2 := func(x, y []float64, index ...int) (sum float64) {
		for _, j := range index {
			sum += (x[j] - y[j]) * (x[j] - y[j])
		}
		return sum
	}
	scaled := term(kernel.Laplacian, 1, 2, 8)
	scaled.Gamma = kernel.FixedGamma(0.2, 0.01)
	for name, c := range map[string]struct {
		kernel kernel.Name
		want   func(x, y []float64) float64
	}{
		"product": {kernel.Product(term(kernel.Gaussian, 0.3, 0, 3, 4), scaled, term(kernel.Gaussian, 2e-4, 5, 6, 7),
			term(kernel.Exponential, 0.4, 1)),
			func(x, y []float64) float64 {
				return math.Exp(-0.3*l2(x, y, 0, 3, 4) - 0.2*l1(x, y, 2) - 0.01*l1(x, y, 8) - 2e-4*l2(x, y, 5, 6, 7) -
					0.4*math.Sqrt(l2(x, y, 1)))
			}},
		"sum": {kernel.Sum(kernel.Summand{Weight: 3, Product: []kernel.Term{term(kernel.Cauchy, 0.5, 0, 1)}},
			kernel.Summand{Weight: 1, Product: []kernel.Term{term(kernel.Laplacian, 0.02, 2, 3, 4, 5, 6, 7, 8),
				term(kernel.Gaussian, 0.1, 0)}}),
			func(x, y []float64) float64 {
				return 0.75/((1+0.25*l2(x, y, 0))*(1+0.25*l2(x, y, 1))) +
					0.25*math.Exp(-0.02*l1(x, y, 2, 3, 4, 5, 6, 7, 8)-0.1*l2(x, y, 0))
			}},
	} {
		k, ok := NewKernel(string(c.kernel), spectral.Shape{})
		if !ok {
			t.Fatalf("%s: unknown kernel %s", name, c.kernel)
		}
		ones := []float64{1, 1, 1, 1, 1, 1, 1, 1, 1}
		for form, rows := range map[string]mat.Matrix{"dense": X, "sparse": matrices.CSRFromDense(X)} {
			f := k.Frame(k.Factors(ones), rows)
			x64, x32 := NewRows[float64](f, rows), NewRows[float32](f, rows)
			got := mat.NewDense(n, n, nil)
			if err := Matrix(context.Background(), design.View(got), x64, x64, k); err != nil {
				t.Fatal(err)
			}
			tile := mat.NewDense(4, 3, nil)
			Distances(design.View(tile), x64.Slice(5, 9), x64.Select([]int{30, 2, 7}), k.Metric)
			short := kern.Dense(n, n, n, make([]float32, n*n))
			if err := Matrix(context.Background(), short, x32, x32, k); err != nil {
				t.Fatal(err)
			}
			for i := range n {
				for l := range n {
					want := c.want(X.RawRowView(i), X.RawRowView(l))
					if math.Abs(got.At(i, l)-want) > 1e-11 || math.Abs(float64(short.At(i, l))-want) > 2e-5 {
						t.Fatalf("%s, %s: k(%d, %d) = %v, in float32 %v, want %v", name, form, i, l, got.At(i, l),
							short.At(i, l), want)
					}
				}
			}
			for i := range 4 {
				for j, l := range []int{30, 2, 7} {
					if tile.At(i, j) != got.At(5+i, l) {
						t.Errorf("%s, %s: a tile has %v, the matrix %v", name, form, tile.At(i, j), got.At(5+i, l))
					}
				}
			}
		}
	}
}
