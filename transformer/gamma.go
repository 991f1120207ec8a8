package transformer

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/spectral"
	"github.com/bochner-ml/bochner/kernel"
)

// Gamma is the width parameter γ of a kernel, a number, one for each column, or a rule: [kernel.Gamma].
type Gamma = kernel.Gamma

// The rules for γ.
var (
	GammaScale  = kernel.GammaScale
	GammaMedian = kernel.GammaMedian
)

// FixedGamma is one γ for all columns, or one for each.
func FixedGamma(values ...float64) Gamma { return kernel.FixedGamma(values...) }

// resolveGamma returns γ for each column of the source, which it reads for a rule only.
func resolveGamma(ctx context.Context, g Gamma, step string, k spectral.Kernel, src datasets.Source, seed uint64) ([]float64, error) {
	width, err := widthOf(ctx, step, src)
	if err != nil {
		return nil, err
	}
	var reading error
	out, err := g.Of(width, func(rule string) (v float64, err error) {
		if rule == GammaScale.Rule() {
			v, reading = scaleGamma(ctx, step, k, src)
		} else {
			v, reading = medianGamma(ctx, step, k, src, seed)
		}
		return v, reading
	})
	switch {
	case reading != nil:
		return nil, reading
	case err != nil:
		return nil, fmt.Errorf("transformer: %s: %w", step, err)
	}
	return out, nil
}

// scaleGamma reads src once for the variance of all entries.
func scaleGamma(ctx context.Context, step string, k spectral.Kernel, src datasets.Source) (float64, error) {
	m, _, err := columnMoments(ctx, step, src, false)
	if err != nil {
		return 0, err
	}
	return k.GammaOfScale(len(m.Count), m.Whole().Deviation(0)), nil
}

// medianGamma reads src once for a sample of rows.
func medianGamma(ctx context.Context, step string, k spectral.Kernel, src datasets.Source, seed uint64) (float64, error) {
	sample := spectral.NewSample(seed)
	_, err := fold(ctx, step, src, false, func(_ int, X mat.Matrix) error {
		sample.Add(X)
		return nil
	})
	if err != nil {
		return 0, err
	}
	return k.GammaOfSample(ctx, sample)
}
