package kern

import (
	"fmt"
	"math"
	"testing"
)

// Products of rows in float32 with vectors in float64 are those element by element, for every shape around the edges of
// the kernels, to the rounding of float64.
func TestMixedProducts(t *testing.T) {
	eachSet(t, func(t *testing.T) {
		for _, k := range []int{1, 3} {
			for _, d := range []int{1, 3, 4, 7, 8, 9, 16, 67} {
				for _, n := range []int{1, 7, 8, 9, 25} {
					checkMixedProducts(t, k, d, n)
				}
			}
		}
	})
}

func checkMixedProducts(t *testing.T, k, d, n int) {
	t.Helper()
	r := newRand(uint64(k*1000 + d*100 + n))
	a := Dense(n, d, d+3, make([]float32, n*(d+3)))
	for i := range a.Data {
		a.Data[i] = float32(r.NormFloat64())
	}
	w, scores, sums := make([]float64, k*d), make([]float64, n*k), make([]float64, k*d)
	for i := range w {
		w[i], sums[i] = r.NormFloat64(), r.NormFloat64()
	}
	before := append([]float64(nil), sums...)
	MulTMixed(scores, a, w)
	AddTMulMixed(sums, a, scores)
	for j := range k {
		for i := range n {
			want := 0.0
			for q := range d {
				want += float64(a.At(i, q)) * w[j*d+q]
			}
			if got := scores[i*k+j]; math.Abs(got-want) > 1e-14*float64(d) {
				t.Fatalf("k=%d d=%d n=%d: score %d,%d is %v, want %v", k, d, n, i, j, got, want)
			}
		}
		for q := range d {
			want := before[j*d+q]
			for i := range n {
				want += scores[i*k+j] * float64(a.At(i, q))
			}
			if got := sums[j*d+q]; math.Abs(got-want) > 1e-13*float64(n)*math.Sqrt(float64(d)) {
				t.Fatalf("k=%d d=%d n=%d: sum %d,%d is %v, want %v", k, d, n, j, q, got, want)
			}
		}
	}
}

func BenchmarkMixedProducts(b *testing.B) {
	const n, d = 64, 2048
	for _, k := range []int{1, 5} {
		b.Run(fmt.Sprintf("k=%d", k), func(b *testing.B) {
			a, w, scores := benchView[float32](newRand(1), n, d), make([]float64, k*d), make([]float64, n*k)
			flopRate[float64](b, float64(4*n*d*k), func() {
				MulTMixed(scores, a, w)
				AddTMulMixed(w, a, scores)
				clear(w)
			})
		})
	}
}
