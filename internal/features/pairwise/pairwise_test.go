package pairwise

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/matrices"
)

// shapes lists all kernels with their computation of values.
var shapes = []struct {
	name      string
	nu, alpha float64
}{
	{"gaussian", 0, 0}, {"exponential", 0, 0}, {"laplacian", 0, 0}, {"cauchy", 0, 0},
	{"matern", 0.3, 0}, {"matern", 0.5, 0}, {"matern", 1, 0}, {"matern", 1.5, 0}, {"matern", 2.5, 0}, {"matern", 3.7, 0},
	{"matern", 40, 0},
	{"rational_quadratic", 0, 0.5}, {"rational_quadratic", 0, 1}, {"rational_quadratic", 0, 2},
	{"rational_quadratic", 0, 3.3},
	{"powered_exponential", 0, 0.3}, {"powered_exponential", 0, 1}, {"powered_exponential", 0, 1.4},
	{"powered_exponential", 0, 2},
}

// shapeOf returns the parameters of a kernel; alpha is the exponent of powered_exponential.
func shapeOf(nu, alpha float64) spectral.Shape {
	return spectral.Shape{Nu: nu, Alpha: alpha, Exponent: alpha}
}

// sample returns rows of which some are 0 in most places, some are equal and some nearly.
func sample(n, d int, seed uint64) *mat.Dense {
	rng := rand.New(rand.NewPCG(seed, 1))
	X := mat.NewDense(n, d, nil)
	for i := range n {
		for j := range d {
			if rng.IntN(3) > 0 {
				X.Set(i, j, 3+rng.NormFloat64())
			}
		}
		if i%5 == 4 {
			copy(X.RawRowView(i), X.RawRowView(i-3))
		}
		if i%5 == 3 {
			copy(X.RawRowView(i), X.RawRowView(i-3))
			X.Set(i, 0, X.At(i, 0)+1e-4)
		}
	}
	return X
}

func factors(d int) []float64 {
	out := make([]float64, d)
	for j := range out {
		out[j] = 0.1 + 0.05*float64(j%7)
	}
	return out
}

// exact returns the kernel matrix by its definition.
func exact(t *testing.T, k *Kernel, X, Y *mat.Dense) *mat.Dense {
	_, d := X.Dims()
	want, err := k.Spectral().Matrix(context.Background(), k.Factors(factors(d)), X, Y)
	if err != nil {
		t.Fatal(err)
	}
	return want
}

// largestError returns how far the kernel matrix of rows of T is from the exact values.
func largestError[T kern.Float](t *testing.T, k *Kernel, want *mat.Dense, A, B mat.Matrix) float64 {
	n, d := A.Dims()
	m, _ := B.Dims()
	factor := k.Factors(factors(d))
	frame := new(Kernel).Frame(factor, A)
	if _, ok := B.(*matrices.CSR); ok {
		frame.Center = nil
	}
	x, y := NewRows[T](frame, A), NewRows[T](frame, B)
	dst := kern.Dense(n, m, m, make([]T, n*m))
	if err := Matrix(context.Background(), dst, x, y, k); err != nil {
		t.Fatal(err)
	}
	worst := 0.0
	for i := range n {
		for j := range m {
			worst = max(worst, math.Abs(float64(dst.At(i, j))-want.At(i, j)))
		}
	}
	return worst
}

// TestMatrixIsTheKernel checks that values equal the exact kernel, for every kernel, row type and
// precision.
func TestMatrixIsTheKernel(t *testing.T) {
	for _, size := range [][3]int{{9, 12, 3}, {150, 530, 21}} {
		X, Y := sample(size[0], size[2], 1), sample(size[1], size[2], 1)
		S, U := matrices.CSRFromDense(X), matrices.CSRFromDense(Y)
		for _, s := range shapes {
			k, ok := NewKernel(s.name, shapeOf(s.nu, s.alpha))
			if !ok {
				t.Fatalf("%v is not known", s)
			}
			if s.name == "matern" && size[0] > 10 {
				continue // the exact function is slow
			}
			want, narrow := exact(t, k, X, Y), 1e-5
			if s.name == "matern" && s.nu < 0.5 || s.name == "powered_exponential" && s.alpha < 1 {
				narrow = 1e-3 // its slope has no bound where rows are nearly equal
			}
			for i, pair := range [][2]mat.Matrix{{X, Y}, {S, U}, {S, Y}, {X, U}} {
				if e := largestError[float64](t, k, want, pair[0], pair[1]); !(e < 2e-9) {
					t.Errorf("%v, rows of kind %d: error %g", s, i, e)
				}
				if e := largestError[float32](t, k, want, pair[0], pair[1]); !(e < narrow) {
					t.Errorf("%v, rows of kind %d: error %g in float32", s, i, e)
				}
			}
		}
	}
}

// Equal rows have the distance 0 and the value 1, wherever they are.
func TestEqualRows(t *testing.T) {
	X := mat.NewDense(3, 40, nil)
	rng := rand.New(rand.NewPCG(4, 4))
	for j := range 40 {
		X.Set(0, j, 1000+rng.NormFloat64())
		X.Set(1, j, X.At(0, j))
		X.Set(2, j, -X.At(0, j))
	}
	for _, metric := range []Metric{Squared, L1} {
		for _, A := range []mat.Matrix{X, matrices.CSRFromDense(X)} {
			frame := Frame{Factor: factors(40)}
			testEqual(t, NewRows[float64](frame, A), metric)
			testEqual(t, NewRows[float32](frame, A), metric)
		}
	}
}

func testEqual[T kern.Float](t *testing.T, x Rows[T], metric Metric) {
	dst := kern.Dense(3, 3, 3, make([]T, 9))
	Distances(dst, x, x, metric)
	for i, want := range []bool{true, true, false, true, true, false, false, false, true} {
		if got := dst.Data[i] == 0; got != want {
			t.Errorf("metric %d in %T: distance %d is %v", metric, T(0), i, dst.Data[i])
		}
	}
}

// TestCenter checks that with a center, distances between rows far from 0 are as accurate as
// between rows near 0.
func TestCenter(t *testing.T) {
	X := sample(60, 8, 3)
	far := mat.DenseCopyOf(X)
	far.Apply(func(_, _ int, v float64) float64 { return v + 4096 }, far)
	k, _ := NewKernel("gaussian", spectral.Shape{})
	if e := largestError[float32](t, k, exact(t, k, X, X), far, far); !(e < 1e-5) {
		t.Errorf("error %g", e)
	}
}

// One tile of distances serves every γ.
func TestScale(t *testing.T) {
	X := sample(5, 6, 5)
	ones := slices.Repeat([]float64{1}, 6)
	for _, s := range shapes {
		k, _ := NewKernel(s.name, shapeOf(s.nu, s.alpha))
		if k.Metric == Cauchy {
			continue
		}
		x := NewRows[float64](Frame{Factor: ones}, X)
		distances := kern.Dense(5, 5, 5, make([]float64, 25))
		Distances(distances, x, x, k.Metric)
		for _, gamma := range []float64{0.03, 0.7} {
			tile := distances
			tile.Data = slices.Clone(distances.Data)
			Values(k, k.Scale(gamma), tile)
			want, _ := k.Spectral().Matrix(context.Background(), k.Factors(slices.Repeat([]float64{gamma}, 6)), X, X)
			for i, v := range tile.Data {
				if e := math.Abs(v - want.RawMatrix().Data[i]); !(e < 1e-9) {
					t.Fatalf("%v, γ %v: value %d is off by %g", s, gamma, i, e)
				}
			}
		}
	}
}

// TestValuesDependOnTheirRowsAlone checks that values do not depend on the tile, nor on the order
// of rows.
func TestValuesDependOnTheirRowsAlone(t *testing.T) {
	X, Y := sample(300, 19, 1), sample(1100, 19, 2)
	k, _ := NewKernel("exponential", spectral.Shape{})
	frame := new(Kernel).Frame(factors(19), X)
	x, y := NewRows[float32](frame, X), NewRows[float32](frame, Y)
	whole := kern.Dense(300, 1100, 1100, make([]float32, 300*1100))
	turned := kern.Dense(1100, 300, 300, make([]float32, 300*1100))
	for _, cores := range []int{1, 3} {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
		Matrix(context.Background(), whole, x, y, k)
		Matrix(context.Background(), turned, y, x, k)
		for range 200 {
			i, j := rand.IntN(300), rand.IntN(1100)
			one := kern.Dense(1, 1, 1, make([]float32, 1))
			Matrix(context.Background(), one, x.Slice(i, i+1), y.Slice(j, j+1), k)
			if one.Data[0] != whole.At(i, j) || one.Data[0] != turned.At(j, i) {
				t.Fatalf("(%d, %d) is %v alone, %v and %v in tiles", i, j, one.Data[0], whole.At(i, j), turned.At(j, i))
			}
		}
	}
}

// Multiply is the product with the kernel matrix.
func TestMultiply(t *testing.T) {
	X, Y := sample(150, 5, 1), sample(700, 5, 2)
	k, _ := NewKernel("matern", spectral.Shape{Nu: 1.5})
	frame := new(Kernel).Frame(factors(5), X)
	x, y := NewRows[float64](frame, X), NewRows[float64](frame, Y)
	matrix := kern.Dense(150, 700, 700, make([]float64, 150*700))
	Matrix(context.Background(), matrix, x, y, k)
	for _, outputs := range []int{1, 3} {
		v := kern.Dense(700, outputs, outputs, make([]float64, 700*outputs))
		for i := range v.Data {
			v.Data[i] = math.Sin(float64(i))
		}
		got, want := kern.Dense(150, outputs, outputs, make([]float64, 150*outputs)),
			kern.Dense(150, outputs, outputs, make([]float64, 150*outputs))
		kern.Mul(want, matrix, v, false)
		if err := Multiply(context.Background(), got, x, y, k, v); err != nil {
			t.Fatal(err)
		}
		for i := range got.Data {
			if math.Abs(got.Data[i]-want.Data[i]) > 1e-10 {
				t.Fatalf("element %d is %v, want %v", i, got.Data[i], want.Data[i])
			}
		}
	}
}

// Gradients are the slopes of kernel sums, by finite differences.
func TestGradients(t *testing.T) {
	const d, outputs = 4, 2
	for _, s := range shapes {
		k, _ := NewKernel(s.name, shapeOf(s.nu, s.alpha))
		n, m := 6, 520
		if s.name == "matern" {
			n, m = 1, 6
		}
		testGradients(t, k, n, m, d, outputs)
	}
}

func testGradients(t *testing.T, k *Kernel, n, m, d, outputs int) {
	rng := rand.New(rand.NewPCG(7, 7))
	X, Y := mat.NewDense(n, d, nil), mat.NewDense(m, d, nil)
	X.Apply(func(int, int, float64) float64 { return rng.NormFloat64() }, X)
	Y.Apply(func(int, int, float64) float64 { return rng.NormFloat64() }, Y)
	alpha := kern.Dense(m, outputs, outputs, make([]float64, m*outputs))
	for i := range alpha.Data {
		alpha.Data[i] = rng.NormFloat64()
	}
	factor := k.Factors(factors(d))
	sum := func(x []float64, c int) (total float64) {
		for j := range m {
			total += alpha.At(j, c) * k.Spectral().Between(factor, x, Y.RawRowView(j))
		}
		return total
	}
	for _, Z := range []mat.Matrix{Y, matrices.CSRFromDense(Y)} {
		got := gradientsOf[float64](t, k, factor, X, Z, alpha)
		for c := range got {
			for i := range n {
				for q := range d {
					const h = 1e-5
					x := slices.Clone(X.RawRowView(i))
					x[q] += h
					up := sum(x, c)
					x[q] -= 2 * h
					if want := (up - sum(x, c)) / (2 * h); math.Abs(got[c].At(i, q)-want) > 1e-6 {
						t.Errorf("kernel %v: gradient %d of row %d, output %d is %v, want %v", k.shape, q, i, c, got[c].At(i, q), want)
					}
				}
			}
		}
	}
	narrow := kern.Dense(m, outputs, outputs, make([]float32, m*outputs))
	for i, v := range alpha.Data {
		narrow.Data[i] = float32(v)
	}
	wide, single := gradientsOf[float64](t, k, factor, X, Y, alpha), gradientsOf[float32](t, k, factor, X, Y, narrow)
	for c := range wide {
		for i, v := range wide[c].Data {
			if math.Abs(float64(single[c].Data[i])-v) > 2e-4 {
				t.Errorf("%v: gradient is %v in float32, %v in float64", k.shape, single[c].Data[i], v)
			}
		}
	}
}

func gradientsOf[T kern.Float](t *testing.T, k *Kernel, factor []float64, X, Y mat.Matrix,
	alpha kern.View[T]) []kern.View[T] {
	n, d := X.Dims()
	frame := Frame{Factor: factor}
	var dst []kern.View[T]
	for range alpha.Cols {
		dst = append(dst, kern.Dense(n, d, d, make([]T, n*d)))
	}
	if err := Gradients(context.Background(), dst, NewRows[T](frame, X), NewRows[T](frame, Y), k, factor,
		alpha); err != nil {
		t.Fatal(err)
	}
	return dst
}

// TestGradientsAtEqualRows checks that pairs of equal rows contribute 0, and that all gradients are
// finite.
func TestGradientsAtEqualRows(t *testing.T) {
	X := mat.NewDense(2, 3, []float64{1, 2, 3, 4, 5, 7})
	one := kern.Dense(1, 1, 1, []float64{1})
	for _, s := range shapes {
		k, _ := NewKernel(s.name, shapeOf(s.nu, s.alpha))
		got := gradientsOf(t, k, []float64{1, 1, 1}, X.Slice(0, 1, 0, 3), X.Slice(0, 1, 0, 3), one)
		for _, v := range got[0].Data {
			if v != 0 {
				t.Errorf("%v: %v", s, v)
			}
		}
	}
}

// Tables are the exact function and its slope, near 0 and far away.
func TestTables(t *testing.T) {
	for _, nu := range []float64{0.05, 0.3, 1, 1.1, 3.7, 100} {
		table := tableOf(nu)
		for s := 1e-40; s < 1e4; s *= 3.17 {
			if got, want := table.value(s), spectral.Matern(nu, math.Sqrt(s), 1.0/64); math.Abs(got-want) > 2e-11 {
				t.Errorf("ν %v at %g: %v, want %v", nu, s, got, want)
			}
			h := s * 1e-4
			want := (table.exact(s+h) - table.exact(s-h)) / (2 * h)
			if s > 1e-3 && math.Abs(table.slope(s)-want) > 1e-6*(1+math.Abs(want)) {
				t.Errorf("ν %v: slope at %g is %v, want %v", nu, s, table.slope(s), want)
			}
		}
		if table.value(math.Inf(1)) != 0 || table.value(0) != 1 {
			t.Errorf("ν %v: the ends are wrong", nu)
		}
	}
}

// Rows up to the limit have finite distances.
func TestLimit(t *testing.T) {
	X := sample(4, 3, 1)
	frame := new(Kernel).Frame([]float64{1e-3, 5, 2}, X)
	for name, v := range map[string][2]float64{"float64": {Limit[float64](frame), math.MaxFloat64},
		"float32": {Limit[float32](frame), math.MaxFloat32}} {
		if v[0] > math.Sqrt(v[1]) || v[0] < math.Sqrt(v[1])/100 {
			t.Errorf("%s: limit %g", name, v[0])
		}
	}
	far := mat.NewDense(2, 3, slices.Repeat([]float64{Limit[float32](frame)}, 6))
	far.Apply(func(i, _ int, v float64) float64 { return v * float64(1-2*i) }, far)
	x := NewRows[float32](frame, far)
	dst := kern.Dense(2, 2, 2, make([]float32, 4))
	Distances(dst, x, x, Squared)
	if !kern.AllFinite([]float64{float64(dst.Data[0]), float64(dst.Data[1]), float64(dst.Data[3])}) {
		t.Errorf("distances are %v", dst.Data)
	}
}

// TestNoAllocations checks that tiles do not allocate.
func TestNoAllocations(t *testing.T) {
	X := sample(64, 20, 1)
	for _, A := range []mat.Matrix{X, matrices.CSRFromDense(X)} {
		k, _ := NewKernel("exponential", spectral.Shape{})
		frame := new(Kernel).Frame(factors(20), A)
		y := NewRows[float32](frame, A)
		var x Rows[float32]
		tile := kern.Dense(32, 64, 64, make([]float32, 32*64))
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
		got := testing.AllocsPerRun(20, func() {
			x.Prepare(frame, A, 16, 48)
			Distances(tile, x, y, k.Metric)
			Values(k, 1, tile)
		})
		if got > 3 {
			t.Errorf("%v allocations for a tile of %T", got, A)
		}
	}
}

func BenchmarkMatrix(b *testing.B) {
	X := sample(2000, 20, 1)
	for _, s := range shapes {
		k, _ := NewKernel(s.name, shapeOf(s.nu, s.alpha))
		b.Run(fmt.Sprintf("%s/%v", s.name, s.nu+s.alpha), func(b *testing.B) {
			x := NewRows[float32](new(Kernel).Frame(factors(20), X), X)
			dst := kern.Dense(2000, 2000, 2000, make([]float32, 4e6))
			for b.Loop() {
				Matrix(context.Background(), dst, x, x, k)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/4e6, "ns/pair")
		})
	}
}
