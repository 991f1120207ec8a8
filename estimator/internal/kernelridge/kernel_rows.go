package kernelridge

import (
	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/features/pairwise"
	"github.com/bochner-ml/bochner/internal/kern"
)

// Points are rows under a kernel. They are safe for concurrent use on distinct tiles.
type Points struct {
	kernel *pairwise.Kernel
	frame  pairwise.Frame
	rows64 pairwise.Rows[float64]
	rows32 pairwise.Rows[float32]

	distances *distanceTiles // source of tiles, times scale; nil for none
	scale     float64
}

// NewPoints returns the rows of X, a *mat.Dense or *matrices.CSR, in a frame.
func NewPoints(k *pairwise.Kernel, f pairwise.Frame, X mat.Matrix) *Points {
	return &Points{kernel: k, frame: f, rows64: pairwise.NewRows[float64](f, X), rows32: pairwise.NewRows[float32](f, X)}
}

// Rows returns the number of rows.
func (p *Points) Rows() int { return p.rows64.Len() }

// Tile writes the kernel values of rows from i on with rows from j on.
func (p *Points) Tile(dst kern.View[float64], i, j int) { fillTile(p, dst, p.rows64, i, j) }

// TileFloat32 is Tile in float32.
func (p *Points) TileFloat32(dst kern.View[float32], i, j int) { fillTile(p, dst, p.rows32, i, j) }

func fillTile[T kern.Float](p *Points, dst kern.View[T], rows pairwise.Rows[T], i, j int) {
	if p.distances != nil {
		fillFromDistances(p, dst, i, j)
		return
	}
	fillDistances(p.kernel.Metric, dst, rows, i, j, func(part kern.View[T]) { pairwise.Values(p.kernel, 1, part) })
}

// fillDistances computes a tile of distances in cache-resident stripes and calls finish for each.
func fillDistances[T kern.Float](metric pairwise.Metric, dst kern.View[T], rows pairwise.Rows[T], i, j int,
	finish func(part kern.View[T])) {
	right := rows.Slice(j, j+dst.Cols)
	for lo := 0; lo < dst.Rows; lo += pairwise.TileRows {
		hi := min(lo+pairwise.TileRows, dst.Rows)
		part := dst.Slice(lo, hi, 0, dst.Cols)
		pairwise.Distances(part, rows.Slice(i+lo, i+hi), right, metric)
		finish(part)
	}
}
