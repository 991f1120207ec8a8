// Package agop learns linear maps of the inputs from the average outer product of a model's gradients,
//
//	M = 1/n Σ_i Σ_c ∇f_c(x_i)·∇f_c(x_i)'
//
// which is large along the directions in which the outputs f_c change: a recursive feature machine fits a
// kernel machine to x, then to M^power·x, and so on. Inputs and outputs are numeric columns.
//
// [Learn] does the rounds, and score.go judges their maps. The ridge regressions that are differentiated are in
// exact.go and features.go; gradients of random Fourier features are in fourier.go, those of exact kernels in
// package pairwise.
//
// Sources: Radhakrishnan, Beaglehole, Pandit and Belkin, "Mechanism for feature learning in neural networks
// and backpropagation-free machine learning models", Science 383, 2024; Beaglehole, Holzmüller,
// Radhakrishnan and Belkin, "xRFM: accurate, scalable, and interpretable feature learning models for tabular
// data", arXiv 2508.10053, 2025.
package agop

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// products are sums of outer products of gradients: the lower triangle of a d×d matrix, or its
// diagonal.
type products struct {
	full     kern.View[float64] // d×d
	diagonal []float64          // d, instead
}

func newProducts(d int, diagonal bool) *products {
	if diagonal {
		return &products{diagonal: make([]float64, d)}
	}
	return &products{full: kern.Dense(d, d, d, make([]float64, d*d))}
}

// add adds the products of the rows of G, each a gradient.
func (p *products) add(ctx context.Context, G kern.View[float32]) error {
	if p.diagonal == nil {
		return kern.GramMixed(ctx, p.full, G, nil)
	}
	for i := range G.Rows {
		for j, g := range G.Row(i) {
			p.diagonal[j] += float64(g) * float64(g)
		}
	}
	return ctxerr.Check(ctx)
}

// metric is a linear map of the inputs: x → x·A with a symmetric A, diagonal where full is nil.
type metric struct {
	full     kern.View[float64] // d×d
	diagonal []float64          // d, instead
}

// identity returns the initial metric.
func identity(d int, diagonal bool) metric {
	a := metric{}
	if diagonal {
		a.diagonal = make([]float64, d)
		for j := range d {
			a.diagonal[j] = 1
		}
		return a
	}
	a.full = kern.Dense(d, d, d, make([]float64, d*d))
	for j := range d {
		a.full.Set(j, j, 1)
	}
	return a
}

// scale multiplies the map.
func (a metric) scale(factor float64) {
	if a.diagonal != nil {
		kern.Scale(factor, a.diagonal)
		return
	}
	kern.Scale(factor, a.full.Data)
}

// of returns the mapped rows of X.
func (a metric) of(ctx context.Context, X *mat.Dense) (*mat.Dense, error) {
	n, d := X.Dims()
	out := mat.NewDense(n, d, nil)
	for lo := 0; lo < n; lo += tileRows {
		if err := ctxerr.Check(ctx); err != nil {
			return nil, err
		}
		hi := min(lo+tileRows, n)
		if a.diagonal == nil {
			kern.Mul(view(out, lo, hi), view(X, lo, hi), a.full, false)
			continue
		}
		for i := lo; i < hi; i++ {
			to := out.RawRowView(i)
			for j, v := range X.RawRowView(i) {
				to[j] = v * a.diagonal[j]
			}
		}
	}
	return out, nil
}

// view returns rows lo to hi.
func view(X *mat.Dense, lo, hi int) kern.View[float64] {
	raw := X.RawMatrix()
	return kern.Dense(raw.Rows, raw.Cols, raw.Stride, raw.Data).Slice(lo, hi, 0, raw.Cols)
}

// tileRows is the number of rows processed at a time.
const tileRows = 256

// pullback converts products of gradients with respect to x·A, which it may overwrite, to those with
// respect to x, divided by their trace; ok is false if all are 0.
func (a metric) pullback(p *products) (ok bool) {
	trace := 0.0
	if a.diagonal != nil {
		for j, s := range a.diagonal {
			p.diagonal[j] *= s * s
			trace += p.diagonal[j]
		}
		if !(trace > 0) || math.IsInf(trace, 0) {
			return false
		}
		kern.Scale(1/trace, p.diagonal)
		return true
	}
	d := p.full.Rows
	kern.MirrorLower(p.full)
	half := kern.Dense(d, d, d, make([]float64, d*d))
	kern.Mul(half, a.full, p.full, false)
	kern.Mul(p.full, half, a.full, false)
	for j := range d {
		trace += p.full.At(j, j)
	}
	if !(trace > 0) || math.IsInf(trace, 0) {
		return false
	}
	kern.Scale(1/trace, p.full.Data)
	return true
}

// powers returns M^power of the products M, which are positive semidefinite, for each power.
func (p *products) powers(ctx context.Context, powers []float64) ([]metric, error) {
	if p.diagonal != nil {
		var out []metric
		for _, power := range powers {
			out = append(out, metric{diagonal: raised(p.diagonal, power)})
		}
		return out, nil
	}
	d := p.full.Rows
	eigen, err := kern.NewEigen(ctx, kern.Dense(d, d, d, append([]float64(nil), p.full.Data...)), true)
	if err != nil {
		return nil, err
	}
	vectors, err := eigen.Vectors(ctx, 0, d)
	if err != nil {
		return nil, err
	}
	out := make([]metric, len(powers))
	for i, power := range powers {
		V := kern.Dense(d, d, d, append([]float64(nil), vectors...)) // an eigenvector in each row
		// A = V'·diag(λ^power)·V = B'B, where the rows of B are those of V times λ^(power/2).
		for k, factor := range raised(eigen.Values, power/2) {
			kern.Scale(factor, V.Row(k))
		}
		out[i].full = kern.Dense(d, d, d, make([]float64, d*d))
		if err := kern.Gram(ctx, out[i].full, V, nil); err != nil {
			return nil, err
		}
		kern.MirrorLower(out[i].full)
	}
	return out, nil
}

// diagonals returns the powers of the diagonal of M, for each power, as full maps.
func (p *products) diagonals(powers []float64) []metric {
	d := p.full.Rows
	list := make([]float64, d)
	for j := range list {
		list[j] = p.full.At(j, j)
	}
	out := make([]metric, len(powers))
	for i, power := range powers {
		out[i].full = kern.Dense(d, d, d, make([]float64, d*d))
		for j, v := range raised(list, power) {
			out[i].full.Set(j, j, v)
		}
	}
	return out
}

// raised returns the power of each number of a list, of negative ones that of 0.
func raised(list []float64, power float64) []float64 {
	out := make([]float64, len(list))
	for i, v := range list {
		out[i] = math.Pow(max(v, 0), power)
	}
	return out
}
