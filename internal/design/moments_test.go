package design_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/sparse"
)

// Moments are those of all entries, also far from 0, whatever blocks the rows come in and whether zeros are stored;
// what is missing is left out.
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
	whole.Of(X)
	for _, cut := range [][2]int{{0, 1}, {1, 60}, {60, n}} {
		block.Of(datasets.SliceRows(X, cut[0], cut[1]))
		sum.Merge(block)
	}
	ofSparse := design.NewMoments(3)
	ofSparse.Of(sparse.FromDense(X))
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
				t.Errorf("column %d, %s: %v values with deviation %v, wanted %v with %v", j, name, m.Count[j], got, count, want)
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
	entries.Of(mat.NewDense(len(all), 1, all))
	if got := whole.Whole(); got.Count[0] != entries.Count[0] || math.Abs(got.Deviation(0)-entries.Deviation(0)) > 1e-9*entries.Deviation(0) || math.Abs(got.Mean[0]-entries.Mean[0]) > 1e-9*far {
		t.Errorf("all entries: %+v, wanted %+v", got, entries)
	}
}
