//go:build (!amd64 && !arm64) || noasm

package kern

// available lists the instruction sets of the host; there are none on this architecture.
func available() []instructions { return []instructions{portable} }

// The functions below are not called with the portable set.

func tilesAsm[T Float](panels, depth int, a, b, c *T, cRow int, how storeMode) {
	panic("kern: no assembly")
}

func elementaryAsm[T Float](f function, dst, x *T, n int) int { panic("kern: no assembly") }

func sinCosAsm[T Float](sin, cos, x *T, n int) int { panic("kern: no assembly") }

func cosTileAsm[T Float](dst *T, dstRow int, sums, phases *T, scale T, rows int) bool {
	panic("kern: no assembly")
}

func sinCosTileAsm[T Float](dst *T, dstRow int, sums *T, scale T, rows int) bool {
	panic("kern: no assembly")
}

func widenAsm(c *float64, cRow int, sums *float32, rows int) { panic("kern: no assembly") }

func dotAsm[T Float](x, y *T, n int) T { panic("kern: no assembly") }

func axpyAsm[T Float](alpha T, x, y *T, n int) { panic("kern: no assembly") }

func bothWaysAsm[T Float](n int, a *T, aRow int, x, z, w, sums *T) { panic("kern: no assembly") }

func sinCosGradAsm[T Float](dst, z, slope *T, n int) { panic("kern: no assembly") }

func multiplyAsm[T Float](dst, x, y *T, n int) { panic("kern: no assembly") }

func scaleAsm[T Float](alpha T, x *T, n int) { panic("kern: no assembly") }

func squaresAsm[T Float](constants, norms, row *T, n int) bool { panic("kern: no assembly") }

func rootsAsm[T Float](scale T, dst, x *T, n int) { panic("kern: no assembly") }

func scoresAsm[T Float](width, depth int, a *T, aRow int, b, sums *T) { panic("kern: no assembly") }

func weighAsm[T Float](panels, depth int, a, b *T, bRow int, c *T, cRow int) {
	panic("kern: no assembly")
}
