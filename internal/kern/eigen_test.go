package kern

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// The decomposition gives the matrix back, its vectors are orthonormal, and its values are gonum's:
// for matrices of every size about a panel's, of any rank, scale and with values that coincide.
func TestEigen(t *testing.T) {
	eachSet(t, func(t *testing.T) {
		r := newRand(41)
		for _, n := range []int{1, 2, 3, 4, 31, 32, 33, 34, 64, 65, 66, 97, 150} {
			for _, rank := range []int{n, (n + 1) / 2, 1, 0} {
				for _, scale := range []float64{1, 1e-200, 1e150} {
					checkEigen(t, gramOf(r, n, rank, scale))
				}
			}
			same := Dense(n, n, n, make([]float64, n*n))
			for i := range n {
				same.Set(i, i, float64(1+i%3))
			}
			checkEigen(t, same)
		}
	})
}

// gramOf returns a matrix of some rank.
func gramOf(r *rand.Rand, n, rank int, scale float64) View[float64] {
	out := Dense(n, n, n, make([]float64, n*n))
	if rank > 0 {
		x := randomView[float64](r, rank, n, "rows")
		Scale(math.Sqrt(scale), x.Data)
		if err := Gram(forever, out, x, nil); err != nil {
			panic(err)
		}
		MirrorLower(out)
	}
	return out
}

func checkEigen(t *testing.T, a View[float64]) {
	t.Helper()
	n := a.Rows
	size := 0.0
	for i := range n {
		size = max(size, math.Abs(a.At(i, i)))
	}
	plain := clone(a) // of moderate size, for which gonum does not panic
	Scale(1/max(size, 1e-300), plain.Data)
	var gonum mat.EigenSym
	if !gonum.Factorize(mat.NewSymDense(n, plain.Data), false) {
		t.Fatal("gonum finds no eigenvalues")
	}
	want := gonum.Values(nil)
	for k := range want {
		want[k] *= size
	}
	tolerance := 1e-14 * float64(n+4) // of the size of the matrix, which positive diagonals bound
	alone, err := NewEigen(forever, clone(a), false)
	if err != nil {
		t.Fatal(err)
	}
	e, err := NewEigen(forever, clone(a), true)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range want {
		if math.Abs(e.Values[k]-v) > tolerance*size || math.Abs(alone.Values[k]-v) > tolerance*size {
			t.Errorf("n=%d: eigenvalue %d is %v, without vectors %v, want %v", n, k, e.Values[k], alone.Values[k], v)
		}
	}
	list, err := e.Vectors(forever, 0, n)
	if err != nil {
		t.Fatal(err)
	}
	v, back, ones := Dense(n, n, n, list), Dense(n, n, n, make([]float64, n*n)), Dense(n, n, n, make([]float64, n*n))
	Mul(ones, v, v.T(), false)
	scaled := clone(v)
	for k, l := range e.Values {
		Scale(l, scaled.Row(k))
	}
	Mul(back, v.T(), scaled, false)
	for i := range n {
		for j := range n {
			one := 0.0
			if i == j {
				one = 1
			}
			if math.Abs(ones.At(i, j)-one) > tolerance {
				t.Fatalf("n=%d: vectors %d and %d have the product %v", n, i, j, ones.At(i, j))
			}
			if math.Abs(back.At(i, j)-a.At(i, j)) > tolerance*size {
				t.Fatalf("n=%d: entry (%d, %d) comes back as %v, was %v", n, i, j, back.At(i, j), a.At(i, j))
			}
		}
	}
	some, err := e.Vectors(forever, n/2, n)
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range some {
		if math.Abs(x-list[n/2*n+i]) > tolerance {
			t.Fatalf("n=%d: some of the vectors differ from those of all", n)
		}
	}
}

// A matrix that is not finite has no eigenvalues, and no endless search for them.
func TestEigenRefusesNaN(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		a := gramOf(newRand(1), 40, 40, 1)
		a.Set(17, 3, bad)
		if _, err := NewEigen(forever, a, true); !errors.Is(err, ErrNoConvergence) {
			t.Errorf("with an entry %v the error is %v", bad, err)
		}
	}
}

// Any number of cores gives the same bits.
func TestEigenIsTheSameOnAnyCores(t *testing.T) {
	a := gramOf(newRand(2), 300, 300, 1)
	var first []float64
	withCores(func(cores int) {
		e, err := NewEigen(forever, clone(a), true)
		if err != nil {
			t.Fatal(err)
		}
		list, err := e.Vectors(forever, 0, 300)
		if err != nil {
			t.Fatal(err)
		}
		if list = append(list, e.Values...); first != nil {
			sameBits(t, "eigenvalues and vectors", list, first)
		}
		first = list
	})
}

// The tridiagonal form has the quadratic forms of the matrix: b'Aᵏb = c'Tᵏc for c = Qᵀb, and its trace.
func TestTridiagonal(t *testing.T) {
	eachSet(t, func(t *testing.T) {
		r := newRand(43)
		for _, n := range []int{1, 2, 3, 33, 70} {
			for _, rank := range []int{n, 1, 0} {
				a := gramOf(r, n, rank, 4)
				b := randomView[float64](r, 1, n, "rows").Row(0)
				tri, err := NewTridiagonal(forever, clone(a))
				if err != nil {
					t.Fatal(err)
				}
				c := append([]float64(nil), b...)
				tri.ApplyQ(c)
				x, y, trace := append([]float64(nil), b...), append([]float64(nil), c...), 0.0
				for i := range n {
					trace += a.At(i, i) - tri.Diagonal[i]
				}
				for k := range 3 {
					want, got := Dot(b, x), Dot(c, y)
					if math.Abs(got-want) > 1e-12*(1+math.Abs(want)) {
						t.Errorf("%d×%d of rank %d: b'A^%d·b is %v, in tridiagonal form %v", n, n, rank, k, want, got)
					}
					next, turned := make([]float64, n), make([]float64, n)
					MulVec(next, a, x, false)
					for i := range n {
						turned[i] = tri.Diagonal[i] * y[i]
						if i > 0 {
							turned[i] += tri.OffDiagonal[i-1] * y[i-1]
						}
						if i+1 < n {
							turned[i] += tri.OffDiagonal[i] * y[i+1]
						}
					}
					x, y = next, turned
				}
				if math.Abs(trace) > 1e-11*float64(n) {
					t.Errorf("%d×%d of rank %d: the trace is off by %v", n, n, rank, trace)
				}
			}
		}
	})
}
