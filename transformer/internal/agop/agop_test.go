package agop

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/features/pairwise"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/testing/canceltest"
	"github.com/bochner-ml/bochner/internal/testing/golden"
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
	f := Fourier[float64]{Omega: newView[float64](d, m), Weights: newView[float64](2*m, 1),
		Norm: 1 / math.Sqrt(float64(m))}
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
				t.Fatalf("gradient %d, %d is %v, want %v", i, j, got, v)
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
					t.Fatalf("diagonal %v: product %d, %d is %v, want %v", diagonal, i, j, got, v)
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
	k, _ := pairwise.NewKernel(kernel, spectral.Shape{Nu: 1.5, Alpha: 1})
	return Options{Kernel: k, Bandwidth: 1, Power: 0.5, Rounds: 3, Part: 1000, Seed: 1}
}

// machines returns the options of an exact machine, of one on features, and of several exact ones, which choose
// the power.
func machines(kernel string, features, part int) []Options {
	exact := options(kernel)
	exact.Power = 0
	waves, several := exact, exact
	waves.Features, several.Part = features, part
	return []Options{exact, waves, several}
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
				t.Errorf("%s, %d features: %.3f of M is along the direction; errors %.3g, round %d", kernel, features, along,
					r.Errors, r.Round)
			}
		}
	}
}

// TestLearnFindsInputsOfSeveralTargets checks that for two targets a diagonal map keeps the inputs
// that either depends on.
func TestLearnFindsInputsOfSeveralTargets(t *testing.T) {
	rows := drawn(400, 5, func(x []float64) float64 { return math.Cos(2 * x[1]) },
		func(x []float64) float64 { return x[3] })
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

// TestNoiseIsDiscarded checks that a map fitted to noise is discarded, based on the held-out
// rows.
func TestNoiseIsDiscarded(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	r, err := Learn(context.Background(), options("exponential"),
		drawn(300, 8, func([]float64) float64 { return rng.NormFloat64() }))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range r.Errors {
		if e < 0.9*r.Errors[0] {
			t.Errorf("errors %v: noise is predicted", r.Errors)
		}
	}
}

// TestMapHasTheKernelsWidth checks that mapped rows have the median distance for which γ = 1 is the
// kernel width.
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
			t.Errorf("%s: the median distance is %v, want %v", kernel, got, want)
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
	for i, o := range machines("exponential", 64, 90) {
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
			t.Errorf("machine %d: one core learns another map", i)
		}
	}
}

// TestLearnStops checks that Learn, canceled at any check of its context, returns the error of the
// context.
func TestLearnStops(t *testing.T) {
	rows := drawn(60, 3, func(x []float64) float64 { return x[0] })
	for i, o := range machines("gaussian", 20, 20) {
		if err := canceltest.Check(func(ctx context.Context) (bool, error) {
			r, err := Learn(ctx, o, rows)
			return r != nil, err
		}); err != nil {
			t.Errorf("machine %d: %v", i, err)
		}
	}
}

// Several machines, each fitted to its part of the rows, together have the mean of their products.
func TestPartsOfTheRows(t *testing.T) {
	rows := drawn(500, 3, func(x []float64) float64 { return math.Sin(x[0]*x[1]) + x[2] })
	o := options("exponential")
	u, y := rows.X.Slice(0, 400, 0, 3).(*mat.Dense), rows.Y.Slice(0, 400, 0, 1)
	of := func(part, lo, hi int) *products {
		p := newProducts(3, false)
		e := &exact{kernel: o.Kernel, y: y.Slice(lo, hi, 0, 1), part: part}
		if err := e.slopes(context.Background(), p, u.Slice(lo, hi, 0, 3).(*mat.Dense), 0.01); err != nil {
			t.Fatal(err)
		}
		return p
	}
	sum := mat.NewDense(3, 3, nil)
	for lo := 0; lo < 400; lo += 100 {
		sum.Add(sum, of(100, lo, lo+100).matrix())
	}
	sum.Scale(1./400, sum)
	mean := func(part int) *mat.Dense {
		m := of(part, 0, 400).matrix()
		m.Scale(1./400, m)
		return m
	}
	if got := mean(110); !mat.EqualApprox(got, sum, 1e-6) {
		t.Errorf("products %.4f, those of the parts are %.4f", mat.Formatted(got), mat.Formatted(sum))
	}
	if mat.EqualApprox(mean(400), sum, 1e-2) {
		t.Error("one machine has the products of four")
	}
}

// TestManyRows checks that all rows are used: the directions of several parts of 30,000 noisy rows
// differ, and their common one is that of the target.
func TestManyRows(t *testing.T) {
	w, rng := []float64{0, 0.6, 0.8}, rand.New(rand.NewPCG(3, 3))
	rows := drawn(30000, 3, func(x []float64) float64 { return math.Sin(kern.Dot(w, x)) + 8*rng.NormFloat64() })
	rows.Held = 1000
	along := func(n int) float64 {
		o := options("exponential")
		o.Part, o.Rounds, o.Bandwidth = 300, 1, 4
		some := Rows{X: rows.X.Slice(0, n, 0, 3).(*mat.Dense), Y: rows.Y.Slice(0, n, 0, 1), Held: rows.Held}
		r, err := Learn(context.Background(), o, some)
		if err != nil {
			t.Fatal(err)
		}
		var eigen mat.EigenSym
		var vectors mat.Dense
		if !eigen.Factorize(mat.NewSymDense(3, r.Products.RawMatrix().Data), true) {
			t.Fatal("no eigenvectors")
		}
		eigen.VectorsTo(&vectors)
		return math.Abs(mat.Dot(vectors.ColView(2), mat.NewVecDense(3, w)))
	}
	if all, one := along(30000), along(1300); all < 0.98 || one > 0.95 {
		t.Errorf("cosine %.3f of the direction and that of the target, %.3f of one part's", all, one)
	}
}

// Where no power is given, the map is that which predicts best: of a target that inputs have each its own part in
// the diagonal one, of one along a direction the full one.
func TestLearnChoosesTheMap(t *testing.T) {
	turned, rng := []float64{0.6, 0, -0.8, 0, 0}, rand.New(rand.NewPCG(4, 4))
	for name, c := range map[string]struct {
		target func(x []float64) float64
		full   bool
	}{
		"inputs":    {func(x []float64) float64 { return math.Abs(x[0]) + math.Sin(3*x[1]) + 0.5*rng.NormFloat64() }, false},
		"direction": {func(x []float64) float64 { return math.Sin(2 * kern.Dot(turned, x)) }, true},
	} {
		rows := drawn(300, 5, c.target)
		o := options("exponential")
		o.Rounds, o.Power = 1, 0
		r, err := Learn(context.Background(), o, rows)
		if err != nil {
			t.Fatal(err)
		}
		if got := math.Abs(r.Map.At(0, 2)) > 1e-9*r.Map.At(0, 0); got != c.full {
			t.Errorf("%s: full %v; map %.3f", name, got, mat.Formatted(r.Map))
		}
		smallest := math.Inf(1)
		for _, power := range []float64{0.5, 0.25} {
			o.Power = power
			one, err := Learn(context.Background(), o, rows)
			if err != nil {
				t.Fatal(err)
			}
			smallest = min(smallest, one.Errors[1])
		}
		if r.Errors[1] > smallest {
			t.Errorf("%s: error %v, with a power of its own %v", name, r.Errors[1], smallest)
		}
	}
}

// TestSearchFromInfiniteError checks that a search that starts at infinite errors finds the
// minimum, upwards and downwards.
func TestSearchFromInfiniteError(t *testing.T) {
	for _, best := range []float64{1. / 64, 64} {
		at, least, err := minimizeAlong(1, math.Inf(1), 1e-3, 1e3, 4, func(v float64) (float64, error) {
			if e := math.Abs(math.Log(v / best)); e < 2 {
				return e, nil
			}
			return math.Inf(1), nil
		})
		if at != best || least != 0 || err != nil {
			t.Errorf("the least error is found at %v, want %v; %v", at, best, err)
		}
	}
}

// TestRoundsEndWhereLittleIsGained checks that a map that reduces the error only slightly is kept
// and ends the rounds, and that a map that increases the error is discarded and ends them too.
func TestRoundsEndWhereLittleIsGained(t *testing.T) {
	l := &learner{Options: Options{Rounds: 9}, out: &Result{}}
	for round, c := range []struct {
		loss  float64
		goOn  bool
		round int
	}{{1, true, 0}, {0.9, true, 1}, {0.899, false, 2}, {0.95, false, 2}} {
		if goOn := l.note(round, c.loss, identity(2, false), nil); goOn != c.goOn || l.out.Round != c.round {
			t.Errorf("error %v: another round %v, that of round %d is kept", c.loss, goOn, l.out.Round)
		}
	}
}

// Where no power is given two are tried, and where the map is full their diagonals.
func TestCandidateMaps(t *testing.T) {
	for _, c := range []struct {
		power    float64
		diagonal bool
		want     []float64 // of input 0, whose products are 16
	}{{0, false, []float64{4, 2, 4, 2}}, {1, false, []float64{16, 16}}, {0, true, []float64{4, 2}}} {
		p := newProducts(2, c.diagonal)
		if err := p.add(context.Background(), kern.Dense(2, 2, 2, []float32{4, 0, 0, 1})); err != nil {
			t.Fatal(err)
		}
		maps, err := (&learner{Options: Options{Power: c.power, Diagonal: c.diagonal}}).maps(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		var got []float64
		for _, a := range maps {
			got = append(got, math.Round(1e6*matrixOf(a.full, a.diagonal).At(0, 0))/1e6)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("power %v, diagonal %v: input 0 is multiplied by %v, want %v", c.power, c.diagonal, got, c.want)
		}
	}
}
