package kern

// mixedRowCount is the number of rows that the kernels for float32 rows and float64 vectors process
// together.
const mixedRowCount = 8

// MulTMixed multiplies float32 rows by a few float64 vectors in float64, without converting the
// rows in memory:
//
//	scores[i·k+j] = Σ_q a[i,q]·w[j·d+q]
//
// A is n × d with contiguous rows, w is k × d. Cost 2nkd flops.
func MulTMixed(scores []float64, a View[float32], w []float64) {
	n, d := a.Rows, a.Cols
	k := checkMixed(a, len(scores), len(w))
	for i := 0; i < n; i += mixedRowCount {
		rows := min(mixedRowCount, n-i)
		for j := range k {
			vector, done := w[j*d:(j+1)*d], 0
			var sums [mixedRowCount]float64
			if isa.complete() && rows == mixedRowCount {
				done = projectAsm(&sums, a.Data[i*a.RowStride:], a.RowStride, vector)
			}
			for r := range rows {
				scores[(i+r)*k+j] = sums[r] + DotMixed(a.Row(i + r)[done:], vector[done:])
			}
		}
	}
}

// AddTMulMixed adds float32 rows weighted in float64, without converting the rows in memory:
//
//	sums[j·d+q] += Σ_i weights[i·k+j]·a[i,q]
//
// A is n × d with contiguous rows, sums is k × d. Cost 2nkd flops.
func AddTMulMixed(sums []float64, a View[float32], weights []float64) {
	n, d := a.Rows, a.Cols
	k := checkMixed(a, len(weights), len(sums))
	for i := 0; i < n; i += mixedRowCount {
		rows := min(mixedRowCount, n-i)
		for j := range k {
			to, done := sums[j*d:(j+1)*d], 0
			if isa.complete() && rows == mixedRowCount {
				var own [mixedRowCount]float64
				for r := range own {
					own[r] = weights[(i+r)*k+j]
				}
				done = collectAsm(to, a.Data[i*a.RowStride:], a.RowStride, &own)
			}
			for r := range rows {
				weight, row := weights[(i+r)*k+j], a.Row(i + r)[done:]
				for q, v := range row {
					to[done+q] += weight * float64(v)
				}
			}
		}
	}
}

// checkMixed returns the number of vectors, given the lengths n·k and k·d.
func checkMixed(a View[float32], scores, vectors int) (k int) {
	if a.Rows == 0 || a.Cols == 0 {
		return 0
	}
	if k = scores / a.Rows; a.ColStride != 1 || scores != k*a.Rows || vectors != k*a.Cols {
		panic("kern: mixed products of shapes that do not fit")
	}
	return k
}

// DotMixed returns Σ x[j]·w[j] in float64, with four partial sums.
func DotMixed(x []float32, w []float64) float64 {
	var a, b, c, d float64
	for ; len(x) >= 4 && len(w) >= 4; x, w = x[4:], w[4:] {
		a += float64(x[0]) * w[0]
		b += float64(x[1]) * w[1]
		c += float64(x[2]) * w[2]
		d += float64(x[3]) * w[3]
	}
	for j, v := range x {
		a += float64(v) * w[j]
	}
	return (a + b) + (c + d)
}
