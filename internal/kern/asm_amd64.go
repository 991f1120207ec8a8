//go:build !noasm

package kern

import (
	"math"
	"unsafe"

	"golang.org/x/sys/cpu"
)

// available lists the instruction sets of this host; the best one is last.
func available() []instructions {
	sets := []instructions{portable}
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		sets = append(sets, avx2)
		if cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VL {
			sets = append(sets, avx512)
		}
	}
	return sets
}

// The functions below select the assembly kernel; they must not be called if isa is portable.
// Direct calls rather than function variables keep the arguments from escaping.

func p64[T Float](x *T) *float64 { return (*float64)(unsafe.Pointer(x)) }
func p32[T Float](x *T) *float32 { return (*float32)(unsafe.Pointer(x)) }

func tilesAsm[T Float](panels, depth int, a, b, c *T, cRow int, how storeMode) {
	switch {
	case isa == avx512 && is64[T]():
		tilesAVX512F64(panels, depth, p64(a), p64(b), p64(c), cRow, int(how))
	case isa == avx512:
		tilesAVX512F32(panels, depth, p32(a), p32(b), p32(c), cRow, int(how))
	case is64[T]():
		tilesAVX2F64(panels, depth, p64(a), p64(b), p64(c), cRow, int(how))
	default:
		tilesAVX2F32(panels, depth, p32(a), p32(b), p32(c), cRow, int(how))
	}
}

func acrossAsm[T Float](panels, depth int, a, b, c *T, cRow int, how storeMode) {
	switch {
	case isa == avx512 && is64[T]():
		acrossAVX512F64(panels, depth, p64(a), p64(b), p64(c), cRow, int(how))
	case isa == avx512:
		acrossAVX512F32(panels, depth, p32(a), p32(b), p32(c), cRow, int(how))
	case is64[T]():
		acrossAVX2F64(panels, depth, p64(a), p64(b), p64(c), cRow, int(how))
	default:
		acrossAVX2F32(panels, depth, p32(a), p32(b), p32(c), cRow, int(how))
	}
}

func widenAsm(c *float64, cRow int, sums *float32, rows int) {
	if isa == avx512 {
		widenAVX512(c, cRow, sums, rows)
	} else {
		widenAVX2(c, cRow, sums, rows)
	}
}

func eliminateAsm[T Float](depth int, x *T, xStep int, w *T, wRow int, y *T, factor T) {
	switch {
	case isa == avx512 && is64[T]():
		eliminateAVX512F64(depth, p64(x), xStep, p64(w), wRow, p64(y), float64(factor))
	case isa == avx512:
		eliminateAVX512F32(depth, p32(x), xStep, p32(w), wRow, p32(y), float32(factor))
	case is64[T]():
		eliminateAVX2F64(depth, p64(x), xStep, p64(w), wRow, p64(y), float64(factor))
	default:
		eliminateAVX2F32(depth, p32(x), xStep, p32(w), wRow, p32(y), float32(factor))
	}
}

func substituteAsm[T Float](depth int, a, b *T) {
	switch {
	case isa == avx512 && is64[T]():
		substituteAVX512F64(depth, p64(a), p64(b))
	case isa == avx512:
		substituteAVX512F32(depth, p32(a), p32(b))
	case is64[T]():
		substituteAVX2F64(depth, p64(a), p64(b))
	default:
		substituteAVX2F32(depth, p32(a), p32(b))
	}
}

func scoresAsm[T Float](width, depth int, a *T, aRow int, b, sums *T) {
	if !is64[T]() {
		scoresFloat32(width, depth, p32(a), aRow, p32(b), p32(sums))
		return
	}
	switch {
	case isa == avx512 && width == 8:
		scores8AVX512F64(depth, p64(a), aRow, p64(b), p64(sums))
	case isa == avx512 && width == 16:
		scores16AVX512F64(depth, p64(a), aRow, p64(b), p64(sums))
	case isa == avx512:
		scores24AVX512F64(depth, p64(a), aRow, p64(b), p64(sums))
	case width == 4:
		scores4AVX2F64(depth, p64(a), aRow, p64(b), p64(sums))
	default:
		scores8AVX2F64(depth, p64(a), aRow, p64(b), p64(sums))
	}
}

func scoresFloat32(width, depth int, a *float32, aRow int, b, sums *float32) {
	switch {
	case isa == avx512 && width == 16:
		scores16AVX512F32(depth, a, aRow, b, sums)
	case isa == avx512 && width == 32:
		scores32AVX512F32(depth, a, aRow, b, sums)
	case isa == avx512:
		scores48AVX512F32(depth, a, aRow, b, sums)
	case width == 8:
		scores8AVX2F32(depth, a, aRow, b, sums)
	default:
		scores16AVX2F32(depth, a, aRow, b, sums)
	}
}

func weighAsm[T Float](panels, depth int, a, b *T, bRow int, c *T, cRow int) {
	switch {
	case isa == avx512 && is64[T]():
		weighAVX512F64(panels, depth, p64(a), p64(b), bRow, p64(c), cRow)
	case isa == avx512:
		weighAVX512F32(panels, depth, p32(a), p32(b), bRow, p32(c), cRow)
	case is64[T]():
		weighAVX2F64(panels, depth, p64(a), p64(b), bRow, p64(c), cRow)
	default:
		weighAVX2F32(panels, depth, p32(a), p32(b), bRow, p32(c), cRow)
	}
}

// projectAsm multiplies rows with leading columns of w and returns the number of columns processed.
func projectAsm(sums *[mixedRowCount]float64, a []float32, aRow int, w []float64) (done int) {
	var lanes [8 * mixedRowCount]float64
	wide := lanesOf[float64]()
	steps := len(w) / wide
	if isa == avx512 {
		projectMixedAVX512(steps, unsafe.SliceData(a), aRow, unsafe.SliceData(w), &lanes[0])
	} else {
		projectMixedAVX2(steps, unsafe.SliceData(a), aRow, unsafe.SliceData(w), &lanes[0])
	}
	for i := range sums {
		for _, v := range lanes[i*wide : (i+1)*wide] {
			sums[i] += v
		}
	}
	return steps * wide
}

// collectAsm adds weighted rows to leading elements of sums and returns the number of elements
// processed.
func collectAsm(sums []float64, a []float32, aRow int, weights *[mixedRowCount]float64) (done int) {
	wide := lanesOf[float64]()
	steps := len(sums) / wide
	if isa == avx512 {
		collectMixedAVX512(steps, unsafe.SliceData(a), aRow, &weights[0], unsafe.SliceData(sums))
	} else {
		collectMixedAVX2(steps, unsafe.SliceData(a), aRow, &weights[0], unsafe.SliceData(sums))
	}
	return steps * wide
}

func packAsm(piece int, dst, src *byte, panels, panel, n, column int) {
	switch piece {
	case 16:
		pack16(dst, src, panels, panel, n, column)
	case 24:
		pack24(dst, src, panels, panel, n, column)
	case 32:
		pack32(dst, src, panels, panel, n, column)
	case 48:
		pack48(dst, src, panels, panel, n, column)
	case 64:
		pack64(dst, src, panels, panel, n, column)
	case 192:
		pack192(dst, src, panels, panel, n, column)
	default:
		panic("kern: no panel has pieces of this size")
	}
}

func transposeAsm[T Float](height int, dst *T, dstRow int, src *T, srcRow, n int) {
	switch {
	case is64[T]() && height == 8:
		transpose8F64(p64(dst), dstRow, p64(src), srcRow, n)
	case is64[T]():
		transpose4F64(p64(dst), dstRow, p64(src), srcRow, n)
	case height == 8:
		transpose8F32(p32(dst), dstRow, p32(src), srcRow, n)
	default:
		transpose4F32(p32(dst), dstRow, p32(src), srcRow, n)
	}
}

func elementaryAsm[T Float](f function, dst, x *T, n int) int {
	switch {
	case isa == avx512 && is64[T]():
		return elementaryAVX512F64(f, p64(dst), p64(x), n)
	case isa == avx512:
		return elementaryAVX512F32(f, p32(dst), p32(x), n)
	case is64[T]():
		return elementaryAVX2F64(f, p64(dst), p64(x), n)
	default:
		return elementaryAVX2F32(f, p32(dst), p32(x), n)
	}
}

func elementaryAVX512F64(f function, dst, x *float64, n int) int {
	switch f {
	case cosine:
		return cosAVX512F64(dst, x, n)
	case sine:
		return sinAVX512F64(dst, x, n)
	case exponential:
		return expAVX512F64(dst, x, n)
	default:
		return log1pExpAVX512F64(dst, x, n)
	}
}

func elementaryAVX512F32(f function, dst, x *float32, n int) int {
	switch f {
	case cosine:
		return cosAVX512F32(dst, x, n)
	case sine:
		return sinAVX512F32(dst, x, n)
	case exponential:
		return expAVX512F32(dst, x, n)
	default:
		return log1pExpAVX512F32(dst, x, n)
	}
}

func elementaryAVX2F64(f function, dst, x *float64, n int) int {
	switch f {
	case cosine:
		return cosAVX2F64(dst, x, n)
	case sine:
		return sinAVX2F64(dst, x, n)
	case exponential:
		return expAVX2F64(dst, x, n)
	default:
		return log1pExpAVX2F64(dst, x, n)
	}
}

func elementaryAVX2F32(f function, dst, x *float32, n int) int {
	switch f {
	case cosine:
		return cosAVX2F32(dst, x, n)
	case sine:
		return sinAVX2F32(dst, x, n)
	case exponential:
		return expAVX2F32(dst, x, n)
	default:
		return log1pExpAVX2F32(dst, x, n)
	}
}

func sinCosAsm[T Float](sin, cos, x *T, n int) int {
	switch {
	case isa == avx512 && is64[T]():
		return sinCosAVX512F64(p64(sin), p64(cos), p64(x), n)
	case isa == avx512:
		return sinCosAVX512F32(p32(sin), p32(cos), p32(x), n)
	case is64[T]():
		return sinCosAVX2F64(p64(sin), p64(cos), p64(x), n)
	default:
		return sinCosAVX2F32(p32(sin), p32(cos), p32(x), n)
	}
}

func cosTileAsm[T Float](dst *T, dstRow int, sums, phases *T, scale T, rows int) bool {
	switch {
	case isa == avx512 && is64[T]():
		return cosTileAVX512F64(p64(dst), dstRow, p64(sums), p64(phases), float64(scale), rows)
	case isa == avx512:
		return cosTileAVX512F32(p32(dst), dstRow, p32(sums), p32(phases), float32(scale), rows)
	case is64[T]():
		return cosTileAVX2F64(p64(dst), dstRow, p64(sums), p64(phases), float64(scale), rows)
	default:
		return cosTileAVX2F32(p32(dst), dstRow, p32(sums), p32(phases), float32(scale), rows)
	}
}

func sinCosTileAsm[T Float](dst *T, dstRow int, sums *T, scale T, rows int) bool {
	switch {
	case isa == avx512 && is64[T]():
		return sinCosTileAVX512F64(p64(dst), dstRow, p64(sums), float64(scale), rows)
	case isa == avx512:
		return sinCosTileAVX512F32(p32(dst), dstRow, p32(sums), float32(scale), rows)
	case is64[T]():
		return sinCosTileAVX2F64(p64(dst), dstRow, p64(sums), float64(scale), rows)
	default:
		return sinCosTileAVX2F32(p32(dst), dstRow, p32(sums), float32(scale), rows)
	}
}

func dotAsm[T Float](x, y *T, n int) T {
	switch {
	case isa == avx512 && is64[T]():
		return T(dotAVX512F64(p64(x), p64(y), n))
	case isa == avx512:
		return T(dotAVX512F32(p32(x), p32(y), n))
	case is64[T]():
		return T(dotAVX2F64(p64(x), p64(y), n))
	default:
		return T(dotAVX2F32(p32(x), p32(y), n))
	}
}

func axpyAsm[T Float](alpha T, x, y *T, n int) {
	switch {
	case isa == avx512 && is64[T]():
		axpyAVX512F64(float64(alpha), p64(x), p64(y), n)
	case isa == avx512:
		axpyAVX512F32(float32(alpha), p32(x), p32(y), n)
	case is64[T]():
		axpyAVX2F64(float64(alpha), p64(x), p64(y), n)
	default:
		axpyAVX2F32(float32(alpha), p32(x), p32(y), n)
	}
}

// Both instruction sets share the next three functions, which are memory-bound.
func combineAsm[T Float](n int, x, a *T, aRow int, y *T) {
	if is64[T]() {
		combineAVX2F64(n, p64(x), p64(a), aRow, p64(y))
	} else {
		combineAVX2F32(n, p32(x), p32(a), aRow, p32(y))
	}
}

func gatherFourAsm[T Float](numbers []uint32, rows int, x *T, xRow int, sum *[4]T) bool {
	if is64[T]() {
		return gatherFourAVX2F64(len(numbers), unsafe.SliceData(numbers), rows, p64(x), xRow, p64(&sum[0]))
	}
	return gatherFourAVX2F32(len(numbers), unsafe.SliceData(numbers), rows, p32(x), xRow, p32(&sum[0]))
}

func scatterFourAsm[T Float](numbers []uint32, rows int, y *T, yRow int, v *[4]T) bool {
	if is64[T]() {
		return scatterFourAVX2F64(len(numbers), unsafe.SliceData(numbers), rows, p64(y), yRow, p64(&v[0]))
	}
	return scatterFourAVX2F32(len(numbers), unsafe.SliceData(numbers), rows, p32(y), yRow, p32(&v[0]))
}

func bothWaysAsm[T Float](n int, a *T, aRow int, x, z, w, sums *T) {
	switch {
	case isa == avx512 && is64[T]():
		bothWaysAVX512F64(n, p64(a), aRow, p64(x), p64(z), p64(w), p64(sums))
	case isa == avx512:
		bothWaysAVX512F32(n, p32(a), aRow, p32(x), p32(z), p32(w), p32(sums))
	case is64[T]():
		bothWaysAVX2F64(n, p64(a), aRow, p64(x), p64(z), p64(w), p64(sums))
	default:
		bothWaysAVX2F32(n, p32(a), aRow, p32(x), p32(z), p32(w), p32(sums))
	}
}

func sinCosGradAsm[T Float](dst, z, slope *T, n int) {
	switch {
	case isa == avx512 && is64[T]():
		turnAVX512F64(p64(dst), p64(z), p64(slope), n)
	case isa == avx512:
		turnAVX512F32(p32(dst), p32(z), p32(slope), n)
	case is64[T]():
		turnAVX2F64(p64(dst), p64(z), p64(slope), n)
	default:
		turnAVX2F32(p32(dst), p32(z), p32(slope), n)
	}
}

func hadamardLanesAsm[T Float](x *T, n int) {
	switch {
	case isa == avx512 && is64[T]():
		hadamardLanesAVX512F64(p64(x), n)
	case isa == avx512:
		hadamardLanesAVX512F32(p32(x), n)
	case is64[T]():
		hadamardLanesAVX2F64(p64(x), n)
	default:
		hadamardLanesAVX2F32(p32(x), n)
	}
}

func hadamardPassAsm[T Float](x *T, h, n int) {
	switch {
	case isa == avx512 && is64[T]():
		hadamardPassAVX512F64(p64(x), h, n)
	case isa == avx512:
		hadamardPassAVX512F32(p32(x), h, n)
	case is64[T]():
		hadamardPassAVX2F64(p64(x), h, n)
	default:
		hadamardPassAVX2F32(p32(x), h, n)
	}
}

func hadamardHalfAsm[T Float](x *T, h int) {
	switch {
	case isa == avx512 && is64[T]():
		hadamardHalfAVX512F64(p64(x), h)
	case isa == avx512:
		hadamardHalfAVX512F32(p32(x), h)
	case is64[T]():
		hadamardHalfAVX2F64(p64(x), h)
	default:
		hadamardHalfAVX2F32(p32(x), h)
	}
}

func multiplyAsm[T Float](dst, x, y *T, n int) {
	switch {
	case isa == avx512 && is64[T]():
		multiplyAVX512F64(p64(dst), p64(x), p64(y), n)
	case isa == avx512:
		multiplyAVX512F32(p32(dst), p32(x), p32(y), n)
	case is64[T]():
		multiplyAVX2F64(p64(dst), p64(x), p64(y), n)
	default:
		multiplyAVX2F32(p32(dst), p32(x), p32(y), n)
	}
}

func scaleAsm[T Float](alpha T, x *T, n int) {
	switch {
	case isa == avx512 && is64[T]():
		scaleAVX512F64(float64(alpha), p64(x), n)
	case isa == avx512:
		scaleAVX512F32(float32(alpha), p32(x), n)
	case is64[T]():
		scaleAVX2F64(float64(alpha), p64(x), n)
	default:
		scaleAVX2F32(float32(alpha), p32(x), n)
	}
}

func scaleFloorAsm[T Float](alpha, least T, x *T, n int) {
	switch {
	case isa == avx512 && is64[T]():
		scaleFloorAVX512F64(float64(alpha), float64(least), p64(x), n)
	case isa == avx512:
		scaleFloorAVX512F32(float32(alpha), float32(least), p32(x), n)
	case is64[T]():
		scaleFloorAVX2F64(float64(alpha), float64(least), p64(x), n)
	default:
		scaleFloorAVX2F32(float32(alpha), float32(least), p32(x), n)
	}
}

// peakFlops executes rounds·12 register-wide multiply-adds and returns the number of flops.
func peakFlops[T Float](rounds int) float64 {
	switch {
	case isa == avx512 && is64[T]():
		peakAVX512F64(rounds)
		return float64(rounds) * 12 * 8 * 2
	case isa == avx512:
		peakAVX512F32(rounds)
		return float64(rounds) * 12 * 16 * 2
	case is64[T]():
		peakAVX2F64(rounds)
		return float64(rounds) * 12 * 4 * 2
	default:
		peakAVX2F32(rounds)
		return float64(rounds) * 12 * 8 * 2
	}
}

func manhattanAsm[T Float](panels, depth int, a, b, c *T, cRow int, constants *T) {
	switch {
	case isa == avx512 && is64[T]():
		manhattanAVX512F64(panels, depth, p64(a), p64(b), p64(c), cRow, p64(constants))
	case isa == avx512:
		manhattanAVX512F32(panels, depth, p32(a), p32(b), p32(c), cRow, p32(constants))
	case is64[T]():
		manhattanAVX2F64(panels, depth, p64(a), p64(b), p64(c), cRow, p64(constants))
	default:
		manhattanAVX2F32(panels, depth, p32(a), p32(b), p32(c), cRow, p32(constants))
	}
}

func cauchyAsm[T Float](panels, depth int, a, b, c *T, cRow int, constants *T) {
	switch {
	case isa == avx512 && is64[T]():
		cauchyAVX512F64(panels, depth, p64(a), p64(b), p64(c), cRow, p64(constants))
	case isa == avx512:
		cauchyAVX512F32(panels, depth, p32(a), p32(b), p32(c), cRow, p32(constants))
	case is64[T]():
		cauchyAVX2F64(panels, depth, p64(a), p64(b), p64(c), cRow, p64(constants))
	default:
		cauchyAVX2F32(panels, depth, p32(a), p32(b), p32(c), cRow, p32(constants))
	}
}

func differencesAsm[T Float](panels, depth int, a, b, c *T, cRow int, constants *T, products bool) {
	if products {
		cauchyAsm(panels, depth, a, b, c, cRow, constants)
	} else {
		manhattanAsm(panels, depth, a, b, c, cRow, constants)
	}
}

func squaresAsm[T Float](constants, norms, row *T, n int) bool {
	switch {
	case isa == avx512 && is64[T]():
		return squaresAVX512F64(p64(constants), p64(norms), p64(row), n) != 0
	case isa == avx512:
		return squaresAVX512F32(p32(constants), p32(norms), p32(row), n) != 0
	case is64[T]():
		return squaresAVX2F64(p64(constants), p64(norms), p64(row), n) != 0
	}
	return squaresAVX2F32(p32(constants), p32(norms), p32(row), n) != 0
}

func rootsAsm[T Float](scale T, dst, x *T, n int) {
	switch {
	case isa == avx512 && is64[T]():
		rootsAVX512F64(float64(scale), p64(dst), p64(x), n)
	case isa == avx512:
		rootsAVX512F32(float32(scale), p32(dst), p32(x), n)
	case is64[T]():
		rootsAVX2F64(float64(scale), p64(dst), p64(x), n)
	default:
		rootsAVX2F32(float32(scale), p32(dst), p32(x), n)
	}
}

func rotationFactorsAsm(n int, rows *int, x, z, factors, sums *float64) {
	if isa == avx512 {
		rotationFactorsAVX512F64(n, rows, x, z, factors, sums)
	} else {
		rotationFactorsAVX2F64(n, rows, x, z, factors, sums)
	}
}

func productFactorsAsm(n int, rows *int, p, q, factors *float64) {
	if isa == avx512 {
		productFactorsAVX512F64(n, rows, p, q, factors)
	} else {
		productFactorsAVX2F64(n, rows, p, q, factors)
	}
}

func rotationsAsm(count, n int, nodes, factors, prefix, out *float64) {
	switch {
	case isa == avx512 && count == 4:
		rotations4AVX512F64(n, nodes, factors, prefix, out)
	case isa == avx512 && count == 2:
		rotations2AVX512F64(n, nodes, factors, prefix, out)
	case isa == avx512:
		rotations1AVX512F64(n, nodes, factors, prefix, out)
	case count == 2:
		rotations2AVX2F64(n, nodes, factors, prefix, out)
	default:
		rotations1AVX2F64(n, nodes, factors, prefix, out)
	}
}

func productsAsm(count, n int, nodes, factors, prefix, out *float64) {
	switch {
	case isa == avx512 && count == 4:
		products4AVX512F64(n, nodes, factors, prefix, out)
	case isa == avx512 && count == 2:
		products2AVX512F64(n, nodes, factors, prefix, out)
	case isa == avx512:
		products1AVX512F64(n, nodes, factors, prefix, out)
	case count == 4:
		products4AVX2F64(n, nodes, factors, prefix, out)
	case count == 2:
		products2AVX2F64(n, nodes, factors, prefix, out)
	default:
		products1AVX2F64(n, nodes, factors, prefix, out)
	}
}

func addScaledBlocksAsm(n int, rows *int, scale, factors, out, sums *float64) {
	if isa == avx512 {
		addScaledBlocksAVX512F64(n, rows, scale, factors, out, sums)
	} else {
		addScaledBlocksAVX2F64(n, rows, scale, factors, out, sums)
	}
}

func sumRatiosAsm(n int, factors, sums *float64) {
	if isa == avx512 {
		sumRatiosAVX512F64(n, factors, sums)
	} else {
		sumRatiosAVX2F64(n, factors, sums)
	}
}

func pairsAsm(count, n int, nodes, factors, suffix, out *float64, rotations bool) {
	switch {
	case rotations:
		rotationPairsAsm(count, n, nodes, factors, suffix, out)
	case isa == avx512 && count == 4:
		productPairs4AVX512F64(n, nodes, factors, suffix, out)
	case isa == avx512 && count == 2:
		productPairs2AVX512F64(n, nodes, factors, suffix, out)
	case isa == avx512:
		productPairs1AVX512F64(n, nodes, factors, suffix, out)
	case count == 4:
		productPairs4AVX2F64(n, nodes, factors, suffix, out)
	case count == 2:
		productPairs2AVX2F64(n, nodes, factors, suffix, out)
	default:
		productPairs1AVX2F64(n, nodes, factors, suffix, out)
	}
}

func rotationPairsAsm(count, n int, nodes, factors, suffix, out *float64) {
	switch {
	case isa == avx512 && count == 4:
		rotationPairs4AVX512F64(n, nodes, factors, suffix, out)
	case isa == avx512 && count == 2:
		rotationPairs2AVX512F64(n, nodes, factors, suffix, out)
	case isa == avx512:
		rotationPairs1AVX512F64(n, nodes, factors, suffix, out)
	case count == 2:
		rotationPairs2AVX2F64(n, nodes, factors, suffix, out)
	default:
		rotationPairs1AVX2F64(n, nodes, factors, suffix, out)
	}
}

// pairStepAsm is [PairStep] for a length that is a multiple of the lanes.
func pairStepAsm(grad, up []float64, a, b []float32, step float64) (at int, least float64) {
	var leasts, places [8]float64
	lanes := lanesOf[float64]()
	for i := range leasts {
		leasts[i] = math.Inf(1)
	}
	if isa == avx512 {
		pairStepAVX512(len(grad), &grad[0], &up[0], &a[0], &b[0], step, float64(lanes), &leasts[0], &places[0])
	} else {
		pairStepAVX2(len(grad), &grad[0], &up[0], &a[0], &b[0], step, float64(lanes), &leasts[0], &places[0])
	}
	least = math.Inf(1)
	for i, v := range leasts[:lanes] {
		if v < least || v == least && int(places[i]) < at {
			at, least = int(places[i]), v
		}
	}
	return at, least
}

// pairGainAsm is [PairGain] for a length that is a multiple of the lanes.
func pairGainAsm(grad, down []float64, a, diagonal []float32, own float32, least float64, floor float32) (at int,
	best float32, most float64) {
	var mosts [8]float64
	var gains, places [8]float32
	lanes := lanesOf[float64]()
	constants := [4]float32{2, 2 * floor, float32(lanes), own}
	switch {
	case diagonal == nil && isa == avx512:
		pairGainAVX512(len(grad), &grad[0], &down[0], &a[0], least, &constants[0], &mosts[0], &gains[0], &places[0])
	case diagonal == nil:
		pairGainAVX2(len(grad), &grad[0], &down[0], &a[0], least, &constants[0], &mosts[0], &gains[0], &places[0])
	default:
		constants[1] = floor
		if isa == avx512 {
			pairGainOfAVX512(len(grad), &grad[0], &down[0], &a[0], &diagonal[0], least, &constants[0], &mosts[0], &gains[0],
				&places[0])
		} else {
			pairGainOfAVX2(len(grad), &grad[0], &down[0], &a[0], &diagonal[0], least, &constants[0], &mosts[0], &gains[0],
				&places[0])
		}
	}
	at = -1
	for i, v := range gains[:lanes] {
		most = max(most, mosts[i])
		if v > best || v == best && v > 0 && int(places[i]) < at {
			at, best = int(places[i]), v
		}
	}
	return at, best, most
}
