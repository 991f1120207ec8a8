package kern

// SinCosRescaled computes a tile of paired random Fourier features from angles
// that several scales of a kernel share:
//
//	dst[i,2j]   = scale·cos(factor·angles[i,j])
//	dst[i,2j+1] = scale·sin(factor·angles[i,j])
//
// angles is n × m, dst is n × 2m, both row-major. Cost nm sines and cosines.
func SinCosRescaled[T Float](dst, angles View[T], factor, scale T) {
	m := fourierMap[T]{dst: dst, scale: scale, paired: true}
	m.rescale(angles, factor)
}

// CosRescaled computes a tile of random Fourier features with phases:
//
//	dst[i,j] = scale·cos(factor·angles[i,j] + b[j])
//
// angles and dst are n × m, row-major, b has m elements.
func CosRescaled[T Float](dst, angles View[T], b []T, factor, scale T) {
	if len(b) != angles.Cols {
		panic("kern: CosRescaled needs one phase per frequency")
	}
	m := fourierMap[T]{dst: dst, phases: b, scale: scale}
	m.rescale(angles, factor)
}

// rescale turns angles into features a tile of the first-level cache at a time.
func (m *fourierMap[T]) rescale(angles View[T], factor T) {
	width := angles.Cols
	if m.paired {
		width *= 2
	}
	if m.dst.Rows != angles.Rows || m.dst.Cols != width || m.dst.ColStride != 1 || angles.ColStride != 1 {
		panic("kern: rescaled angles of shapes that do not fit")
	}
	if angles.Rows == 0 || angles.Cols == 0 {
		return
	}
	nr := blockingOf[T]().nr
	q := *m // m itself stays off the heap
	Parallel(angles.Rows, columnRows, func(lo, hi int) {
		hold, sums := borrow[T](columnRows * nr)
		defer hold.release()
		for j := 0; j < angles.Cols; j += nr {
			nj := min(nr, angles.Cols-j)
			for i := lo; i < hi; i++ {
				to := sums[(i-lo)*nr : (i-lo+1)*nr]
				copy(to, angles.Row(i)[j:j+nj])
				clear(to[nj:])
			}
			Scale(factor, sums[:(hi-lo)*nr])
			q.finish(sums, nr, lo, j, hi-lo, nj)
		}
	})
}
