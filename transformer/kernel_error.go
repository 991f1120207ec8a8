package transformer

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/kern"
)

// KernelError is how far inner products of random features are from the kernel they approximate.
type KernelError struct {
	Features int     // D
	RMS      float64 // over all pairs of different rows
	Max      float64
	// Expected is what RMS is in the root mean square over draws, by the variance of z(x)'z(y):
	// [1 + k(2Δ) − 2k(Δ)²]/D for paired features, [1 + k(2Δ)/2 − k(Δ)²]/D for those with phases.
	Expected float64
	// Bound is what Max exceeds with a probability of at most 5 %, by Hoeffding's inequality for
	// every pair: √(2·log(n(n−1)/δ)/m) for m pairs of features, twice that for m with phases.
	Bound float64
}

// KernelErrors measures the error of the first features of the map, for several numbers of them in
// ascending order, over all pairs of the rows of X. Inner products are added up over nested maps, so
// that all numbers of features together cost 2n²D flops; the kernel costs n²d. It holds n² numbers:
// a sample of a thousand rows will do. (Rahimi & Recht, NIPS 2007, claim 1; Sutherland & Schneider, UAI 2015.)
func (f *FittedRFF) KernelErrors(ctx context.Context, X mat.Matrix, features []int) ([]KernelError, error) {
	for k, D := range features {
		if _, err := f.WithFeatures(D); err != nil {
			return nil, err
		}
		if k > 0 && D <= features[k-1] {
			return nil, fmt.Errorf("transformer: rff: numbers of features %v, wanted ascending ones", features)
		}
	}
	X, err := checkRows("rff", X, len(f.gamma))
	if err != nil {
		return nil, err
	}
	n, _ := X.Dims()
	if n < 2 {
		return nil, fmt.Errorf("transformer: rff: %w: one row makes no pair", datasets.ErrEmpty)
	}
	exact, variance, err := f.pairs(ctx, X)
	if err != nil {
		return nil, err
	}
	Z := mat.NewDense(n, f.OutputWidth(), nil)
	if err := f.TransformTo(ctx, Z, X); err != nil {
		return nil, err
	}
	gram := kern.Dense(n, n, n, make([]float64, n*n))
	z := denseView(Z, 0, n)
	out := make([]KernelError, len(features))
	from := 0
	for k, D := range features {
		if err := kern.Gram(ctx, gram, z.Slice(0, n, from, D).T(), nil); err != nil {
			return nil, err
		}
		from = D
		out[k] = f.kernelError(D, n, gram, exact, variance)
	}
	return out, nil
}

// pairs returns the kernel of all pairs of rows, i > j in row-major order, and D times the mean
// variance of their inner products.
func (f *FittedRFF) pairs(ctx context.Context, X mat.Matrix) (exact []float64, variance float64, err error) {
	if f.kernel.exact == nil {
		return nil, 0, fmt.Errorf("transformer: rff: %w", errNoKernel)
	}
	n, d := X.Dims()
	x, y, delta := make([]float64, d), make([]float64, d), make([]float64, d)
	for i := 1; i < n; i++ {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		a := denseRow(X, i, x)
		for j := range i {
			b := denseRow(X, j, y)
			for l, g := range f.factor {
				delta[l] = g * (a[l] - b[l])
			}
			k := f.kernel.exact(delta)
			kern.Scale(2, delta)
			k2 := f.kernel.exact(delta)
			exact = append(exact, k)
			if f.paired {
				variance += 1 + k2 - 2*k*k
			} else {
				variance += 1 + k2/2 - k*k
			}
		}
	}
	return exact, variance / float64(len(exact)), nil
}

// kernelError compares the inner products of the first D features, in the scale of all of them.
func (f *FittedRFF) kernelError(D, n int, gram kern.View[float64], exact []float64, variance float64) KernelError {
	e := KernelError{Features: D, Expected: math.Sqrt(max(0, variance) / float64(D))}
	scale := float64(f.OutputWidth()) / float64(D)
	at := 0
	for i := 1; i < n; i++ {
		for _, g := range gram.Row(i)[:i] {
			miss := math.Abs(scale*g - exact[at])
			e.RMS += miss * miss / float64(len(exact))
			e.Max = max(e.Max, miss)
			at++
		}
	}
	e.RMS = math.Sqrt(e.RMS)
	const risk = 0.05
	m, reach := float64(D), 2.0 // of a term to either side of 0
	if f.paired {
		m, reach = m/2, 1
	}
	e.Bound = reach * math.Sqrt(2*math.Log(float64(n)*float64(n-1)/risk)/m)
	return e
}
