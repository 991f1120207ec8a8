package leastsquares

import (
	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/single"
)

// bothWays adds up X'S(Xw + offset − y) over dense rows X with weights S. Each row is read twice while it is in the cache;
// sums over a few rows are in the precision of the rows, all others in double.
type bothWays struct {
	w, offset []float64 // cols × outputs, outputs
	turned    []float64 // w, outputs × cols
	narrow    []float32 // likewise, once there are rows in single precision
	sums      []float64 // outputs × cols
	total     []float64 // Σ s·(x'w + offset − y), by output
}

func newBothWays(w, offset []float64) *bothWays {
	b := &bothWays{w: w, offset: offset, turned: make([]float64, len(w)), sums: make([]float64, len(w)), total: make([]float64, len(offset))}
	design.Transpose(b.turned, w, len(offset))
	return b
}

// add adds rows; y is nil for zeros, weights for ones.
func (b *bothWays) add(X mat.Matrix, y, weights []float64) {
	switch x := X.(type) {
	case *mat.Dense:
		addBothWays(b, design.View(x), b.turned, y, weights)
	case *single.Dense:
		if b.narrow == nil {
			b.narrow = make([]float32, len(b.w))
			design.Transpose(b.narrow, b.w, len(b.offset))
		}
		addBothWays(b, design.ViewFloat32(x), b.narrow, y, weights)
	}
}

// sharedRows is the number of rows that have sums of their own.
const sharedRows = 64

func addBothWays[T kern.Float](b *bothWays, X kern.View[T], w []T, y, weights []float64) {
	n, d, k := X.Rows, X.Cols, len(b.offset)
	tile, size := min(sharedRows, max(4, 1<<17/d)), (d+1)*k
	hold := design.Borrow[float64]((n + sharedRows - 1) / sharedRows * size)
	defer hold.Release()
	kern.Parallel(n, sharedRows, func(lo, hi int) {
		mine := hold.List[lo/sharedRows*size:][:size]
		clear(mine)
		scores, room := design.Borrow[float64](tile*k), design.Borrow[T](tile*k+d*k)
		defer scores.Release()
		defer room.Release()
		for i := lo; i < hi; i += tile {
			end := min(i+tile, hi)
			part, rows := scores.List[:(end-i)*k], X.Slice(i, end, 0, d)
			design.Project(part, rows, w, room.List)
			for r := i; r < end; r++ {
				row := part[(r-i)*k : (r-i+1)*k]
				kern.Axpy(1, b.offset, row)
				if y != nil {
					kern.Axpy(-1, y[r*k:(r+1)*k], row)
				}
				if weights != nil {
					kern.Scale(weights[r], row)
				}
				kern.Axpy(1, row, mine[d*k:])
			}
			design.Collect(mine[:d*k], rows, part, room.List)
		}
	})
	for at := 0; at < len(hold.List); at += size {
		kern.Axpy(1, hold.List[at:at+d*k], b.sums)
		kern.Axpy(1, hold.List[at+d*k:at+size], b.total)
	}
}

// centred writes X̃'S(Xw + offset − y) to dst, cols × outputs, for rows less a mean.
func (b *bothWays) centred(dst, mean []float64) {
	k := len(b.total)
	clear(dst)
	design.AddTransposed(dst, b.sums, k)
	for j, m := range mean {
		kern.Axpy(-m, b.total, dst[j*k:(j+1)*k])
	}
}
