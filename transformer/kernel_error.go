package transformer

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
)

// kernelError measures the difference between inner products of random features and the kernel they
// approximate.
type kernelError struct {
	Features int     // D
	RMS      float64 // root mean square over all pairs of distinct rows
	Max      float64
	// Expected is the RMS expected over independent draws, from the variance of z(x)'z(y): [1 +
	// k(2Δ) − 2k(Δ)²]/D for paired features, [1 + k(2Δ)/2 − k(Δ)²]/D for features with phases.
	// Other draws should have a smaller error.
	Expected float64
	// Bound is a 95 % bound of Max for independent draws, by Hoeffding's inequality and a union
	// bound over all pairs: √(2·log(n(n−1)/δ)/m) for m pairs of features, twice that for m features
	// with phases.
	Bound float64
}

// KernelErrors measures the approximation error of the first features of the map, for each of the
// given numbers of features, in ascending order, over all pairs of rows of X. Inner products are
// accumulated over nested maps: all numbers of features together cost 2n²D flops, the kernel n²d.
// Each result has Features, RMS, Max, Expected (the RMS expected over independent draws) and Bound
// (a 95 % bound of Max).
// It allocates n² numbers; a sample of a thousand rows is sufficient. (Rahimi & Recht, NIPS 2007,
// claim 1; Sutherland & Schneider, UAI 2015.)
func (f *FittedRFF) KernelErrors(ctx context.Context, X mat.Matrix, features []int) ([]kernelError, error) {
	for k, D := range features {
		if _, err := f.WithFeatures(D); err != nil {
			return nil, err
		}
		if k > 0 && D <= features[k-1] {
			return nil, fmt.Errorf("transformer: rff: numbers of features must ascend, got %v", features)
		}
	}
	X, err := checkRows("rff", X, len(f.gamma))
	if err != nil {
		return nil, err
	}
	if n, _ := X.Dims(); n < 2 {
		return nil, fmt.Errorf("transformer: rff: %w: one row makes no pair", datasets.ErrEmpty)
	}
	if f.kernel.Exact == nil {
		return nil, fmt.Errorf("transformer: rff: %w", errNoKernel)
	}
	if err := checkEntries("rff", X, datasets.Schema{}, 0, f.features.Float64.Limit, false); err != nil {
		return nil, err
	}
	errors, err := f.features.Errors(ctx, f.kernel, X, features)
	if err != nil {
		return nil, err
	}
	out := make([]kernelError, len(errors))
	for k, e := range errors {
		out[k] = kernelError(e)
	}
	return out, nil
}
