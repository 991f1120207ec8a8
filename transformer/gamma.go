package transformer

import (
	"context"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/spectral"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// resolveGamma returns γ for each column of src, which it reads only if γ is a rule.
func resolveGamma(ctx context.Context, g kernel.Gamma, step string, k spectral.Kernel, src datasets.Source,
	seed uint64) ([]float64, error) {
	width, err := widthOf(ctx, step, src)
	if err != nil {
		return nil, err
	}
	var pass error
	out, err := k.ResolveGamma(ctx, g, width, seed, func(yield func(mat.Matrix) error) error {
		_, pass = fold(ctx, step, src, false, func(_ int, X mat.Matrix) error { return yield(X) })
		return pass
	})
	switch {
	case pass != nil:
		return nil, pass
	case err != nil:
		return nil, fmt.Errorf("transformer: %s: %w", step, err)
	}
	return out, nil
}

// requireGamma requires all deserialized γ to be positive.
func requireGamma(s *model.State, gamma []float64) {
	s.Require(!slices.ContainsFunc(gamma, func(g float64) bool { return !param.Positive.Contains(g) }),
		"a gamma is not a number above 0")
}

// requireShape checks the restored parameters of a kernel, if it has some.
func requireShape(s *model.State, kernel string, shape spectral.Shape) {
	s.Require(kernel != "matern" || param.Positive.Contains(shape.Nu), "nu is not a number above 0")
	s.Require(kernel != "rational_quadratic" || param.Positive.Contains(shape.Alpha), "alpha is not a number above 0")
	s.Require(kernel != "powered_exponential" || exponents.Contains(shape.Exponent), "exponent is not in (0, 2]")
	s.Require(kernel != "polynomial" || shape.Degree >= 1 && shape.Degree <= maxDegree &&
		param.AtLeast(0).Contains(shape.Coef0), "degree or coef0 is out of range")
}

// exponents are those of powered exponential kernels that are positive definite.
var exponents = param.Range{High: 2, LowOpen: true}
