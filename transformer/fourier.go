package transformer

import (
	"context"
	"math"
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/sparse"
)

// fourier is the arithmetic of random Fourier features in one precision.
type fourier[T kern.Float] struct {
	omega  kern.View[T] // d×m
	phase  []T          // m
	paired bool         // cosine and sine of each frequency, no phases
	limit  float64      // inputs up to which ω'x is finite, below 0 where the frequencies are not
}

// newFourier rounds the frequencies factor ∘ base and the phases to T.
func newFourier[T kern.Float](base *mat.Dense, factor, phase []float64, paired bool) fourier[T] {
	d, m := base.Dims()
	f := fourier[T]{omega: kern.Dense(d, m, m, make([]T, d*m)), paired: paired}
	reach := make([]float64, m)
	for j, g := range factor {
		to := f.omega.Row(j)
		for k, w := range base.RawRowView(j) {
			to[k] = T(g * w)
			reach[k] += math.Abs(g * w)
		}
	}
	for _, b := range phase {
		f.phase = append(f.phase, T(b))
	}
	f.limit = -1
	most := 0.0
	for _, r := range reach {
		most = max(most, r)
	}
	if finite(float64(T(most))) {
		f.limit = largestOf[T]() / max(4, 4*most)
	}
	return f
}

// largestOf returns the largest finite T.
func largestOf[T kern.Float]() float64 {
	if _, ok := any(T(0)).(float32); ok {
		return math.MaxFloat32
	}
	return math.MaxFloat64
}

// first returns the map of the first m frequencies.
func (f fourier[T]) first(m int) fourier[T] {
	f.omega = f.omega.Slice(0, f.omega.Rows, 0, m)
	if !f.paired {
		f.phase = f.phase[:m:m]
	}
	return f
}

// norm is the value that makes z(x)'z(x) 1 in the mean.
func (f *fourier[T]) norm() T {
	if f.paired {
		return T(math.Sqrt(1 / float64(f.omega.Cols)))
	}
	return T(math.Sqrt(2 / float64(f.omega.Cols)))
}

// transform writes the features of the rows of X, a *mat.Dense or *sparse.CSR, to dst.
func (f *fourier[T]) transform(ctx context.Context, dst kern.View[T], X mat.Matrix) error {
	if err := checkEntries("rff", X, datasets.Schema{}, 0, f.limit, false); err != nil {
		return err
	}
	for lo := 0; lo < dst.Rows; lo += tileRows {
		if err := ctx.Err(); err != nil {
			return err
		}
		hi := min(lo+tileRows, dst.Rows)
		to := dst.Slice(lo, hi, 0, dst.Cols)
		switch x := X.(type) {
		case *mat.Dense:
			f.mapDense(to, denseView(x, lo, hi))
		case *sparse.CSR:
			f.mapSparse(to, sparseView(x, lo, hi))
		}
	}
	return nil
}

func (f *fourier[T]) mapDense(dst kern.View[T], x kern.View[float64]) {
	same, ok := any(x).(kern.View[T])
	if !ok {
		hold := borrow[T](x.Rows * x.Cols)
		defer hold.release()
		same = kern.Dense(x.Rows, x.Cols, x.Cols, hold.list)
		round(same, x)
	}
	if f.paired {
		kern.SinCosMap(dst, same, f.omega, f.norm())
	} else {
		kern.CosMap(dst, same, f.omega, f.phase, f.norm())
	}
}

// round copies x to dst.
func round[T kern.Float](dst kern.View[T], x kern.View[float64]) {
	const few = 64
	if x.Rows <= few {
		roundRows(dst, x, 0, x.Rows)
		return
	}
	kern.Parallel(x.Rows, few, func(lo, hi int) { roundRows(dst, x, lo, hi) })
}

func roundRows[T kern.Float](dst kern.View[T], x kern.View[float64], lo, hi int) {
	for i := lo; i < hi; i++ {
		to := dst.Row(i)
		for j, v := range x.Row(i) {
			to[j] = T(v)
		}
	}
}

// sparseRows is the number of sparse rows of one piece of work.
const sparseRows = 64

func (f *fourier[T]) mapSparse(dst kern.View[T], x kern.Sparse[float64]) {
	if x.Rows <= sparseRows {
		f.mapSparseRows(dst, x, 0, x.Rows)
		return
	}
	kern.Parallel(x.Rows, sparseRows, func(lo, hi int) { f.mapSparseRows(dst, x, lo, hi) })
}

func (f *fourier[T]) mapSparseRows(dst kern.View[T], x kern.Sparse[float64], lo, hi int) {
	rows, m := hi-lo, f.omega.Cols
	from, to := x.Indptr[lo], x.Indptr[hi]
	hold := borrow[T](rows*m + to - from)
	defer hold.release()
	hold.indptr = hold.indptr[:0]
	for _, p := range x.Indptr[lo : hi+1] {
		hold.indptr = append(hold.indptr, p-from)
	}
	same := kern.Sparse[T]{Rows: rows, Cols: x.Cols, Indptr: hold.indptr, Indices: x.Indices[from:to], Scale: T(x.Scale)}
	if x.Values != nil {
		same.Values = hold.list[rows*m:]
		for k, v := range x.Values[from:to] {
			same.Values[k] = T(v)
		}
	}
	angles := kern.Dense(rows, m, m, hold.list[:rows*m])
	kern.SparseMul(angles, same, f.omega, false)
	f.waves(dst.Slice(lo, hi, 0, dst.Cols), angles)
}

// waves writes the features of given projections into dst and spoils the projections.
func (f *fourier[T]) waves(dst, angles kern.View[T]) {
	norm := f.norm()
	for i := range dst.Rows {
		to, a := dst.Row(i), angles.Row(i)
		if !f.paired {
			for j, b := range f.phase {
				a[j] += b
			}
			kern.Cos(to, a)
			kern.Scale(norm, to)
			continue
		}
		sin, cos := to[:len(a)], to[len(a):]
		kern.SinCos(sin, cos, a)
		copy(a, sin)
		for j, s := range a {
			to[2*j], to[2*j+1] = norm*cos[j], norm*s
		}
	}
}

// buffer is memory that is used again.
type buffer[T kern.Float] struct {
	list   []T
	indptr []int
}

var doubleBuffers, singleBuffers sync.Pool

func buffers[T kern.Float]() *sync.Pool {
	if _, ok := any(T(0)).(float32); ok {
		return &singleBuffers
	}
	return &doubleBuffers
}

// borrow returns a buffer of n numbers with arbitrary contents; release gives it back.
func borrow[T kern.Float](n int) *buffer[T] {
	b, ok := buffers[T]().Get().(*buffer[T])
	if !ok {
		b = new(buffer[T])
	}
	if cap(b.list) < n {
		b.list = make([]T, n)
	}
	b.list = b.list[:n]
	return b
}

func (b *buffer[T]) release() { buffers[T]().Put(b) }
