package kern

// SinCosRescaled computes a tile of paired random Fourier features from angles shared by several
// kernel scales:
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

// rescale converts angles to features in tiles of the first-level cache.
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
	Parallel(angles.Rows, mergeRows, func(lo, hi int) {
		rows := hi - lo
		hold, sums := borrow[T](rescaledPanels * rows * nr)
		defer hold.release()
		for j := 0; j < angles.Cols; j += rescaledPanels * nr {
			wide := min(rescaledPanels*nr, angles.Cols-j)
			packPanels(sums, angles.T(), nr, j, wide, lo, rows, nil)
			Scale(factor, sums[:rows*roundUp(wide, nr)])
			for at := 0; at < wide; at += nr {
				q.finish(sums[rows*at:], nr, lo, j+at, rows, min(nr, wide-at))
			}
		}
	})
}

// rescaledPanels is the number of tiles whose angles are read together, so that reads span more
// than a cache line and are prefetched.
const rescaledPanels = 8
