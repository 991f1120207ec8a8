package kernelridge

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/spectral"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/sparse"
)

// gammaOf returns γ for each input of X.
func gammaOf(ctx context.Context, g kernel.Gamma, k spectral.Kernel, X mat.Matrix, seed uint64) ([]float64, error) {
	_, d := X.Dims()
	return g.Of(d, func(rule string) (float64, error) {
		if rule == kernel.GammaScale.Rule() {
			return k.GammaOfScale(d, deviation(X)), ctx.Err()
		}
		sample := spectral.NewSample(seed)
		sample.Add(X)
		return k.GammaOfSample(ctx, sample)
	})
}

// deviation returns the standard deviation of all entries.
func deviation(X mat.Matrix) float64 {
	n, d := X.Dims()
	mean := 0.0
	total := float64(n) * float64(d)
	entries(X, func(v float64) { mean += v / total })
	square, seen := 0.0, 0.0
	entries(X, func(v float64) {
		square += (v - mean) * (v - mean) / total
		seen++
	})
	return math.Sqrt(square + (total-seen)/total*mean*mean)
}

// entries calls f with all entries, of sparse rows with those that are stored.
func entries(X mat.Matrix, f func(v float64)) {
	n, d := X.Dims()
	m, isSparse := X.(*sparse.CSR)
	shared, isShared := 0.0, false
	if isSparse {
		shared, isShared = m.Shared()
	}
	buffer := make([]float64, d)
	for i := range n {
		if !isSparse {
			for _, v := range design.Row(X, i, buffer) {
				f(v)
			}
			continue
		}
		columns, values := m.Row(i)
		for p := range columns {
			if isShared {
				f(shared)
			} else {
				f(values[p])
			}
		}
	}
}
