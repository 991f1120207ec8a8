package pairwise

import (
	"math"
	"sync"
	"unsafe"

	"github.com/bochner-ml/bochner/internal/kern"
)

// columnLists are sparse rows by column, with the memory for comparing them with other rows.
type columnLists[T kern.Float] struct {
	of       Rows[T]
	start    []int // of each column in index and values
	index    []int32
	values   []T
	sums     []T // ‖row‖₁, only for L1
	row, own []T
}

// listPools are columnLists of float64 and float32.
var listPools [2]sync.Pool

// borrowLists returns lists without rows; call release to return them to the pool.
func borrowLists[T kern.Float]() *columnLists[T] {
	l, ok := listPools[unsafe.Sizeof(T(0))/8].Get().(*columnLists[T])
	if !ok {
		l = new(columnLists[T])
	}
	return l
}

func (l *columnLists[T]) release() {
	l.of = Rows[T]{}
	listPools[unsafe.Sizeof(T(0))/8].Put(l)
}

// set lists the entries of sparse rows by column.
func (l *columnLists[T]) set(x Rows[T], metric Metric) {
	l.of = x
	indptr := x.sparse.Indptr
	from, to := indptr[0], indptr[x.n]
	l.start = resized(&l.start, x.d+2)
	l.index, l.values = resized(&l.index, to-from), resized(&l.values, to-from)
	clear(l.start)
	next := l.start[1:] // of each column: first the number of entries, then the start, at last the end
	for _, j := range x.sparse.Indices[from:to] {
		next[j+1]++
	}
	for j := range x.d {
		next[j+1] += next[j]
	}
	for i := range x.n {
		for p := indptr[i]; p < indptr[i+1]; p++ {
			at := &next[x.sparse.Indices[p]]
			l.index[*at], l.values[*at] = int32(i), x.sparse.Values[p]
			*at++
		}
	}
	l.sums = absoluteSums(&l.sums, &x, metric)
}

// absoluteSums returns ‖row‖₁ of sparse rows for L1, none for other metrics.
func absoluteSums[T kern.Float](buffer *[]T, r *Rows[T], metric Metric) []T {
	if metric != L1 {
		return resized(buffer, 0)
	}
	out := resized(buffer, r.n)
	for i := range out {
		out[i] = 0
		for _, v := range r.sparse.Values[r.sparse.Indptr[i]:r.sparse.Indptr[i+1]] {
			out[i] += absolute(v)
		}
	}
	return out
}

func absolute[T kern.Float](v T) T { return T(math.Abs(float64(v))) }

func square[T kern.Float](v T) T { return v * v }

// minColumnListRows is the number of rows of x below which their columns are listed instead of those of y.
const minColumnListRows = 8

// sparsePairs writes x'y or, for L1, ‖x − y‖₁ of all pairs of sparse rows. It adds the terms of common
// nonzero columns, in ascending order: the sum depends neither on the tile nor on the order of x and y.
func sparsePairs[T kern.Float](dst kern.View[T], x, y Rows[T], metric Metric) {
	l := borrowLists[T]()
	defer l.release()
	if x.n < minColumnListRows {
		l.set(x, metric)
		l.own, l.row = absoluteSums(&l.own, &y, metric), resized(&l.row, x.n)
		for j := range y.n {
			l.pairs(l.row, &y, j, metric)
			for i, v := range l.row {
				dst.Set(i, j, v)
			}
		}
		return
	}
	l.own = absoluteSums(&l.own, &x, metric)
	for lo := 0; lo < y.n; lo += TileColumns { // a row of sums stays in the first-level cache
		hi := min(lo+TileColumns, y.n)
		l.set(y.Slice(lo, hi), metric)
		for i := range x.n {
			l.pairs(dst.Row(i)[lo:hi], &x, i, metric)
		}
	}
}

// pairs writes the values of row i of x, whose absolute sums are l.own, and all listed rows.
func (l *columnLists[T]) pairs(dst []T, x *Rows[T], i int, metric Metric) {
	first, last := x.sparse.Indptr[i], x.sparse.Indptr[i+1]
	values := x.sparse.Values[first:last]
	if metric != L1 {
		clear(dst)
		for p, j := range x.sparse.Indices[first:last] {
			lo, hi := l.start[j], l.start[j+1]
			v, others := values[p], l.values[lo:hi]
			for q, r := range l.index[lo:hi] {
				dst[r] += v * others[q]
			}
		}
		return
	}
	for r, other := range l.sums {
		dst[r] = l.own[i] + other
	}
	for p, j := range x.sparse.Indices[first:last] {
		lo, hi := l.start[j], l.start[j+1]
		v, others := values[p], l.values[lo:hi]
		for q, r := range l.index[lo:hi] {
			dst[r] += absolute(v-others[q]) - (absolute(v) + absolute(others[q]))
		}
	}
	part := canceled[T]()
	for r, other := range l.sums {
		if dst[r] < part*(l.own[i]+other) {
			dst[r] = sparseDifferences(x, i, &l.of, r, absolute[T])
		}
	}
}

// sparseDifferences returns Σ f(x_j − y_j) of two sparse rows in the order of [differences].
func sparseDifferences[T kern.Float](x *Rows[T], i int, y *Rows[T], l int, f func(T) T) T {
	var sums [2]T // of even and odd columns
	a, b := x.sparse, y.sparse
	p, q, endP, endQ := a.Indptr[i], b.Indptr[l], a.Indptr[i+1], b.Indptr[l+1]
	for p < endP || q < endQ {
		switch {
		case q == endQ || p < endP && a.Indices[p] < b.Indices[q]:
			sums[a.Indices[p]%2] += f(a.Values[p])
			p++
		case p == endP || b.Indices[q] < a.Indices[p]:
			sums[b.Indices[q]%2] += f(b.Values[q])
			q++
		default:
			sums[a.Indices[p]%2] += f(a.Values[p] - b.Values[q])
			p, q = p+1, q+1
		}
	}
	return sums[0] + sums[1]
}
