package pairwise

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/matrices"
)

// TestSparsePairs checks all pairs of sparse rows against dense ones, among them equal, nearly equal and empty
// rows. The bits must not depend on the tile nor on the order of the rows.
func TestSparsePairs(t *testing.T) {
	const n, d = 600, 91
	rng := rand.New(rand.NewPCG(3, 4))
	X := mat.NewDense(n, d, nil)
	for i := range n - 1 { // the last row is empty
		for j := range d {
			if rng.IntN(9) == 0 {
				X.Set(i, j, rng.NormFloat64())
			}
		}
	}
	for j := range d {
		X.Set(7, j, X.At(3, j))
		X.Set(8, j, X.At(3, j)*(1+1e-7))
	}
	frame := Frame{Factor: factors(d)}
	x, x32 := NewRows[float64](frame, matrices.CSRFromDense(X)), NewRows[float32](frame, matrices.CSRFromDense(X))
	dense := NewRows[float64](frame, X)
	for _, metric := range []Metric{Squared, L1, Dot, Cosine} {
		got, want := mat.NewDense(n, n, nil), mat.NewDense(n, n, nil)
		Distances(design.View(got), x, x, metric)
		Distances(design.View(want), dense, dense, metric)
		got32 := kern.Dense(n, n, n, make([]float32, n*n))
		Distances(got32, x32, x32, metric)
		few := mat.NewDense(5, 30, nil)
		Distances(design.View(few), x.Slice(2, 7), x.Slice(3, 33), metric)
		for i := range n {
			for k := range n {
				v, w := got.At(i, k), want.At(i, k)
				if math.Abs(v-w) > 1e-10*math.Abs(w)+1e-14 || math.Abs(float64(got32.At(i, k))-w) > 1e-4 {
					t.Fatalf("metric %d: %d, %d is %v, in float32 %v, want %v", metric, i, k, v, got32.At(i, k), w)
				}
				if v != got.At(k, i) || got32.At(i, k) != got32.At(k, i) {
					t.Fatalf("metric %d: %d, %d is not symmetric", metric, i, k)
				}
				if i >= 2 && i < 7 && k >= 3 && k < 33 && few.At(i-2, k-3) != v {
					t.Fatalf("metric %d: %d, %d is %v in a tile of few rows, want %v", metric, i, k, few.At(i-2, k-3), v)
				}
			}
		}
		if metric == Squared || metric == L1 {
			if got.At(3, 7) != 0 || got32.At(3, 7) != 0 || got.At(3, 8) == 0 {
				t.Errorf("metric %d: equal rows have distance %v, nearly equal ones %v", metric, got.At(3, 7), got.At(3, 8))
			}
		}
	}
}

// BenchmarkSparsePairs measures tiles of rows such as those of tf-idf.
func BenchmarkSparsePairs(b *testing.B) {
	const n, d, entries = 512, 3000, 40
	rng := rand.New(rand.NewPCG(3, 4))
	X := mat.NewDense(n, d, nil)
	for i := range n {
		for range entries {
			X.Set(i, int(d*math.Pow(rng.Float64(), 3)), rng.Float64())
		}
	}
	x := NewRows[float64](Frame{Factor: factors(d)}, matrices.CSRFromDense(X))
	dst := kern.Dense(TileRows, n, n, make([]float64, TileRows*n))
	for _, metric := range []Metric{Squared, L1} {
		b.Run([]string{"squared", "l1"}[metric], func(b *testing.B) {
			for b.Loop() {
				Distances(dst, x.Slice(0, TileRows), x, metric)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(TileRows*n), "ns/pair")
		})
	}
}
