package transformer_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/transformer"
)

// TestKernelPCA checks that principal components of random features approximate kernel principal
// components: the leading eigenvalues converge to those of the exact centered kernel matrix with
// the number of features.
func TestKernelPCA(t *testing.T) {
	const n, gamma, keep = 150, 0.5, 4
	rng := rand.New(rand.NewPCG(3, 9))
	X := mat.NewDense(n, 2, nil)
	X.Apply(func(int, int, float64) float64 { return rng.NormFloat64() }, X)
	K := mat.NewSymDense(n, nil)
	means, all := make([]float64, n), 0.0
	at := func(i, j int) float64 {
		a, b := X.At(i, 0)-X.At(j, 0), X.At(i, 1)-X.At(j, 1)
		return math.Exp(-gamma * (a*a + b*b))
	}
	for i := range n {
		for j := range n {
			means[i] += at(i, j) / n
			all += at(i, j) / (n * n)
		}
	}
	for i := range n {
		for j := range i + 1 {
			K.SetSym(i, j, at(i, j)-means[i]-means[j]+all)
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(K, false) {
		t.Fatal("no decomposition")
	}
	exact := eigen.Values(nil)
	off := func(features int) (worst float64) {
		rff, pca := transformer.NewRFF(), transformer.NewPCA()
		rff.Features, rff.Gamma, pca.Components = features, kernel.FixedGamma(gamma), keep
		set := datasets.Set{X: X}
		f, err := rff.Fit(context.Background(), set)
		if err != nil {
			t.Fatal(err)
		}
		if set.X, err = f.Transform(context.Background(), X); err != nil {
			t.Fatal(err)
		}
		p, err := pca.Fit(context.Background(), set)
		if err != nil {
			t.Fatal(err)
		}
		// of the features; the kernel's eigenvalue is n − 1 times that
		for k, v := range p.(*transformer.FittedPCA).ExplainedVariance() {
			worst = max(worst, math.Abs(v*(n-1)/exact[n-1-k]-1))
		}
		return worst
	}
	few, many := off(32), off(512)
	if many > 0.15 || many > few/1.5 {
		t.Errorf("the leading eigenvalues are off by %.3g with 32 features, %.3g with 512", few, many)
	}
}

// Kernel principal components: random features, then their principal components, the first of
// which parts the two groups here.
func ExamplePCA_kernel() {
	points := mat.NewDense(6, 2, []float64{0, 0, 1, 0, 0, 1, 6, 6, 7, 6, 6, 7})
	rff, pca := transformer.NewRFF(), transformer.NewPCA()
	rff.Features, rff.Gamma, pca.Components = 300, kernel.FixedGamma(0.1), 1
	features, err := rff.Fit(context.Background(), datasets.Set{X: points})
	if err != nil {
		log.Fatal(err)
	}
	Z, err := features.Transform(context.Background(), points)
	if err != nil {
		log.Fatal(err)
	}
	components, err := pca.Fit(context.Background(), datasets.Set{X: Z})
	if err != nil {
		log.Fatal(err)
	}
	out, err := components.Transform(context.Background(), Z)
	if err != nil {
		log.Fatal(err)
	}
	for i := range 6 {
		fmt.Print(math.Signbit(out.At(i, 0)) == math.Signbit(out.At(0, 0)), " ")
	}
	// Output: true true true false false false
}
