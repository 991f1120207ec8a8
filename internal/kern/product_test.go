package kern

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// gonumOf copies a view.
func gonumOf(v View[float64]) *mat.Dense {
	return mat.NewDense(v.Rows, v.Cols, values(v))
}

func testAgainstGonum(t *testing.T) {
	r := newRand(20)
	for _, n := range []int{1, 17, 100, 333} {
		a, b := randomView[float64](r, n, n+5, "padded"), randomView[float64](r, n+5, n+1, "columns")
		c := randomView[float64](r, n, n+1, "strided")
		Mul(c, a, b, false)
		var want mat.Dense
		want.Mul(gonumOf(a), gonumOf(b))
		if d := distance(gonumOf(c), &want); d > 1e-13*float64(n+5) {
			t.Errorf("n=%d: products differ by %v", n, d)
		}
		g := Dense(n, n, n, make([]float64, n*n))
		Gram(forever, g, a.T(), nil)
		MirrorLower(g)
		var sym mat.Dense
		sym.Mul(gonumOf(a), gonumOf(a).T())
		if d := distance(gonumOf(g), &sym); d > 1e-13*float64(n+5) {
			t.Errorf("n=%d: Gram matrices differ by %v", n, d)
		}
		for i := range n {
			g.Set(i, i, g.At(i, i)+1)
		}
		var chol mat.Cholesky
		if !chol.Factorize(mat.NewSymDense(n, values(g))) {
			t.Fatal("gonum: not positive definite")
		}
		if _, ok, _ := Cholesky(forever, g); !ok {
			t.Fatal("not positive definite")
		}
		rhs := randomView[float64](r, n, 7, "rows")
		var x mat.Dense
		if err := chol.SolveTo(&x, gonumOf(rhs)); err != nil {
			t.Fatal(err)
		}
		SolveCholesky(forever, g, rhs)
		if d := distance(gonumOf(rhs), &x); d > 1e-10 {
			t.Errorf("n=%d: solutions differ by %v", n, d)
		}
	}
}

func distance(a, b mat.Matrix) float64 {
	var d mat.Dense
	d.Sub(a, b)
	return mat.Norm(&d, math.Inf(1))
}

func TestAgainstGonum(t *testing.T) { eachSet(t, testAgainstGonum) }

// testNotFinite checks that an element that is not finite affects only its row or column.
func testNotFinite[T Float](t *testing.T) {
	r := newRand(21)
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		a, b, c := randomView[T](r, 37, 29, "rows"), randomView[T](r, 29, 53, "rows"), randomView[T](r, 37, 53, "rows")
		a.Set(11, 28, T(bad))
		b.Set(3, 52, T(bad))
		Mul(c, a, b, false)
		for i := range 37 {
			for j := range 53 {
				v := float64(c.At(i, j))
				if spoilt := math.IsNaN(v) || math.IsInf(v, 0); spoilt != (i == 11 || j == 52) {
					t.Fatalf("%v: c[%d,%d] = %v", bad, i, j, v)
				}
			}
		}
	}
}

func TestMulOfNotFinite(t *testing.T) { each(t, testNotFinite[float64], testNotFinite[float32]) }

// testDenormals checks that denormal numbers are not flushed to zero.
func testDenormals[T Float](t *testing.T) {
	tiny := T(math.SmallestNonzeroFloat32)
	if is64[T]() {
		tiny = T(denormal)
	}
	n := 50
	a, b, c := Dense(n, 1, 1, make([]T, n)), Dense(1, n, n, make([]T, n)), Dense(n, n, n, make([]T, n*n))
	for i := range n {
		a.Data[i], b.Data[i] = T(i), tiny
	}
	Mul(c, a, b, false)
	for i := range n {
		for j := range n {
			if c.At(i, j) != T(i)*tiny {
				t.Fatalf("c[%d,%d] = %v, want %v", i, j, c.At(i, j), T(i)*tiny)
			}
		}
	}
}

var denormal = math.SmallestNonzeroFloat64

func TestMulOfDenormals(t *testing.T) { each(t, testDenormals[float64], testDenormals[float32]) }

func FuzzMul(f *testing.F) {
	f.Add(uint64(1), uint8(3), uint8(5), uint8(7), uint8(0), true)
	f.Add(uint64(2), uint8(0), uint8(1), uint8(50), uint8(27), false)
	f.Add(uint64(3), uint8(97), uint8(33), uint8(25), uint8(63), true)
	f.Fuzz(func(t *testing.T, seed uint64, m, k, n, layout uint8, again bool) {
		r := newRand(seed)
		la, lb, lc := layouts[layout&3], layouts[layout>>2&3], layouts[layout>>4&3]
		rows, depth, cols := int(m)%128, int(k)%128, int(n)%128
		eachSet(t, func(t *testing.T) {
			checkMul(t, "f64", randomView[float64](r, rows, cols, lc), randomView[float64](r, rows, depth, la),
				randomView[float64](r, depth, cols, lb), again)
			checkMul(t, "f32", randomView[float32](r, rows, cols, lc), randomView[float32](r, rows, depth, la),
				randomView[float32](r, depth, cols, lb), again)
		})
	})
}

func FuzzGram(f *testing.F) {
	f.Add(uint64(1), uint8(3), uint8(5), uint8(0))
	f.Add(uint64(2), uint8(70), uint8(97), uint8(9))
	f.Fuzz(func(t *testing.T, seed uint64, n, d, layout uint8) {
		r := newRand(seed)
		rows, cols := int(n)%128, int(d)%128
		a := randomView[float64](r, rows, cols, layouts[layout&3])
		start := randomView[float64](r, cols, cols, layouts[layout>>2&3])
		want := clone(start)
		Mul(want, a.T(), a, true)
		eachSet(t, func(t *testing.T) {
			c := clone(start)
			Gram(forever, c, a, nil)
			for i := range cols {
				for j := range cols {
					w, tol := start.At(i, j), 0.0
					if j <= i {
						w, tol = want.At(i, j), 1e-13*(1+float64(rows))
					}
					if math.Abs(c.At(i, j)-w) > tol {
						t.Fatalf("%d×%d: c[%d,%d] = %v, want %v", rows, cols, i, j, c.At(i, j), w)
					}
				}
			}
		})
	})
}

// TestTranspose tests pieces of all shapes near those of the kernels, with gaps on both sides that
// must be unchanged.
func TestTranspose(t *testing.T) { each(t, testTranspose[float64], testTranspose[float32]) }

func testTranspose[T Float](t *testing.T) {
	const untouched = -1
	for _, rows := range []int{1, 3, 4, 6, 7, 8, 9, 15, 24, 48} {
		for _, n := range []int{1, 3, 4, 5, 8, 15, 16, 17, 48, 203} {
			for _, dstRow := range []int{rows, rows + 3, 3000} {
				src := benchView[T](newRand(1), rows, n+2)
				dst := make([]T, n*dstRow)
				for i := range dst {
					dst[i] = untouched
				}
				transpose(dst, dstRow, src.Data, src.RowStride, 1, rows, n)
				for at, got := range dst {
					want := T(untouched)
					if k, r := at/dstRow, at%dstRow; r < rows {
						want = src.At(r, k)
					}
					if got != want {
						t.Fatalf("%d × %d to rows of %d: element %d is %v, want %v", rows, n, dstRow, at, got, want)
					}
				}
			}
		}
	}
}
