package kernelridge

import (
	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/pairwise"
)

// Points are rows under a kernel. They are safe for concurrent use, as long as no two make the same tile.
type Points struct {
	kernel *pairwise.Kernel
	frame  pairwise.Frame
	wide   pairwise.Rows[float64]
	narrow pairwise.Rows[float32]

	distances *distances // that tiles are made of, times scale; nil for none
	scale     float64
}

// NewPoints returns the rows of X, a *mat.Dense or *sparse.CSR, in a frame.
func NewPoints(k *pairwise.Kernel, f pairwise.Frame, X mat.Matrix) *Points {
	return &Points{kernel: k, frame: f, wide: pairwise.NewRows[float64](f, X), narrow: pairwise.NewRows[float32](f, X)}
}

// Rows returns the number of rows.
func (p *Points) Rows() int { return p.wide.Len() }

// Tile writes the kernel of rows from i on with rows from j on.
func (p *Points) Tile(dst kern.View[float64], i, j int) { tileOf(p, dst, p.wide, i, j) }

// TileFloat32 is Tile in single precision.
func (p *Points) TileFloat32(dst kern.View[float32], i, j int) { tileOf(p, dst, p.narrow, i, j) }

func tileOf[T kern.Float](p *Points, dst kern.View[T], rows pairwise.Rows[T], i, j int) {
	if p.distances != nil {
		valuesOf(p, dst, i, j)
		return
	}
	between(p.kernel.Metric, dst, rows, i, j, func(part kern.View[T]) { pairwise.Values(p.kernel, 1, part) })
}

// between makes a tile of distances some rows at a time, which stay near for what is made of them.
func between[T kern.Float](metric pairwise.Metric, dst kern.View[T], rows pairwise.Rows[T], i, j int, finish func(part kern.View[T])) {
	right := rows.Slice(j, j+dst.Cols)
	for lo := 0; lo < dst.Rows; lo += pairwise.TileRows {
		hi := min(lo+pairwise.TileRows, dst.Rows)
		part := dst.Slice(lo, hi, 0, dst.Cols)
		pairwise.Distances(part, rows.Slice(i+lo, i+hi), right, metric)
		finish(part)
	}
}
