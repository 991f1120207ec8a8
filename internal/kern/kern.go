// Package kern holds the hot loops of Bochner: matrix product and Gram update,
// Cholesky, sin, cos and exp on slices, fused random Fourier feature tiles,
// sparse products, the Walsh–Hadamard transform, and the worker pool that all of
// them share.
//
// Matrices are strided views, so a transpose costs nothing and a product has
// no NN, NT or TN variants: Mul(c, a.T(), b, false) is C = AᵀB.
//
// # Contracts
//
// Shapes are checked with a panic: kern is internal, and the public packages
// check what users give them. Nothing here allocates in the steady state
// except for handing work to another goroutine; scratch memory is pooled.
//
// The result of every function is the same, bit for bit, for any number of
// cores: work is cut into blocks whose bounds depend on the shapes alone, and
// sums over blocks are added in block order. Instruction sets may differ from
// each other in the last bits, because they contract a·b+c differently.
//
// Destination and operands must not overlap, except where a function says
// that it works in place or that dst may be x itself.
//
// # Instruction sets
//
// Every kernel has a plain Go version, which is built everywhere and is all
// there is with the tag noasm. On amd64 there are versions for AVX2 with FMA
// and for AVX-512, on arm64 for NEON those of products, elementary functions,
// Fourier features and vectors; the best set of the machine is chosen when the
// program starts. The environment variable
// BOCHNER_KERN=portable, neon, avx2 or avx512 chooses another one for tests and
// comparisons; the tests of this package go through all sets of the machine.
//
// The assembly is written by the program in _asm, which is a module of its own:
//
//	go generate ./internal/kern                                          # after a change there
//	go generate ./internal/kern && git diff --exit-code -- internal/kern # are the files up to date?
//	go test -bench . -cpu 1,2 ./internal/kern                            # GFLOP/s and shares of the peak
//
// BenchmarkPeak measures the peak: a loop that does nothing but multiply-adds
// on registers.
package kern

// Float is an element type of the kernels.
type Float interface{ float32 | float64 }

// View is a strided window on a slice: element (i, j) is
// Data[i·RowStride + j·ColStride]. Strides are positive.
type View[T Float] struct {
	Rows, Cols           int
	RowStride, ColStride int
	Data                 []T
}

// Dense returns the row-major rows × cols view of data whose rows begin
// stride elements apart.
func Dense[T Float](rows, cols, stride int, data []T) View[T] {
	if rows < 0 || cols < 0 || stride < cols {
		panic("kern: bad shape of a view")
	}
	if rows > 0 && len(data) < (rows-1)*stride+cols {
		panic("kern: data shorter than its view")
	}
	return View[T]{Rows: rows, Cols: cols, RowStride: stride, ColStride: 1, Data: data}
}

// Column returns x as a matrix of one column.
func Column[T Float](x []T) View[T] {
	return View[T]{Rows: len(x), Cols: 1, RowStride: 1, ColStride: 1, Data: x}
}

// T returns the transposed view of the same elements.
func (v View[T]) T() View[T] {
	return View[T]{Rows: v.Cols, Cols: v.Rows, RowStride: v.ColStride, ColStride: v.RowStride, Data: v.Data}
}

// At returns element (i, j).
func (v View[T]) At(i, j int) T { return v.Data[i*v.RowStride+j*v.ColStride] }

// Set stores x as element (i, j).
func (v View[T]) Set(i, j int, x T) { v.Data[i*v.RowStride+j*v.ColStride] = x }

// Slice returns the view of rows [r0, r1) and columns [c0, c1).
func (v View[T]) Slice(r0, r1, c0, c1 int) View[T] {
	if r0 < 0 || r1 < r0 || r1 > v.Rows || c0 < 0 || c1 < c0 || c1 > v.Cols {
		panic("kern: slice out of the view's bounds")
	}
	w := View[T]{Rows: r1 - r0, Cols: c1 - c0, RowStride: v.RowStride, ColStride: v.ColStride}
	if w.Rows > 0 && w.Cols > 0 {
		w.Data = v.Data[r0*v.RowStride+c0*v.ColStride:]
	}
	return w
}

// Row returns row i of a view whose column stride is 1, as a slice.
func (v View[T]) Row(i int) []T {
	if v.ColStride != 1 {
		panic("kern: Row of a view whose rows are not contiguous")
	}
	if v.Cols == 0 {
		return nil
	}
	return v.Data[i*v.RowStride : i*v.RowStride+v.Cols : i*v.RowStride+v.Cols]
}
