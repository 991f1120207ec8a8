package transformer

import (
	"context"
	"math/rand/v2"
	"runtime"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/matrices"
)

// Rows of many tiles with mostly zero columns have the same bins: fitted and mapped jointly or in
// sequence, dense or sparse, in batches or row by row, on any number of cores.
func TestBinningAtOnce(t *testing.T) {
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(8, 9))
	X := mat.NewDense(2*tileRows+300, 9, nil)
	for i := range 2*tileRows + 300 {
		row := X.RawRowView(i)
		for j := range 4 {
			row[j] = rng.Float64()
		}
		row[4+rng.IntN(4)] = 1 // column 8 is 0 everywhere
		if i < 400 {
			row[4] = -rng.Float64() // rare in some tiles only
		}
	}
	thin := matrices.CSRFromDense(X)
	for _, name := range []string{"laplacian", "smooth"} {
		for least, inputs := range map[int]int{1: 0, 3: 0, 2: 4} {
			spec := NewBinning()
			spec.Kernel, spec.Gamma, spec.Grids, spec.MinCount, spec.Inputs, spec.Seed = kernel.Name(name), kernel.FixedGamma(1.5), 35, least,
				inputs, 4
			fit := mustFit(t, spec, datasets.Set{X: X})
			want := mustTransform(t, fit, X)
			for _, cores := range []int{1, 4} {
				before := runtime.GOMAXPROCS(cores)
				for _, input := range []mat.Matrix{X, thin} {
					both, Z, err := spec.FitTransform(ctx, datasets.Set{X: input})
					if err != nil {
						t.Fatal(err)
					}
					same(t, Z, want, false)
					same(t, mustTransform(t, both, X), want, false)
				}
				runtime.GOMAXPROCS(before)
			}
			for _, i := range []int{0, 399, 400, tileRows, 2*tileRows + 299} {
				for _, row := range []mat.Matrix{X.Slice(i, i+1, 0, 9), thin.Slice(i, i+1)} {
					same(t, mustTransform(t, fit, row), want.(*matrices.CSR).Slice(i, i+1), false)
				}
			}
		}
	}
}
