package main

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/transformer"
)

// Ridge on binning features tends to the ridge of the laplacian kernel itself, on 2,000 rows, at the
// rate P^-1/2: sixteen times the grids leave a quarter of the difference.
func TestBinningRidgeTendsToKernelRidge(t *testing.T) {
	const n, d, gamma, alpha = 2000, 4, 1.0, 2.0
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(7, 11))
	X, y := mat.NewDense(n, d, nil), make([]float64, n)
	for i := range n {
		row := X.RawRowView(i)
		for j := range row {
			row[j] = rng.Float64()
		}
		y[i] = math.Sin(6*row[0])*row[1] + row[2] + 0.1*rng.NormFloat64()
	}
	spec := transformer.NewBinning()
	spec.Gamma = kernel.FixedGamma(gamma)
	exact := kernelRidge(t, spec, X, y, alpha)
	difference := func(grids int, seed uint64) (mean float64) {
		spec.Grids, spec.Seed = grids, seed
		fitted, err := spec.Fit(ctx, datasets.Set{X: X})
		if err != nil {
			t.Fatal(err)
		}
		Z, err := fitted.Transform(ctx, X)
		if err != nil {
			t.Fatal(err)
		}
		ridge := estimator.NewRidge()
		ridge.Alpha, ridge.Intercept, ridge.Tol = alpha, false, 1e-5
		model, err := ridge.Fit(ctx, datasets.Set{X: Z, Y: y})
		if err != nil {
			t.Fatal(err)
		}
		got, err := model.Predict(ctx, Z)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range got {
			mean += (v - exact[i]) * (v - exact[i]) / n
		}
		return mean
	}
	few, many := 0.0, 0.0
	for seed := range uint64(3) {
		few += difference(16, seed)
		many += difference(256, seed)
	}
	if rate := math.Log(few/many) / 2 / math.Log(16); math.Abs(rate-0.5) > 0.12 {
		t.Errorf("RMS difference falls from %.4f to %.4f, as P^-%.2f, want P^-0.5", math.Sqrt(few/3), math.Sqrt(many/3), rate)
	}
}

// kernelRidge returns the predictions K(K + αI)⁻¹y on the training rows.
func kernelRidge(t *testing.T, spec transformer.Binning, X *mat.Dense, y []float64, alpha float64) []float64 {
	t.Helper()
	fitted, err := spec.Fit(context.Background(), datasets.Set{X: X})
	if err != nil {
		t.Fatal(err)
	}
	K, err := fitted.(*transformer.FittedBinning).KernelMatrix(context.Background(), X, X)
	if err != nil {
		t.Fatal(err)
	}
	n := len(y)
	A := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			A.SetSym(i, j, K.At(i, j))
		}
		A.SetSym(i, i, K.At(i, i)+alpha)
	}
	var factor mat.Cholesky
	if !factor.Factorize(A) {
		t.Fatal("the kernel matrix is not positive definite")
	}
	var beta, out mat.VecDense
	if err := factor.SolveVecTo(&beta, mat.NewVecDense(n, y)); err != nil {
		t.Fatal(err)
	}
	out.MulVec(K, &beta)
	return out.RawVector().Data
}
