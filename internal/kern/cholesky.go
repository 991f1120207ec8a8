package kern

import (
	"context"
	"math"
	"runtime"
	"unsafe"

	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// cholBlock is the width of unblocked factorizations, a multiple of every tile height and width.
const cholBlock = 48

// cholPanels is the largest matrix, in bytes, that is factored in panels, with scratch of half that
// size.
const cholPanels = 20 << 20

// Cholesky factors a symmetric positive definite A = L·Lᵀ in place. It overwrites the lower
// triangle with L; the strict upper triangle is neither read nor written. If a pivot is not
// positive and finite, A is not positive definite to working precision; it then returns the index
// of the pivot and false, and the contents are undefined. Once ctx is done it returns
// ctxerr.Check(ctx). Cost n³/3 flops.
func Cholesky[T Float](ctx context.Context, a View[T]) (pivot int, ok bool, err error) {
	if a.Rows != a.Cols {
		panic("kern: Cholesky of a matrix that is not square")
	}
	n := a.Rows
	if n <= cholBlock {
		pivot, ok = choleskySmall(a)
		return pivot, ok, ctxerr.Check(ctx)
	}
	if n*n*int(unsafe.Sizeof(T(0))) <= cholPanels {
		return choleskyPanels(ctx, a)
	}
	h := half(n, cholBlock)
	a11, a21, a22 := a.Slice(0, h, 0, h), a.Slice(h, n, 0, h), a.Slice(h, n, h, n)
	if pivot, ok, err = Cholesky(ctx, a11); !ok || err != nil {
		return pivot, false, err
	}
	if err := SolveLower(ctx, a11, a21.T()); err != nil {
		return 0, false, err
	}
	p := product[T]{c: a22, a: a21, b: a21.T(), store: subtract, lower: true, ctx: ctx}
	if err := p.run(); err != nil {
		return 0, false, err
	}
	pivot, ok, err = Cholesky(ctx, a22)
	return h + pivot, ok, err
}

// half splits n at a multiple of a block.
func half(n, block int) int { return roundUp(n/2, block) }

// choleskySmall factors at most cholBlock rows, in a separate buffer.
func choleskySmall[T Float](a View[T]) (pivot int, ok bool) {
	hold, u := borrow[T](cholBlock * upperRow[T]())
	defer hold.release()
	clear(u)
	for j := range a.Rows {
		for i := j; i < a.Rows; i++ {
			u[j*upperRow[T]()+i] = a.At(i, j)
		}
	}
	if pivot, ok = factorUpper(u, a.Rows); ok {
		putUpper(a, u)
	}
	return pivot, ok
}

// upperRow is the row length of that buffer: cholBlock, padded for the row kernels.
func upperRow[T Float]() int { return roundUp(cholBlock, 2*blockingOf[T]().nr) }

// factorUpper factors A = UᵀU of order n in place. It reads the upper triangle of u and overwrites
// the lower one with unspecified values.
func factorUpper[T Float](u []T, n int) (pivot int, ok bool) {
	stride, width := upperRow[T](), 2*blockingOf[T]().nr
	for i := range n {
		row := u[i*stride : (i+1)*stride]
		if isa.complete() {
			for j := i / width * width; j < n; j += width {
				eliminateAsm(i, &u[i], stride, &u[j], stride, &row[j], 1)
			}
		} else {
			for k := range i {
				axpyPortable(-u[k*stride+i], u[k*stride+i:k*stride+n], row[i:n])
			}
		}
		d := row[i]
		if !(d > 0) || math.IsInf(float64(d), 1) {
			return i, false
		}
		row[i] = T(math.Sqrt(float64(d)))
		Scale(1/row[i], row[i+1:n])
	}
	return n, true
}

// putUpper copies the factor in u to the lower triangle of a.
func putUpper[T Float](a View[T], u []T) {
	stride := upperRow[T]()
	for i := range a.Rows {
		at := i * a.RowStride
		for j := range i + 1 {
			a.Data[at] = u[j*stride+i]
			at += a.ColStride
		}
	}
}

// solveBlock is the largest order solved unblocked.
const solveBlock = 32

// SolveCholesky overwrites B with A⁻¹B, given the factor L from Cholesky in the lower triangle of
// l. L is n × n, B is n × k with any strides. Cost 2n²k flops. Once ctx is done, it and the
// functions below return ctxerr.Check(ctx), and B is undefined.
func SolveCholesky[T Float](ctx context.Context, l, b View[T]) error {
	if err := SolveLower(ctx, l, b); err != nil {
		return err
	}
	return SolveLowerT(ctx, l, b)
}

// SolveLower overwrites B with L⁻¹B, L the lower triangle of l (n × n), B n × k
// with any strides. Cost n²k flops.
func SolveLower[T Float](ctx context.Context, l, b View[T]) error {
	return solveTriangle(ctx, l, b, false)
}

// SolveLowerT overwrites B with L⁻ᵀB, L the lower triangle of l (n × n), B
// n × k with any strides. Cost n²k flops.
func SolveLowerT[T Float](ctx context.Context, l, b View[T]) error {
	return solveTriangle(ctx, l, b, true)
}

func solveTriangle[T Float](ctx context.Context, l, b View[T], transposed bool) error {
	if l.Rows != l.Cols || b.Rows != l.Rows {
		panic("kern: triangular solve of shapes that do not fit")
	}
	if l.Rows == 0 || b.Cols == 0 {
		return ctxerr.Check(ctx)
	}
	const maxVectorColumns = 4
	if l.ColStride == 1 && b.Cols <= maxVectorColumns {
		return solveFew(ctx, l, b, transposed)
	}
	return solveColumns(ctx, l, b, transposed)
}

// solveColumns splits many right-hand sides of a small triangle among the cores, which then
// synchronize once instead of after each block product. The bits of a column do not depend on its
// position.
func solveColumns[T Float](ctx context.Context, l, b View[T], transposed bool) error {
	const small, minFlops = 512, 1 << 21
	each := max(strip, roundUp((b.Cols-1)/runtime.GOMAXPROCS(0)+1, strip/2))
	if l.Rows > small || each >= b.Cols || l.Rows*l.Rows*b.Cols < minFlops {
		return solveBlocked(ctx, l, b, transposed)
	}
	Parallel(b.Cols, each, func(lo, hi int) {
		// The error is that of the context, checked below.
		_ = solveBlocked(ctx, l, b.Slice(0, b.Rows, lo, hi), transposed)
	})
	return ctxerr.Check(ctx)
}

// solveFew solves for a few right-hand sides, stored contiguously. It reads L once, in cache-sized
// blocks of rows. The bits of a column do not depend on the others.
func solveFew[T Float](ctx context.Context, l, b View[T], transposed bool) error {
	const cached = 1 << 17 // bytes
	n := l.Rows
	rows := max(1, cached/(n*int(unsafe.Sizeof(T(0)))))
	hold, x := borrow[T](n * b.Cols)
	defer hold.release()
	columns := Dense(b.Cols, n, n, x)
	transposeView(columns, b)
	for at := 0; at < n; at += rows {
		if err := ctxerr.Check(ctx); err != nil {
			return err
		}
		lo, hi := at, min(at+rows, n)
		if transposed {
			lo, hi = n-hi, n-lo
		}
		for j := range b.Cols {
			solveRows(l, columns.Row(j), lo, hi, transposed)
		}
	}
	transposeView(b, columns)
	return ctxerr.Check(ctx)
}

// solveRows solves for elements [lo, hi) of x, given the elements before, or after, them.
func solveRows[T Float](l View[T], x []T, lo, hi int, transposed bool) {
	if transposed {
		for i := hi - 1; i >= lo; i-- {
			row := l.Data[i*l.RowStride : i*l.RowStride+i+1]
			x[i] /= row[i]
			Axpy(-x[i], row[:i], x[:i])
		}
		return
	}
	for i := lo; i < hi; i++ {
		row := l.Data[i*l.RowStride : i*l.RowStride+i+1]
		x[i] = (x[i] - Dot(row[:i], x[:i])) / row[i]
	}
}

// transposeView copies src to the columns of dst.
func transposeView[T Float](dst, src View[T]) {
	for i := range dst.Rows {
		for j := range dst.Cols {
			dst.Set(i, j, src.At(j, i))
		}
	}
}

// solveBlocked recursively halves the triangle, so that nearly all work is in products.
func solveBlocked[T Float](ctx context.Context, l, b View[T], transposed bool) error {
	n := l.Rows
	if n <= solveBlock {
		solveSmall(l, b, transposed)
		return ctxerr.Check(ctx)
	}
	h := half(n, solveBlock)
	l11, l21, l22 := l.Slice(0, h, 0, h), l.Slice(h, n, 0, h), l.Slice(h, n, h, n)
	first, last := b.Slice(0, h, 0, b.Cols), b.Slice(h, n, 0, b.Cols)
	between := l21
	if transposed {
		l11, l22, first, last, between = l22, l11, last, first, l21.T()
	}
	if err := solveBlocked(ctx, l11, first, transposed); err != nil {
		return err
	}
	if err := subtractProduct(ctx, last, between, first); err != nil {
		return err
	}
	return solveBlocked(ctx, l22, last, transposed)
}

// subtractProduct computes C −= A·B.
func subtractProduct[T Float](ctx context.Context, c, a, b View[T]) error {
	if c.ColStride != 1 && c.RowStride == 1 {
		c, a, b = c.T(), b.T(), a.T()
	}
	p := product[T]{c: c, a: a, b: b, store: subtract, ctx: ctx}
	return p.run()
}

// strip is the number of right-hand sides per call of the row kernels, a multiple of every kernel
// width.
const strip = 96

// solveSmall solves with a triangle of at most solveBlock rows, in strips of right-hand sides
// copied to contiguous rows.
func solveSmall[T Float](l, b View[T], transposed bool) {
	if b.Cols <= 8*strip {
		solveStrips(l, b, transposed, 0, b.Cols)
		return
	}
	Parallel(b.Cols, 4*strip, func(lo, hi int) { solveStrips(l, b, transposed, lo, hi) })
}

func solveStrips[T Float](l, b View[T], transposed bool, lo, hi int) {
	hold, x := borrow[T](solveBlock * strip)
	defer hold.release()
	for j := lo; j < hi; j += strip {
		part := b.Slice(0, b.Rows, j, min(j+strip, hi))
		width := min(strip, roundUp(part.Cols, 2*blockingOf[T]().nr))
		copyStrip(x, part, false)
		if transposed {
			for i := l.Rows - 1; i >= 0; i-- {
				eliminate(x, width, l.T(), i, i+1, l.Rows)
			}
		} else {
			for i := range l.Rows {
				eliminate(x, width, l, i, 0, i)
			}
		}
		copyStrip(x, part, true)
	}
}

// copyStrip copies part to rows of length strip, zero-padded, or back.
func copyStrip[T Float](x []T, part View[T], back bool) {
	switch {
	case part.ColStride == 1 && back:
		for i := range part.Rows {
			copy(part.Row(i), x[i*strip:(i+1)*strip])
		}
	case part.ColStride == 1:
		for i := range part.Rows {
			row := x[i*strip : (i+1)*strip]
			clear(row[copy(row, part.Row(i)):])
		}
	case back && part.RowStride == 1:
		transpose(part.Data, part.ColStride, x, strip, 1, part.Rows, part.Cols)
	case back:
		for i := range part.Rows {
			for j := range part.Cols {
				part.Set(i, j, x[i*strip+j])
			}
		}
	default:
		clear(x[:part.Rows*strip])
		transpose(x, strip, part.Data, part.ColStride, part.RowStride, part.Cols, part.Rows)
	}
}

// eliminate computes the first width elements of row i of a strip: x[i] = (x[i] − Σ l[i,k]·x[k]) /
// l[i,i] over from ≤ k < to.
func eliminate[T Float](x []T, width int, l View[T], i, from, to int) {
	row, factor := x[i*strip:i*strip+width], 1/l.At(i, i)
	if !isa.complete() {
		for k := from; k < to; k++ {
			axpyPortable(-l.At(i, k), x[k*strip:k*strip+width], row)
		}
		Scale(factor, row)
		return
	}
	for j := 0; j < width; j += 2 * blockingOf[T]().nr {
		var first, above *T
		if from < to {
			first, above = &l.Data[i*l.RowStride+from*l.ColStride], &x[from*strip+j]
		}
		eliminateAsm(to-from, first, l.ColStride, above, strip, &row[j], factor)
	}
}
