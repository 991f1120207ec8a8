package estimator

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/kernel"
)

// TestTerms checks the shares of the terms of an additive kernel against covariances of the terms, written
// out, and that the terms explain the targets that they can.
func TestTerms(t *testing.T) {
	ctx, rng := context.Background(), rand.New(rand.NewPCG(3, 4))
	const n = 90
	X, y := mat.NewDense(n, 3, nil), make([]float64, n)
	for i := range n {
		for j := range 3 {
			X.Set(i, j, rng.NormFloat64())
		}
		y[i] = 2*math.Sin(X.At(i, 0)) + 0.5*X.At(i, 1)*X.At(i, 2)
	}
	of := func(name kernel.Name, gamma float64, index ...int) kernel.Term {
		t := kernel.NewTerm(name)
		t.Columns, t.Index, t.Gamma = nil, index, kernel.FixedGamma(gamma)
		return t
	}
	first, second := of(kernel.Gaussian, 0.5, 0), []kernel.Term{of(kernel.Gaussian, 0.3, 1), of(kernel.Laplacian, 0.4, 2)}
	s := NewKernelRidge()
	s.Alpha, s.Gamma = 0.01, kernel.FixedGamma(1)
	s.Kernel = kernel.Sum(kernel.Summand{Weight: 3, Product: []kernel.Term{first}}, kernel.Summand{Weight: 1, Product: second})
	fitted, err := s.Fit(ctx, datasets.Set{X: X, Y: y})
	if err != nil {
		t.Fatal(err)
	}
	f := fitted.(*fittedKernelRidge)
	terms, shares, err := f.terms(ctx, datasets.Schema{})
	if err != nil || len(terms) != 2 || len(shares) != 2 {
		t.Fatal(terms, shares, err)
	}
	dual := f.Dual()
	var parts [2][]float64
	for i := range n {
		var sum [2]float64
		for l := range n {
			d := func(j int) float64 { return X.At(i, j) - X.At(l, j) }
			sum[0] += 0.75 * dual.At(l, 0) * math.Exp(-0.5*d(0)*d(0))
			sum[1] += 0.25 * dual.At(l, 0) * math.Exp(-0.3*d(1)*d(1)-0.4*math.Abs(d(2)))
		}
		parts[0], parts[1] = append(parts[0], sum[0]), append(parts[1], sum[1])
	}
	center := func(v []float64) float64 { return mat.Sum(mat.NewVecDense(n, v)) / n }
	covariance := func(a, b []float64) (sum float64) {
		for i := range a {
			sum += (a[i] - center(a)) * (b[i] - center(b))
		}
		return sum
	}
	both := covariance(parts[0], parts[1])
	own := [2]float64{covariance(parts[0], parts[0]), covariance(parts[1], parts[1])}
	for k, share := range shares {
		if want := (own[k] + both) / (own[0] + own[1] + 2*both); math.Abs(share-want) > 1e-9 {
			t.Errorf("term %d has share %v, want %v", k, share, want)
		}
	}
	if !(shares[0] > 0.7 && shares[1] > 0.02) {
		t.Errorf("shares %v, want most in the first", shares)
	}
	s.Kernel = kernel.Gaussian
	if fitted, err = s.Fit(ctx, datasets.Set{X: X, Y: y}); err != nil {
		t.Fatal(err)
	}
	if terms, _, err := fitted.(*fittedKernelRidge).terms(ctx, datasets.Schema{}); terms != nil || err != nil {
		t.Errorf("the gaussian kernel has terms %v, %v", terms, err)
	}
}
