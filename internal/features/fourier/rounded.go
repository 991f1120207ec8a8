package fourier

import (
	"context"
	"math"
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/matrices"
)

// Rounded is the arithmetic of a map in one precision.
type Rounded[T kern.Float] struct {
	omega  kern.View[T] // d×m; without elements where fast takes its place
	fast   *fast[T]     // of structured frequencies
	m      int          // frequencies
	phase  []T          // m
	paired bool         // cosine and sine of each frequency, no phases
	Limit  float64      // inputs up to which ω'x is finite, below 0 where the frequencies are not

	grid  []float64                // d, of inputs far from 0; nil in double precision
	exact func() *Rounded[float64] // the same map in double precision, for these
}

// roundFrequencies rounds the frequencies factor ∘ base and the phases to T.
func roundFrequencies[T kern.Float](draws Draws, factor []float64) Rounded[T] {
	m := draws.Len()
	f := Rounded[T]{m: m, paired: draws.Paired}
	for _, b := range draws.Phase {
		f.phase = append(f.phase, T(b))
	}
	if draws.Signs != nil {
		f.fast = fastOf[T](draws.Signs, factor, draws.Spread)
		f.Limit = f.fast.limit()
		return f
	}
	f.omega = kern.Dense(len(factor), m, m, make([]T, len(factor)*m))
	reach := make([]float64, m)
	kern.Parallel(m, stripe, func(lo, hi int) {
		reach := reach[lo:hi]
		for j, g := range factor {
			to, base := f.omega.Row(j)[lo:hi], draws.Base.RawRowView(j)[lo:hi]
			for k, w := range base {
				to[k] = T(g * w)
				reach[k] += math.Abs(g * w)
			}
		}
	})
	f.Limit = -1
	largest := 0.0
	for _, r := range reach {
		largest = max(largest, r)
	}
	if spectral.Finite(float64(T(largest))) {
		f.Limit = largestOf[T]() / max(4, 4*largest)
	}
	return f
}

// stripe is the number of frequencies rounded at a time, because a loaded model may have a hundred
// million.
const stripe = 1024

// largestOf returns the largest finite T.
func largestOf[T kern.Float]() float64 {
	if _, ok := any(T(0)).(float32); ok {
		return math.MaxFloat32
	}
	return math.MaxFloat64
}

// first returns the map of the first m frequencies.
func (f Rounded[T]) first(m int) Rounded[T] {
	f.m = m
	if f.fast != nil {
		f.fast = f.fast.first(m)
	} else {
		f.omega = f.omega.Slice(0, f.omega.Rows, 0, m)
	}
	if !f.paired {
		f.phase = f.phase[:m:m]
	}
	return f
}

// norm returns the factor such that E[z(x)'z(x)] = 1.
func (f *Rounded[T]) norm() T {
	if f.paired {
		return T(math.Sqrt(1 / float64(f.m)))
	}
	return T(math.Sqrt(2 / float64(f.m)))
}

// Transform writes the features of the rows of X, a *mat.Dense or *matrices.CSR without values beyond
// the limit, to dst.
func (f *Rounded[T]) Transform(ctx context.Context, dst kern.View[T], X mat.Matrix) error {
	for lo := 0; lo < dst.Rows; lo += tileRows {
		if err := ctxerr.Check(ctx); err != nil {
			return err
		}
		hi := min(lo+tileRows, dst.Rows)
		to := dst.Slice(lo, hi, 0, dst.Cols)
		if f.fast != nil {
			f.mapFast(to, X, lo, hi)
			continue
		}
		switch x := X.(type) {
		case *mat.Dense:
			f.mapDense(to, design.View(x).Slice(lo, hi, 0, f.omega.Rows))
		case *matrices.CSR:
			f.mapSparse(to, design.SparseView(x), lo, hi)
		}
	}
	return nil
}

func (f *Rounded[T]) mapDense(dst kern.View[T], x kern.View[float64]) {
	same, ok := any(x).(kern.View[T])
	if !ok {
		hold := design.Borrow[T](x.Rows * x.Cols)
		defer hold.Release()
		same = kern.Dense(x.Rows, x.Cols, x.Cols, hold.Data)
		if f.grid != nil && f.far(x) {
			f.mapFar(dst, x)
			return
		}
		round(same, x)
	}
	if f.paired {
		kern.SinCosMap(dst, same, f.omega, f.norm())
	} else {
		kern.CosMap(dst, same, f.omega, f.phase, f.norm())
	}
}

// mapFast writes the features of rows lo to hi of X, made by transforms, to dst.
func (f *Rounded[T]) mapFast(dst kern.View[T], X mat.Matrix, lo, hi int) {
	if x, ok := X.(*mat.Dense); ok && f.grid != nil {
		if rows := design.View(x).Slice(lo, hi, 0, f.fast.inputs); f.far(rows) {
			f.mapFar(dst, rows)
			return
		}
	}
	if hi-lo <= fastRows {
		f.mapFastRows(dst, X, lo, hi)
		return
	}
	kern.Parallel(hi-lo, fastRows, func(from, to int) {
		f.mapFastRows(dst.Slice(from, to, 0, dst.Cols), X, lo+from, lo+to)
	})
}

func (f *Rounded[T]) mapFastRows(dst kern.View[T], X mat.Matrix, lo, hi int) {
	hold := design.Borrow[T](dst.Rows * f.m)
	defer hold.Release()
	angles := kern.Dense(hi-lo, f.m, f.m, hold.Data)
	f.fast.project(angles, X, lo)
	if f.paired {
		kern.SinCosRescaledColumns(dst, angles, f.fast.spread, f.norm())
	} else {
		kern.CosRescaledColumns(dst, angles, f.phase, f.fast.spread, f.norm())
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
		design.Round(dst.Row(i), x.Row(i))
	}
}

// tileRows is the number of rows mapped between two checks of the context.
const tileRows = 2048

// sparseRows is the number of sparse rows of one piece of work.
const sparseRows = 64

func (f *Rounded[T]) mapSparse(dst kern.View[T], x kern.Sparse[float64], lo, hi int) {
	if hi-lo <= sparseRows {
		f.mapSparseRows(dst, x, lo, hi)
		return
	}
	kern.Parallel(hi-lo, sparseRows, func(from, to int) {
		f.mapSparseRows(dst.Slice(from, to, 0, dst.Cols), x, lo+from, lo+to)
	})
}

// mapSparseRows writes the features of rows lo to hi of x to dst.
func (f *Rounded[T]) mapSparseRows(dst kern.View[T], x kern.Sparse[float64], lo, hi int) {
	rows, m := hi-lo, f.omega.Cols
	from, to := x.Indptr[lo], x.Indptr[hi]
	hold := design.Borrow[T](rows*m + to - from)
	defer hold.Release()
	starts := startPool.Get().(*[]int)
	defer startPool.Put(starts)
	*starts = (*starts)[:0]
	for _, p := range x.Indptr[lo : hi+1] {
		*starts = append(*starts, p-from)
	}
	same := kern.Sparse[T]{Rows: rows, Cols: x.Cols, Indptr: *starts, Indices: x.Indices[from:to], Scale: T(x.Scale)}
	if x.Values != nil {
		same.Values = hold.Data[rows*m:]
		design.Round(same.Values, x.Values[from:to])
	}
	angles := kern.Dense(rows, m, m, hold.Data[:rows*m])
	kern.SparseMul(angles, same, f.omega, false)
	f.waves(dst, angles)
}

// startPool contains buffers of row pointers.
var startPool = sync.Pool{New: func() any { return new([]int) }}

// waves writes the features of given projections into dst and spoils the projections.
func (f *Rounded[T]) waves(dst, angles kern.View[T]) {
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
