package kern

import "math"

// cholBlock is the order below which factor and solves run unblocked.
const cholBlock = 32

// Cholesky factors the symmetric positive definite A = L·Lᵀ in place. It
// reads the lower triangle and overwrites it with L; the strict upper triangle
// is neither read nor written. When a pivot is not a positive finite number,
// that is, A is not positive definite to working precision, it returns the
// pivot's index and false, and the contents are of no use. Cost n³/3 flops.
func Cholesky[T Float](a View[T]) (pivot int, ok bool) {
	if a.Rows != a.Cols {
		panic("kern: Cholesky of a matrix that is not square")
	}
	n := a.Rows
	if n <= cholBlock {
		return choleskySmall(a)
	}
	h := half(n)
	a11, a21, a22 := a.Slice(0, h, 0, h), a.Slice(h, n, 0, h), a.Slice(h, n, h, n)
	if pivot, ok = Cholesky(a11); !ok {
		return pivot, false
	}
	SolveLower(a11, a21.T())
	p := product[T, T]{c: a22, a: a21, b: a21.T(), alpha: -1, finish: add, lower: true}
	p.run()
	pivot, ok = Cholesky(a22)
	return h + pivot, ok
}

// half splits n in two at a multiple of cholBlock.
func half(n int) int { return roundUp(n/2, cholBlock) }

func choleskySmall[T Float](a View[T]) (pivot int, ok bool) {
	for j := range a.Rows {
		d := a.At(j, j)
		for k := range j {
			d -= a.At(j, k) * a.At(j, k)
		}
		if !(d > 0) || math.IsInf(float64(d), 1) {
			return j, false
		}
		d = T(math.Sqrt(float64(d)))
		a.Set(j, j, d)
		for i := j + 1; i < a.Rows; i++ {
			s := a.At(i, j)
			for k := range j {
				s -= a.At(i, k) * a.At(j, k)
			}
			a.Set(i, j, s/d)
		}
	}
	return a.Rows, true
}

// SolveCholesky overwrites B with A⁻¹B, given the factor L of A = L·Lᵀ in the
// lower triangle of l, as Cholesky leaves it. L is n × n, B is n × k with any
// strides. Cost 2n²k flops.
func SolveCholesky[T Float](l, b View[T]) {
	SolveLower(l, b)
	SolveLowerT(l, b)
}

// SolveLower overwrites B with L⁻¹B, L the lower triangle of l (n × n), B n × k
// with any strides. Cost n²k flops.
func SolveLower[T Float](l, b View[T]) {
	checkSolve(l, b)
	n := l.Rows
	if n <= cholBlock {
		for i := range n {
			for k := range i {
				subtractRow(b, i, k, l.At(i, k))
			}
			divideRow(b, i, l.At(i, i))
		}
		return
	}
	h := half(n)
	top, bottom := b.Slice(0, h, 0, b.Cols), b.Slice(h, n, 0, b.Cols)
	SolveLower(l.Slice(0, h, 0, h), top)
	subtractProduct(bottom, l.Slice(h, n, 0, h), top)
	SolveLower(l.Slice(h, n, h, n), bottom)
}

// SolveLowerT overwrites B with L⁻ᵀB, L the lower triangle of l (n × n), B
// n × k with any strides. Cost n²k flops.
func SolveLowerT[T Float](l, b View[T]) {
	checkSolve(l, b)
	n := l.Rows
	if n <= cholBlock {
		for i := n - 1; i >= 0; i-- {
			for k := i + 1; k < n; k++ {
				subtractRow(b, i, k, l.At(k, i))
			}
			divideRow(b, i, l.At(i, i))
		}
		return
	}
	h := half(n)
	top, bottom := b.Slice(0, h, 0, b.Cols), b.Slice(h, n, 0, b.Cols)
	SolveLowerT(l.Slice(h, n, h, n), bottom)
	subtractProduct(top, l.Slice(h, n, 0, h).T(), bottom)
	SolveLowerT(l.Slice(0, h, 0, h), top)
}

func checkSolve[T Float](l, b View[T]) {
	if l.Rows != l.Cols || b.Rows != l.Rows {
		panic("kern: triangular solve of shapes that do not fit")
	}
}

// subtractProduct computes C −= A·B.
func subtractProduct[T Float](c, a, b View[T]) {
	if c.ColStride != 1 && c.RowStride == 1 {
		c, a, b = c.T(), b.T(), a.T()
	}
	p := product[T, T]{c: c, a: a, b: b, alpha: -1, finish: add}
	p.run()
}

// subtractRow computes b[i,:] −= f·b[k,:].
func subtractRow[T Float](b View[T], i, k int, f T) {
	for j := range b.Cols {
		b.Data[i*b.RowStride+j*b.ColStride] -= f * b.Data[k*b.RowStride+j*b.ColStride]
	}
}

func divideRow[T Float](b View[T], i int, d T) {
	for j := range b.Cols {
		b.Data[i*b.RowStride+j*b.ColStride] /= d
	}
}
