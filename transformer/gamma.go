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
	out, err := k.ResolveGamma(ctx, g, width, seed, func(yield func(mat.Matrix) error) error {
		_, reading = fold(ctx, step, src, false, func(_ int, X mat.Matrix) error { return yield(X) })
		return reading
	})
	switch {
	case reading != nil:
		return nil, reading
	case err != nil:
		return nil, fmt.Errorf("transformer: %s: %w", step, err)
	}
	return out, nil
}
