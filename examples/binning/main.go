// Command binning measures the error of random features as an approximation of a kernel. It uses
// the laplacian kernel k(x, y) = exp(−γ‖x − y‖₁), which has both random binning and random Fourier
// features, and compares z(x)'z(y) with k(x, y) over all pairs of rows of the wine data:
//
//	go run ./examples/binning
//
// Four times as many features halve the error. Binning needs fewer features: its variance k(1−k)/P
// is negligible for distant pairs, where that of Fourier features is largest. A binning feature is
// an index in a dictionary of bins, a Fourier feature a number.
package main

import (
	"context"
	"fmt"
	"log"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/builtin"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/transformer"
)

const gamma = 0.1

func main() {
	wine, _, err := builtin.Load("wine")
	check(err)
	scaler, err := transformer.NewStandardize().Fit(context.Background(), wine)
	check(err)
	wine.X, err = scaler.Transform(context.Background(), wine.X)
	check(err)

	fmt.Println("RMS of z(x)'z(y) − exp(−γ‖x − y‖₁)")
	fmt.Println("features  binning  Fourier")
	for _, n := range []int{64, 256, 1024, 4096} {
		binning := transformer.NewBinning()
		binning.Gamma, binning.Grids = kernel.FixedGamma(gamma), n
		fourier := transformer.NewRFF()
		fourier.Kernel, fourier.Gamma, fourier.Features = "laplacian", kernel.FixedGamma(gamma), n
		fmt.Printf("%8d  %7.4f  %7.4f\n", n, rms(wine, binning), rms(wine, fourier))
	}
}

// kernelMap is a fitted map that computes the kernel it approximates.
type kernelMap interface {
	transformer.Transformer
	KernelMatrix(ctx context.Context, X, Y mat.Matrix) (*mat.Dense, error)
}

// rms returns the error of a map over all pairs of different rows.
func rms(data datasets.Set, spec transformer.Fitter) float64 {
	fitted, err := spec.Fit(context.Background(), data)
	check(err)
	Z, err := fitted.Transform(context.Background(), data.X)
	check(err)
	exact, err := fitted.(kernelMap).KernelMatrix(context.Background(), data.X, data.X)
	check(err)
	n, _ := Z.Dims()
	z := mat.DenseCopyOf(Z)
	var products mat.Dense
	products.Mul(z, z.T())
	sum := 0.0
	for i := range n {
		for j := range i {
			e := products.At(i, j) - exact.At(i, j)
			sum += e * e
		}
	}
	return math.Sqrt(sum / float64(n*(n-1)/2))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
