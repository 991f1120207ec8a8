package transformer

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/kernel"
)

// The errors of nested maps equal those of separate maps, agree with their variance on average over
// seeds, and are below the bound.
func TestKernelErrors(t *testing.T) {
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(9, 1))
	const n = 20
	X := mat.NewDense(n, 3, nil)
	for i := range n {
		for j := range 3 {
			X.Set(i, j, rng.NormFloat64())
		}
	}
	for _, form := range []string{"paired", "phase"} {
		for _, name := range []string{"gaussian", "laplacian", "matern"} {
			features := []int{20, 60, 120}
			square := make([]float64, len(features))
			above := 0
			const seeds = 100
			for seed := range uint64(seeds) {
				s := NewRFF()
				s.Kernel, s.Map, s.Features, s.Seed, s.Gamma = kernel.Name(name), form, 120, seed, kernel.FixedGamma(0.3)
				fit, err := s.Fit(ctx, datasets.Set{X: X})
				if err != nil {
					t.Fatal(err)
				}
				f := fit.(*FittedRFF)
				errors, err := f.KernelErrors(ctx, X, features)
				if err != nil {
					t.Fatal(err)
				}
				for k, e := range errors {
					square[k] += e.RMS * e.RMS / (seeds * e.Expected * e.Expected)
					if e.Max > e.Bound {
						above++
					}
				}
				if seed == 0 {
					checkKernelError(t, f, X, errors[1])
				}
			}
			for k, ratio := range square {
				if math.Abs(ratio-1) > 0.25 {
					t.Errorf("%s, %s, %d features: the mean squared error is %.3f of what is expected", name, form, features[k], ratio)
				}
			}
			if above > 20 {
				t.Errorf("%s, %s: above the bound %d times of %d", name, form, above, seeds*len(features))
			}
		}
	}
}

// checkKernelError computes the error of a map by its definition.
func checkKernelError(t *testing.T, f *FittedRFF, X *mat.Dense, got kernelError) {
	t.Helper()
	ctx := context.Background()
	nested, err := f.WithFeatures(got.Features)
	if err != nil {
		t.Fatal(err)
	}
	Z, err := nested.Transform(ctx, X)
	if err != nil {
		t.Fatal(err)
	}
	K, err := f.KernelMatrix(ctx, X, X)
	if err != nil {
		t.Fatal(err)
	}
	var G mat.Dense
	G.Mul(Z, Z.T())
	n, _ := X.Dims()
	sum, largest := 0.0, 0.0
	for i := range n {
		for j := range i {
			miss := math.Abs(G.At(i, j) - K.At(i, j))
			sum, largest = sum+miss*miss, max(largest, miss)
		}
	}
	rms := math.Sqrt(sum / float64(n*(n-1)/2))
	if math.Abs(rms-got.RMS) > 1e-12 || math.Abs(largest-got.Max) > 1e-12 {
		t.Errorf("%+v, want rms %v and max %v", got, rms, largest)
	}
}

func TestKernelErrorsRefuse(t *testing.T) {
	fit, err := NewRFF().Fit(context.Background(), datasets.Set{X: mat.NewDense(3, 1, []float64{1, 2, 4})})
	if err != nil {
		t.Fatal(err)
	}
	f := fit.(*FittedRFF)
	for _, features := range [][]int{{2000}, {3}, {20, 10}, {0}} {
		if _, err := f.KernelErrors(context.Background(), mat.NewDense(2, 1, []float64{1, 2}), features); err == nil {
			t.Errorf("%v features are taken", features)
		}
	}
	if _, err := f.KernelErrors(context.Background(), mat.NewDense(1, 1, nil), []int{4}); err == nil {
		t.Error("one row is taken")
	}
}
