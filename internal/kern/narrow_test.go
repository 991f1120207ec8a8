package kern

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// A pass over tiles is the products element by element, for every shape around the edges of panels.
func TestNarrowPass(t *testing.T) {
	eachSet(t, func(t *testing.T) {
		for _, k := range []int{1, 2, 4, 7, 8, 9, 16, 17, 24, 25, 33, 50} {
			for _, d := range []int{1, 3, 8, 23, 24, 25, 49, 100} {
				for _, n := range []int{1, 5, 6, 7, 8, 9, 31, 128} {
					checkNarrowPass[float64](t, k, d, n, nil, 1e-12)
					checkNarrowPass[float32](t, k, d, n, nil, 2e-6)
				}
			}
		}
	})
}

// Vectors with fewer elements have the correct products, and do not affect others.
func TestNarrowPassOfWidths(t *testing.T) {
	eachSet(t, func(t *testing.T) {
		for _, widths := range [][]int{{300, 64}, {300, 300, 299, 5, 1}, {260, 250, 250, 128, 128, 65, 64, 3}, {100, 0, 0},
			{130, 66, 1, 1, 1, 1, 1, 1, 1},
			{1000, 1000, 1000, 1000, 1000, 750, 750, 750, 750, 750, 500, 500, 500, 500, 500, 250, 250, 250, 250, 250}} {
			for _, n := range []int{1, 9, 128} {
				checkNarrowPass[float64](t, len(widths), max(300, widths[0]), n, widths, 1e-12)
				checkNarrowPass[float32](t, len(widths), max(300, widths[0]), n, widths, 2e-6)
			}
		}
	})
}

func checkNarrowPass[T Float](t *testing.T, k, d, n int, widths []int, rounding float64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(k), uint64(d*n)))
	fill := func(rows, cols int) View[T] {
		v := Dense(rows, cols, cols+3, make([]T, rows*(cols+3)))
		for i := range v.Data {
			v.Data[i] = T(rng.NormFloat64())
		}
		return v
	}
	w, a, b := fill(k, d), fill(n, d), fill(n, d)
	pass := NewFewVectors(w, widths).NewPass()
	width := func(j int) int {
		if widths == nil {
			return d
		}
		return widths[j]
	}
	want := make([]float64, k*d)
	for _, tile := range []View[T]{a, b} {
		scores := pass.Scores(tile)
		for j := range k {
			for i := range n {
				exact := 0.0
				for q := range width(j) {
					exact += float64(w.At(j, q)) * float64(tile.At(i, q))
				}
				if math.Abs(float64(scores.At(j, i))-exact) > rounding*float64(d) {
					t.Fatalf("k=%d d=%d n=%d: score %d,%d is %v, want %v", k, d, n, j, i, scores.At(j, i), exact)
				}
				weight := T(math.Sin(float64(scores.At(j, i))))
				scores.Set(j, i, weight)
				for q := range d {
					want[j*d+q] += float64(weight) * float64(tile.At(i, q))
				}
			}
		}
		pass.Add(tile)
	}
	for j := range k {
		for q := range width(j) {
			if got := float64(pass.Sums().At(j, q)); math.Abs(got-want[j*d+q]) > 10*rounding*float64(n) {
				t.Fatalf("k=%d d=%d n=%d: sum %d,%d is %v, want %v", k, d, n, j, q, got, want[j*d+q])
			}
		}
	}
}

func BenchmarkNarrowPass(b *testing.B) {
	b.Run("f64", benchmarkNarrowPass[float64])
	b.Run("f32", benchmarkNarrowPass[float32])
}

func benchmarkNarrowPass[T Float](b *testing.B) {
	for _, k := range []int{5, 25} {
		for _, d := range []int{250, 1000} {
			b.Run(fmt.Sprintf("k=%d/d=%d", k, d), func(b *testing.B) {
				w, a := Dense(k, d, d, make([]T, k*d)), Dense(MaxTileRows, d, d, make([]T, MaxTileRows*d))
				pass := NewFewVectors(w, nil).NewPass()
				for b.Loop() {
					pass.Scores(a)
					pass.Add(a)
				}
				b.ReportMetric(4*MaxTileRows*float64(k*d)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}
