package transformer

import (
	"context"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/features/spectral"
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
	var out []float64
	err = eachRows(ctx, step, src, func(each func(yield func(mat.Matrix) error) error) error {
		out, err = k.ResolveGamma(ctx, g, width, seed, each)
		return err
	})
	return out, err
}

// eachRows calls f with a function that makes a pass over the blocks of src without rows of weight 0, and
// adds the step to errors of f but those of the pass, which name their place.
func eachRows(ctx context.Context, step string, src datasets.Source,
	f func(each func(yield func(mat.Matrix) error) error) error) error {
	var pass error
	err := f(func(yield func(mat.Matrix) error) error {
		_, pass = fold(ctx, step, weighted{src}, false, func(_ int, X mat.Matrix) error { return yield(X) })
		return pass
	})
	if pass != nil {
		return pass
	}
	if err != nil {
		return fmt.Errorf("transformer: %s: %w", step, err)
	}
	return nil
}

// requireGamma requires all deserialized γ to be positive.
func requireGamma(s *model.State, gamma []float64) {
	s.Require(!slices.ContainsFunc(gamma, func(g float64) bool { return !param.Positive().Contains(g) }),
		"a gamma is not a number above 0")
}

// requireShape checks the restored parameters of a kernel, if it has some.
func requireShape(s *model.State, kernel string, shape spectral.Shape, columns int) {
	s.Require(spectral.IsResolved(kernel, columns), "the columns of the kernel do not fit")
	s.Require(kernel != "matern" || param.Positive().Contains(shape.Nu), "nu is not a number above 0")
	s.Require(kernel != "rational_quadratic" || param.Positive().Contains(shape.Alpha), "alpha is not a number above 0")
	s.Require(kernel != "powered_exponential" || exponents.Contains(shape.Exponent), "exponent is not in (0, 2]")
	s.Require(kernel != "polynomial" || shape.Degree >= 1 && shape.Degree <= maxDegree &&
		param.AtLeast(0).Contains(shape.Coef0), "degree or coef0 is out of range")
}

// exponents are those of powered exponential kernels that are positive definite.
var exponents = param.Range{High: 2, LowOpen: true}

// resolveKernel returns a kernel of columns with the columns and γ of the rows of a source, and other
// kernels as they are.
func resolveKernel(ctx context.Context, step string, name kernel.Name, data datasets.Source, seed uint64) (kernel.Name,
	error) {
	if name.Summands() == nil {
		return name, nil
	}
	width, err := widthOf(ctx, step, data)
	if err != nil {
		return name, err
	}
	err = eachRows(ctx, step, data, func(each func(yield func(mat.Matrix) error) error) error {
		name, err = spectral.Resolve(ctx, name, data.Schema(), width, seed, each)
		return err
	})
	return name, err
}

// hasFixedGamma reports whether γ does not depend on the rows.
func hasFixedGamma(name kernel.Name, gamma kernel.Gamma) bool {
	list := name.Summands()
	if list == nil {
		return gamma.Rule() == ""
	}
	for _, s := range list {
		for _, t := range s.Product {
			if t.Gamma.Rule() != "" {
				return false
			}
		}
	}
	return true
}
