package kern

// SinCosRescaledColumns is [SinCosRescaled] with a factor for each frequency:
//
//	dst[i,2j]   = scale·cos(factors[j]·angles[i,j])
//	dst[i,2j+1] = scale·sin(factors[j]·angles[i,j])
func SinCosRescaledColumns[T Float](dst, angles View[T], factors []T, scale T) {
	m := fourierMap[T]{dst: dst, scale: scale, paired: true}
	m.rescaleColumns(angles, factors)
}

// CosRescaledColumns is [CosRescaled] with a factor for each frequency:
//
//	dst[i,j] = scale·cos(factors[j]·angles[i,j] + b[j])
func CosRescaledColumns[T Float](dst, angles View[T], b, factors []T, scale T) {
	if len(b) != angles.Cols {
		panic("kern: CosRescaledColumns needs one phase per frequency")
	}
	m := fourierMap[T]{dst: dst, phases: b, scale: scale}
	m.rescaleColumns(angles, factors)
}

// rescaleColumns converts angles to features in tiles of the first-level cache.
func (m *fourierMap[T]) rescaleColumns(angles View[T], factors []T) {
	width := angles.Cols
	if m.paired {
		width *= 2
	}
	if m.dst.Rows != angles.Rows || m.dst.Cols != width || m.dst.ColStride != 1 || angles.ColStride != 1 ||
		len(factors) != angles.Cols {
		panic("kern: rescaled angles of shapes that do not fit")
	}
	nr := blockingOf[T]().nr
	q := *m // m itself stays off the heap
	Parallel(angles.Rows, mergeRows, func(lo, hi int) {
		hold, sums := borrow[T](mergeRows * nr)
		defer hold.release()
		for j := 0; j < angles.Cols; j += nr {
			some := factors[j:min(j+nr, angles.Cols)]
			for i := lo; i < hi; i++ {
				to := sums[(i-lo)*nr : (i-lo+1)*nr]
				MulElem(to, angles.Row(i)[j:], some)
				clear(to[len(some):])
			}
			q.finish(sums, nr, lo, j, hi-lo, len(some))
		}
	})
}
