package leastsquares

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/matrices"
)

// The float32 gradient equals that of the rows in float64, for few and many columns, with the same
// bits on any number of cores.
func TestGradientOfRowsInSinglePrecision(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	const n, d = float32BlockRows + 2*float32ChunkRows + 3, 37
	rng := rand.New(rand.NewPCG(5, 6))
	x, weights := matrices.NewDense32(n, d, nil), make([]float64, n)
	for i := range n {
		weights[i] = rng.Float64()
		for j := range d {
			x.Row(i)[j] = rng.Float32() - 0.3
		}
	}
	for _, k := range []int{1, 3, design.MinGEMMOutputs} {
		w, y, offset := make([]float64, d*k), make([]float64, n*k), make([]float64, k)
		for _, list := range [][]float64{w, y, offset} {
			for i := range list {
				list[i] = rng.NormFloat64()
			}
		}
		for _, s := range [][]float64{nil, weights} {
			want, serial, got := NewGradient(d, k), NewGradient(d, k), NewGradient(d, k)
			want.Add(design.ToFloat64(x), slices.Clone(y), w, offset, s)
			runtime.GOMAXPROCS(1)
			serial.Add(x, slices.Clone(y), w, offset, s)
			runtime.GOMAXPROCS(3)
			got.Add(x, slices.Clone(y), w, offset, s)
			for name, pair := range map[string][3][]float64{
				"inputs":  {got.inputs, serial.inputs, want.inputs},
				"sum":     {got.sum, serial.sum, want.sum},
				"squares": {got.squares, serial.squares, want.squares},
			} {
				if !slices.Equal(pair[0], pair[1]) {
					t.Errorf("%d columns: %s has other bits with one core", k, name)
				}
				for i, v := range pair[0] {
					if math.Abs(v-pair[2][i]) > 1e-11*n {
						t.Fatalf("%d columns: %s %d is %v, want %v", k, name, i, v, pair[2][i])
					}
				}
			}
		}
	}
}
