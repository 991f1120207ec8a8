//go:build !noasm

package kern

import "unsafe"

// available lists the instruction sets of this host; the best one is last.
func available() []instructions { return []instructions{portable, neon} }

func p64[T Float](x *T) *float64 { return (*float64)(unsafe.Pointer(x)) }
func p32[T Float](x *T) *float32 { return (*float32)(unsafe.Pointer(x)) }

func tilesAsm[T Float](panels, depth int, a, b, c *T, cRow int, how storeMode) {
	if is64[T]() {
		tilesNEONF64(panels, depth, p64(a), p64(b), p64(c), cRow, int(how))
	} else {
		tilesNEONF32(panels, depth, p32(a), p32(b), p32(c), cRow, int(how))
	}
}

func widenAsm(c *float64, cRow int, sums *float32, rows int) { widenNEONF32(c, cRow, sums, rows) }

func elementaryAsm[T Float](f function, dst, x *T, n int) int {
	if is64[T]() {
		return elementaryNEONF64(f, p64(dst), p64(x), n)
	}
	return elementaryNEONF32(f, p32(dst), p32(x), n)
}

func elementaryNEONF64(f function, dst, x *float64, n int) int {
	switch f {
	case cosine:
		return cosNEONF64(dst, x, n)
	case sine:
		return sinNEONF64(dst, x, n)
	case exponential:
		return expNEONF64(dst, x, n)
	default:
		return log1pExpNEONF64(dst, x, n)
	}
}

func elementaryNEONF32(f function, dst, x *float32, n int) int {
	switch f {
	case cosine:
		return cosNEONF32(dst, x, n)
	case sine:
		return sinNEONF32(dst, x, n)
	case exponential:
		return expNEONF32(dst, x, n)
	default:
		return log1pExpNEONF32(dst, x, n)
	}
}

func sinCosAsm[T Float](sin, cos, x *T, n int) int {
	if is64[T]() {
		return sinCosNEONF64(p64(sin), p64(cos), p64(x), n)
	}
	return sinCosNEONF32(p32(sin), p32(cos), p32(x), n)
}

func cosTileAsm[T Float](dst *T, dstRow int, sums, phases *T, scale T, rows int) bool {
	if is64[T]() {
		return cosTileNEONF64(p64(dst), dstRow, p64(sums), p64(phases), float64(scale), rows)
	}
	return cosTileNEONF32(p32(dst), dstRow, p32(sums), p32(phases), float32(scale), rows)
}

func sinCosTileAsm[T Float](dst *T, dstRow int, sums *T, scale T, rows int) bool {
	if is64[T]() {
		return sinCosTileNEONF64(p64(dst), dstRow, p64(sums), float64(scale), rows)
	}
	return sinCosTileNEONF32(p32(dst), dstRow, p32(sums), float32(scale), rows)
}

func dotAsm[T Float](x, y *T, n int) T {
	if is64[T]() {
		return T(dotNEONF64(p64(x), p64(y), n))
	}
	return T(dotNEONF32(p32(x), p32(y), n))
}

func axpyAsm[T Float](alpha T, x, y *T, n int) {
	if is64[T]() {
		axpyNEONF64(float64(alpha), p64(x), p64(y), n)
	} else {
		axpyNEONF32(float32(alpha), p32(x), p32(y), n)
	}
}

func scaleAsm[T Float](alpha T, x *T, n int) {
	if is64[T]() {
		scaleNEONF64(float64(alpha), p64(x), n)
	} else {
		scaleNEONF32(float32(alpha), p32(x), n)
	}
}

func multiplyAsm[T Float](dst, x, y *T, n int) {
	if is64[T]() {
		multiplyNEONF64(p64(dst), p64(x), p64(y), n)
	} else {
		multiplyNEONF32(p32(dst), p32(x), p32(y), n)
	}
}

func bothWaysAsm[T Float](n int, a *T, aRow int, x, z, w, sums *T) {
	if is64[T]() {
		bothWaysNEONF64(n, p64(a), aRow, p64(x), p64(z), p64(w), p64(sums))
	} else {
		bothWaysNEONF32(n, p32(a), aRow, p32(x), p32(z), p32(w), p32(sums))
	}
}

func sinCosGradAsm[T Float](dst, z, slope *T, n int) {
	if is64[T]() {
		turnNEONF64(p64(dst), p64(z), p64(slope), n)
	} else {
		turnNEONF32(p32(dst), p32(z), p32(slope), n)
	}
}

func squaresAsm[T Float](constants, norms, row *T, n int) bool {
	if is64[T]() {
		return squaresNEONF64(p64(constants), p64(norms), p64(row), n) != 0
	}
	return squaresNEONF32(p32(constants), p32(norms), p32(row), n) != 0
}

func rootsAsm[T Float](scale T, dst, x *T, n int) {
	if is64[T]() {
		rootsNEONF64(float64(scale), p64(dst), p64(x), n)
	} else {
		rootsNEONF32(float32(scale), p32(dst), p32(x), n)
	}
}

func scoresAsm[T Float](width, depth int, a *T, aRow int, b, sums *T) {
	switch {
	case is64[T]() && width == 4:
		scores4NEONF64(depth, p64(a), aRow, p64(b), p64(sums))
	case is64[T]():
		scores8NEONF64(depth, p64(a), aRow, p64(b), p64(sums))
	case width == 8:
		scores8NEONF32(depth, p32(a), aRow, p32(b), p32(sums))
	default:
		scores16NEONF32(depth, p32(a), aRow, p32(b), p32(sums))
	}
}

func weighAsm[T Float](panels, depth int, a, b *T, bRow int, c *T, cRow int) {
	if is64[T]() {
		weighNEONF64(panels, depth, p64(a), p64(b), bRow, p64(c), cRow)
	} else {
		weighNEONF32(panels, depth, p32(a), p32(b), bRow, p32(c), cRow)
	}
}
