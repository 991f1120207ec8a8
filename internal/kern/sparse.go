package kern

// Sparse is a matrix of compressed rows (CSR). Row i has the value Scale·Values[p] in column
// Indices[p] for each p in [Indptr[i], Indptr[i+1]), or Scale if Values is nil, as for random
// binning. Duplicate columns of a row are summed.
type Sparse[T Float] struct {
	Rows, Cols int
	Indptr     []int
	Indices    []uint32
	Values     []T
	Scale      T
}

func (a Sparse[T]) check() {
	if len(a.Indptr) != a.Rows+1 {
		panic("kern: sparse matrix needs one more pointer than rows")
	}
	if first, last := a.Indptr[0], a.Indptr[a.Rows]; first < 0 || last > len(a.Indices) || a.Values != nil &&
		last > len(a.Values) {
		panic("kern: sparse matrix points beyond its entries")
	}
}

// SparseMulVec computes y = A·x, or y += A·x when accumulate is true.
// Cost 2 flops per entry.
func SparseMulVec[T Float](y []T, a Sparse[T], x []T, accumulate bool) {
	a.check()
	if len(y) != a.Rows || len(x) != a.Cols {
		panic("kern: SparseMulVec of shapes that do not fit")
	}
	grain := a.grain()
	if a.Rows <= grain {
		a.mulVec(y, x, accumulate, 0, a.Rows)
		return
	}
	Parallel(a.Rows, grain, func(lo, hi int) { a.mulVec(y, x, accumulate, lo, hi) })
}

// grain returns the number of rows per parallel task.
func (a Sparse[T]) grain() int {
	entries := a.Indptr[a.Rows] - a.Indptr[0]
	return max(1, int(int64(a.Rows)*(1<<14)/int64(max(entries, 1))))
}

func (a Sparse[T]) mulVec(y, x []T, accumulate bool, lo, hi int) {
	for i := lo; i < hi; i++ {
		first, last := a.Indptr[i], a.Indptr[i+1]
		s := a.Scale * gather(a.Indices[first:last], a.rowValues(first, last), x)
		if accumulate {
			s += y[i]
		}
		y[i] = s
	}
}

func (a Sparse[T]) rowValues(first, last int) []T {
	if a.Values == nil {
		return nil
	}
	return a.Values[first:last]
}

// gather returns Σ values[p]·x[columns[p]]; nil values mean ones.
func gather[T Float](columns []uint32, values, x []T) T {
	var s0, s1, s2, s3 T
	if values == nil {
		for len(columns) >= 4 {
			s0 += x[columns[0]]
			s1 += x[columns[1]]
			s2 += x[columns[2]]
			s3 += x[columns[3]]
			columns = columns[4:]
		}
		for _, j := range columns {
			s0 += x[j]
		}
		return (s0 + s1) + (s2 + s3)
	}
	for len(columns) >= 4 && len(values) >= 4 {
		s0 += values[0] * x[columns[0]]
		s1 += values[1] * x[columns[1]]
		s2 += values[2] * x[columns[2]]
		s3 += values[3] * x[columns[3]]
		columns, values = columns[4:], values[4:]
	}
	for p, j := range columns {
		s0 += values[p] * x[j]
	}
	return (s0 + s1) + (s2 + s3)
}

// SparseMulVecT computes y = Aᵀ·x, or y += Aᵀ·x when accumulate is true.
// Rows are added in fixed blocks, so that the result does not depend on the number of cores. There
// is one block if A has few entries per column.
func SparseMulVecT[T Float](y []T, a Sparse[T], x []T, accumulate bool) {
	if len(x) != a.Rows || len(y) != a.Cols {
		panic("kern: SparseMulVecT of shapes that do not fit")
	}
	SparseMulT(Column(y), a, Column(x), accumulate)
}

// SparseMul computes C = A·B, or C += A·B when accumulate is true, with
// A sparse m × k, B k × n and C m × n, both row-major. Cost 2n flops per entry.
func SparseMul[T Float](c View[T], a Sparse[T], b View[T], accumulate bool) {
	a.check()
	if c.Rows != a.Rows || b.Rows != a.Cols || c.Cols != b.Cols {
		panic("kern: SparseMul of shapes that do not fit")
	}
	grain := max(1, a.grain()/max(1, b.Cols))
	if a.Rows <= grain {
		a.mulRows(c, b, accumulate, 0, a.Rows)
		return
	}
	Parallel(a.Rows, grain, func(lo, hi int) { a.mulRows(c, b, accumulate, lo, hi) })
}

// wideRow is the row length of the dense matrix from which each entry uses an assembly call.
const wideRow = 16

func (a Sparse[T]) mulRows(c, b View[T], accumulate bool, lo, hi int) {
	for i := lo; i < hi; i++ {
		row := c.Row(i)
		if !accumulate {
			clear(row)
		}
		first, last := a.Indptr[i], a.Indptr[i+1]
		columns, values := a.Indices[first:last], a.rowValues(first, last)
		if len(row) < wideRow {
			GatherRows(row, columns, values, a.Scale, b)
			continue
		}
		for p, j := range columns {
			Axpy(a.factor(values, p), b.Row(int(j)), row)
		}
	}
}

// factor returns the value of entry p of a row.
func (a Sparse[T]) factor(values []T, p int) T {
	if values == nil {
		return a.Scale
	}
	return a.Scale * values[p]
}

// SparseMulT computes C = Aᵀ·B, or C += Aᵀ·B when accumulate is true, with
// A sparse m × k, B m × n and C k × n, both row-major. Rows are added in fixed
// blocks as in SparseMulVecT. Cost 2n flops per entry.
func SparseMulT[T Float](c View[T], a Sparse[T], b View[T], accumulate bool) {
	a.check()
	if c.Rows != a.Cols || b.Rows != a.Rows || c.Cols != b.Cols {
		panic("kern: SparseMulT of shapes that do not fit")
	}
	if !accumulate {
		zero(c)
	}
	blocks := a.blocks()
	if blocks == 1 {
		a.scatter(c, b, 0, a.Rows)
		return
	}
	size := c.Rows * c.Cols
	hold, partial := borrow[T](blocks * size)
	defer hold.release()
	block := (a.Rows + blocks - 1) / blocks
	Parallel(a.Rows, block, func(lo, hi int) {
		k := lo / block
		mine := partial[k*size : (k+1)*size]
		clear(mine)
		a.scatter(Dense(c.Rows, c.Cols, c.Cols, mine), b, lo, hi)
	})
	used := (a.Rows + block - 1) / block
	Parallel(c.Rows, max(1, 1<<13/max(1, c.Cols)), func(lo, hi int) {
		for k := range used {
			mine := partial[k*size : (k+1)*size]
			if c.ColStride == 1 && c.RowStride == c.Cols {
				Axpy(1, mine[lo*c.Cols:hi*c.Cols], c.Data[lo*c.Cols:hi*c.Cols])
				continue
			}
			for i := lo; i < hi; i++ {
				Axpy(1, mine[i*c.Cols:(i+1)*c.Cols], c.Row(i))
			}
		}
	})
}

// blocks returns the number of row blocks of a transposed product: enough for many cores, but few
// enough that adding the partial results is cheap.
func (a Sparse[T]) blocks() int {
	entries := a.Indptr[a.Rows] - a.Indptr[0]
	if entries < 1<<14 {
		return 1
	}
	return max(1, min(8, entries/(8*max(a.Cols, 1)), a.Rows))
}

// scatter adds AᵀB over rows [lo, hi) to C.
func (a Sparse[T]) scatter(c, b View[T], lo, hi int) {
	for i := lo; i < hi; i++ {
		first, last := a.Indptr[i], a.Indptr[i+1]
		columns, values := a.Indices[first:last], a.rowValues(first, last)
		row := b.Row(i)
		if len(row) < wideRow {
			ScatterRows(c, columns, values, a.Scale, row)
			continue
		}
		for p, j := range columns {
			Axpy(a.factor(values, p), row, c.Row(int(j)))
		}
	}
}
