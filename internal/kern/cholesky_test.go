package kern

import (
	"math"
	"testing"
)

// checkFactor checks that L·Lᵀ equals the lower triangle of a, up to rounding relative to the
// diagonal.
func checkFactor[T Float](t *testing.T, what string, l, a View[T]) {
	t.Helper()
	n := a.Rows
	for i := range n {
		for j := range i + 1 {
			var s float64
			for k := range j + 1 {
				s += float64(l.At(i, k)) * float64(l.At(j, k))
			}
			scale := math.Sqrt(float64(a.At(i, i)) * float64(a.At(j, j)))
			if e := math.Abs(s - float64(a.At(i, j))); !(e <= eps[T]()*float64(n+10)*scale) {
				t.Fatalf("%s, n=%d: (LLᵀ)[%d,%d] = %v, want %v", what, n, i, j, s, a.At(i, j))
			}
		}
	}
}

// testCholeskyOfEveryOrder checks that all orders work, including the edges of tiles, panels and
// blocks.
func testCholeskyOfEveryOrder[T Float](t *testing.T) {
	r := newRand(31)
	z := randomView[T](r, 210, 200, "rows")
	for n := 1; n <= 200; n += 1 + n/60 {
		a := Dense(n, n, n+3, make([]T, n*(n+3)))
		Gram(forever, a, z.Slice(0, 210, 0, n), nil)
		for i := range n { // entries above the diagonal must not be read
			for j := i + 1; j < n; j++ {
				a.Set(i, j, T(math.NaN()))
			}
		}
		l := clone(a)
		if pivot, ok, _ := Cholesky(forever, l); !ok {
			t.Fatalf("n=%d: failed at %d", n, pivot)
		}
		checkFactor(t, "gram", l, a)
		for i := range n {
			for j := i + 1; j < n; j++ {
				if !math.IsNaN(float64(l.At(i, j))) {
					t.Fatalf("n=%d: [%d,%d] has been written", n, i, j)
				}
			}
		}
	}
}

func TestCholeskyOfEveryOrder(t *testing.T) {
	each(t, testCholeskyOfEveryOrder[float64], testCholeskyOfEveryOrder[float32])
}

// testCholeskyOfNearlyEqualColumns checks that the pivots of nearly equal columns, which are tiny,
// are accurate.
// from that of the exact matrix, but its square is not.
func testCholeskyOfNearlyEqualColumns[T Float](t *testing.T) {
	r := newRand(32)
	const n, rows = 230, 260
	z := randomView[T](r, rows, n, "rows")
	for i := range rows {
		for j := 1; j < n; j++ {
			z.Set(i, j, z.At(i, 0)+T(math.Sqrt(eps[T]()))*8*z.At(i, j))
		}
	}
	a := Dense(n, n, n, make([]T, n*n))
	Gram(forever, a, z, nil)
	for i := range n {
		a.Set(i, i, a.At(i, i)*T(1+300*eps[T]()))
	}
	l := clone(a)
	if pivot, ok, _ := Cholesky(forever, l); !ok {
		t.Fatalf("failed at %d", pivot)
	}
	if ratio := float64(l.At(n-1, n-1) / l.At(0, 0)); ratio > 1e-2 {
		t.Errorf("the last pivot is %v of the first: not near to equal", ratio)
	}
	checkFactor(t, "nearly equal columns", l, a)
}

func TestCholeskyOfNearlyEqualColumns(t *testing.T) {
	each(t, testCholeskyOfNearlyEqualColumns[float64], testCholeskyOfNearlyEqualColumns[float32])
}

// The first bad pivot is reported wherever it is, for every kind of defect.
func testCholeskyNamesTheFirstBadPivot(t *testing.T) {
	const n = 330
	good := gramOf(newRand(33), n, n+20, 1)
	for _, at := range []int{0, 1, 47, 48, 95, 96, 143, 144, 200, 328, 329} {
		for what, spoil := range map[string]func(a View[float64]){
			"a smaller diagonal":  func(a View[float64]) { a.Set(at, at, -1) },
			"a NaN on it":         func(a View[float64]) { a.Set(at, at, math.NaN()) },
			"an infinity on it":   func(a View[float64]) { a.Set(at, at, math.Inf(1)) },
			"a NaN in the row":    func(a View[float64]) { a.Set(at, at/2, math.NaN()) },
			"an infinity in it":   func(a View[float64]) { a.Set(at, at/2, math.Inf(-1)) },
			"the next one as bad": func(a View[float64]) { a.Set(at, at, -1); a.Set(min(at+1, n-1), min(at+1, n-1), -1) },
		} {
			a := clone(good)
			spoil(a)
			if pivot, ok, err := Cholesky(forever, a); ok || pivot != at || err != nil {
				t.Errorf("%s, row %d: pivot %d, ok %v, %v", what, at, pivot, ok, err)
			}
		}
	}
}

func TestCholeskyNamesTheFirstBadPivot(t *testing.T) { eachSet(t, testCholeskyNamesTheFirstBadPivot) }

// testCholeskyDoesNotDependOnCores checks that the factor does not depend on the number of cores.
func testCholeskyDoesNotDependOnCores[T Float](t *testing.T) {
	a := Dense(700, 700, 700, make([]T, 700*700))
	Gram(forever, a, randomView[T](newRand(34), 720, 700, "rows"), nil)
	var want []T
	withCores(func(cores int) {
		l := clone(a)
		if pivot, ok, _ := Cholesky(forever, l); !ok {
			t.Fatalf("failed at %d", pivot)
		}
		if cores == 1 {
			want = l.Data
		}
		sameBits(t, "Cholesky", l.Data, want)
	})
}

func TestCholeskyDoesNotDependOnCores(t *testing.T) {
	each(t, testCholeskyDoesNotDependOnCores[float64], testCholeskyDoesNotDependOnCores[float32])
}

// Matrices that exceed the panels are halved first.
func TestCholeskyOfLargeMatrices(t *testing.T) {
	most := int(math.Sqrt(cholPanels / 8))
	for _, n := range []int{most - 1, most + 1, most + 300} {
		r := newRand(35)
		a := Dense(n, n, n, make([]float64, n*n)) // with small entries off the diagonal
		for i := range n {
			for j := range i {
				a.Set(i, j, r.NormFloat64())
			}
			a.Set(i, i, float64(3*n))
		}
		l, x := clone(a), randomView[float64](r, n, 2, "rows")
		if pivot, ok, _ := Cholesky(forever, l); !ok {
			t.Fatalf("n=%d: failed at %d", n, pivot)
		}
		MirrorLower(a)
		b := Dense(n, 2, 2, make([]float64, 2*n))
		Mul(b, a, x, false)
		SolveCholesky(forever, l, b)
		for i, v := range b.Data {
			if math.Abs(v-x.Data[i]) > 1e-12 {
				t.Fatalf("n=%d: x[%d] = %v, want %v", n, i, v, x.Data[i])
			}
		}
	}
}

// testSubstitute checks that the solution equals that of plain substitution.
func testSubstitute[T Float](t *testing.T) {
	r, bl := newRand(36), blockingOf[T]()
	for depth := range cholBlock {
		a, b := randomView[T](r, depth+bl.mr, bl.mr, "rows"), randomView[T](r, depth+bl.mr, bl.nr, "rows")
		want := make([]float64, len(b.Data))
		for i, v := range b.Data {
			want[i] = float64(v)
		}
		for i := depth; i < depth+bl.mr; i++ {
			for j := range bl.nr {
				for k := range i {
					want[i*bl.nr+j] -= float64(a.At(k, i-depth)) * want[k*bl.nr+j]
				}
				want[i*bl.nr+j] *= float64(a.At(i, i-depth))
			}
		}
		got := clone(b)
		substitute(depth, a.Data, got.Data)
		for i, v := range got.Data {
			if e := math.Abs(float64(v) - want[i]); e > 1e3*eps[T]()*(1+math.Abs(want[i])) {
				t.Fatalf("depth %d: element %d is %v, want %v", depth, i, v, want[i])
			}
		}
	}
}

func TestSubstitute(t *testing.T) { each(t, testSubstitute[float64], testSubstitute[float32]) }
