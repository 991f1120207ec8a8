package fourier

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// Error measures the difference between inner products of features and the kernel they approximate.
type Error struct {
	Features int     // D
	RMS      float64 // over all pairs of different rows
	Max      float64
	Expected float64 // RMS expected over draws
	Bound    float64 // Max exceeds it with probability at most 5 %
}

// Errors measures the error of the first features of the map, for several numbers of them in ascending
// order, over all pairs of the rows of X, of which there are two or more. Inner products are added up over nested
// maps.
func (f *Map) Errors(ctx context.Context, kernel spectral.Kernel, X mat.Matrix, features []int) ([]Error, error) {
	n, _ := X.Dims()
	exact, variance, err := f.pairs(ctx, kernel, X)
	if err != nil {
		return nil, err
	}
	z := kern.Dense(n, f.Width(), f.Width(), make([]float64, n*f.Width()))
	if err := f.Float64.Transform(ctx, z, X); err != nil {
		return nil, err
	}
	gram := kern.Dense(n, n, n, make([]float64, n*n))
	out := make([]Error, len(features))
	from := 0
	for k, D := range features {
		if err := kern.Gram(ctx, gram, z.Slice(0, n, from, D).T(), nil); err != nil {
			return nil, err
		}
		from = D
		out[k] = f.errorOf(D, n, gram, exact, variance)
	}
	return out, nil
}

// pairs returns the kernel of all pairs of rows, i > j in row-major order, and D times the mean
// variance of their inner products.
func (f *Map) pairs(ctx context.Context, kernel spectral.Kernel, X mat.Matrix) (exact []float64, variance float64,
	err error) {
	n, d := X.Dims()
	x, y, delta := make([]float64, d), make([]float64, d), make([]float64, d)
	for i := 1; i < n; i++ {
		if err := ctxerr.Check(ctx); err != nil {
			return nil, 0, err
		}
		a := design.Row(X, i, x)
		for j := range i {
			b := design.Row(X, j, y)
			for l, g := range f.Factor {
				delta[l] = g * (a[l] - b[l])
			}
			k := kernel.Exact(delta)
			kern.Scale(2, delta)
			k2 := kernel.Exact(delta)
			exact = append(exact, k)
			if f.Paired {
				variance += 1 + k2 - 2*k*k
			} else {
				variance += 1 + k2/2 - k*k
			}
		}
	}
	return exact, variance / float64(len(exact)), nil
}

// errorOf compares the inner products of the first D features, in the scale of all of them.
func (f *Map) errorOf(D, n int, gram kern.View[float64], exact []float64, variance float64) Error {
	e := Error{Features: D, Expected: math.Sqrt(max(0, variance) / float64(D))}
	scale := float64(f.Width()) / float64(D)
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
	if f.Paired {
		m, reach = m/2, 1
	}
	e.Bound = reach * math.Sqrt(2*math.Log(float64(n)*float64(n-1)/risk)/m)
	return e
}
