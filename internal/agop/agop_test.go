package agop

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/golden"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/pairwise"
	"github.com/bochner-ml/bochner/internal/polls"
)

// The gradients of a sum of waves, and their average outer product, as numpy has them.
func TestFourierGradientsAgainstReference(t *testing.T) {
	var in struct {
		X, Normal  [][]float64
		Gamma      float64
		CosWeights []float64 `json:"cos_weights"`
		SinWeights []float64 `json:"sin_weights"`
	}
	var want struct{ Gradient, Agop [][]float64 }
	golden.Load(t, "agop", &in, &want)
	n, d, m := len(in.X), len(in.X[0]), len(in.Normal)
	f := Fourier[float64]{Omega: newView[float64](d, m), Weights: newView[float64](2*m, 1), Norm: 1 / math.Sqrt(float64(m))}
	for k, row := range in.Normal {
		for j, v := range row {
			f.Omega.Set(j, k, math.Sqrt(2*in.Gamma)*v)
		}
		f.Weights.Set(2*k, 0, in.CosWeights[k])
		f.Weights.Set(2*k+1, 0, in.SinWeights[k])
	}
	X := newView[float64](n, d)
	for i, row := range in.X {
		copy(X.Row(i), row)
	}
	G := newView[float64](n, d)
	f.Gradients(G, X)
	for i, row := range want.Gradient {
		for j, v := range row {
			if got := G.At(i, j); math.Abs(got-v) > 1e-12 {
				t.Fatalf("gradient %d, %d is %v, wanted %v", i, j, got, v)
			}
		}
	}
	rounded := newView[float32](n, d)
	for i, v := range G.Data {
		rounded.Data[i] = float32(v)
	}
	for _, diagonal := range []bool{false, true} {
		p := newProducts(d, diagonal)
		if err := p.add(context.Background(), rounded); err != nil {
			t.Fatal(err)
		}
		M := p.matrix()
		for i, row := range want.Agop {
			for j, v := range row {
				at := j
				if diagonal {
					if at = 0; i != j {
						continue
					}
				}
				if got := M.At(i, at) / float64(n); math.Abs(got-v) > 1e-6 {
					t.Fatalf("diagonal %v: product %d, %d is %v, wanted %v", diagonal, i, j, got, v)
				}
			}
		}
	}
}

// drawn returns n rows of d normal inputs and a target for each of the functions.
func drawn(n, d int, functions ...func(x []float64) float64) Rows {
	rng := rand.New(rand.NewPCG(5, 6))
	rows := Rows{X: mat.NewDense(n, d, nil), Y: newView[float64](n, len(functions)), Held: n / 5}
	for i := range n {
		for j := range d {
			rows.X.Set(i, j, rng.NormFloat64())
		}
		for c, f := range functions {
			rows.Y.Set(i, c, f(rows.X.RawRowView(i)))
		}
	}
	return rows
}

func options(kernel string) Options {
	k, _ := pairwise.NewKernel(kernel, 1.5, 1)
	return Options{Kernel: k, Bandwidth: 1, Power: 0.5, Rounds: 3, Seed: 1}
}

// rough are the kernels whose frequencies have such heavy tails that gradients of their random features are
// noise.
var rough = []string{"exponential", "laplacian", "cauchy"}

// A function of one direction has a gradient in that direction only, so that M is its outer product,
// whichever kernel, exact or not, and the error falls.
func TestLearnFindsADirection(t *testing.T) {
	w := []float64{0.6, 0, -0.8, 0, 0}
	rows := drawn(400, 5, func(x []float64) float64 { return math.Sin(2 * kern.Dot(w, x)) })
	for _, kernel := range []string{"gaussian", "exponential", "matern", "rational_quadratic", "laplacian", "cauchy"} {
		for _, features := range []int{0, 300} {
			if features > 0 && slices.Contains(rough, kernel) {
				continue
			}
			o := options(kernel)
			o.Features = features
			r, err := Learn(context.Background(), o, rows)
			if err != nil {
				t.Fatal(err)
			}
			along := 0.0
			for i, v := range w {
				for j, u := range w {
					along += v * u * r.Products.At(i, j)
				}
			}
			if r.Round == 0 || along < 0.9 || r.Errors[r.Round] > 0.5*r.Errors[0] {
				t.Errorf("%s, %d features: %.3f of M is along the direction; errors %.3g, round %d", kernel, features, along, r.Errors, r.Round)
			}
		}
	}
}

// Of the inputs of two targets a diagonal map keeps those that either depends on.
func TestLearnFindsInputsOfSeveralTargets(t *testing.T) {
	rows := drawn(400, 5, func(x []float64) float64 { return math.Cos(2 * x[1]) }, func(x []float64) float64 { return x[3] })
	for _, features := range []int{0, 300} {
		o := options("gaussian")
		o.Features, o.Diagonal = features, true
		r, err := Learn(context.Background(), o, rows)
		if err != nil {
			t.Fatal(err)
		}
		used := r.Products.At(1, 0) + r.Products.At(3, 0)
		if used < 0.9 || min(r.Products.At(1, 0), r.Products.At(3, 0)) < 0.05 {
			t.Errorf("%d features: products %.3v", features, mat.Col(nil, 0, r.Products))
		}
	}
}

// What is learned from noise is not kept: the rows that judge have taught nothing.
func TestNoiseTeachesNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	r, err := Learn(context.Background(), options("exponential"), drawn(300, 8, func([]float64) float64 { return rng.NormFloat64() }))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range r.Errors {
		if e < 0.9*r.Errors[0] {
			t.Errorf("errors %v: noise is predicted", r.Errors)
		}
	}
}

// The map's units are those of the kernel: rows mapped by it have the median distance that γ = 1 is for.
func TestMapHasTheKernelsWidth(t *testing.T) {
	rows := drawn(300, 3, func(x []float64) float64 { return x[0] })
	for kernel, want := range map[string]float64{"exponential": 1 / 2.5, "gaussian": 1 / math.Sqrt2 / 2.5} {
		o := options(kernel)
		o.Bandwidth = 2.5
		r, err := Learn(context.Background(), o, rows)
		if err != nil {
			t.Fatal(err)
		}
		var mapped mat.Dense
		mapped.Mul(rows.X, r.Map)
		var distances []float64
		for i := 60; i < 300; i++ {
			for j := 60; j < i; j++ {
				sum := 0.0
				for q := range 3 {
					v := mapped.At(i, q) - mapped.At(j, q)
					sum += v * v
				}
				distances = append(distances, math.Sqrt(sum))
			}
		}
		if got := median(distances); math.Abs(got-want) > 1e-4*want {
			t.Errorf("%s: the median distance is %v, wanted %v", kernel, got, want)
		}
	}
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// Bits do not depend on the number of cores.
func TestLearnOnAnyNumberOfCores(t *testing.T) {
	rows := drawn(300, 4, func(x []float64) float64 { return x[0] * x[1] }, func(x []float64) float64 { return x[2] })
	for _, features := range []int{0, 64} {
		o := options("exponential")
		o.Features = features
		want, err := Learn(context.Background(), o, rows)
		if err != nil {
			t.Fatal(err)
		}
		before := runtime.GOMAXPROCS(1)
		got, err := Learn(context.Background(), o, rows)
		runtime.GOMAXPROCS(before)
		if err != nil {
			t.Fatal(err)
		}
		if !mat.Equal(got.Map, want.Map) || !mat.Equal(got.Products, want.Products) {
			t.Errorf("%d features: one core learns another map", features)
		}
	}
}

// Cancelled at any look at its context, Learn returns the context's error.
func TestLearnStops(t *testing.T) {
	rows := drawn(60, 3, func(x []float64) float64 { return x[0] })
	for _, features := range []int{0, 20} {
		o := options("gaussian")
		o.Features = features
		if err := polls.Check(func(ctx context.Context) (bool, error) {
			r, err := Learn(ctx, o, rows)
			return r != nil, err
		}); err != nil {
			t.Errorf("%d features: %v", features, err)
		}
	}
}
