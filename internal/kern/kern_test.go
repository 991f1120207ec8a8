package kern

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

// eps returns the unit roundoff of T, doubled.
func eps[T Float]() float64 {
	if is64[T]() {
		return 0x1p-52
	}
	return 0x1p-23
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// layouts lists the memory layouts of test matrices.
var layouts = []string{"rows", "columns", "padded", "strided"}

// randomView returns a rows × cols view of normal numbers laid out as asked,
// on a slice that starts at an odd element.
func randomView[T Float](r *rand.Rand, rows, cols int, layout string) View[T] {
	v := View[T]{Rows: rows, Cols: cols}
	switch layout {
	case "rows":
		v.RowStride, v.ColStride = max(cols, 1), 1
	case "columns":
		v.RowStride, v.ColStride = 1, max(rows, 1)
	case "padded":
		v.RowStride, v.ColStride = cols+3, 1
	case "strided":
		v.RowStride, v.ColStride = 3*cols+7, 3
	}
	data := make([]T, rows*v.RowStride+cols*v.ColStride+8)
	for i := range data {
		data[i] = T(r.NormFloat64())
	}
	v.Data = data[1:]
	return v
}

// clone copies a view with its gaps.
func clone[T Float](v View[T]) View[T] {
	v.Data = slices.Clone(v.Data)
	return v
}

func values[T Float](v View[T]) []T {
	var out []T
	for i := range v.Rows {
		for j := range v.Cols {
			out = append(out, v.At(i, j))
		}
	}
	return out
}

// sameBits compares bit by bit, NaN included.
func sameBits[T Float](t *testing.T, what string, a, b []T) {
	t.Helper()
	if len(a) != len(b) {
		t.Fatalf("%s: lengths %d and %d", what, len(a), len(b))
	}
	for i := range a {
		if math.Float64bits(float64(a[i])) != math.Float64bits(float64(b[i])) {
			t.Fatalf("%s: element %d is %v and %v", what, i, a[i], b[i])
		}
	}
}

// each runs a test in both precisions with every available instruction set.
func each(t *testing.T, f64, f32 func(t *testing.T)) {
	eachSet(t, func(t *testing.T) {
		t.Run("f64", f64)
		t.Run("f32", f32)
	})
}

func eachSet(t *testing.T, f func(t *testing.T)) {
	best := isa
	defer func() { isa = best }()
	for _, isa = range available() {
		t.Run(isa.String(), f)
	}
}

func TestScaleFloor(t *testing.T) {
	each(t, checkScaleFloor[float64], checkScaleFloor[float32])
}

func checkScaleFloor[T Float](t *testing.T) {
	for n := range 80 {
		x := make([]T, n)
		for i := range x {
			x[i] = T(i%13) - 3
		}
		ScaleFloor(-2, -9, x)
		for i, got := range x {
			if want := max(-2*(T(i%13)-3), -9); got != want {
				t.Fatalf("%d elements: x[%d] = %v, want %v", n, i, got, want)
			}
		}
	}
}

// withCores runs f under each number of cores.
func withCores(f func(cores int)) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, cores := range []int{1, 2, 5} {
		runtime.GOMAXPROCS(cores)
		f(cores)
	}
}

// checkMul compares C (+)= A·B with the plain sum in float64, and checks that gaps between the
// elements of C are unchanged.
func checkMul[T Float](t *testing.T, what string, c, a, b View[T], accumulate bool) {
	t.Helper()
	before := clone(c)
	want := clone(c)
	limit := make(map[[2]int]float64)
	for i := range c.Rows {
		for j := range c.Cols {
			var s, size float64
			if accumulate {
				s = float64(c.At(i, j))
				size = math.Abs(s)
			}
			for k := range a.Cols {
				p := float64(a.At(i, k)) * float64(b.At(k, j))
				s += p
				size += math.Abs(p)
			}
			want.Set(i, j, T(s))
			limit[[2]int{i, j}] = size * eps[T]() * (2 + math.Sqrt(float64(a.Cols)))
		}
	}
	Mul(c, a, b, accumulate)
	for i := range c.Rows {
		for j := range c.Cols {
			if d := math.Abs(float64(c.At(i, j)) - float64(want.At(i, j))); !(d <= limit[[2]int{i, j}]) {
				t.Fatalf("%s: c[%d,%d] = %v, want %v", what, i, j, c.At(i, j), want.At(i, j))
			}
			before.Set(i, j, c.At(i, j))
		}
	}
	sameBits(t, what+": gaps", c.Data, before.Data)
}

func testMul[T Float](t *testing.T) {
	r := newRand(1)
	sizes := []int{0, 1, 2, 3, 5, 8, 13, 24, 31, 49, 67}
	for trial := range 300 {
		m, k, n := sizes[r.IntN(len(sizes))], sizes[r.IntN(len(sizes))], sizes[r.IntN(len(sizes))]
		if trial%50 == 0 {
			k = 600
		}
		la, lb, lc := layouts[r.IntN(4)], layouts[r.IntN(4)], layouts[r.IntN(4)]
		what := fmt.Sprintf("%d×%d (%s) · %d×%d (%s) into %s", m, k, la, k, n, lb, lc)
		checkMul(t, what, randomView[T](r, m, n, lc), randomView[T](r, m, k, la), randomView[T](r, k, n, lb), trial%2 == 0)
	}
}

func TestMul(t *testing.T) {
	each(t, testMul[float64], testMul[float32])
}

func testGram[T Float](t *testing.T) {
	r := newRand(2)
	for trial := range 60 {
		n, d := r.IntN(90), 1+r.IntN(90)
		a, c := randomView[T](r, n, d, layouts[r.IntN(4)]), randomView[T](r, d, d, layouts[r.IntN(4)])
		var weights []T
		if trial%2 == 0 {
			weights = make([]T, n)
			for i := range weights {
				weights[i] = T(r.Float64())
			}
		}
		before := clone(c)
		Gram(forever, c, a, weights)
		for i := range d {
			for j := range i + 1 {
				s := float64(before.At(i, j))
				for k := range n {
					w := 1.0
					if weights != nil {
						w = float64(weights[k])
					}
					s += w * float64(a.At(k, i)) * float64(a.At(k, j))
				}
				if e := math.Abs(s - float64(c.At(i, j))); e > 100*eps[T]()*(math.Abs(s)+float64(n)) {
					t.Fatalf("n=%d d=%d: c[%d,%d] = %v, want %v", n, d, i, j, c.At(i, j), s)
				}
				before.Set(i, j, c.At(i, j))
			}
		}
		sameBits(t, "outside the lower triangle", c.Data, before.Data)
	}
}

func TestGram(t *testing.T) {
	each(t, testGram[float64], testGram[float32])
}

func TestGramMixed(t *testing.T) { eachSet(t, testGramMixed) }

func testGramMixed(t *testing.T) {
	r := newRand(3)
	for range 20 {
		n, d := 1+r.IntN(700), 1+r.IntN(60)
		a := randomView[float32](r, n, d, layouts[r.IntN(4)])
		c := randomView[float64](r, d, d, "rows")
		want := clone(c)
		GramMixed(forever, c, a, nil)
		for i := range d {
			for j := range i + 1 {
				s := want.At(i, j)
				for k := range n {
					s += float64(a.At(k, i)) * float64(a.At(k, j))
				}
				if e := math.Abs(s - c.At(i, j)); e > 30*0x1p-23*(math.Abs(s)+math.Sqrt(float64(n))) {
					t.Fatalf("n=%d d=%d: c[%d,%d] = %v, want %v", n, d, i, j, c.At(i, j), s)
				}
			}
		}
	}
}

// A mixed Gram matrix has the bits of Gram matrices in float32 of blocks of rows, added up in
// float64, however its own parts lie to each other, with any number of cores.
func TestGramMixedIsSumOfBlocks(t *testing.T) {
	eachSet(t, func(t *testing.T) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
		r, depth := newRand(5), blockingOf[float32]().kc
		for _, s := range [][2]int{{mixedDepth + 300, 7}, {2*mixedDepth + 5, 211}, {300, 2*mixedStripe + 9},
			{257, blockingOf[float32]().nc + 100}} {
			n, d := s[0], s[1]
			a, c, weights := randomView[float32](r, n, d, "rows"), randomView[float64](r, d, d, "rows"), make([]float32, n)
			for i := range weights {
				weights[i] = r.Float32()
			}
			want, serial := clone(c), clone(c)
			for k := 0; k < n; k += depth {
				end := min(k+depth, n)
				part := Dense(d, d, d, make([]float32, d*d))
				Gram(forever, part, a.Slice(k, end, 0, d), weights[k:end])
				for i := range d {
					for j := range i + 1 {
						want.Set(i, j, want.At(i, j)+float64(part.At(i, j)))
					}
				}
			}
			runtime.GOMAXPROCS(1)
			GramMixed(forever, serial, a, weights)
			runtime.GOMAXPROCS(3)
			GramMixed(forever, c, a, weights)
			for i := range d {
				if !slices.Equal(c.Row(i), want.Row(i)) || !slices.Equal(serial.Row(i), want.Row(i)) {
					t.Fatalf("n=%d d=%d: row %d has other bits", n, d, i)
				}
			}
		}
	})
}

func testMirrorLower[T Float](t *testing.T) {
	r := newRand(4)
	for _, n := range []int{1, 31, 33, 35, 71, 96} {
		for _, layout := range layouts {
			c := randomView[T](r, n, n, layout)
			want := clone(c)
			MirrorLower(c)
			for i := range n {
				for j := range i + 1 {
					if c.At(j, i) != want.At(i, j) || c.At(i, j) != want.At(i, j) {
						t.Fatalf("%d, %s: (%d,%d): %v and %v, want %v", n, layout, i, j, c.At(i, j), c.At(j, i), want.At(i, j))
					}
				}
			}
		}
	}
}

func TestMirrorLower(t *testing.T) { each(t, testMirrorLower[float64], testMirrorLower[float32]) }

// testMulRows checks that the parts are the rows of the product, each once, and that f may change
// them.
func testMulRows[T Float](t *testing.T) {
	r := newRand(24)
	for _, s := range [][3]int{{1, 1, 1}, {95, 7, 49}, {96, 512, 48}, {200, 0, 5}, {0, 3, 2}, {313, 601, 101},
		{97, 1100, 25}} {
		for _, layout := range layouts {
			a, b := randomView[T](r, s[0], s[1], layout), randomView[T](r, s[1], s[2], layout)
			want := Dense(s[0], s[2], s[2], make([]T, s[0]*s[2]))
			Mul(want, a, b, false)
			got := Dense(s[0], s[2], s[2], make([]T, s[0]*s[2]))
			err := MulRows(forever, a, b, func(first int, c View[T]) {
				for i := range c.Rows {
					Axpy(1, c.Row(i), got.Row(first+i))
					clear(c.Row(i))
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range want.Data {
				if math.Abs(float64(v-got.Data[i])) > 4*eps[T]()*float64(s[1]+1) {
					t.Fatalf("%v, %s: element %d is %v, want %v", s, layout, i, got.Data[i], v)
				}
			}
		}
	}
}

func TestMulRows(t *testing.T) { each(t, testMulRows[float64], testMulRows[float32]) }

func testCholesky[T Float](t *testing.T) {
	r := newRand(5)
	for _, n := range []int{0, 1, 2, 7, 32, 33, 65, 150} {
		for _, layout := range layouts {
			z := randomView[T](r, 2*n+5, n, "rows")
			a := randomView[T](r, n, n, layout)
			zero(a)
			Gram(forever, a, z, nil)
			l := clone(a)
			if pivot, ok, _ := Cholesky(forever, l); !ok {
				t.Fatalf("n=%d: failed at %d", n, pivot)
			}
			for i := range n {
				for j := range i + 1 {
					var s float64
					for k := range j + 1 {
						s += float64(l.At(i, k)) * float64(l.At(j, k))
					}
					if e := math.Abs(s - float64(a.At(i, j))); e > 20*eps[T]()*float64(n+10) {
						t.Fatalf("n=%d %s: (LLᵀ)[%d,%d] = %v, want %v", n, layout, i, j, s, a.At(i, j))
					}
				}
			}
			MirrorLower(a)
			x, b := randomView[T](r, n, 5, layout), randomView[T](r, n, 5, layout)
			Mul(b, a, x, false)
			SolveCholesky(forever, l, b)
			for i := range n {
				for j := range 5 {
					if e := math.Abs(float64(b.At(i, j) - x.At(i, j))); e > 1e3*eps[T]()*float64(n+1) {
						t.Fatalf("n=%d %s: x[%d,%d] = %v, want %v", n, layout, i, j, b.At(i, j), x.At(i, j))
					}
				}
			}
		}
	}
}

func TestCholesky(t *testing.T) {
	each(t, testCholesky[float64], testCholesky[float32])
}

func TestCholeskyNamesTheFailingPivot(t *testing.T) { eachSet(t, testCholeskyNamesTheFailingPivot) }

func testCholeskyNamesTheFailingPivot(t *testing.T) {
	for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		for _, at := range []int{0, 3, 31, 32, 70, 99} {
			a := Dense(100, 100, 100, make([]float64, 100*100))
			for i := range 100 {
				a.Set(i, i, 2)
			}
			a.Set(at, at, bad)
			if pivot, ok, _ := Cholesky(forever, a); ok || pivot != at {
				t.Errorf("diagonal element %d is %v: pivot %d, ok %v", at, bad, pivot, ok)
			}
		}
	}
}

func TestProductsDoNotDependOnCores(t *testing.T) { eachSet(t, testProductsDoNotDependOnCores) }

func testProductsDoNotDependOnCores(t *testing.T) {
	r := newRand(6)
	a, b := randomView[float64](r, 300, 700, "rows"), randomView[float64](r, 700, 290, "columns")
	right := randomView[float64](r, 300, 700, "rows")
	var mul, parts, gram, chol, solved, paired []float64
	withCores(func(cores int) {
		c := Dense(300, 290, 290, make([]float64, 300*290))
		Mul(c, a, b, false)
		rows := Dense(300, 290, 290, make([]float64, 300*290))
		MulRows(forever, a, b, func(first int, part View[float64]) {
			for i := range part.Rows {
				copy(rows.Row(first+i), part.Row(i))
			}
		})
		g := Dense(300, 300, 300, make([]float64, 300*300))
		Gram(forever, g, a.T(), nil)
		f := clone(g)
		if _, ok, _ := Cholesky(forever, f); !ok {
			t.Fatal("not positive definite")
		}
		x := clone(right)
		if err := SolveCholesky(forever, f, x); err != nil {
			t.Fatal(err)
		}
		z := Dense(300, 580, 580, make([]float64, 300*580))
		SinCosMap(z, a, b, 1)
		if cores == 1 {
			mul, parts, gram, chol, solved, paired = c.Data, rows.Data, g.Data, f.Data, x.Data, z.Data
		}
		sameBits(t, "MulRows", rows.Data, parts)
		sameBits(t, "SinCosMap", z.Data, paired)
		sameBits(t, "Mul", c.Data, mul)
		sameBits(t, "Gram", g.Data, gram)
		sameBits(t, "Cholesky", f.Data, chol)
		sameBits(t, "SolveCholesky", x.Data, solved)
	})
}

func testVectors[T Float](t *testing.T) {
	r := newRand(15)
	for n := range 151 {
		if n == 150 {
			n = 2*maxAsmElements + 77 // several calls of assembly
		}
		for shift := range 3 { // unaligned
			x, y := randomView[T](r, n+3, 1, "rows").Data[shift:shift+n], randomView[T](r, n+3, 1, "rows").Data[shift:shift+n]
			var dot, sum, size float64
			for i := range n {
				dot += float64(x[i]) * float64(y[i])
				sum += float64(x[i])
				size += math.Abs(float64(x[i])) * (1 + math.Abs(float64(y[i])))
			}
			near(t, "Dot", float64(Dot(x, y)), dot, eps[T]()*size)
			near(t, "Sum", float64(Sum(x)), sum, eps[T]()*size)
			before := slices.Clone(y)
			Axpy(0.5, x, y)
			for i := range n {
				near(t, "Axpy", float64(y[i]), float64(before[i])+0.5*float64(x[i]), 4*eps[T]())
			}
			turned := make([]T, n/2)
			SinCosGrad(turned, x[:n/2*2], y[:n/2*2])
			for i := range turned {
				to, from := float64(x[2*i])*float64(y[2*i+1]), float64(x[2*i+1])*float64(y[2*i])
				near(t, "Turn", float64(turned[i]), to-from, 2*eps[T]()*(math.Abs(to)+math.Abs(from)))
			}
			before = slices.Clone(x)
			Scale(0.25, x)
			for i := range n {
				near(t, "Scale", float64(x[i]), 0.25*float64(before[i]), 0)
			}
		}
	}
}

func TestVectors(t *testing.T) { each(t, testVectors[float64], testVectors[float32]) }

func testMulVec[T Float](t *testing.T) {
	r := newRand(7)
	for trial := range 200 {
		m, n := r.IntN(80), r.IntN(80)
		if trial%20 == 0 {
			m, n = 40, 5000
		}
		a := randomView[T](r, m, n, layouts[r.IntN(4)])
		x, y := randomView[T](r, n, 1, "rows").Data[:n], randomView[T](r, m, 1, "rows").Data[:m]
		want, size := make([]float64, m), make([]float64, m)
		for i := range m {
			if trial%2 == 0 {
				want[i] = float64(y[i])
			}
			for j := range n {
				want[i] += float64(a.At(i, j)) * float64(x[j])
				size[i] += math.Abs(float64(a.At(i, j)) * float64(x[j]))
			}
		}
		MulVec(y, a, x, trial%2 == 0)
		for i := range y {
			if e := math.Abs(float64(y[i]) - want[i]); e > eps[T]()*(size[i]+1)*math.Sqrt(float64(n+1)) {
				t.Fatalf("%d×%d: y[%d] = %v, want %v", m, n, i, y[i], want[i])
			}
		}
	}
}

func TestMulVec(t *testing.T) {
	each(t, testMulVec[float64], testMulVec[float32])
}

func TestMulBothWays(t *testing.T) {
	each(t, testMulBothWays[float64], testMulBothWays[float32])
}

func testMulBothWays[T Float](t *testing.T) {
	r := newRand(17)
	for _, shape := range [][2]int{{0, 0}, {0, 3}, {3, 0}, {1, 1}, {4, 16}, {5, 17}, {7, 8}, {9, 77}, {64, 512},
		{6, 17000}} {
		m, n := shape[0], shape[1]
		a := randomView[T](r, m, n, "padded")
		vector := func(n int) []T { return randomView[T](r, n, 1, "rows").Data[:n] }
		x, w, y, z := vector(n), vector(m), vector(m), vector(n)
		old := slices.Clone(z)
		MulVecBoth(y, z, a, x, w)
		ahead, back := make([]T, m), make([]T, n)
		MulVec(ahead, a, x, false)
		MulVecT(back, a, w, false)
		tol := 8 * eps[T]() * (1 + math.Sqrt(float64(n)))
		for i, v := range y {
			near(t, fmt.Sprintf("%d×%d: y", m, n), float64(v), float64(ahead[i]), tol*8)
		}
		for j, v := range z {
			near(t, fmt.Sprintf("%d×%d: z", m, n), float64(v), float64(old[j]+back[j]), tol*8)
		}
	}
}

func TestMulVecDoesNotDependOnCores(t *testing.T) { eachSet(t, testMulVecDoesNotDependOnCores) }

func testMulVecDoesNotDependOnCores(t *testing.T) {
	r := newRand(8)
	for _, shape := range [][2]int{{3000, 100}, {100, 9000}, {2000, 300}} {
		a := randomView[float64](r, shape[0], shape[1], "rows")
		x, u := randomView[float64](r, shape[1], 1, "rows").Data, randomView[float64](r, shape[0], 1, "rows").Data
		x, u = x[:shape[1]], u[:shape[0]]
		var first, firstT []float64
		withCores(func(cores int) {
			y, v := make([]float64, shape[0]), make([]float64, shape[1])
			MulVec(y, a, x, false)
			MulVecT(v, a, u, false)
			if cores == 1 {
				first, firstT = y, v
			}
			sameBits(t, "MulVec", y, first)
			sameBits(t, "MulVecT", v, firstT)
		})
	}
}

func testMaps[T Float](t *testing.T) {
	r := newRand(9)
	for _, n := range []int{0, 1, 2, 5, 70} {
		for _, d := range []int{0, 1, 3, 54, 300} {
			for _, m := range []int{0, 1, 5, 101} {
				x, w := randomView[T](r, n, d, layouts[r.IntN(4)]), randomView[T](r, d, m, layouts[r.IntN(4)])
				b := randomView[T](r, m, 1, "rows").Data[:m]
				phase, paired := randomView[T](r, n, m, "padded"), randomView[T](r, n, 2*m, "padded")
				CosMap(phase, x, w, b, 0.5)
				SinCosMap(paired, x, w, 0.25)
				for i := range n {
					for j := range m {
						var s, size float64
						for k := range d {
							s += float64(x.At(i, k)) * float64(w.At(k, j))
							size += math.Abs(float64(x.At(i, k)) * float64(w.At(k, j)))
						}
						tol := eps[T]() * (2 + size)
						near(t, "cos with phase", float64(phase.At(i, j)), 0.5*math.Cos(s+float64(b[j])), tol)
						near(t, "cos", float64(paired.At(i, 2*j)), 0.25*math.Cos(s), tol)
						near(t, "sin", float64(paired.At(i, 2*j+1)), 0.25*math.Sin(s), tol)
					}
				}
			}
		}
	}
}

func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Fatalf("%s: %v, want %v within %v", what, got, want, tol)
	}
}

func TestFourierMaps(t *testing.T) {
	each(t, testMaps[float64], testMaps[float32])
}

func testOneRow[T Float](t *testing.T) {
	r := newRand(10)
	x, w := randomView[T](r, 131, 700, "rows"), randomView[T](r, 700, 77, "rows")
	b := randomView[T](r, 77, 1, "rows").Data[:77]
	phase, paired := Dense(131, 77, 77, make([]T, 131*77)), Dense(131, 154, 154, make([]T, 131*154))
	CosMap(phase, x, w, b, 2)
	SinCosMap(paired, x, w, 2)
	one, two := Dense(1, 77, 77, make([]T, 77)), Dense(1, 154, 154, make([]T, 154))
	for i := range x.Rows {
		row := x.Slice(i, i+1, 0, 700)
		CosMap(one, row, w, b, 2)
		SinCosMap(two, row, w, 2)
		sameBits(t, "CosMap", one.Data, phase.Row(i))
		sameBits(t, "SinCosMap", two.Data, paired.Row(i))
	}
}

func TestOneRowIsTheSameRowInABatch(t *testing.T) {
	each(t, testOneRow[float64], testOneRow[float32])
}

// randomSparse returns a sparse matrix and the same matrix dense.
func randomSparse[T Float](r *rand.Rand, rows, cols int, indexOnly bool) (Sparse[T], View[T]) {
	a := Sparse[T]{Rows: rows, Cols: cols, Indptr: make([]int, rows+1), Scale: 0.5}
	d := Dense(rows, cols, cols, make([]T, rows*cols))
	for i := range rows {
		for range r.IntN(12) {
			j := r.IntN(cols)
			v := T(1)
			if !indexOnly {
				v = T(r.NormFloat64())
				a.Values = append(a.Values, v)
			}
			a.Indices = append(a.Indices, uint32(j))
			d.Set(i, j, d.At(i, j)+a.Scale*v)
		}
		a.Indptr[i+1] = len(a.Indices)
	}
	return a, d
}

func testSparse[T Float](t *testing.T) {
	r := newRand(11)
	for trial := range 30 {
		a, d := randomSparse[T](r, 1+r.IntN(5000), 1+r.IntN(50), trial%2 == 0)
		n := r.IntN(wideRow + 2)
		b, bt := randomView[T](r, a.Cols, n, "padded"), randomView[T](r, a.Rows, n, "padded")
		c, ct := randomView[T](r, a.Rows, n, "padded"), randomView[T](r, a.Cols, n, "padded")
		wantC, wantCT := clone(c), clone(ct)
		again := trial%3 == 0
		Mul(wantC, d, b, again)
		Mul(wantCT, d.T(), bt, again)
		SparseMul(c, a, b, again)
		SparseMulT(ct, a, bt, again)
		nearViews(t, "SparseMul", c, wantC)
		nearViews(t, "SparseMulT", ct, wantCT)
		if n == 0 {
			continue
		}
		y, yt := make([]T, a.Rows), make([]T, a.Cols)
		x, xt := make([]T, a.Cols), make([]T, a.Rows)
		for i := range x {
			x[i] = b.At(i, 0)
		}
		for i := range xt {
			xt[i] = bt.At(i, 0)
		}
		MulVec(wantC.Data[:a.Rows], d, x, false)
		SparseMulVec(y, a, x, false)
		nearViews(t, "SparseMulVec", Column(y), Column(wantC.Data[:a.Rows]))
		MulVecT(wantCT.Data[:a.Cols], d, xt, false)
		SparseMulVecT(yt, a, xt, false)
		nearViews(t, "SparseMulVecT", Column(yt), Column(wantCT.Data[:a.Cols]))
	}
}

func nearViews[T Float](t *testing.T, what string, got, want View[T]) {
	t.Helper()
	for i := range want.Rows {
		for j := range want.Cols {
			near(t, what, float64(got.At(i, j)), float64(want.At(i, j)), 1000*eps[T]()*(1+math.Abs(float64(want.At(i, j)))))
		}
	}
}

func TestSparse(t *testing.T) {
	each(t, testSparse[float64], testSparse[float32])
}

func testSparseBeyond[T Float](t *testing.T) {
	for _, bad := range []uint32{3, 1 << 31} {
		a := Sparse[T]{Rows: 1, Cols: 3, Indptr: []int{0, 5}, Indices: []uint32{0, 1, 2, 1, bad}, Scale: 1}
		wide, row := Dense(3, 4, 4, make([]T, 12)), Dense(1, 4, 4, make([]T, 4))
		for name, f := range map[string]func(){
			"SparseMul":  func() { SparseMul(row, a, wide, false) },
			"SparseMulT": func() { SparseMulT(wide, a, row, false) },
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s takes index %d of 3 columns", name, bad)
					}
				}()
				f()
			}()
		}
	}
}

func TestSparseIndexBeyondColumns(t *testing.T) {
	each(t, testSparseBeyond[float64], testSparseBeyond[float32])
}

func TestSparseTransposeDoesNotDependOnCores(t *testing.T) {
	r := newRand(12)
	a, _ := randomSparse[float64](r, 20000, 300, true)
	b := randomView[float64](r, a.Rows, 3, "rows")
	var first []float64
	withCores(func(cores int) {
		c := Dense(a.Cols, 3, 3, make([]float64, a.Cols*3))
		SparseMulT(c, a, b, false)
		if cores == 1 {
			first = c.Data
		}
		sameBits(t, "SparseMulT", c.Data, first)
	})
}

func testFWHT[T Float](t *testing.T) {
	r := newRand(13)
	for n := 1; n <= 512; n *= 2 {
		x := randomView[T](r, 3, n, "padded")
		h := Dense(n, n, n, make([]T, n*n))
		for i := range n {
			for j := range n {
				sign := T(1)
				for k := i & j; k != 0; k &= k - 1 {
					sign = -sign
				}
				h.Set(i, j, sign)
			}
		}
		want := Dense(3, n, n, make([]T, 3*n))
		Mul(want, x, h, false)
		FWHT(x)
		nearViews(t, fmt.Sprintf("order %d", n), x, want)
	}
}

func TestFWHT(t *testing.T) { each(t, testFWHT[float64], testFWHT[float32]) }

// testFWHTTwice tests transforms longer than the longest assembly call.
func testFWHTTwice[T Float](t *testing.T) {
	const n = 4 * maxAsmElements
	x := randomView[T](newRand(14), 1, n, "rows")
	want := clone(x)
	FWHT(x)
	FWHT(x)
	Scale(1.0/n, x.Data)
	nearViews(t, "twice", x, want)
}

func TestFWHTTwice(t *testing.T) { each(t, testFWHTTwice[float64], testFWHTTwice[float32]) }

// testSignedFWHT compares with separate transforms and sign changes.
func testSignedFWHT[T Float](t *testing.T) {
	r := newRand(15)
	for _, n := range []int{1, 2, 8, 64, 1024} {
		x, signs := randomView[T](r, 1, n, "rows"), make([]T, 3*n)
		for i := range signs {
			signs[i] = T(2*r.IntN(2) - 1)
		}
		want := clone(x)
		for _, list := range [][]T{signs[2*n:], signs[n : 2*n], signs[:n]} {
			for i, s := range list {
				want.Data[i] *= s
			}
			FWHT(want)
		}
		SignedFWHT(x.Row(0), signs)
		nearViews(t, fmt.Sprintf("order %d", n), x, want)
	}
}

func TestSignedFWHT(t *testing.T) { each(t, testSignedFWHT[float64], testSignedFWHT[float32]) }

func testMultiply[T Float](t *testing.T) {
	r := newRand(16)
	for _, n := range []int{0, 1, 7, 16, 33, 1000, maxAsmElements + 19} {
		x, y := randomView[T](r, 1, n, "rows"), randomView[T](r, 1, n, "rows")
		got, want := make([]T, n), make([]T, n)
		for i := range want {
			want[i] = x.Data[i] * y.Data[i]
		}
		MulElem(got, x.Data[:n], y.Data[:n])
		sameBits(t, fmt.Sprintf("%d products", n), got, want)
		MulElem(x.Data[:n], x.Data[:n], y.Data[:n])
		sameBits(t, fmt.Sprintf("%d products in place", n), x.Data[:n], want)
	}
}

func TestMultiply(t *testing.T) { each(t, testMultiply[float64], testMultiply[float32]) }

func TestParallelRunsEachChunkOnce(t *testing.T) {
	withCores(func(int) {
		hits := make([]int, 1003)
		Parallel(len(hits), 10, func(lo, hi int) {
			if lo%10 != 0 || hi != min(lo+10, len(hits)) {
				t.Errorf("chunk [%d, %d)", lo, hi)
			}
			Parallel(hi-lo, 3, func(a, b int) {
				for i := lo + a; i < lo+b; i++ {
					hits[i]++
				}
			})
		})
		for i, n := range hits {
			if n != 1 {
				t.Fatalf("index %d was run %d times", i, n)
			}
		}
		if n := busyWorkers.Load(); n != 0 {
			t.Fatalf("%d helpers were not given back", n)
		}
	})
}

func TestParallelRaisesPanicsInTheCaller(t *testing.T) {
	withCores(func(int) {
		defer func() {
			if r := recover(); r != "oops" {
				t.Errorf("recovered %v", r)
			}
		}()
		Parallel(100, 1, func(lo, hi int) {
			if lo == 57 {
				panic("oops")
			}
		})
		t.Error("no panic")
	})
}

// FWHT transforms every row of x.
func FWHT[T Float](x View[T]) {
	for i := range x.Rows {
		fwht(x.Row(i))
	}
}
