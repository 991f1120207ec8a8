package kernelridge

import (
	"context"
	"errors"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/pairwise"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/matrices"
)

// Rows are finite training rows with a kernel and its γ.
type Rows struct {
	Kernel *pairwise.Kernel
	Name   kernel.Name
	Gamma  []float64  // by input
	X      mat.Matrix // *mat.Dense or *matrices.CSR

	largest float64 // magnitude of an entry
}

// Resolve returns the rows of a set with the kernel of the spec and its γ, which may depend on them. Rows of
// precomputed values become unit vectors.
func (s Spec) Resolve(ctx context.Context, set datasets.Set) (*Rows, error) {
	r := &Rows{X: design.ToFloat64(design.Native(set.X))}
	eachEntry(r.X, func(v float64) { r.largest = max(r.largest, max(v, -v)) }) // NaN propagates
	if r.largest-r.largest != 0 {
		return nil, design.NonFiniteError(0, set)
	}
	var err error
	_, cols := r.X.Dims()
	each := func(yield func(mat.Matrix) error) error {
		return yield(design.WithoutZeroWeights(0, datasets.Set{X: r.X, Weights: set.Weights}).X)
	}
	r.Name, err = spectral.Resolve(ctx, s.Kernel, set.Schema, cols, s.Seed, each)
	if err != nil {
		return nil, err
	}
	if r.Kernel, err = kernelOf(string(r.Name), s.shape()); err != nil {
		return nil, err
	}
	if err := checkDomain(r.Kernel, set); err != nil {
		return nil, set.Locate(err, 0)
	}
	if r.Kernel.Metric == pairwise.Precomputed {
		if r.Kernel, r.X, err = r.Kernel.Gram(ctx, set.X, set.RowNumbers()); err != nil {
			return nil, set.Locate(err, 0)
		}
	}
	r.Gamma, err = r.Kernel.Spectral().ResolveGamma(ctx, s.Gamma, cols, s.Seed, each)
	return r, err
}

// With returns the kernel and γ for a set of other finite rows.
func (r *Rows) With(ctx context.Context, set datasets.Set) (*Rows, error) {
	out := &Rows{Kernel: r.Kernel, Name: r.Name, Gamma: r.Gamma, X: design.ToFloat64(design.Native(set.X))}
	eachEntry(out.X, func(v float64) { out.largest = max(out.largest, max(v, -v)) })
	var err error
	if r.Kernel.Metric == pairwise.Precomputed {
		out.Kernel, out.X, err = r.Kernel.Gram(ctx, set.X, set.RowNumbers())
	}
	return out, err
}

// Largest returns the largest magnitude of an entry.
func (r *Rows) Largest() float64 { return r.largest }

// checkDomain returns an error for the first input that is outside of the domain of the kernel.
func checkDomain(k *pairwise.Kernel, set datasets.Set) error {
	constraint, violated := k.Domain()
	if constraint == "" {
		return nil
	}
	any := false
	eachEntry(set.X, func(v float64) { any = any || violated(v) })
	n, d := set.X.Dims()
	for i := 0; any && i < n; i++ {
		for j := range d {
			if v := set.X.At(i, j); violated(v) {
				return &datasets.RowError{Row: i, Column: set.Schema.Name(j), Err: fmt.Errorf("%s, got %v", constraint, v)}
			}
		}
	}
	return nil
}

// errTooLarge reports inputs whose distances would overflow.
var errTooLarge = errors.New("the distances of the inputs overflow; standardize the inputs")

// Frame returns the frame of the kernel that is centered on a selection of the rows.
func (r *Rows) Frame(selection mat.Matrix) (pairwise.Frame, error) {
	f := r.Kernel.Frame(r.Kernel.Factors(r.Gamma), selection)
	if !(r.largest <= pairwise.Limit[float32](f)) {
		return f, errTooLarge
	}
	return f, nil
}

// eachEntry calls f with all entries, for sparse rows the stored ones.
func eachEntry(X mat.Matrix, f func(v float64)) {
	n, d := X.Dims()
	m, isSparse := X.(*matrices.CSR)
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
