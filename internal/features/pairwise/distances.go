package pairwise

import (
	"math"
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
	if metric == L1 && x.isSparse && y.isSparse {
		sparsePairs(dst, x, y, L1)
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
		return sparseDifferences(x, i, y, j, square[T])
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

// products writes x'y of all pairs.
func products[T kern.Float](dst kern.View[T], x, y Rows[T]) {
	switch {
	case !x.isSparse && !y.isSparse:
		kern.Mul(dst, x.dense, y.dense.T(), false)
	case x.isSparse && y.isSparse:
		sparsePairs(dst, x, y, Dot)
	case x.isSparse:
		sparseProducts(dst, x, y)
	default:
		filled(y, func(lo, hi int, rows kern.View[T]) {
			kern.Mul(dst.Slice(0, x.n, lo, hi), x.dense, rows.T(), false)
		})
	}
}

// sparseProducts multiplies sparse rows with the transposed rows of y, dense ones, some of them at a time.
func sparseProducts[T kern.Float](dst kern.View[T], x, y Rows[T]) {
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
