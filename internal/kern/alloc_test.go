//go:build !race

package kern

import "testing"

// testOneRowAllocates runs without the race detector, under which pools forget.
func testOneRowAllocates[T Float](t *testing.T) {
	r := newRand(30)
	for _, m := range []int{7, 77, 1024} {
		x, w := randomView[T](r, 1, 54, "rows"), randomView[T](r, 54, m, "rows")
		b := randomView[T](r, m, 1, "rows").Data[:m]
		one, two := Dense(1, m, m, make([]T, m)), Dense(1, 2*m, 2*m, make([]T, 2*m))
		y := make([]T, m)
		if n := testing.AllocsPerRun(50, func() {
			CosMap(one, x, w, b, 2)
			SinCosMap(two, x, w, 2)
			Exp(y, y)
			MulVecT(y, w, x.Row(0), true)
			y[0] = Dot(y, b)
		}); n != 0 {
			t.Errorf("%d frequencies: one row allocates %v times", m, n)
		}
	}
}

func TestOneRowDoesNotAllocate(t *testing.T) {
	each(t, testOneRowAllocates[float64], testOneRowAllocates[float32])
}
