// Package pairwise computes distances, kernel values and gradients of kernel sums for all pairs of
// two sets of rows, in tiles. It is the basis of methods with exact kernels: landmarks, kernel
// ridge regression, and feature machines.
//
// A [Frame] is an affine transform of the inputs: it subtracts a center and multiplies by a factor.
// [Rows] are rows prepared in a frame, in float64 or float32, with their squared norms. [Distances]
// computes a tile of distances between two sets of rows, and [Values] or [Slopes] replace it by
// kernel values or derivatives. A distance depends on the kernel only by its [Metric], and not on γ
// if the frame is for γ = 1, so that one tile of distances serves several kernels and γ
// ([Kernel.Scale]). [Matrix], [Multiply] and [Gradients] process all tiles of large sets of rows on
// all cores.
//
// # Accuracy
//
// Squared distances are computed as ‖x‖² + ‖y‖² − 2x'y by matrix products. If that cancels, because
// two rows are close to each other and far from the center, the distance is recomputed from the
// differences; equal rows have distance 0 exactly. The relative error of a squared distance is at
// most about 1e-10 in float64 and 1e-4 in float32, and a few roundings if the distance of the rows
// is comparable to that from the center. Kernel values of float32 rows are within 1e-5 of the exact
// ones if float32 resolves the inputs.
//
// Every value depends on its two rows only, not on the tile or on the number of cores.
package pairwise

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/matrices"
)

// Frame makes inputs comparable: x becomes Factor ∘ (x − Center).
type Frame struct {
	Factor []float64 // one for each input
	Center []float64 // one for each input, or nil for zeros

	degree int     // of a polynomial of products
	offset float64 // of the products
	blocks *blocks // of a kernel of columns
	own    *Kernel // that needs no frame
}

// Frame returns the frame of the given factors that is centered on the rows of X. Sparse rows are not centered,
// which would fill them, nor are those of a kernel that is not shift-invariant.
func (k *Kernel) Frame(factor []float64, X mat.Matrix) Frame {
	f := Frame{Factor: factor, degree: k.degree, offset: k.parameter}
	n, d := X.Dims()
	if k.Metric >= Function {
		f.own = k
		return f
	}
	if k.Metric == Columns {
		f.blocks = newBlocks(k, factor, X)
		return f
	}
	if _, ok := X.(*matrices.CSR); ok || n == 0 || k.Metric >= Chi2 {
		return f
	}
	f.Center = make([]float64, d)
	buffer := make([]float64, d)
	for i := range n {
		for j, v := range design.Row(X, i, buffer) {
			f.Center[j] += v / float64(n)
		}
	}
	return f
}

// Limit returns the maximum magnitude of inputs in the frame: larger ones could overflow a distance
// or a polynomial in T.
func Limit[T kern.Float](f Frame) float64 {
	if f.blocks != nil {
		limit := math.MaxFloat64
		for _, of := range f.blocks.frames {
			limit = min(limit, Limit[T](of))
		}
		return limit
	}
	if f.own != nil && f.own.Metric == Function {
		return math.MaxFloat64
	}
	largest := math.MaxFloat64
	if _, ok := any(T(0)).(float32); ok {
		largest = math.MaxFloat32
	}
	if f.own != nil {
		return largest
	}
	reach, center := 1.0, 0.0
	for j, g := range f.Factor {
		reach = max(reach, g)
		if f.Center != nil {
			center = max(center, math.Abs(f.Center[j]))
		}
	}
	largest /= 8
	if f.degree > 0 {
		largest = math.Pow(largest, 1/float64(f.degree)) - f.offset
	}
	return max(0, math.Sqrt(max(0, largest))/math.Sqrt(float64(len(f.Factor)+1))/reach-center)
}

// Rows are rows prepared for comparing with others of the same frame. A copy shares their memory.
type Rows[T kern.Float] struct {
	n, d   int
	dense  kern.View[T]   // n×d, of no use where isSparse
	sparse kern.Sparse[T] // where isSparse
	norms  []T            // ‖row‖₂²

	isSparse bool
	buf      workspace[T]

	of     *blocks // of a kernel of columns
	blocks []Rows[T]

	own *ownRows // of a kernel without a frame
}

// workspace is memory that rows are prepared in.
type workspace[T kern.Float] struct {
	values []T
	norms  []T
	starts []int
}

// NewRows returns the rows of X, a *mat.Dense or *matrices.CSR, in the frame.
func NewRows[T kern.Float](f Frame, X mat.Matrix) Rows[T] {
	var r Rows[T]
	n, _ := X.Dims()
	r.Prepare(f, X, 0, n)
	return r
}

// Prepare makes r the rows lo to hi of X in the frame, in the memory that r had before.
func (r *Rows[T]) Prepare(f Frame, X mat.Matrix, lo, hi int) {
	_, d := X.Dims()
	if d != len(f.Factor) {
		panic(fmt.Sprintf("pairwise: %d inputs, the frame has %d", d, len(f.Factor)))
	}
	r.n, r.d, r.own = hi-lo, d, nil
	if f.blocks != nil {
		r.prepareBlocks(f.blocks, X, lo, hi)
		return
	}
	r.of = nil
	if f.own != nil {
		r.isSparse = false
		r.prepareOwn(f.own, X, lo, hi)
		return
	}
	r.norms = resized(&r.buf.norms, r.n)
	m, ok := X.(*matrices.CSR)
	if r.isSparse = ok && f.Center == nil; r.isSparse {
		r.compress(f, design.SparseView(m), lo, hi)
		return
	}
	r.dense = kern.Dense(r.n, d, d, resized(&r.buf.values, r.n*d))
	kern.Parallel(r.n, max(1, 1<<14/max(d, 1)), func(from, to int) {
		hold := design.Borrow[float64](d)
		defer hold.Release()
		for i := from; i < to; i++ {
			row := r.dense.Row(i)
			enter(f, row, design.Row(X, lo+i, hold.Data))
			r.norms[i] = kern.Dot(row, row)
		}
	})
}

// enter writes a row in the frame to dst.
func enter[T kern.Float](f Frame, dst []T, x []float64) {
	if f.Center == nil {
		for j, g := range f.Factor {
			dst[j] = T(g * x[j])
		}
		return
	}
	for j, g := range f.Factor {
		dst[j] = T(g * (x[j] - f.Center[j]))
	}
}

// resized returns the first n elements of the list, which it reallocates if it is too short.
func resized[E any](list *[]E, n int) []E {
	if cap(*list) < n {
		*list = make([]E, n)
	}
	return (*list)[:n]
}

// compress keeps the rows sparse.
func (r *Rows[T]) compress(f Frame, x kern.Sparse[float64], lo, hi int) {
	from, to := x.Indptr[lo], x.Indptr[hi]
	starts, values := resized(&r.buf.starts, r.n+1), resized(&r.buf.values, to-from)
	for i := range r.n + 1 {
		starts[i] = x.Indptr[lo+i] - from
	}
	indices := x.Indices[from:to]
	for p, j := range indices {
		v := x.Scale
		if x.Values != nil {
			v *= x.Values[from+p]
		}
		values[p] = T(f.Factor[j] * v)
	}
	r.sparse = kern.Sparse[T]{Rows: r.n, Cols: r.d, Indptr: starts, Indices: indices, Values: values, Scale: 1}
	for i := range r.n {
		row := values[starts[i]:starts[i+1]]
		r.norms[i] = kern.Dot(row, row)
	}
}

// Len returns the number of rows.
func (r Rows[T]) Len() int { return r.n }

// Inputs returns the number of inputs.
func (r Rows[T]) Inputs() int { return r.d }

// Slice returns rows lo to hi; they share memory and cannot be prepared again.
func (r Rows[T]) Slice(lo, hi int) Rows[T] {
	if r.of != nil {
		return r.eachBlock(hi-lo, func(b Rows[T]) Rows[T] { return b.Slice(lo, hi) })
	}
	if r.own != nil {
		return Rows[T]{n: hi - lo, d: r.d, own: r.own.slice(lo, hi)}
	}
	out := Rows[T]{n: hi - lo, d: r.d, norms: r.norms[lo:hi], isSparse: r.isSparse}
	if r.isSparse {
		out.sparse = r.sparse
		out.sparse.Rows, out.sparse.Indptr = hi-lo, r.sparse.Indptr[lo:hi+1]
		return out
	}
	out.dense = r.dense.Slice(lo, hi, 0, r.d)
	return out
}

// eachBlock returns n rows of a kernel of columns, whose blocks are those that f returns.
func (r Rows[T]) eachBlock(n int, f func(block Rows[T]) Rows[T]) Rows[T] {
	out := Rows[T]{n: n, d: r.d, of: r.of, blocks: make([]Rows[T], len(r.blocks))}
	for i, b := range r.blocks {
		out.blocks[i] = f(b)
	}
	return out
}

// Select returns a copy of the listed rows, in the order of the list.
func (r Rows[T]) Select(list []int) Rows[T] {
	if r.of != nil {
		return r.eachBlock(len(list), func(b Rows[T]) Rows[T] { return b.Select(list) })
	}
	if r.own != nil {
		return Rows[T]{n: len(list), d: r.d, own: r.own.pick(list)}
	}
	out := Rows[T]{n: len(list), d: r.d, isSparse: r.isSparse, norms: make([]T, len(list))}
	for i, at := range list {
		out.norms[i] = r.norms[at]
	}
	if !r.isSparse {
		out.dense = kern.Dense(len(list), r.d, r.d, make([]T, len(list)*r.d))
		for i, at := range list {
			copy(out.dense.Row(i), r.dense.Row(at))
		}
		return out
	}
	s := kern.Sparse[T]{Rows: len(list), Cols: r.d, Indptr: make([]int, 1, len(list)+1), Scale: 1, Values: []T{}}
	for _, at := range list {
		from, to := r.sparse.Indptr[at], r.sparse.Indptr[at+1]
		s.Indices = append(s.Indices, r.sparse.Indices[from:to]...)
		s.Values = append(s.Values, r.sparse.Values[from:to]...)
		s.Indptr = append(s.Indptr, len(s.Indices))
	}
	out.sparse = s
	return out
}

// row returns row i, of sparse rows in the buffer of d numbers.
func (r *Rows[T]) row(i int, buffer []T) []T {
	if !r.isSparse {
		return r.dense.Row(i)
	}
	clear(buffer)
	from, to := r.sparse.Indptr[i], r.sparse.Indptr[i+1]
	for p, j := range r.sparse.Indices[from:to] {
		buffer[j] = r.sparse.Values[from+p]
	}
	return buffer
}
