package design_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/matrices"
)

// Moments are accurate far from 0 and do not depend on blocks or storage; missing values are
// skipped.
func TestMoments(t *testing.T) {
	const n, far = 90, 1e9
	offset := []float64{far, 0, 0}
	rng := rand.New(rand.NewPCG(3, 1))
	X := mat.NewDense(n, 3, nil)
	for i := range n {
		X.SetRow(i, []float64{far + rng.NormFloat64(), float64(rng.IntN(3)), 7})
	}
	X.Set(4, 1, math.NaN())
	sum, block, whole := design.NewMoments(3), design.NewMoments(3), design.NewMoments(3)
	whole.Compute(X)
	for _, cut := range [][2]int{{0, 1}, {1, 60}, {60, n}} {
		block.Compute(rowblock.Slice(X, cut[0], cut[1]))
		sum.Merge(block)
	}
	ofSparse := design.NewMoments(3)
	ofSparse.Compute(matrices.CSRFromDense(X))
	for j := range 3 {
		count, mean, square := 0.0, 0.0, 0.0
		for i := range n {
			if v := X.At(i, j); v == v {
				count++
				mean += v - offset[j]
			}
		}
		mean /= count
		for i := range n {
			if v := X.At(i, j); v == v {
				d := v - offset[j] - mean
				square += d * d
			}
		}
		want := math.Sqrt(square / count)
		for name, m := range map[string]*design.Moments{"whole": whole, "in blocks": sum, "sparse": ofSparse} {
			if got := m.Deviation(j); m.Count[j] != count || math.Abs(got-want) > 1e-6*want {
				t.Errorf("column %d, %s: %v values with deviation %v, want %v with %v", j, name, m.Count[j], got, count, want)
			}
		}
	}
	var all []float64
	for i := range n {
		for j := range 3 {
			if v := X.At(i, j); v == v {
				all = append(all, v)
			}
		}
	}
	entries := design.NewMoments(1)
	entries.Compute(mat.NewDense(len(all), 1, all))
	if got := whole.Pool(); got.Count[0] != entries.Count[0] ||
		math.Abs(got.Deviation(0)-entries.Deviation(0)) > 1e-9*entries.Deviation(0) ||
		math.Abs(got.Mean[0]-entries.Mean[0]) > 1e-9*far {
		t.Errorf("all entries: %+v, want %+v", got, entries)
	}
}

// The deviation is scale-equivariant for very small and very large values.
func TestMomentsOfAnyUnit(t *testing.T) {
	const n = 40
	rng := rand.New(rand.NewPCG(3, 2))
	plain := make([]float64, n)
	for i := range plain {
		plain[i] = 2 + rng.NormFloat64()
	}
	of := func(scale float64) float64 {
		x := make([]float64, n)
		for i, v := range plain {
			x[i] = v * scale
		}
		X := mat.NewDense(n, 1, x)
		sum, block := design.NewMoments(1), design.NewMoments(1)
		for _, cut := range [][2]int{{0, 3}, {3, 25}, {25, n}} {
			block.Compute(rowblock.Slice(X, cut[0], cut[1]))
			sum.Merge(block)
		}
		return sum.Deviation(0)
	}
	want := of(1)
	for _, scale := range []float64{1e-300, 1e-200, 1e-160, 0x1p-499, 0x1p499, 1e160, 1e200, 1e300} {
		if got := of(scale); math.Abs(got/scale-want) > 1e-13*want {
			t.Errorf("times %g: deviation %g, want %g", scale, got, want*scale)
		}
	}
}
