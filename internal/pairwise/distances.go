package pairwise

import (
	"math"
	"sync"
	"unsafe"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
)

// Metric is the distance that a kernel is a function of.
type Metric int

const (
	// Squared is ‖x − y‖₂².
	Squared Metric = iota
	// L1 is ‖x − y‖₁.
	L1
	// Cauchy is Π (1 + (x_j − y_j)²), the reciprocal of the cauchy kernel; it is of one γ only.
	Cauchy
	// Chi2 is Σ (x_j − y_j)²/(x_j + y_j), for inputs ≥ 0; a term of two zeros is 0.
	Chi2
	// Dot is x'y.
	Dot
	// Cosine is x'y/(‖x‖₂‖y‖₂), 0 for rows of zeros.
	Cosine
	// Columns is the value of a kernel of columns in its frame.
	Columns
	// Function is the value of a registered kernel.
	Function
	// Precomputed is a precomputed value of a row with a training row.
	Precomputed
)

// Distances writes the distance of row i of x and row j of y to dst[i, j]. dst is x.Len() × y.Len(), its rows
// contiguous; both sets of rows are of one frame. Meant for tiles: some hundred rows of each.
func Distances[T kern.Float](dst kern.View[T], x, y Rows[T], metric Metric) {
	if x.d != y.d || dst.Rows != x.n || dst.Cols != y.n {
		panic("pairwise: Distances of rows that do not fit")
	}
	if x.n == 0 || y.n == 0 {
		return
	}
	switch metric {
	case Columns:
		columnValues(dst, x, y)
		return
	case Function, Precomputed:
		ownValues(dst, x.own, y.own)
		return
	}
	if metric == L1 || metric == Cauchy || metric == Chi2 {
		oneByOne(dst, x, y, metric)
		return
	}
	products(dst, x, y)
	for i := range x.n {
		switch metric {
		case Squared:
			fromProducts(dst.Row(i), &x, i, &y)
		case Cosine:
			normalize(dst.Row(i), x.norms[i], y.norms)
		}
	}
}

// normalize turns products with a row into cosines, given the squared norms.
func normalize[T kern.Float](row []T, norm T, others []T) {
	for j, other := range others {
		if row[j] != 0 {
			row[j] /= T(math.Sqrt(float64(norm)) * math.Sqrt(float64(other)))
		}
	}
}

// chiSquared writes the distances of all pairs of rows.
func chiSquared[T kern.Float](dst, x, y kern.View[T]) {
	for i := range dst.Rows {
		left, to := x.Row(i), dst.Row(i)
		for l := range to {
			right := y.Row(l)[:len(left)]
			sum := T(0)
			for j, a := range left {
				b := right[j]
				if total := a + b; total > 0 {
					sum += (a - b) * (a - b) / total
				}
			}
			to[l] = sum
		}
	}
}

// canceled is the part of ‖x‖² + ‖y‖² below which a squared distance has lost too many digits.
func canceled[T kern.Float]() T {
	if unsafe.Sizeof(T(0)) == 8 {
		return 1e-5
	}
	return 1e-3
}

// fromProducts turns products of row i of x with the rows of y into squared distances.
func fromProducts[T kern.Float](row []T, x *Rows[T], i int, y *Rows[T]) {
	norm, part := x.norms[i], canceled[T]()
	if !kern.SquaredDistances(row, norm, y.norms, part) {
		return
	}
	for j, other := range y.norms {
		if row[j] < part*(norm+other) {
			row[j] = recomputed(x, i, y, j)
		}
	}
}

// recomputed returns the squared distance of two rows from their differences.
func recomputed[T kern.Float](x *Rows[T], i int, y *Rows[T], j int) T {
	if x.isSparse && y.isSparse {
		return sparseDifferences(x.sparse, i, y.sparse, j)
	}
	if x.isSparse || y.isSparse {
		hold := design.Borrow[T](2 * x.d)
		defer hold.Release()
		return differences(x.row(i, hold.Data[:x.d]), y.row(j, hold.Data[x.d:]))
	}
	return differences(x.dense.Row(i), y.dense.Row(j))
}

// differences returns ‖x − y‖².
func differences[T kern.Float](x, y []T) T {
	var s0, s1 T
	y = y[:len(x)]
	for len(x) >= 2 && len(y) >= 2 {
		a, b := x[0]-y[0], x[1]-y[1]
		s0 += a * a
		s1 += b * b
		x, y = x[2:], y[2:]
	}
	for j, v := range x {
		v -= y[j]
		s0 += v * v
	}
	return s0 + s1
}

// sparseDifferences returns ‖x − y‖² of sparse rows, in the order of the sums of [differences].
func sparseDifferences[T kern.Float](x kern.Sparse[T], i int, y kern.Sparse[T], j int) T {
	var sums [2]T
	p, end := x.Indptr[i], x.Indptr[i+1]
	q, last := y.Indptr[j], y.Indptr[j+1]
	for p < end || q < last {
		at, v := uint32(math.MaxUint32), T(0)
		if p < end {
			at = x.Indices[p]
		}
		if q < last {
			at = min(at, y.Indices[q])
		}
		if p < end && x.Indices[p] == at {
			v = x.Values[p]
			p++
		}
		if q < last && y.Indices[q] == at {
			v -= y.Values[q]
			q++
		}
		sums[at%2] += v * v
	}
	return sums[0] + sums[1]
}

// products writes x'y of all pairs.
func products[T kern.Float](dst kern.View[T], x, y Rows[T]) {
	switch {
	case !x.isSparse && !y.isSparse:
		kern.Mul(dst, x.dense, y.dense.T(), false)
	case x.isSparse:
		sparseProducts(dst, x, y)
	default:
		filled(y, func(lo, hi int, rows kern.View[T]) {
			kern.Mul(dst.Slice(0, x.n, lo, hi), x.dense, rows.T(), false)
		})
	}
}

// sparseProducts multiplies sparse rows with the transposed rows of y, some of them at a time.
func sparseProducts[T kern.Float](dst kern.View[T], x, y Rows[T]) {
	if y.isSparse {
		productsOfEntries(dst, x.sparse, y.sparse)
		return
	}
	step := someRows(y)
	hold := design.Borrow[T](step * y.d)
	defer hold.Release()
	for lo := 0; lo < y.n; lo += step {
		hi := min(lo+step, y.n)
		columns := kern.Dense(y.d, hi-lo, hi-lo, hold.Data[:(hi-lo)*y.d])
		for j := lo; j < hi; j++ {
			for q, v := range y.dense.Row(j) {
				columns.Set(q, j-lo, v)
			}
		}
		kern.SparseMul(dst.Slice(0, x.n, lo, hi), x.sparse, columns, false)
	}
}

// columnLists are the entries of sparse rows by column: those of column q begin at starts[q].
type columnLists struct {
	starts, rows []int32
}

var listPool = sync.Pool{New: func() any { return &columnLists{} }}

// productsOfEntries writes x'y of all pairs of sparse rows, column by column of each row of x.
func productsOfEntries[T kern.Float](dst kern.View[T], x, y kern.Sparse[T]) {
	first, last := y.Indptr[0], y.Indptr[y.Rows]
	lists, hold := listPool.Get().(*columnLists), design.Borrow[T](last-first)
	defer listPool.Put(lists)
	defer hold.Release()
	starts, rows, values := resized(&lists.starts, y.Cols+2), resized(&lists.rows, last-first), hold.Data
	lists.starts, lists.rows = starts, rows
	clear(starts)
	for _, q := range y.Indices[first:last] {
		starts[q+2]++
	}
	for q := range y.Cols {
		starts[q+2] += starts[q+1]
	}
	for j := range y.Rows {
		for p := y.Indptr[j]; p < y.Indptr[j+1]; p++ {
			at := &starts[y.Indices[p]+1]
			rows[*at], values[*at] = int32(j), y.Values[p]
			*at++
		}
	}
	for i := range x.Rows {
		row := dst.Row(i)
		clear(row)
		for p := x.Indptr[i]; p < x.Indptr[i+1]; p++ {
			v, q := x.Values[p], x.Indices[p]
			from, to := starts[q], starts[q+1]
			others := values[from:to]
			for k, j := range rows[from:to] {
				row[j] += v * others[k]
			}
		}
	}
}

// someRows returns how many rows are filled at a time.
func someRows[T kern.Float](r Rows[T]) int { return min(r.n, max(16, 1<<20/max(r.d, 1))) }

// filled calls f with the rows as dense ones, some at a time.
func filled[T kern.Float](r Rows[T], f func(lo, hi int, rows kern.View[T])) {
	if !r.isSparse {
		f(0, r.n, r.dense)
		return
	}
	step := someRows(r)
	hold := design.Borrow[T](step * r.d)
	defer hold.Release()
	for lo := 0; lo < r.n; lo += step {
		hi := min(lo+step, r.n)
		rows := kern.Dense(hi-lo, r.d, r.d, hold.Data)
		for i := lo; i < hi; i++ {
			r.row(i, rows.Row(i-lo))
		}
		f(lo, hi, rows)
	}
}

// oneByOne makes distances that are no products.
func oneByOne[T kern.Float](dst kern.View[T], x, y Rows[T], metric Metric) {
	filled(x, func(from, to int, left kern.View[T]) {
		filled(y, func(lo, hi int, right kern.View[T]) {
			tile := dst.Slice(from, to, lo, hi)
			switch metric {
			case L1:
				kern.Manhattan(tile, left, right)
			case Cauchy:
				kern.CauchyReciprocals(tile, left, right)
			case Chi2:
				chiSquared(tile, left, right)
			}
		})
	})
}
