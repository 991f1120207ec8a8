package kernelridge

import (
	"slices"

	"github.com/bochner-ml/bochner/internal/features/pairwise"
	"github.com/bochner-ml/bochner/internal/kern"
)

// DistanceCache stores distances of rows for several trainings. Kernels and γ that depend on the
// same distance share them. Only one training may use it at a time.
type DistanceCache struct{ list []*distanceTiles }

// distanceTiles are the unscaled distances of all pairs of rows under a metric.
type distanceTiles struct {
	metric pairwise.Metric
	from   []int // row numbers in the data
	rows   pairwise.Rows[float64]
	tiles  [][]float64 // tile (i, j) has index i(i+1)/2 + j; nil until computed
}

// maxCachedRows bounds the rows whose distances are cached, at 4 bytes per pair. Below
// minCachedInputs, products are as fast to recompute as to read.
const (
	maxCachedRows   = 10_000
	minCachedInputs = 32
)

// DistanceCacheBytes returns the memory of the distances of the given number of rows under both
// metrics.
func DistanceCacheBytes(rows int) int64 { return 2 * CacheBytes(rows) }

// SharesDistances reports whether a training of the given size can use a [DistanceCache].
func (s Spec) SharesDistances(rows int, entries float64) bool {
	k, err := kernelOf(string(s.Kernel), s.shape())
	return err == nil && rows <= maxCachedRows && len(s.Gamma.Fixed()) <= 1 &&
		(k.Metric == pairwise.L1 || k.Metric == pairwise.Chi2 || k.Metric == pairwise.Squared && entries >= minCachedInputs)
}

// ShareDistances makes the training use the cache.
func (t *Training) ShareDistances(all *DistanceCache) {
	k := t.points.kernel
	d := t.points.rows64.Inputs()
	at := slices.IndexFunc(all.list, func(tiles *distanceTiles) bool {
		return tiles.metric == k.Metric && slices.Equal(tiles.from, t.rowIndex)
	})
	if at < 0 {
		at = len(all.list)
		f := k.Frame(slices.Repeat([]float64{1}, d), t.rows)
		blocks := blocksOf(t.Rows())
		all.list = append(all.list, &distanceTiles{k.Metric, t.rowIndex, pairwise.NewRows[float64](f, t.rows),
			make([][]float64, blocks*(blocks+1)/2)})
	}
	t.points.distances, t.points.scale = all.list[at], k.Scale(t.gamma[0])
}

// tile returns the distances of a tile on or below the diagonal that begins at rows i and j,
// multiples of tileRows.
func (d *distanceTiles) tile(i, j, rows, columns int) kern.View[float64] {
	a, b := i/tileRows, j/tileRows
	number := a*(a+1)/2 + b
	if d.tiles[number] == nil {
		buf := make([]float64, rows*columns)
		fillDistances(d.metric, kern.Dense(rows, columns, columns, buf), d.rows, i, j, func(kern.View[float64]) {})
		d.tiles[number] = buf
	}
	return kern.Dense(rows, columns, columns, d.tiles[number])
}

// fillFromDistances writes a tile of kernel values computed from distances.
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
