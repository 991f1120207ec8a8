package kernelridge

import (
	"slices"

	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/pairwise"
)

// DistanceCache are the distances of the rows of several trainings, made once: kernels and γ that are functions of the same
// distance turn them into their own values. It is for one training at a time.
type DistanceCache struct{ list []*distanceTiles }

// distanceTiles are those of all pairs of rows, as they are, by one metric.
type distanceTiles struct {
	metric pairwise.Metric
	from   []int // the row of the data that each of them was
	rows   pairwise.Rows[float64]
	tiles  [][]float64 // tile (i, j) is number i(i+1)/2 + j; nil until it is made
}

// maxCachedRows is the number of rows up to which distances are shared: they take 4 bytes for each of their pairs. Below
// minCachedInputs, products are made as fast as they are read.
const (
	maxCachedRows   = 10_000
	minCachedInputs = 32
)

// DistanceCacheBytes is the memory that the distances of so many rows take by each metric.
func DistanceCacheBytes(rows int) int64 { return 2 * CacheBytes(rows) }

// SharesDistances reports whether a training of so many rows and entries of each shares distances with others.
func (s Spec) SharesDistances(rows int, entries float64) bool {
	k, err := kernelOf(s.Kernel, s.Nu, s.Shape)
	return err == nil && rows <= maxCachedRows && len(s.Gamma.Fixed()) <= 1 &&
		(k.Metric == pairwise.L1 || k.Metric == pairwise.Squared && entries >= minCachedInputs)
}

// ShareDistances lets the training take its distances from those that there are, or make them for others.
func (t *Training) ShareDistances(all *DistanceCache) {
	k := t.points.kernel
	d := t.points.rows64.Inputs()
	at := slices.IndexFunc(all.list, func(own *distanceTiles) bool {
		return own.metric == k.Metric && slices.Equal(own.from, t.rowIndex)
	})
	if at < 0 {
		at = len(all.list)
		f := pairwise.FrameOf(slices.Repeat([]float64{1}, d), t.rows)
		blocks := blocksOf(t.Rows())
		all.list = append(all.list, &distanceTiles{k.Metric, t.rowIndex, pairwise.NewRows[float64](f, t.rows), make([][]float64, blocks*(blocks+1)/2)})
	}
	t.points.distances, t.points.scale = all.list[at], k.Scale(t.gamma[0])
}

// tile returns the distances of a tile on or below the diagonal that begins at rows i and j, multiples of tileRows.
func (d *distanceTiles) tile(i, j, rows, columns int) kern.View[float64] {
	a, b := i/tileRows, j/tileRows
	number := a*(a+1)/2 + b
	if d.tiles[number] == nil {
		room := make([]float64, rows*columns)
		fillDistances(d.metric, kern.Dense(rows, columns, columns, room), d.rows, i, j, func(kern.View[float64]) {})
		d.tiles[number] = room
	}
	return kern.Dense(rows, columns, columns, d.tiles[number])
}

// fillFromDistances writes a tile of kernel values from distances.
func fillFromDistances[T kern.Float](p *Points, dst kern.View[T], i, j int) {
	from := p.distances.tile(i, j, dst.Rows, dst.Cols)
	for lo := 0; lo < dst.Rows; lo += pairwise.TileRows {
		hi := min(lo+pairwise.TileRows, dst.Rows)
		part := dst.Slice(lo, hi, 0, dst.Cols)
		for k := range hi - lo {
			row := part.Row(k)
			for c, v := range from.Row(lo + k) {
				row[c] = T(v)
			}
		}
		pairwise.Values(p.kernel, p.scale, part)
	}
}
