package kern

import "math"

// CosMap computes a tile of random Fourier features with random phases:
//
//	dst[i,j] = scale·cos(Σ_k x[i,k]·w[k,j] + b[j])
//
// X is n × d with any strides, W is d × m, b has m elements or is nil for
// zeros, dst is n × m, row-major. A row's features are the same bits whatever
// rows stand beside it. One row takes a path of its own, without goroutines or
// garbage. Cost 2nmd flops and nm cosines.
func CosMap[T Float](dst, x, w View[T], b []T, scale T) {
	checkMap(dst, x, w, w.Cols)
	if b != nil && len(b) != w.Cols {
		panic("kern: CosMap needs one phase per frequency")
	}
	if n := x.Rows; n <= mapRows {
		project(dst, x, w, b)
		cosRows(dst, scale)
		return
	}
	Parallel(x.Rows, mapRows, func(lo, hi int) {
		tile := dst.Slice(lo, hi, 0, dst.Cols)
		project(tile, x.Slice(lo, hi, 0, x.Cols), w, b)
		cosRows(tile, scale)
	})
}

// SinCosMap computes a tile of paired random Fourier features, cosine and sine
// of a frequency next to each other:
//
//	dst[i,2j]   = scale·cos(Σ_k x[i,k]·w[k,j])
//	dst[i,2j+1] = scale·sin(Σ_k x[i,k]·w[k,j])
//
// X is n × d with any strides, W is d × m, dst is n × 2m, row-major; see
// CosMap for the rest.
func SinCosMap[T Float](dst, x, w View[T], scale T) {
	checkMap(dst, x, w, 2*w.Cols)
	if x.Rows <= mapRows {
		sinCosTile(dst, x, w, scale)
		return
	}
	Parallel(x.Rows, mapRows, func(lo, hi int) {
		sinCosTile(dst.Slice(lo, hi, 0, dst.Cols), x.Slice(lo, hi, 0, x.Cols), w, scale)
	})
}

// mapRows is the number of rows of one piece of work.
const mapRows = 64

func checkMap[T Float](dst, x, w View[T], width int) {
	if x.Cols != w.Rows || dst.Rows != x.Rows || dst.Cols != width {
		panic("kern: Fourier map of shapes that do not fit")
	}
	if dst.ColStride != 1 {
		panic("kern: Fourier map into rows that are not contiguous")
	}
}

// project computes dst = XW + b.
func project[T Float](dst, x, w View[T], b []T) {
	Mul(dst, x, w, false)
	if b != nil {
		for i := range dst.Rows {
			Axpy(1, b, dst.Row(i))
		}
	}
}

func cosRows[T Float](dst View[T], scale T) {
	for i := range dst.Rows {
		row := dst.Row(i)
		for j, v := range row {
			row[j] = scale * T(math.Cos(float64(v)))
		}
	}
}

func sinCosTile[T Float](dst, x, w View[T], scale T) {
	hold, angles := borrow[T](x.Rows * w.Cols)
	defer hold.release()
	t := Dense(x.Rows, w.Cols, w.Cols, angles)
	project(t, x, w, nil)
	for i := range t.Rows {
		row := dst.Row(i)
		for j, v := range t.Row(i) {
			s, c := math.Sincos(float64(v))
			row[2*j], row[2*j+1] = scale*T(c), scale*T(s)
		}
	}
}
