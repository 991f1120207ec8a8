package transformer

import (
	"context"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/testing/canceltest"
	"github.com/bochner-ml/bochner/kernel"
)

// Diagnostics, and fits with more than one block, stop at any moment too.
func TestLongWorkStops(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 1))
	X := mat.NewDense(120, 70, nil) // more than a panel of PCA
	for i := range X.RawMatrix().Data {
		X.RawMatrix().Data[i] = rng.NormFloat64()
	}
	data := datasets.Set{X: X}
	spec := NewRFF()
	spec.Features = 60
	fitted, err := spec.Fit(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	f := fitted.(*FittedRFF)
	matern := spec
	many := datasets.Set{X: mat.NewDense(8*256, 4, X.RawMatrix().Data[:32*256])} // several pieces of work
	grids := NewBinning()
	grids.Grids = 40
	smooth := grids
	smooth.Kernel = "smooth"
	bins, err := grids.Fit(context.Background(), many)
	if err != nil {
		t.Fatal(err)
	}
	smoothBins, err := smooth.Fit(context.Background(), many)
	if err != nil {
		t.Fatal(err)
	}
	matern.Kernel = "matern"
	uniform := NewNystroem()
	uniform.Landmarks = 80
	pivoted := uniform
	pivoted.Choose, pivoted.Kernel = "rpcholesky", "laplacian"
	narrow := uniform
	narrow.Gamma = kernel.FixedGamma(0.3)
	for name, run := range map[string]func(ctx context.Context) (bool, error){
		"pca": func(ctx context.Context) (bool, error) {
			p, err := NewPCA().Fit(ctx, data)
			return p != nil, err
		},
		"ard": func(ctx context.Context) (bool, error) {
			s := NewARD()
			s.Features, s.Steps, s.Restarts = 40, 3, 5
			s.Objective = "press"
			p, err := s.Fit(ctx, datasets.Set{X: X, Y: X.RawMatrix().Data[:rowsOf(X)]})
			return p != nil, err
		},
		"KernelErrors": func(ctx context.Context) (bool, error) {
			list, err := f.KernelErrors(ctx, X, []int{20, 60})
			return list != nil, err
		},
		"KernelMatrix": func(ctx context.Context) (bool, error) {
			m, err := f.KernelMatrix(ctx, X, X)
			return m != nil, err
		},
		"FitFamily": func(ctx context.Context) (bool, error) {
			m, err := spec.FitFamily(ctx, data, []Fitter{spec, matern})
			return m != nil, err
		},
		"rpcholesky": func(ctx context.Context) (bool, error) {
			t, err := pivoted.Fit(ctx, data)
			return t != nil, err
		},
		"landmark family": func(ctx context.Context) (bool, error) {
			m, err := uniform.FitFamily(ctx, data, []Fitter{uniform, narrow})
			if err != nil {
				return false, err
			}
			seen := false
			err = m.Each(ctx, X, []int{0, 1}, func(which int, _ mat.Matrix) error {
				seen = which == 1
				return nil
			})
			return seen && err == nil, err
		},
		"FitTransform": func(ctx context.Context) (bool, error) {
			t, Z, err := grids.FitTransform(ctx, many)
			return t != nil || Z != nil, err
		},
		"binning": func(ctx context.Context) (bool, error) {
			Z, err := bins.Transform(ctx, many.X)
			return Z != nil, err
		},
		"smooth binning": func(ctx context.Context) (bool, error) {
			Z, err := smoothBins.Transform(ctx, many.X)
			return Z != nil, err
		},
	} {
		if err := canceltest.Check(run); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
