package kernelridge

import (
	"context"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/cause"
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
			moments := design.NewMoments(d)
			moments.Of(X)
			return k.GammaOfScale(d, moments.Whole().Deviation(0)), cause.Err(ctx)
		}
		sample := spectral.NewSample(seed)
		sample.Add(X)
		return k.GammaOfSample(ctx, sample)
	})
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
