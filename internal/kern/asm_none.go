//go:build !amd64 || noasm

package kern

// The functions below are called only if isa is complete.

func peakFlops[T Float](rounds int) float64 { panic("kern: no assembly") }

func projectAsm(sums *[mixedRowCount]float64, a []float32, aRow int, w []float64) (done int) {
	panic("kern: no assembly")
}

func collectAsm(sums []float64, a []float32, aRow int, weights *[mixedRowCount]float64) (done int) {
	panic("kern: no assembly")
}

func combineAsm[T Float](n int, x, a *T, aRow int, y *T) { panic("kern: no assembly") }

func gatherFourAsm[T Float](numbers []uint32, rows int, x *T, xRow int, sum *[4]T) bool {
	panic("kern: no assembly")
}

func scatterFourAsm[T Float](numbers []uint32, rows int, y *T, yRow int, v *[4]T) bool {
	panic("kern: no assembly")
}

func eliminateAsm[T Float](depth int, x *T, xStep int, w *T, wRow int, y *T, factor T) {
	panic("kern: no assembly")
}

func substituteAsm[T Float](depth int, a, b *T) { panic("kern: no assembly") }

func transposeAsm[T Float](height int, dst *T, dstRow int, src *T, srcRow, n int) {
	panic("kern: no assembly")
}

func packAsm(piece int, dst, src *byte, panels, panel, n, column int) {
	panic("kern: no assembly")
}

func hadamardLanesAsm[T Float](x *T, n int) { panic("kern: no assembly") }

func hadamardPassAsm[T Float](x *T, h, n int) { panic("kern: no assembly") }

func hadamardHalfAsm[T Float](x *T, h int) { panic("kern: no assembly") }

func acrossAsm[T Float](panels, depth int, a, b, c *T, cRow int, how storeMode) {
	panic("kern: no assembly")
}

func differencesAsm[T Float](panels, depth int, a, b, c *T, cRow int, constants *T, products bool) {
	panic("kern: no assembly")
}

func rotationFactorsAsm(n int, rows *int, x, z, factors, sums *float64) { panic("kern: no assembly") }

func productFactorsAsm(n int, rows *int, p, q, factors *float64) { panic("kern: no assembly") }

func rotationsAsm(count, n int, nodes, factors, prefix, out *float64) { panic("kern: no assembly") }

func productsAsm(count, n int, nodes, factors, prefix, out *float64) { panic("kern: no assembly") }

func addScaledBlocksAsm(n int, rows *int, scale, factors, out, sums *float64) {
	panic("kern: no assembly")
}

func sumRatiosAsm(n int, factors, sums *float64) { panic("kern: no assembly") }

func pairsAsm(count, n int, nodes, factors, suffix, out *float64, rotations bool) {
	panic("kern: no assembly")
}

func scaleFloorAsm[T Float](alpha, least T, x *T, n int) { panic("kern: no assembly") }

func pairStepAsm(grad, up []float64, a, b []float32, step float64) (at int, least float64) {
	panic("kern: no assembly")
}

func pairGainAsm(grad, down []float64, a, diagonal []float32, own float32, least float64, floor float32) (at int,
	best float32, most float64) {
	panic("kern: no assembly")
}
