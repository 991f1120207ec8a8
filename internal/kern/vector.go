package kern

// Dot returns Σ x[i]·y[i], summed in a fixed order.
func Dot[T Float](x, y []T) T {
	if len(x) != len(y) {
		panic("kern: Dot of different lengths")
	}
	var sum T
	for n := asmLength[T](len(x)); n > 0; n = asmLength[T](len(x)) {
		sum += dotAsm(&x[0], &y[0], n)
		x, y = x[n:], y[n:]
	}
	return sum + dotPortable(x, y)
}

// asmLength returns the number of elements, up to n, that one assembly call processes.
func asmLength[T Float](n int) int {
	if isa == portable {
		return 0
	}
	return min(n, maxAsmElements) &^ (lanesOf[T]() - 1)
}

// dotPortable uses four partial sums.
func dotPortable[T Float](x, y []T) T {
	var s0, s1, s2, s3 T
	y = y[:len(x)]
	for len(x) >= 4 && len(y) >= 4 {
		s0 += x[0] * y[0]
		s1 += x[1] * y[1]
		s2 += x[2] * y[2]
		s3 += x[3] * y[3]
		x, y = x[4:], y[4:]
	}
	for i := range x {
		s0 += x[i] * y[i]
	}
	return (s0 + s1) + (s2 + s3)
}

// Axpy computes y[i] += alpha·x[i].
func Axpy[T Float](alpha T, x, y []T) {
	if len(x) != len(y) {
		panic("kern: Axpy of different lengths")
	}
	for n := asmLength[T](len(x)); n > 0; n = asmLength[T](len(x)) {
		axpyAsm(alpha, &x[0], &y[0], n)
		x, y = x[n:], y[n:]
	}
	axpyPortable(alpha, x, y)
}

func axpyPortable[T Float](alpha T, x, y []T) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] += alpha * v
	}
}

// SinCosGrad computes derivatives by angles from derivatives by interleaved cosines and sines:
//
//	dst[i] = z[2i]·slope[2i+1] − z[2i+1]·slope[2i]
//
// z holds the cosines and sines.
func SinCosGrad[T Float](dst, z, slope []T) {
	if len(z) != 2*len(dst) || len(slope) != len(z) {
		panic("kern: Turn of lengths that do not fit")
	}
	for n := asmLength[T](len(dst)); n > 0; n = asmLength[T](len(dst)) {
		sinCosGradAsm(&dst[0], &z[0], &slope[0], n)
		dst, z, slope = dst[n:], z[2*n:], slope[2*n:]
	}
	sinCosGradPortable(dst, z, slope)
}

// sinCosGradPortable is unrolled by four to check bounds once.
func sinCosGradPortable[T Float](dst, z, slope []T) {
	for len(dst) >= 4 && len(z) >= 8 && len(slope) >= 8 {
		dst[0] = z[0]*slope[1] - z[1]*slope[0]
		dst[1] = z[2]*slope[3] - z[3]*slope[2]
		dst[2] = z[4]*slope[5] - z[5]*slope[4]
		dst[3] = z[6]*slope[7] - z[7]*slope[6]
		dst, z, slope = dst[4:], z[8:], slope[8:]
	}
	for i := range dst {
		dst[i] = z[2*i]*slope[2*i+1] - z[2*i+1]*slope[2*i]
	}
}

// Scale computes x[i] *= alpha.
func Scale[T Float](alpha T, x []T) {
	for n := asmLength[T](len(x)); n > 0; n = asmLength[T](len(x)) {
		scaleAsm(alpha, &x[0], n)
		x = x[n:]
	}
	for i := range x {
		x[i] *= alpha
	}
}

// ScaleFloor computes x[i] = max(alpha·x[i], least). No x[i] is NaN.
func ScaleFloor[T Float](alpha, least T, x []T) {
	for n := asmLength[T](len(x)); isa.complete() && n > 0; n = asmLength[T](len(x)) {
		scaleFloorAsm(alpha, least, &x[0], n)
		x = x[n:]
	}
	for i, v := range x {
		x[i] = max(alpha*v, least)
	}
}

// MulElem computes dst[i] = x[i]·y[i] for the length of y. dst may be x.
func MulElem[T Float](dst, x, y []T) {
	for n := asmLength[T](len(y)); n > 0; n = asmLength[T](len(y)) {
		multiplyAsm(&dst[0], &x[0], &y[0], n)
		x, y, dst = x[n:], y[n:], dst[n:]
	}
	x, dst = x[:len(y)], dst[:len(y)]
	for k, v := range y {
		dst[k] = v * x[k]
	}
}

// Sum returns Σ x[i], summed in a fixed order.
func Sum[T Float](x []T) T {
	var s0, s1, s2, s3 T
	for len(x) >= 4 {
		s0 += x[0]
		s1 += x[1]
		s2 += x[2]
		s3 += x[3]
		x = x[4:]
	}
	for _, v := range x {
		s0 += v
	}
	return (s0 + s1) + (s2 + s3)
}

// MulVec computes y = A·x, or y += A·x when accumulate is true:
//
//	for i:  y[i] (+)= Σ_j a[i,j]·x[j]
//
// A is m × n with any strides. Cost 2mn flops, memory-bound.
func MulVec[T Float](y []T, a View[T], x []T, accumulate bool) {
	if len(y) != a.Rows || len(x) != a.Cols {
		panic("kern: MulVec of shapes that do not fit")
	}
	if !accumulate {
		clear(y)
	}
	if a.Rows == 0 || a.Cols == 0 {
		return
	}
	if a.ColStride != 1 && a.RowStride == 1 {
		mulVecColumns(y, a, x)
		return
	}
	grain := max(1, 1<<16/a.Cols)
	if a.Rows <= grain {
		mulVecRows(y, a, x, 0, a.Rows)
		return
	}
	Parallel(a.Rows, grain, func(lo, hi int) { mulVecRows(y, a, x, lo, hi) })
}

// MulVecT computes y = Aᵀ·x, or y += Aᵀ·x when accumulate is true.
func MulVecT[T Float](y []T, a View[T], x []T, accumulate bool) {
	MulVec(y, a.T(), x, accumulate)
}

// MulVecBoth computes y = A·x and z += Aᵀ·w in one pass over A:
//
//	for i, j:  y[i] = Σ_j a[i,j]·x[j];  z[j] += w[i]·a[i,j]
//
// A is m × n with contiguous rows. Cost 4mn flops, in the calling goroutine.
func MulVecBoth[T Float](y, z []T, a View[T], x, w []T) {
	if len(y) != a.Rows || len(x) != a.Cols || len(w) != a.Rows || len(z) != a.Cols {
		panic("kern: MulBothWays of shapes that do not fit")
	}
	i, whole := 0, asmLength[T](a.Cols)
	if whole > 0 {
		for ; i+mulBothRows <= a.Rows; i += mulBothRows {
			bothWaysAsm(whole, &a.Data[i*a.RowStride], a.RowStride, &x[0], &z[0], &w[i], &y[i])
			for r := i; r < i+mulBothRows && whole < a.Cols; r++ {
				rest := a.Row(r)[whole:]
				y[r] += Dot(rest, x[whole:])
				Axpy(w[r], rest, z[whole:])
			}
		}
	}
	for ; i < a.Rows; i++ {
		y[i] = Dot(a.Row(i), x)
		Axpy(w[i], a.Row(i), z)
	}
}

// mulBothRows is the number of rows that the assembly processes together.
const mulBothRows = 4

// mulVecRows adds to y[lo:hi] by dot products of rows.
func mulVecRows[T Float](y []T, a View[T], x []T, lo, hi int) {
	for i := lo; i < hi; i++ {
		if a.ColStride == 1 {
			y[i] += Dot(a.Row(i), x)
			continue
		}
		var s T
		at := i * a.RowStride
		for _, v := range x {
			s += a.Data[at] * v
			at += a.ColStride
		}
		y[i] += s
	}
}

// mulVecColumns adds combinations of the contiguous columns of a to y. Long results are split into
// stripes of y, short ones into blocks of columns whose partial sums are added in order.
func mulVecColumns[T Float](y []T, a View[T], x []T) {
	const stripe, block = 512, 2048
	columns := a.T()
	if a.Rows <= stripe && a.Cols <= block || a.Rows*a.Cols < 1<<17 {
		combineRows(y, columns, x, 0, len(x), 0)
		return
	}
	if a.Rows >= 2*stripe || a.Cols <= block {
		Parallel(a.Rows, stripe, func(lo, hi int) { combineRows(y[lo:hi], columns, x, 0, len(x), lo) })
		return
	}
	blocks := (a.Cols + block - 1) / block
	hold, partial := borrow[T](blocks * a.Rows)
	defer hold.release()
	clear(partial)
	Parallel(a.Cols, block, func(lo, hi int) {
		k := lo / block
		combineRows(partial[k*a.Rows:(k+1)*a.Rows], columns, x, lo, hi, 0)
	})
	for k := range blocks {
		Axpy(1, partial[k*a.Rows:(k+1)*a.Rows], y)
	}
}

// combineRows computes y += Σ_{k in [lo,hi)} x[k]·a[k, from:from+len(y)].
func combineRows[T Float](y []T, a View[T], x []T, lo, hi, from int) {
	for n := asmLength[T](len(y)); isa.complete() && n > 0; n = asmLength[T](len(y)) {
		k := lo
		for ; k+combineRowCount <= hi; k += combineRowCount {
			combineAsm(n, &x[k], &a.Data[k*a.RowStride+from], a.RowStride, &y[0])
		}
		for ; k < hi; k++ {
			axpyAsm(x[k], &a.Data[k*a.RowStride+from], &y[0], n)
		}
		y, from = y[n:], from+n
	}
	for k := lo; k < hi; k++ {
		at := k*a.RowStride + from
		Axpy(x[k], a.Data[at:at+len(y)], y)
	}
}

// combineRowCount is the number of rows that the assembly combines together.
const combineRowCount = 4

// AllFinite reports whether all elements are finite.
func AllFinite[T Float](list []T) bool {
	for _, v := range list {
		if v-v != 0 {
			return false
		}
	}
	return true
}

// ArgMax returns the first index of the maximum.
func ArgMax(list []float64) int {
	best := 0
	for j, v := range list {
		if v > list[best] {
			best = j
		}
	}
	return best
}
