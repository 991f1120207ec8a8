package pairwise

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/matrices"
)

// products are the kernels that are not shift-invariant, by their definitions for γ by input.
var productKernels = map[string]func(gamma, x, y []float64) float64{
	"polynomial": func(gamma, x, y []float64) float64 {
		sum := 0.7
		for j, g := range gamma {
			sum += g * x[j] * y[j]
		}
		return sum * sum * sum
	},
	"cosine": func(_, x, y []float64) float64 {
		if kern.Dot(x, x) == 0 || kern.Dot(y, y) == 0 {
			return 0
		}
		return kern.Dot(x, y) / math.Sqrt(kern.Dot(x, x)*kern.Dot(y, y))
	},
	"chi2": func(gamma, x, y []float64) float64 {
		sum := 0.0
		for j, g := range gamma {
			if x[j]+y[j] > 0 {
				sum += g * (x[j] - y[j]) * (x[j] - y[j]) / (x[j] + y[j])
			}
		}
		return math.Exp(-sum)
	},
}

// Values, diagonals and exports of kernels that are not shift-invariant are those of their
// definitions, for dense and sparse rows and rows of zeros.
func TestProductKernels(t *testing.T) {
	X, Y := sample(20, 5, 1), sample(30, 5, 1)
	for _, m := range []*mat.Dense{X, Y} {
		m.Apply(func(_, _ int, v float64) float64 { return math.Abs(v) }, m)
		m.SetRow(7, make([]float64, 5))
	}
	gamma := factors(5)
	for name, exact := range productKernels {
		k, ok := NewKernel(name, spectral.Shape{Degree: 3, Coef0: 0.7})
		if !ok {
			t.Fatal(name)
		}
		want := mat.NewDense(20, 30, nil)
		want.Apply(func(i, j int, _ float64) float64 { return exact(gamma, X.RawRowView(i), Y.RawRowView(j)) }, want)
		scale := mat.Max(want)
		frame := k.Frame(k.Factors(gamma), X)
		for _, pair := range [][2]mat.Matrix{{X, Y}, {matrices.CSRFromDense(X), matrices.CSRFromDense(Y)}} {
			checkValues[float64](t, k, frame, pair[0], pair[1], want, 1e-13*scale)
			checkValues[float32](t, k, frame, pair[0], pair[1], want, 2e-6*scale)
		}
		diagonal, err := Diagonal(k, NewRows[float64](frame, X))
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range diagonal {
			if w := exact(gamma, X.RawRowView(i), X.RawRowView(i)); math.Abs(v-w) > 1e-12*scale {
				t.Errorf("%s: diagonal %d is %v, want %v", name, i, v, w)
			}
		}
		g := graph.New([]graph.Input{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d"}, {Name: "e"}})
		g.Output("values", k.Export(g, g.Input(), frame, Y))
		out, err := g.Run(X)
		if err != nil || !mat.EqualApprox(out["values"], want, 1e-13*scale) {
			t.Errorf("%s: exported values differ (%v)", name, err)
		}
	}
}

func checkValues[T kern.Float](t *testing.T, k *Kernel, f Frame, A, B mat.Matrix, want *mat.Dense, tolerance float64) {
	t.Helper()
	x, y := NewRows[T](f, A), NewRows[T](f, B)
	dst := kern.Dense(x.n, y.n, y.n, make([]T, x.n*y.n))
	if err := Matrix(t.Context(), dst, x, y, k); err != nil {
		t.Fatal(err)
	}
	for i := range x.n {
		for j := range y.n {
			if v := float64(dst.At(i, j)); !(math.Abs(v-want.At(i, j)) <= tolerance) {
				t.Fatalf("%v in %T: entry %d, %d is %v, want %v", k.Metric, T(0), i, j, v, want.At(i, j))
			}
		}
	}
}

// At the limit a polynomial is finite in either precision.
func TestPolynomialLimit(t *testing.T) {
	k, _ := NewKernel("polynomial", spectral.Shape{Degree: 5, Coef0: 2})
	f := Frame{}
	for _, gamma := range []float64{1e-3, 40} {
		f = k.Frame(k.Factors([]float64{gamma, gamma}), mat.NewDense(1, 2, nil))
		X := mat.NewDense(1, 2, nil)
		limit := Limit[float32](f)
		X.SetRow(0, []float64{limit, limit})
		dst := kern.Dense(1, 1, 1, make([]float32, 1))
		if err := Matrix(t.Context(), dst, NewRows[float32](f, X), NewRows[float32](f, X), k); err != nil {
			t.Fatal(err)
		}
		if v := float64(dst.Data[0]); !(v > 1e20 && v <= math.MaxFloat32) {
			t.Errorf("γ = %v: %v at the limit %v", gamma, v, limit)
		}
	}
}
